"""Random numbers that belong to a row and a step, so that no figure depends on the batch size; draws made with them."""

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from offscript.errors import OffscriptError

_BLOCK = 4
"""Philox makes four 64-bit numbers for each value of its counter."""

Seed = int | tuple[int, ...]


class RowDraws(Protocol):
    """Uniform numbers for consecutive rows at one step."""

    def uniform(self, step: int, first_row: int, rows: int, width: int = 1, stream: int = 0) -> Tensor:
        """[rows, width] numbers in [0, 1), double precision."""


class Draws:
    """Uniform numbers addressed by (seed, stream, step, row): a counter-based generator, nothing is consumed.

    Two models that draw with the same seed use common random numbers.
    """

    def __init__(self, seed: Seed) -> None:
        self.seed = seed
        parts = [seed] if isinstance(seed, int) else list(seed)
        if not parts or min(parts) < 0:
            raise OffscriptError(f"cannot use the seed {seed!r}", next="give whole numbers of 0 or more")
        # SeedSequence pads with zeros: without the length, the seeds 2 and (2, 0) would give the same numbers.
        sequence = np.random.SeedSequence(parts, spawn_key=(len(parts),))
        self._key = sequence.generate_state(2, np.uint64)

    def uniform(self, step: int, first_row: int, rows: int, width: int = 1, stream: int = 0) -> Tensor:
        """[rows, width] numbers of rows `first_row` … at a step; streams are independent of each other."""
        key = self._key + np.array([step, stream], dtype=np.uint64)
        bits = np.random.Philox(key=key)
        first = first_row * width
        bits.advance(first // _BLOCK)
        skipped = first % _BLOCK
        numbers = np.random.Generator(bits).random(skipped + rows * width)[skipped:]
        return torch.from_numpy(numbers).view(rows, width)

    def of_rows(self, rows: Tensor) -> "SelectedDraws":
        """The same numbers seen from a subset: local row i stands for `rows[i]` (ascending)."""
        return SelectedDraws(self, rows)


class SelectedDraws:
    """The draws of chosen rows, numbered from 0."""

    def __init__(self, draws: Draws, rows: Tensor) -> None:
        self._draws, self._rows = draws, rows.cpu()

    def uniform(self, step: int, first_row: int, rows: int, width: int = 1, stream: int = 0) -> Tensor:
        """[rows, width] numbers of the chosen rows `first_row` …"""
        chosen = self._rows[first_row : first_row + rows]
        if not len(chosen):
            return torch.empty(0, width, dtype=torch.float64)
        lowest, highest = int(chosen[0]), int(chosen[-1])
        return self._draws.uniform(step, lowest, highest - lowest + 1, width, stream)[chosen - lowest]


def as_normal(uniform: Tensor) -> Tensor:
    """Standard normal numbers from uniform ones in [0, 1), in double precision."""
    numbers: Tensor = torch.special.ndtri(uniform.clamp(min=torch.finfo(uniform.dtype).tiny))
    return numbers


def draw(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """One token a row of [rows, V] log-probabilities, for a uniform number a row in [0, 1).

    The token is the first whose cumulative probability exceeds the number, so a token of probability zero is
    never drawn. The distribution need not be normalised.
    """
    cumulative = log_probs.exp().cumsum(dim=-1)  # [rows, V]
    total = cumulative[:, -1:]
    _require_positive(total.squeeze(1))
    target = uniform.to(cumulative).view(-1, 1) * total
    return torch.searchsorted(cumulative, torch.minimum(target, _below(total)), right=True).squeeze(1)


def draw_of_rows(log_probs: Tensor, rows: Tensor, uniform: Tensor) -> Tensor:
    """As `draw`, one token [n] for each of the named rows [n] of [rows, V] log-probabilities, rows repeated at will.

    A block of the vocabulary is chosen first, then a token in it: nothing but sums runs over all of the vocabulary, and
    rows that are named several times are read once. Rounding aside it draws what `draw` draws. Each row of log-
    probabilities may lack a constant.
    """
    highest, size = log_probs.amax(dim=1, keepdim=True), log_probs.shape[1]
    if log_probs.device.type == "cpu" and log_probs.dtype == torch.float32:
        from offscript.sampling._one_pass import drawn  # late: it imports numba

        highest = highest.squeeze(1)
        _require_positive(torch.where(highest.isfinite(), 1.0, highest.exp()))
        return torch.from_numpy(drawn(*(each.numpy() for each in (log_probs, highest, rows, uniform.double()))))
    weights, block = (log_probs - highest).exp_(), max(1, math.isqrt(size))
    whole = size - size % block
    sums = [weights[:, :whole].unflatten(1, (-1, block)).sum(dim=2), weights[:, whole:].sum(dim=1, keepdim=True)]
    cumulative = torch.cat(sums, dim=1).double().cumsum(dim=1)  # [rows, blocks + 1]
    _require_positive(cumulative[:, -1])
    cumulative = cumulative[rows]
    target = (uniform.to(cumulative).unsqueeze(1) * cumulative[:, -1:]).minimum(_below(cumulative[:, -1:]))
    chosen = torch.searchsorted(cumulative, target, right=True)  # [n, 1]
    before = torch.where(chosen > 0, cumulative.gather(1, (chosen - 1).clamp(min=0)), 0.0)
    columns = chosen * block + torch.arange(block, device=chosen.device)
    inside = weights[rows.unsqueeze(1), columns.clamp(max=size - 1)].double().masked_fill(columns >= size, 0.0)
    inside = inside.cumsum(dim=1)
    place = torch.searchsorted(inside, (target - before).clamp(min=0).minimum(_below(inside[:, -1:])), right=True)
    return (chosen * block + place).squeeze(1)


def _below(totals: Tensor) -> Tensor:
    """The largest numbers below the totals."""
    return torch.nextafter(totals, torch.zeros_like(totals))


def _require_positive(totals: Tensor) -> None:
    wrong = ~((totals > 0) & totals.isfinite())
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise OffscriptError(
            f"row {row} of {len(totals)} is not a distribution to draw from",
            why=f"its probabilities sum to {float(totals[row])}",
            next="look at the model that gave it",
        )
