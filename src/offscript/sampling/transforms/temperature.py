"""Transforms that sharpen or flatten a distribution by a temperature that is given."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from torch import Tensor

from offscript.sampling.transforms.base import Deterministic, keep
from offscript.sampling.transforms.settings import Range
from offscript.sampling.transforms.truncation import kth_largest


@dataclass(frozen=True)
class Tempered(Deterministic):
    """p̂ᵢ ∝ exp(log(pᵢ) / T) (Definition 5.2.3).

    The thesis assumes T < 1, which lowers the entropy; T > 1 raises it.
    """

    temperature: Annotated[float, Range(0, letter="t")]
    name: ClassVar[str] = "tempered"

    def weigh(self, log_probs: Tensor) -> Tensor:
        return log_probs / self.temperature


@dataclass(frozen=True)
class TemperedTopK(Deterministic):
    """p̂ᵢ ∝ exp(log(pᵢ) / T) · 1{i ≤ K} over the sorted distribution (Definition 5.2.4); ties as in top-k."""

    k: Annotated[int, Range(1, includes_lower=True, whole=True)]
    temperature: Annotated[float, Range(0, letter="t")]
    name: ClassVar[str] = "tempered-top-k"

    def weigh(self, log_probs: Tensor) -> Tensor:
        return keep(log_probs, log_probs >= kth_largest(log_probs, self.k)).div_(self.temperature)
