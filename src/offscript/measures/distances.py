"""Distances between next-token distributions, given as log-probabilities whose last axis is the vocabulary."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from offscript._specification import nearest
from offscript.errors import OffscriptError

# Each step works on about this many elements: with float32 the seven or so arrays of a step fill 2 MB and stay in a
# core's cache, so that memory is read once whatever is asked for, and never more than that is allocated.
ELEMENTS_AT_ONCE = 1 << 16

_LOG_OF_ZERO = -1e20  # stands for -inf, so that no difference of logarithms is NaN
_CLOSE = 5e-3  # a Jensen-Shannon divergence of which a sum that is off by 1e-7 still gives 2e-5
_SMALLEST = 1e-37  # stands for probability 0 in quotients; added to any probability above 1e-30 it changes nothing


class Distance(NamedTuple):
    """What a distance is called in words, the range of its values, and whether it is symmetric."""

    description: str
    range: tuple[float, float]
    symmetric: bool


DISTANCES = {
    "tv": Distance("total variation distance", (0.0, 1.0), symmetric=True),
    "js": Distance("Jensen-Shannon divergence in nats", (0.0, math.log(2)), symmetric=True),
    "gd": Distance("greedy decoding divergence", (0.0, 1.0), symmetric=True),
    "kl": Distance("Kullback-Leibler divergence KL(p‖q) in nats", (0.0, math.inf), symmetric=False),
    "kl_reverse": Distance("Kullback-Leibler divergence KL(q‖p) in nats", (0.0, math.inf), symmetric=False),
    "hellinger": Distance("Hellinger distance", (0.0, 1.0), symmetric=True),
}


@torch.no_grad()
def distances(log_p: Tensor, log_q: Tensor, names: Sequence[str]) -> dict[str, Tensor]:
    """Each named distance between `log_p` and `log_q` [..., V]: one tensor [...] a name.

    - `tv`: ½ Σ |p - q|
    - `js`: ½ KL(p‖m) + ½ KL(q‖m) with m = ½(p + q); natural logarithm; the divergence, not its root
    - `gd`: whether the most probable tokens differ (eq. 8); of equally probable ones the lowest index counts, in both
    - `kl`, `kl_reverse`: infinite where the first gives probability to what the second excludes; natural logarithm
    - `hellinger`: √(½ Σ (√p - √q)²)

    Float64 stays float64, everything else is computed in float32 (`js` to 2e-5 of its value). Probability 0 (-inf) is
    exact, and NaN comes only from NaN. Memory beyond the results is bounded by `ELEMENTS_AT_ONCE`; tensors that are
    not contiguous are copied.
    """
    if unknown := [name for name in names if name not in DISTANCES]:
        raise OffscriptError(f"no distance {unknown[0]!r}", next=nearest(unknown[0], DISTANCES))
    if log_p.shape != log_q.shape or log_p.ndim == 0:
        raise OffscriptError(
            f"cannot compare distributions of shapes {tuple(log_p.shape)} and {tuple(log_q.shape)}",
            why="they must be over the same vocabulary, row by row",
        )
    dtype = torch.float64 if torch.float64 in (log_p.dtype, log_q.dtype) else torch.float32
    rows = log_p.shape[:-1].numel()
    first, second = (side.detach().reshape(rows, log_p.shape[-1]) for side in (log_p, log_q))
    found = _in_one_pass(first, second) if {"tv", "js"}.intersection(names) else {}
    rest = {name: torch.empty(rows, dtype=dtype, device=log_p.device) for name in names if name not in found}
    scratch: dict[tuple[str, int], Tensor] = {}
    for taken in _row_slices(rows, log_p.shape[-1]) if rest else ():
        pair = _Pair(first[taken].to(dtype), second[taken].to(dtype), scratch)
        for name, values in rest.items():
            values[taken] = _COMPUTED[name](pair)
    found = {name: (found | rest)[name] for name in names}
    if "js" in found:
        _recompute_close(found["js"], first, second)
    return {name: values.clamp_(*DISTANCES[name].range).reshape(log_p.shape[:-1]) for name, values in found.items()}


@torch.no_grad()
def check_log_probabilities(log_p: Tensor, *, whose: str = "the model") -> None:
    """Refuse what is not a table of log-probabilities [..., V]: the wrong shape, NaN, rows that do not sum to 1."""
    if log_p.ndim == 0 or log_p.numel() == 0 or not log_p.is_floating_point():
        raise OffscriptError(
            f"{whose} gave {log_p.dtype} of shape {tuple(log_p.shape)}", why="log-probabilities [..., V] were expected"
        )
    tolerance = 1e-3 if torch.finfo(log_p.dtype).bits >= 32 else 3e-2
    rows = log_p.shape[:-1].numel()
    for taken in _row_slices(rows, log_p.shape[-1]):
        sums = log_p.reshape(rows, -1)[taken].to(torch.promote_types(log_p.dtype, torch.float32)).exp().sum(-1)
        if sums.isnan().any():
            raise OffscriptError(f"{whose} gave NaN", next="look at its weights")
        off = (sums - 1).abs()
        if off.max() > tolerance:
            total = sums[off.argmax()].item()
            raise OffscriptError(
                f"probabilities of {whose} sum to {total:.6g}", why="log-probabilities must be normalised"
            )


def _in_one_pass(log_p: Tensor, log_q: Tensor) -> dict[str, Tensor]:
    """The papers' distances of tables [rows, V] by machine code, where it is made for their kind."""
    if any(side.device.type != "cpu" or side.dtype != torch.float32 for side in (log_p, log_q)):
        return {}
    from offscript.measures._one_pass import one_pass

    slices = list(_row_slices(*log_p.shape))
    measured = one_pass(log_p.numpy(), log_q.numpy(), slices, threads=torch.get_num_threads())
    return {name: torch.from_numpy(values) for name, values in measured.items()}


