"""Transforms that sharpen or flatten a distribution: by a given temperature, or by one that gives a target entropy."""

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from offscript.sampling.transforms.base import Deterministic, Range, keep
from offscript.sampling.transforms.truncation import kth_largest

TOLERANCE = 1e-4
"""How far, in nats, a row may stay from its target; sums in single precision carry an entropy to about 1e-5."""

_STEPS = 200
_ROWS_AT_ONCE = 64
_FLATTEST = math.log(1e-8)
"""The log of an inverse temperature at which a row's entropy is within 1e-16 of its upper limit."""
_SHARPEST = 40.0
"""At log(support) + this over the gap behind the best token, it is within 1e-15 of its lower limit."""


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


@dataclass(frozen=True)
class TargetEntropy(Deterministic):
    """p̂ᵢ ∝ exp(log(pᵢ) / t) with t such that H(p̂) = E, in nats (Definition 5.3.1).

    A temperature reaches every entropy between log(number of tokens that tie for the best) and log(number of tokens
    with pᵢ > 0). A target below gives the uniform distribution over the best, a target above the uniform distribution
    over the support; one-hot and uniform rows, whose limits coincide, stay as they are.
    """

    entropy: Annotated[float, Range(0, letter="e")]
    name: ClassVar[str] = "target-entropy"

    def weigh(self, log_probs: Tensor) -> Tensor:
        return torch.cat([_tempered_to(rows, self.entropy) for rows in log_probs.split(_ROWS_AT_ONCE)])


@dataclass(frozen=True)
class MaxEntropy(Deterministic):
    """As target entropy where H(p) > E, and p̂ = p elsewhere (Definition 5.3.5).

    The bound holds for every row in which at most exp(E) tokens tie for the best; no temperature parts a tie, so a row
    with more of them becomes uniform over these.
    """

    entropy: Annotated[float, Range(0, letter="e")]
    name: ClassVar[str] = "max-entropy"

    def weigh(self, log_probs: Tensor) -> Tensor:
        return torch.cat([self._lowered(rows) for rows in log_probs.split(_ROWS_AT_ONCE)])

    def _lowered(self, log_probs: Tensor) -> Tensor:
        shape = _Shape.of(log_probs)
        above = shape.moments(shape.spread.log()).entropy > self.entropy
        lowered = log_probs.clone()
        if above.any():
            lowered[above] = _tempered_to(log_probs[above], self.entropy)
        return lowered


@dataclass(frozen=True)
class _Moments:
    """Entropy of each row at an inverse temperature α, and its slope dH/d(log α) = -α² Var[log p] (eq. A.6)."""

    entropy: Tensor  # [rows]
    slope: Tensor  # [rows]


@dataclass(frozen=True)
class _Shape:
    """Rows of log-probabilities moved and scaled so that the best token is at 0 and the worst at -1.

    Inverse temperatures are in units of 1 / spread: α = spread is the distribution as it came. `finite` has 0 in the
    place of `-inf`, so that 0 · `-inf` never arises.
    """

    exponents: Tensor  # [rows, V]
    finite: Tensor  # [rows, V]
    spread: Tensor  # [rows]

    @classmethod
    def of(cls, log_probs: Tensor) -> "_Shape":
        centred = log_probs - log_probs.amax(dim=1, keepdim=True)
        finite = centred.masked_fill(centred.isneginf(), 0.0)
        spread = -finite.amin(dim=1, keepdim=True)
        spread.masked_fill_(spread == 0, 1.0)
        return cls(centred.div_(spread), finite.div_(spread), spread.squeeze(1).double())

    def select(self, rows: Tensor) -> "_Shape":
        return _Shape(self.exponents[rows], self.finite[rows], self.spread[rows])

    def weights(self, log_inverse: Tensor) -> Tensor:
        """Logarithms of the tempered weights, the best token at 0."""
        return self.exponents * log_inverse.exp().to(self.exponents.dtype).unsqueeze(1)

    def moments(self, log_inverse: Tensor) -> _Moments:
        weights = self.weights(log_inverse).exp_()  # [rows, V]
        total = weights.sum(dim=1).double()
        mean = weights.mul_(self.finite).sum(dim=1) / total
        square = weights.mul_(self.finite).sum(dim=1) / total
        inverse = log_inverse.exp()  # [rows]
        return _Moments(total.log() - inverse * mean, -(inverse**2) * (square - mean**2))

    def bracket(self, target: float) -> tuple[Tensor, Tensor]:
        """Bounds [rows] of log α between which the target lies; equal where it lies beyond what can be reached."""
        best, never = self.exponents == 0, self.exponents.isneginf()
        support, ties = (~never).sum(dim=1).double().log(), best.sum(dim=1).double().log()
        smallest = 1e3 * torch.finfo(self.exponents.dtype).tiny  # closer tokens count as tied
        gap = -self.exponents.masked_fill(best, -1.0).amax(dim=1).clamp(max=-smallest).double()
        lowest = torch.full_like(gap, _FLATTEST)
        highest = ((support + _SHARPEST) / gap).log()
        return torch.where(ties >= target, highest, lowest), torch.where(support <= target, lowest, highest)


def _tempered_to(log_probs: Tensor, target: float) -> Tensor:
    shape = _Shape.of(log_probs)
    return shape.weights(_log_inverse_temperatures(shape, target))


def _log_inverse_temperatures(shape: _Shape, target: float) -> Tensor:
    """Solve H(α) = target for log α in each row: Newton's step where it stays in the bracket and halves the last one.

    The entropy falls as α grows, so the bracket closes from either side. Rows leave as they are solved.
    """
    lowest, highest = shape.bracket(target)
    current = shape.spread.log().clamp(min=lowest, max=highest)
    solution, last_step = current.clone(), highest - lowest
    rows = torch.arange(len(current), device=current.device)
    for _ in range(_STEPS):
        moments = shape.moments(current)
        excess = moments.entropy - target
        lowest, highest = torch.where(excess > 0, current, lowest), torch.where(excess > 0, highest, current)
        going = (excess.abs() > TOLERANCE) & (highest - lowest > 0)
        solution[rows] = current
        if not going.any():
            break
        newton = current - excess / moments.slope
        trusted = (newton > lowest) & (newton < highest) & ((newton - current).abs() <= last_step / 2)
        following = torch.where(trusted, newton, (lowest + highest) / 2)
        last_step = (following - current).abs()
        current = following
        if not going.all():
            rows, lowest, highest, current, last_step = (
                part[going] for part in (rows, lowest, highest, current, last_step)
            )
            shape = shape.select(going)
    return solution
