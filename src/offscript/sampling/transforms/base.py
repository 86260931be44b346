"""What every transform is: validated settings that turn a model's log-probabilities into those one draws from."""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, get_type_hints

import torch
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.sampling.randomness import RowDraws

NEVER = float("-inf")

_STREAM = 3
"""Transforms draw from a stream of their own: the numbers that choose tokens are not theirs."""


@dataclass(frozen=True)
class Range:
    """Numbers from `lower` to `upper`; `letter` is the thesis's name for a setting that is spelled out here."""

    lower: float
    upper: float = math.inf
    includes_lower: bool = False
    includes_upper: bool = True
    whole: bool = False
    letter: str = ""

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        above = value >= self.lower if self.includes_lower else value > self.lower
        below = value <= self.upper if self.includes_upper else value < self.upper
        return above and below and abs(value) <= sys.float_info.max  # a whole number may be larger than any float

    def describe(self, name: str) -> str:
        """`0 < p <= 1`, as in an error message."""
        kind = ", a whole number" if self.whole else ""
        below = f" {'<=' if self.includes_upper else '<'} {self.upper:g}" if math.isfinite(self.upper) else ""
        return f"{self.lower:g} {'<=' if self.includes_lower else '<'} {name}{below}{kind}"


@dataclass(frozen=True)
class FileName:
    """The name of a file, for a setting that is no number."""

    letter: str = ""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and bool(value)

    def describe(self, name: str) -> str:
        """As in an error message."""
        return f"{name}=FILE"


_ANY_NUMBER = Range(-math.inf)


def ranges(transform: type[Any]) -> dict[str, Range | FileName]:
    """The range of every setting of a transform, in the order of its settings."""
    hints = get_type_hints(transform, include_extras=True)
    return {field.name: getattr(hints[field.name], "__metadata__", (_ANY_NUMBER,))[0] for field in fields(transform)}


def check_settings(transform: Any) -> None:
    """Refuse a transform whose settings are out of range."""
    for name, allowed in ranges(type(transform)).items():
        value = getattr(transform, name)
        if value not in allowed:
            raise OffscriptError(
                f"cannot use {transform.name} with {name}={value!r}", next=f"it takes {allowed.describe(name)}"
            )


@dataclass(frozen=True)
class Transform(ABC):
    """Log-probabilities [rows, V] in, log-probabilities out: normalised, `-inf` for what is cut, never in place.

    Logits serve as well, since every definition is over the distribution that they stand for.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_settings(self)

    def __call__(self, log_probs: Tensor, draws: RowDraws | None = None, step: int = 0, first_row: int = 0) -> Tensor:
        """The distribution to draw from; random transforms take their numbers from `draws` at (step, row)."""
        if log_probs.dim() != 2:
            raise OffscriptError(
                f"cannot transform log-probabilities of shape {tuple(log_probs.shape)}", next="give [rows, V]"
            )
        with torch.no_grad():
            result = _normalise(self.log_weights(_full_precision(log_probs), draws, step, first_row))
            if _undefined(result).any():  # either no distribution came in, or logits left the range of floats
                shifted = log_probs - log_probs.amax(dim=-1, keepdim=True)
                result = _normalise(self.log_weights(_full_precision(shifted), draws, step, first_row))
        _require_distributions(result)
        return result

    @abstractmethod
    def log_weights(
        self, log_probs: Tensor, draws: RowDraws | None = None, step: int = 0, first_row: int = 0
    ) -> Tensor:
        """A new tensor that normalises to the result; all that a sampler with a softmax of its own needs."""

    def __str__(self) -> str:
        return ",".join([self.name, *(f"{field.name}={getattr(self, field.name)}" for field in fields(self))])


class Deterministic(Transform):
    """A transform of the distribution alone."""

    def log_weights(
        self, log_probs: Tensor, draws: RowDraws | None = None, step: int = 0, first_row: int = 0
    ) -> Tensor:
        return self.weigh(log_probs)

    @abstractmethod
    def weigh(self, log_probs: Tensor) -> Tensor:
        """Log-weights, not normalised, in a new tensor."""


class Randomised(Transform):
    """A transform that draws, at every step, uniform numbers for each row."""

    def log_weights(
        self, log_probs: Tensor, draws: RowDraws | None = None, step: int = 0, first_row: int = 0
    ) -> Tensor:
        if draws is None:
            raise OffscriptError(f"{self.name} needs random numbers", next="pass draws=Draws(seed)")
        rows, size = log_probs.shape
        uniforms = draws.uniform(step, first_row, rows, self.width(size), stream=_STREAM)
        return self.weigh(log_probs, uniforms.to(log_probs.device))

    @abstractmethod
    def width(self, size: int) -> int:
        """How many uniform numbers a row needs for a vocabulary of `size`."""

    @abstractmethod
    def weigh(self, log_probs: Tensor, uniforms: Tensor) -> Tensor:
        """Log-weights, not normalised, in a new tensor; `uniforms` is [rows, width] in [0, 1)."""


@dataclass(frozen=True)
class Plain(Deterministic):
    """A function of log-probabilities and settings, as plug-ins register them."""

    label: str
    function: Callable[..., Tensor]
    settings: tuple[tuple[str, Any], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.label)

    def weigh(self, log_probs: Tensor) -> Tensor:
        weights = self.function(log_probs, **dict(self.settings))
        if weights.shape != log_probs.shape:
            shapes = f"{tuple(log_probs.shape)} became {tuple(weights.shape)}"
            raise OffscriptError(f"the sampler {self.name} changes the shape", why=shapes, next="return [rows, V]")
        return weights.clone() if weights is log_probs else weights

    def __str__(self) -> str:
        return ",".join([self.name, *(f"{name}={value}" for name, value in self.settings)])


@dataclass(frozen=True)
class Ancestral(Deterministic):
    """The model's own distribution: p̂ = p."""

    name: ClassVar[str] = "ancestral"

    def weigh(self, log_probs: Tensor) -> Tensor:
        return log_probs.clone()


@dataclass(frozen=True)
class Greedy(Deterministic):
    """All mass on the most probable token, the first of them where several tie."""

    name: ClassVar[str] = "greedy"

    def weigh(self, log_probs: Tensor) -> Tensor:
        best = log_probs.argmax(dim=-1, keepdim=True)  # [rows, 1]
        return torch.full_like(log_probs, NEVER).scatter_(1, best, log_probs.gather(1, best))


def keep(log_probs: Tensor, kept: Tensor) -> Tensor:
    """The log-probabilities where `kept`, `-inf` elsewhere."""
    return torch.where(kept, log_probs, NEVER)


def _full_precision(log_probs: Tensor) -> Tensor:
    return log_probs if log_probs.dtype in (torch.float32, torch.float64) else log_probs.float()


def _normalise(log_weights: Tensor) -> Tensor:
    """In place: the weights are ours, and a second tensor of this size costs as much as the arithmetic."""
    return torch.log_softmax(log_weights, dim=-1, out=log_weights)


def _undefined(log_probs: Tensor) -> Tensor:
    """Which rows are NaN; the softmax makes all of a row NaN or none of it."""
    return log_probs[:, 0].isnan()


def _require_distributions(log_probs: Tensor) -> None:
    undefined = _undefined(log_probs)
    if undefined.any():
        row = int(undefined.nonzero()[0])
        raise OffscriptError(
            f"row {row} of {len(log_probs)} is not a distribution",
            why="its log-probabilities hold NaN or inf, or are all -inf",
            next="look at the model that gave them",
        )