class _Pair:
    """Two tables of log-probabilities [rows, V], what several distances share, and arrays to work in.

    `scratch` outlives the pair: fresh arrays for every step cost more than the arithmetic.
    """

    def __init__(self, log_p: Tensor, log_q: Tensor, scratch: dict[tuple[str, int], Tensor]) -> None:
        self.log_p, self.log_q, self._scratch = log_p, log_q, scratch

    def array(self, name: str) -> Tensor:
        """An array [rows, V] of this name, with anything in it."""
        key = name, len(self.log_p)
        if key not in self._scratch:
            self._scratch[key] = torch.empty_like(self.log_p, memory_format=torch.contiguous_format)
        return self._scratch[key]

    @cached_property
    def p(self) -> Tensor:
        return torch.exp(self.log_p, out=self.array("p"))

    @cached_property
    def q(self) -> Tensor:
        return torch.exp(self.log_q, out=self.array("q"))

    @cached_property
    def log_ratio(self) -> Tensor:
        """log p - log q, with ±1e20 for the infinities and 0 where both are zero."""
        log_q = torch.clamp_min(self.log_q, _LOG_OF_ZERO, out=self.array("work"))
        return torch.clamp_min(self.log_p, _LOG_OF_ZERO, out=self.array("log_ratio")).sub_(log_q)


def _total_variation(pair: _Pair) -> Tensor:
    return torch.sub(pair.p, pair.q, out=pair.array("work")).abs_().sum(-1).mul_(0.5)


def _jensen_shannon(pair: _Pair) -> Tensor:
    """½ Σ (p log p + q log q - 2 m log m): one logarithm, NaN where p or q has zeros, off by 1e-7 in float32.

    Rows that this does not serve are computed again (`_recompute_close`).
    """
    middle = torch.lerp(pair.p, pair.q, 0.5, out=pair.array("middle"))
    log_middle = torch.log(middle, out=pair.array("work"))
    terms = torch.mul(pair.p, pair.log_p, out=pair.array("terms")).addcmul_(pair.q, pair.log_q)
    return terms.addcmul_(middle, log_middle, value=-2.0).sum(-1).mul_(0.5)


