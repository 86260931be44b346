"""Transforms in Hugging Face's `model.generate`."""

from typing import TYPE_CHECKING, Any

from torch import Tensor

from offscript.errors import OffscriptError, missing_package
from offscript.sampling.randomness import Draws, Seed
from offscript.sampling.transforms.base import Randomised, Transform
from offscript.sampling.transforms.parsing import parse_transform

if TYPE_CHECKING:
    from transformers import LogitsProcessor


def as_logits_processor(
    transform: Transform | str, *, seed: Seed | None = None, first_row: int = 0
) -> "LogitsProcessor":
    """A processor for `model.generate(..., logits_processor=[processor], do_sample=True)`.

    Random transforms need a seed; the numbers of a row depend on it, on the row (counted from `first_row`) and on how
    many tokens stand before, not on the batch.
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
