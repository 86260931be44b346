"""`train_stance`: a recipe becomes a stance model, whatever its kind."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offscript.factcheck.stance.recipe import StanceRecipe
from offscript.factcheck.stance.teaching import Watcher


@dataclass(frozen=True)
class TrainedStance:
    """Where the model is, and how long this call took."""

    folder: Path
    seconds: float


def train_stance(
    recipe: StanceRecipe, folder: Path, *, watcher: Watcher | None = None, checkpoint_seconds: float = 60.0
) -> TrainedStance:
    """Train to the end, from the folder's checkpoints where there are any; the model lands in `model/`.

    A recipe that asks for it is exported too: `served/` holds what `offscript/stance` is made of.
    """
    began = time.monotonic()
    settings: dict[str, Any] = {"watcher": watcher, "checkpoint_seconds": checkpoint_seconds}
    match recipe.kind:
        case "mtranssan":
            from offscript.factcheck.stance.mtranssan import train_mtranssan

            made = train_mtranssan(recipe, folder, **settings)
        case "features":
            from offscript.factcheck.stance.perceptron import train_perceptron

            made = train_perceptron(recipe, folder)
        case "boosting":
            from offscript.factcheck.stance.boosting import train_boosting

            made = train_boosting(recipe, folder)
        case "hierarchy":
            from offscript.factcheck.stance.hierarchy import train_hierarchy

            made = train_hierarchy(recipe, folder)
    if recipe.served:
        from offscript.factcheck.stance.shipping import ship

        made = ship(recipe, made, folder / "served")
    return TrainedStance(made, time.monotonic() - began)
