"""Intervals for figures of a whole set of sentences, which no mean over single sentences gives."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from offscript.errors import OffscriptError
from offscript.measures._resampling import FloatArray
from offscript.measures.intervals import Estimate, Interval

GROUPS = 20


def jackknife(
    statistic: Callable[[npt.NDArray[np.bool_]], FloatArray], sentences: int, *, level: float = 0.95
) -> list[Estimate]:
    """Estimates of the figures [k] that `statistic` gives for the sentences marked in its argument.

    Blocks of neighbouring sentences are left out in turn. A bootstrap would not do: counts of distinct things fall when
    sentences are drawn twice. Nor would the interval of a mean: sentences that are each other's references do not score
    independently, and for self-BLEU-4 it may cover no more than 0.82 where this one covers 0.95.
    """
    if sentences < 2:
        raise OffscriptError(f"{sentences} sentence(s)", why="an interval needs at least two", next="give more")
    groups = min(GROUPS, sentences)
    block = np.arange(sentences) * groups // sentences  # [sentences]
    values = statistic(np.ones(sentences, dtype=bool))
    without = np.stack([statistic(block != left_out) for left_out in range(groups)])  # [groups, k]
    errors = np.sqrt((groups - 1) * without.var(axis=0))
    reach = float(stdtrit(groups - 1, (1 + level) / 2)) * errors
    return [
        Estimate(float(value), float(error), Interval(float(value - half), float(value + half), level, "jackknife"))
        for value, error, half in zip(values, errors, reach, strict=True)
    ]


def within(estimate: Estimate, lower: float, upper: float = math.inf) -> Estimate:
    """The estimate with its interval cut to what its figure can be."""
    known = estimate.interval
    bounds = max(float(lower), known.lower), min(float(upper), known.upper)
    return Estimate(estimate.value, estimate.standard_error, Interval(*bounds, known.level, known.method))
