"""`offscript train`: a recipe becomes a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offscript.cli._options import Device, Json, Quiet, out_folder

if TYPE_CHECKING:
    from offscript.learning import StoppedError


def train(
    recipe: Annotated[
        str, typer.Argument(help="A YAML file, or the name of a recipe that ships (offscript ls recipes).")
    ],
    changes: Annotated[list[str] | None, typer.Argument(help="Changes such as model.hidden=128 stop.epochs=3.")] = None,
    out: Annotated[Path | None, out_folder("Folder of the run; runs/NAME by default.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the recipe's seed; same as seed=N.")] = None,
    device: Device = "cpu",
    checkpoint_seconds: Annotated[float, typer.Option(min=0, help="How often the run is stored.")] = 60.0,
    half: Annotated[bool, typer.Option("--half", help="Write the final weights in half precision.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model by a recipe. A run that was killed resumes where it stopped: give the same command again.

    Example: offscript train news stop.epochs=1 --out runs/news
    """
    import json
    import os

    from offscript._config import expanded, find_recipe, read_mapping
    from offscript.cli._progress import TrainingBar
    from offscript.learning import StoppedError, find_trainer

    path = find_recipe(recipe)
    content = expanded(read_mapping(path, "recipe", [*(changes or ()), *([] if seed is None else [f"seed={seed}"])]))
    trainer = find_trainer(content)
    checked = trainer.recipe(content, str(path))
    try:
        with TrainingBar(checked.name, quiet=quiet) as observer:
            trained = trainer.train(
                checked,
                out or Path("runs") / checked.name,
                device=device,
                observer=observer,
                checkpoint_seconds=checkpoint_seconds,
                half=half,
            )
    except StoppedError as stop:
        _tell_how_to_resume(stop)
        raise
    if int(os.environ.get("RANK", "0")) == 0:  # of several processes the first one speaks
        typer.echo(json.dumps(trained.figures()) if as_json else str(trained))


def _tell_how_to_resume(stop: "StoppedError") -> None:
    """Where a run that Ctrl-C ended stands, on standard error."""
    import shlex
    import sys

    done = f"offscript: stopped at step {stop.step:,} of {stop.total:,}"
    if stop.checkpoint is None:
        typer.echo(f"{done}; this stage is short and keeps no checkpoint: it starts anew", err=True)
    else:
        command = shlex.join(["offscript", *sys.argv[1:]])
        typer.echo(f"{done}, stored in {stop.checkpoint}; resume with: {command}", err=True)
