"""How text is drawn from a model: random numbers, transforms, generation, histories. Nothing here scores or trains."""

from offscript.sampling.generation import Generated, generate, generate_each, texts
from offscript.sampling.transforms import Transform, as_logits_processor, check_properties, parse_transform

__all__ = [
    "Generated",
    "Transform",
    "as_logits_processor",
    "check_properties",
    "generate",
    "generate_each",
    "parse_transform",
    "texts",
]