def _recompute_close(divergences: Tensor, log_p: Tensor, log_q: Tensor) -> None:
    """Replace what is NaN, or so small that the fast sum has lost digits of it, in `divergences` [rows]."""
    close = (divergences > _CLOSE).logical_not_().nonzero().squeeze(-1)
    for taken in _row_slices(len(close), log_p.shape[-1]):
        rows = close[taken]
        p, q = (side[rows].to(divergences.dtype).exp_() for side in (log_p, log_q))
        divergences[rows] = _jensen_shannon_of_close(p, q)


def _jensen_shannon_of_close(p: Tensor, q: Tensor) -> Tensor:
    """¼ Σ (p + q) (u log u + v log v) with u = 1 + |p - q| / (p + q) and v = 2 - u.

    u lies in [1, 2] and v is exact, so what rounding does to the one it does to the other, and close distributions
    keep their digits: H(m) - ½H(p) - ½H(q) and its likes have none left below 1e-7.
    """
    total = (p + q).clamp_min_(_SMALLEST)
    larger = (p - q).abs_().div_(total).add_(1.0)  # u
    smaller = 2.0 - larger  # v
    weighed = larger.log().mul_(larger).addcmul_(smaller, smaller.clamp_min(_SMALLEST).log_())
    return weighed.mul_(total).sum(-1).mul_(0.25)


def _greedy_decoding(pair: _Pair) -> Tensor:
    return (_most_probable(pair.log_p) != _most_probable(pair.log_q)).to(pair.log_p.dtype)


def _kullback_leibler(pair: _Pair) -> Tensor:
    """The plain sum, which is NaN where p has zeros; the sum that keeps them apart takes twice as long."""
    plain = torch.sub(pair.log_p, pair.log_q, out=pair.array("work")).mul_(pair.p).sum(-1)
    if not plain.isnan().any():
        return plain
    excluded = pair.log_ratio.amax(-1) > -_LOG_OF_ZERO / 2
    return torch.mul(pair.p, pair.log_ratio, out=pair.array("work")).sum(-1).masked_fill_(excluded, math.inf)


def _kullback_leibler_reverse(pair: _Pair) -> Tensor:
    excluded = pair.log_ratio.amin(-1) < _LOG_OF_ZERO / 2
    weighed = torch.mul(pair.q, pair.log_ratio, out=pair.array("work"))
    return weighed.sum(-1).neg_().masked_fill_(excluded, math.inf)


def _hellinger(pair: _Pair) -> Tensor:
    root_of_q = torch.sqrt(pair.q, out=pair.array("root_of_q"))
    difference = torch.sqrt(pair.p, out=pair.array("work")).sub_(root_of_q)
    return difference.square_().sum(-1).mul_(0.5).sqrt_()


_COMPUTED: dict[str, Callable[[_Pair], Tensor]] = {
    "gd": _greedy_decoding,
    "kl": _kullback_leibler,
    "kl_reverse": _kullback_leibler_reverse,
    "hellinger": _hellinger,
    "tv": _total_variation,
    "js": _jensen_shannon,
}


def _most_probable(log_p: Tensor) -> Tensor:
    """Index of each row's maximum, the lowest of equal ones. On CPUs numpy finds it 25 times as fast as torch."""
    if log_p.device.type == "cpu":
        return torch.from_numpy(log_p.numpy().argmax(-1))
    return log_p.argmax(-1)


def _row_slices(rows: int, vocabulary: int) -> Iterator[slice]:
    at_once = max(1, ELEMENTS_AT_ONCE // max(1, vocabulary))
    return (slice(start, start + at_once) for start in range(0, rows, at_once))
