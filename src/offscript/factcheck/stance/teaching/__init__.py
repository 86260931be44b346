"""Teaching of stance models, with torch or lightgbm; what serves is in the package above."""

from offscript.factcheck.stance.teaching.recipe import (
    StanceRecipe,
    TrainedStance,
    stance_recipe,
    train_stance,
    trained_model,
)

__all__ = ["StanceRecipe", "TrainedStance", "stance_recipe", "train_stance", "trained_model"]
