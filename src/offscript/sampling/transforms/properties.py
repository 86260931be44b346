"""Three properties that successful samplers share, measured on any transform (Section 5.3.1)."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from offscript._catalogue import BUILTIN_SAMPLERS, PROPERTIES
from offscript.errors import OffscriptError
from offscript.sampling.randomness import Draws
from offscript.sampling.transforms.base import Transform
from offscript.sampling.transforms.parsing import parse_transform

SETTINGS_OF_THE_THESIS = tuple(entry.usual for entry in BUILTIN_SAMPLERS.values())
"""Table 5.1's settings, and usual ones for the transforms that are not in it."""

_ENTROPY_ROUNDING = 1e-9
_EQUAL_ENTROPY = 1e-12
_SAME = 1e-4
"""Distributions closer than this in total variation count as unchanged: there was nothing to reduce."""
_SLOPE_ROUNDING = 1e-5
_LEVEL = 1e-6
"""Logarithms that differ by less than this are a level line, however rounding changes the ratios."""

Callee = Transform | Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Counterexample:
    """One distribution for which a property fails: `tokens` and what they had before and after."""

    violated: str
    row: int
    tokens: tuple[int, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    why: str


@dataclass(frozen=True)
class PropertyReport:
    """Which properties a transform kept on all `rows` distributions, and a counterexample for each that it broke."""

    transform: str
    rows: int
    counterexamples: tuple[Counterexample, ...]

    def satisfies(self, name: str) -> bool:
        """Whether no distribution violated the property."""
        if name not in PROPERTIES:
            raise OffscriptError(f"no property {name!r}", next=f"known: {', '.join(PROPERTIES)}")
        return all(found.violated != name for found in self.counterexamples)

    def counterexample(self, name: str) -> Counterexample | None:
        """The distribution that violated the property, if one did."""
        return next((found for found in self.counterexamples if found.violated == name), None)


def check_properties(
    transform: Callee | str, distributions: Tensor | None = None, *, rows: int = 500, size: int = 200, seed: int = 0
) -> PropertyReport:
    """Apply a transform, or any function of log-probabilities, to distributions and look for violations.

    Args:
        transform: A transform, the string that names one, or a function of log-probabilities [rows, V].
        distributions: Log-probabilities [rows, V] to try it on; without them random ones are drawn.
        rows: How many random distributions.
        size: Over how many tokens.
        seed: Decides the distributions, and the numbers of a random transform.

    Returns:
        Which properties hold on all rows, with a counterexample for each that does not.
    """
    chosen = parse_transform(transform) if isinstance(transform, str) else transform
    before = random_distributions(rows, size, seed) if distributions is None else distributions
    before = before.double().log_softmax(dim=-1)
    after = chosen(before, Draws(seed)) if isinstance(chosen, Transform) else chosen(before.clone())
    after = after.double().log_softmax(dim=-1)
    if after.shape != before.shape or after.isnan().any():
        raise OffscriptError("the transform does not return a distribution for every row", next="return [rows, V]")
    found = (_raised_entropy(before, after), _changed_order(before, after), _bent_slope(before, after))
    name = str(chosen) if isinstance(chosen, Transform) else getattr(chosen, "__name__", type(chosen).__name__)
    return PropertyReport(name, len(before), tuple(example for example in found if example is not None))


def property_table(transforms: Iterable[str] = SETTINGS_OF_THE_THESIS, *, seed: int = 0) -> list[PropertyReport]:
    """Who satisfies what, measured on random distributions."""
    return [check_properties(transform, seed=seed) for transform in transforms]


def random_distributions(rows: int, size: int, seed: int) -> Tensor:
    """Log-probabilities [rows, size] from nearly uniform to nearly one-hot: normal logits of log-uniform scale."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, size, generator=generator, dtype=torch.float64)
    scales = torch.exp(torch.empty(rows, 1, dtype=torch.float64).uniform_(-2.3, 2.3, generator=generator))
    return (logits * scales).log_softmax(dim=-1)


def _raised_entropy(before: Tensor, after: Tensor) -> Counterexample | None:
    """Property 1: H(p̂) < H(p), wherever p̂ differs from p at all."""
    rise = _entropy(after) - _entropy(before)  # [rows]
    changed = (after.exp() - before.exp()).abs().sum(dim=-1) / 2 > _SAME
    violated = (rise > _ENTROPY_ROUNDING) | (changed & (rise > -_EQUAL_ENTROPY))
    if not violated.any():
        return None
    row = int(rise.masked_fill(~violated, -math.inf).argmax())
    why = f"entropy {float(_entropy(before[row])):.4f} became {float(_entropy(after[row])):.4f}"
    return _example(PROPERTIES[0], row, before[row].topk(min(3, before.shape[1])).indices, before, after, why)


def _changed_order(before: Tensor, after: Tensor) -> Counterexample | None:
    """Property 2: pᵢ > pⱼ → p̂ᵢ ≥ p̂ⱼ. Tokens that tie have no order to preserve: the definitions sort p first."""
    by_after = after.argsort(dim=-1, descending=True)
    order = by_after.gather(1, before.gather(1, by_after).argsort(dim=-1, descending=True, stable=True))
    probs = after.gather(1, order).exp()  # [rows, V], must not rise
    rises = probs[:, 1:] - probs[:, :-1] * (1 + 1e-9)
    if not (rises > 0).any():
        return None
    row, place = divmod(int(rises.argmax()), rises.shape[1])
    return _example(PROPERTIES[1], row, order[row, place : place + 2], before, after, "the less probable overtook")


def _bent_slope(before: Tensor, after: Tensor) -> Counterexample | None:
    """Property 3: among the kept tokens log p̂ is a straight line in log p, wherever p̂ has three values or more.

    Equal ratios of differences for all triples are the same as one line through all tokens; it is drawn through the
    highest and the lowest p̂, and the token farthest off it makes the triple.
    """
    kept = ~after.isneginf()
    top = after.argmax(dim=-1, keepdim=True)
    low = after.masked_fill(~kept, math.inf).argmin(dim=-1, keepdim=True)
    rise, run = (values.gather(1, top) - values.gather(1, low) for values in (after, before))  # [rows, 1]
    line = after.gather(1, low) + (before - before.gather(1, low)) * (rise / run)
    off = ((after - line).abs() / (rise + _LEVEL)).masked_fill(~kept, 0.0).nan_to_num(nan=math.inf)
    off = off.masked_fill(~_has_three_values(after), 0.0)
    if not (off > _SLOPE_ROUNDING).any():
        return None
    row, middle = divmod(int(off.argmax()), off.shape[1])
    tokens = torch.tensor([int(top[row]), middle, int(low[row])])
    return _example(PROPERTIES[2], row, tokens, before, after, "the ratio of differences of logarithms changed")


def _has_three_values(log_probs: Tensor) -> Tensor:
    """[rows, 1]: whether the kept tokens of a row have three distinct probabilities."""
    ordered = log_probs.sort(dim=-1, descending=True).values
    falls = (ordered[:, 1:] < ordered[:, :-1]) & ~ordered[:, 1:].isneginf()
    return falls.sum(dim=-1, keepdim=True) >= 2


def _entropy(log_probs: Tensor) -> Tensor:
    return -(log_probs.exp() * log_probs).nansum(dim=-1)


def _example(violated: str, row: int, tokens: Tensor, before: Tensor, after: Tensor, why: str) -> Counterexample:
    was, became = (tuple(table[row, tokens].exp().tolist()) for table in (before, after))
    return Counterexample(violated, row, tuple(tokens.tolist()), was, became, why)
