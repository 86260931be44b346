"""`train_stance`: a recipe becomes a stance model, whatever its kind."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offscript.errors import OffscriptError
from offscript.factcheck.stance.recipe import StanceRecipe, stance_recipe
from offscript.learning import Observer, Trained, Trainer


@dataclass(frozen=True)
class TrainedStance(Trained):
    """Where the model is, and how long this call took."""

    folder: Path
    seconds: float

    def figures(self) -> dict[str, Any]:
        return {"model": str(self.folder), "seconds": self.seconds}

    def __str__(self) -> str:
        return f"{self.folder}: {self.seconds:.0f} s; offscript measure stance {self.folder} --data …"


def train_stance(
    recipe: StanceRecipe,
    folder: Path,
    *,
    device: str = "cpu",
    observer: Observer | None = None,
    checkpoint_seconds: float = 60.0,
    half: bool = False,
) -> TrainedStance:
    """Train to the end, from the folder's checkpoints where there are any; the model lands in `model/`.

    A recipe that asks for it is exported too: `served/` holds what `offscript/stance` is made of.
    """
    if device != "cpu" or half:
        raise OffscriptError("stance models are trained on the CPU in full precision", next="leave out both flags")
    began = time.monotonic()
    match recipe.kind:
        case "mtranssan":
            from offscript.factcheck.stance.mtranssan import train_mtranssan

            made = train_mtranssan(recipe, folder, observer=observer, checkpoint_seconds=checkpoint_seconds)
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


TRAINER = Trainer(stance_recipe, train_stance)
