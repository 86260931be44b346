"""Transforms by name, such as `nucleus,p=0.9`, and in Hugging Face's `model.generate`."""

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from torch import Tensor

from offscript._catalogue import SAMPLERS
from offscript._plugins import settings_for
from offscript._specification import Setting, nearest, parse_specification
from offscript.errors import OffscriptError, missing_package
from offscript.sampling.randomness import Draws, Seed
from offscript.sampling.transforms.base import FileName, Plain, Randomised, Range, Transform, ranges

if TYPE_CHECKING:
    from transformers import LogitsProcessor

_ALSO = {"none": "ancestral"}


def parse_transform(text: str) -> Transform:
    """The transform that a string names, such as `nucleus,p=0.9` or `tempered-top-k,k=500,temperature=0.8`.

    The thesis's letters (t, e, r, w, m) serve as short names of settings, and `none` as one of `ancestral`.

    Args:
        text: A sampler's name and its settings; plug-ins add names of their own.

    Returns:
        The transform, its settings checked.
    """
    specification = parse_specification(text)
    name = _ALSO.get(specification.name, specification.name)
    if name not in SAMPLERS:
        raise OffscriptError(f"no sampler {specification.name!r}", next=nearest(name, [*SAMPLERS, *_ALSO]))
    sampler = SAMPLERS[name]
    if not isinstance(sampler, type):
        return Plain(name, sampler, tuple(settings_for(sampler, name, specification.settings).items()))
    allowed = ranges(sampler)
    settings = _spelled_out(name, specification.settings, allowed)
    required = [field.name for field in fields(sampler) if field.default is MISSING]
    if missing := [setting for setting in required if setting not in settings]:
        described = " and ".join(allowed[setting].describe(setting) for setting in missing)
        raise OffscriptError(f"{text!r} lacks {', '.join(missing)}", next=f"add {missing[0]}=…: it takes {described}")
    transform: Transform = sampler(**settings)
    return transform


def as_logits_processor(
    transform: Transform | str, *, seed: Seed | None = None, first_row: int = 0
) -> "LogitsProcessor":
    """A processor for `model.generate(..., logits_processor=[processor], do_sample=True)`.

    The numbers of a random transform depend on the seed, on the row and on how many tokens stand before, not on the
    batch.

    Args:
        transform: A transform, or the string that names one.
        seed: Needed by random transforms.
        first_row: The number of the first row, where a batch is a part of a whole.

    Returns:
        A processor that replaces the logits by those of the transform's distribution.
    """
    try:
        from transformers import LogitsProcessor
    except ImportError as error:
        raise missing_package("a LogitsProcessor", "transformers") from error

    chosen = parse_transform(transform) if isinstance(transform, str) else transform
    if isinstance(chosen, Randomised) and seed is None:
        raise OffscriptError(f"{chosen.name} needs random numbers", next="pass seed=0")
    draws = None if seed is None else Draws(seed)

    class TransformProcessor(LogitsProcessor):
        def __call__(self, input_ids: Any, scores: Tensor) -> Tensor:
            return chosen.log_weights(scores, draws, step=input_ids.shape[-1], first_row=first_row)

    return TransformProcessor()


def _spelled_out(name: str, settings: dict[str, Setting], allowed: dict[str, Range | FileName]) -> dict[str, Setting]:
    letters = {allowed[setting].letter: setting for setting in allowed if allowed[setting].letter}
    full: dict[str, Setting] = {}
    for given, value in settings.items():
        setting = letters.get(given, given)
        if setting not in allowed:
            hint = nearest(given, allowed) if allowed else f"write {name} alone"
            raise OffscriptError(f"{name} has no setting {given!r}", next=hint)
        if setting in full:
            raise OffscriptError(f"{name} gets {setting!r} twice", next="give it once")
        full[setting] = value
    return full
