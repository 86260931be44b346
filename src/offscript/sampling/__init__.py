"""How text is drawn from a model: random numbers, transforms, generation, histories. Nothing here scores or trains."""

from offscript.sampling.beams import Beams, beam_search
from offscript.sampling.generation import Generated, generate, generate_each, texts
from offscript.sampling.transforms import Transform, as_logits_processor, check_properties, parse_transform
from offscript.sampling.translation import translate

__all__ = [
    "Beams",
    "Generated",
    "Transform",
    "as_logits_processor",
    "beam_search",
    "check_properties",
    "generate",
    "generate_each",
    "parse_transform",
    "texts",
    "translate",
]
