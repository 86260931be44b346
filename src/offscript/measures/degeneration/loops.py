"""Faults of single texts that show in their tokens: cycles at the end, runs of the prompt, n-grams seen before."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from offscript._types import FloatArray

CYCLES = 3
"""How often an n-gram stands in a row before it counts as a loop."""

SHORTEST_LOOP = 8
"""Tokens that a loop has at least: three dots at the end of a sentence are none."""

SHORTEST_COPY = 4
"""Tokens of the prompt in one run that count as copied, where half of the prompt is less."""


class Loop(NamedTuple):
    """An n-gram that is repeated up to a text's end: its first token's place, and how many tokens it has."""

    start: int
    period: int


def loop_of(tokens: Sequence[int]) -> Loop | None:
    """The cycle that a text ends in, or None.

    A text x₁ … xₙ ends in a cycle of period p from s on if xᵢ = xᵢ₋ₚ for all i ≥ s + p. It counts from three cycles and
    eight tokens on; the last cycle may be cut. Of several periods (two are one of four) the shortest is meant.

    Args:
        tokens: The text, without its end token.

    Returns:
        Where the cycle begins, counted from 0, and its period.
    """
    row = np.asarray(tokens)
    for period in range(1, len(row) // CYCLES + 1):
        differs = np.flatnonzero(row[period:] != row[:-period])
        start = int(differs[-1]) + 1 if len(differs) else 0
        if len(row) - start >= max(CYCLES * period, SHORTEST_LOOP):
            return Loop(start, period)
    return None


def longest_run(prompt: Sequence[int], text: Sequence[int]) -> int:
    """How many tokens of a prompt stand in a text one after another at most (longest common substring)."""
    if not prompt or not text:
        return 0
    same = np.asarray(prompt)[:, None] == np.asarray(text)[None, :]  # [prompt, text]
    runs, longest = np.zeros(len(text), dtype=np.int64), 0
    for row in same:
        runs = np.where(row, np.concatenate([[0], runs[:-1]]) + 1, 0)
        longest = max(longest, int(runs.max()))
    return longest


def copies(prompt: Sequence[int], text: Sequence[int]) -> bool:
    """Whether half of the prompt or more, four tokens at least, stands in the text in one run."""
    return longest_run(prompt, text) >= max(SHORTEST_COPY, -(-len(prompt) // 2))


def seen_before(texts: Sequence[Sequence[int]], length: int, *, order: int) -> FloatArray:
    """Where texts repeat themselves: 1 at every token that ends an n-gram which stood in the text before.

    Args:
        texts: Tokens of each text.
        length: Positions of the table.
        order: The n of the n-grams.

    Returns:
        A table [texts, length]: 0 or 1, and NaN where a text has ended or has no n-gram yet.
    """
    table = np.full((len(texts), length), np.nan)
    for row, text in enumerate(texts):
        known: set[tuple[int, ...]] = set()
        for place in range(order - 1, min(len(text), length)):
            gram = tuple(text[place - order + 1 : place + 1])
            table[row, place] = gram in known
            known.add(gram)
    return table
