"""`offscript train`: a recipe becomes a model."""

from pathlib import Path
from typing import Annotated

import typer

from offscript.cli._options import Device, Json, Quiet


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

    from offscript.cli._progress import TrainingBar
    from offscript.training import read_recipe
    from offscript.training import train as run
    from offscript.training.recipe import find_recipe

    read = read_recipe(find_recipe(recipe), changes or [])
    folder = out or Path("runs") / read.name
    bar = TrainingBar(read.name, quiet=quiet)
    trained = run(read, folder, device=device, watcher=bar, checkpoint_seconds=checkpoint_seconds, half=half)
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
