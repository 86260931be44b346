"""How a model is taught: one module an algorithm, one shared loop. Nothing here measures more than validation."""

from offscript.training.loop import ALGORITHMS, Trained, train
from offscript.training.recipe import Recipe, read_recipe, recipe_from

__all__ = ["ALGORITHMS", "Recipe", "Trained", "read_recipe", "recipe_from", "train"]
