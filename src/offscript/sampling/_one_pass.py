"""Draws from tables of log-probabilities in single precision, each row read twice and nothing else written."""

import math

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import compiled, summing
from offscript._exponential import LOWEST, exponential

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
_f = np.float32
_VECTORS = 32
"""Blocks are a multiple of it: what is left of one after whole vectors would take as long as they do."""


def drawn(log_probs: Floats, highest: Floats, rows: Integers, uniform: NDArray[np.float64]) -> Integers:
    """One place for each named row of [rows, V], whose highest log-probabilities are finite; see `draw_of_rows`.

    The weights of a row's blocks are added up first, so that a draw looks at the blocks and at the places of one. What
    is less likely than 10⁻³⁷ times the likeliest is never drawn.
    """
    size = log_probs.shape[1]
    block = -(-math.isqrt(size) // _VECTORS) * _VECTORS
    sums = np.empty((len(log_probs), -(-size // block)), dtype=np.float32)
    _add_up(log_probs, highest, block, sums)
    places = np.empty(len(rows), dtype=np.int64)
    _choose(log_probs, highest, sums, block, rows, uniform, places)
    return places


@summing
def _add_up(log_probs: Floats, highest: Floats, block: int, sums: Floats) -> None:
    for row in range(log_probs.shape[0]):
        for number in range(sums.shape[1]):
            part, total = log_probs[row, number * block : (number + 1) * block], _f(0)
            for index in range(len(part)):
                x = part[index] - highest[row]
                total += exponential(LOWEST if x < LOWEST else x) if x > LOWEST else _f(0)
            sums[row, number] = total


@compiled
def _choose(
    log_probs: Floats,
    highest: Floats,
    sums: Floats,
    block: int,
    rows: Integers,
    uniform: NDArray[np.float64],
    places: Integers,
) -> None:
    """The first place whose cumulative weight exceeds the target, in double precision.

    Rounding may leave a target beyond the end of its block, or of all: the last place with any weight is taken then.
    """
    for number in range(len(rows)):
        row, total = rows[number], 0.0
        for chosen in range(sums.shape[1]):
            total += sums[row, chosen]
        rest, chosen = uniform[number] * total, 0
        while chosen + 1 < sums.shape[1] and rest >= sums[row, chosen]:
            rest -= sums[row, chosen]
            chosen += 1
        while sums[row, chosen] == 0:
            rest, chosen = np.inf, chosen - 1
        for index in range(chosen * block, min((chosen + 1) * block, log_probs.shape[1])):
            x = log_probs[row, index] - highest[row]
            if x > LOWEST:
                weight = exponential(x)
                places[number] = index
                if rest < weight:
                    break
                rest -= weight
