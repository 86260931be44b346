"""`offscript train`: a recipe becomes a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offscript.cli._options import Device, Json, Quiet

if TYPE_CHECKING:
    from offscript.training.next_sentence import TrainedHead

STANCE = "stance"  # an algorithm of the fact checker's room, with recipes of its own


def train(
    recipe: Annotated[
        str, typer.Argument(help="A YAML file, or the name of a recipe that ships (offscript ls recipes).")
    ],
    changes: Annotated[list[str] | None, typer.Argument(help="Changes such as model.hidden=128 stop.epochs=3.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the run; runs/NAME by default.")] = None,
    device: Device = "cpu",
    checkpoint_seconds: Annotated[float, typer.Option(min=0, help="How often the run is written down.")] = 60.0,
    half: Annotated[bool, typer.Option("--half", help="Write the final weights in half precision.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model by a recipe. A run that was killed goes on where it stood: give the same command again."""
    import json
    import math
    import os

    from offscript.cli._progress import TrainingBar
    from offscript.training import next_sentence, read_recipe
    from offscript.training import train as train_model
    from offscript.training.recipe import find_recipe, read_content

    content = read_content(find_recipe(recipe), changes or [])
    if content.get("algorithm") == STANCE:
        _train_stance(content, out, checkpoint_seconds, as_json=as_json, quiet=quiet)
        return
    read = read_recipe(find_recipe(recipe), changes or [])
    folder = out or Path("runs") / read.name
    run = next_sentence.train_next_sentence if read.algorithm == next_sentence.NAME else train_model
    bar = TrainingBar(read.name, quiet=quiet)
    trained = run(read, folder, device=device, watcher=bar, checkpoint_seconds=checkpoint_seconds, half=half)
    if int(os.environ.get("RANK", "0")):  # of several processes the first one speaks
        return
    if isinstance(trained, next_sentence.TrainedHead):
        _show_head(trained, as_json=as_json)
        return
    ppl = math.exp(trained.validation_nll)
    if as_json:
        found = {
            "model": str(trained.folder),
            "steps": trained.steps,
            "validation_nll": trained.validation_nll,
            "validation_ppl": ppl,
        }
        typer.echo(json.dumps(found))
        return
    typer.echo(f"{trained.folder}: {trained.steps} steps, validation perplexity {ppl:.2f}, {trained.seconds:.0f} s")


def _train_stance(
    content: dict[str, Any], out: Path | None, checkpoint_seconds: float, *, as_json: bool, quiet: bool
) -> None:
    import json

    from offscript.cli._progress import TrainingBar
    from offscript.factcheck.stance.recipe import stance_recipe
    from offscript.factcheck.stance.training import train_stance

    recipe = stance_recipe(content)
    bar = TrainingBar(recipe.name, quiet=quiet)
    folder = out or Path("runs") / recipe.name
    trained = train_stance(recipe, folder, watcher=bar, checkpoint_seconds=checkpoint_seconds)
    if as_json:
        typer.echo(json.dumps({"model": str(trained.folder), "seconds": trained.seconds}))
        return
    typer.echo(f"{trained.folder}: {trained.seconds:.0f} s; offscript measure stance {trained.folder} --data …")


def _show_head(trained: "TrainedHead", *, as_json: bool) -> None:
    import json

    if as_json:
        found = {"head": str(trained.folder), "steps": trained.steps, "validation_accuracy": trained.accuracy}
        typer.echo(json.dumps(found))
        return
    typer.echo(
        f"{trained.folder}: {trained.steps} steps, held-out accuracy {trained.accuracy:.1%}, {trained.seconds:.0f} s"
    )
