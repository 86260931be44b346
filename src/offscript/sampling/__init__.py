"""How text is drawn from a model: random numbers, transforms, generation, histories. Nothing here scores or trains."""

from offscript.sampling.generation import Generated, generate, generate_each, texts
from offscript.sampling.randomness import Draws, draw

__all__ = ["Draws", "Generated", "draw", "generate", "generate_each", "texts"]
