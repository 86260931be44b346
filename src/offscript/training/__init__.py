"""How a language model is taught: one module per algorithm, all in the step loop of `learning/`."""

from offscript._catalogue import ALGORITHMS
from offscript.training.algorithm import Algorithm, AlgorithmSettings
from offscript.training.loop import Trained, train
from offscript.training.recipe import Recipe, read_recipe, recipe_from

__all__ = ["ALGORITHMS", "Algorithm", "AlgorithmSettings", "Recipe", "Trained", "read_recipe", "recipe_from", "train"]
