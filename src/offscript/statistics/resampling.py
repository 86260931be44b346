"""The bootstrap: resampling weights in blocks of bounded memory, and intervals of any function of them."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.estimates import Bounds, Estimate, Interval, Profile, profile, single

RESAMPLES = 1000
_EQUAL = "all resamples equal"
BLOCK_ELEMENTS = 1 << 23  # resampling weights held at once: 64 MB
CACHE_ELEMENTS = 1 << 17  # drawn indices held at once, so that counting them stays within the cache


def bootstrap(
    statistic: Callable[..., FloatArray],
    sizes: Sequence[int],
    *,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    method: str = "percentile",
) -> Estimate:
    """Any function of resampling weights, over independent samples of the given sizes.

    `statistic` takes one matrix of weights [rows, n] a sample, whose rows sum to 1 (so that `weights @ values` are
    means), and returns [rows]. `method` is "percentile", or "basic" (the percentile interval mirrored at the value) for
    statistics that a finite sample pushes to one side, such as a distance between averaged distributions (eq. 5):
    resampling pushes once more, and mirroring takes the push back. For such distances over 20 to 50 tokens from 300 to
    2,000 samples, basic intervals covered 0.89 to 0.94, percentile intervals 0.01 to 0.8.

    Args:
        statistic: Maps weights, one matrix per sample, to figures [rows].
        sizes: Items in each sample.
        generator: Draws the resamples.
        resamples: How many to draw.
        level: Level of the interval.
        method: "percentile" or "basic".

    Returns:
        The figure of the whole sample with its interval.
    """
    values, draws = value_and_draws(statistic, sizes, resamples, generator)
    errors, lower, upper = _bounds_of(values[:, None], draws[:, None], level, method)
    return single(values, errors, lower, upper, level, f"bootstrap {method}")


def bootstrap_by_length(
    statistic: Callable[..., FloatArray],
    sizes: Sequence[int],
    *,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    method: str = "percentile",
) -> Profile:
    """As `bootstrap`, for a statistic that returns [rows, lengths]; the average over lengths has its own interval.

    Args:
        statistic: Maps weights, one matrix per sample, to figures [rows, lengths].
        sizes: Items in each sample.
        generator: Draws the resamples.
        resamples: How many to draw.
        level: Level of the intervals.
        method: "percentile" or "basic".

    Returns:
        One estimate per length, and that of their average.
    """
    values, draws = (with_average(table) for table in value_and_draws(statistic, sizes, resamples, generator))
    return profile(values[0], _bounds_of(values, draws, level, method), level, f"bootstrap {method}")


def resampling_counts(n: int, resamples: int, generator: np.random.Generator) -> FloatArray:
    """How often each of `n` items is drawn in each resample with replacement: [resamples, n], rows sum to n.

    Counting drawn indices has the law of `Generator.multinomial` and takes a tenth of its time at n = 100,000.
    """
    counts = np.empty((resamples, n))
    rows = max(1, CACHE_ELEMENTS // n)
    for start in range(0, resamples, rows):
        block = counts[start : start + rows]
        drawn = generator.integers(0, n, size=block.shape)
        drawn += np.arange(0, block.size, n)[:, None]
        block[:] = np.bincount(drawn.ravel(), minlength=block.size).reshape(block.shape)
    return counts


def weight_blocks(sizes: Sequence[int], resamples: int, generator: np.random.Generator) -> Iterator[list[FloatArray]]:
    """For each independent sample weights [block, n] whose rows sum to 1, until `resamples` rows are out."""
    rows = max(1, BLOCK_ELEMENTS // sum(sizes))
    for start in range(0, resamples, rows):
        block = min(rows, resamples - start)
        counted = [resampling_counts(n, block, generator) for n in sizes]
        for counts, n in zip(counted, sizes, strict=True):
            counts /= n
        yield counted


def resampled(
    statistic: Callable[..., FloatArray], sizes: Sequence[int], resamples: int, generator: np.random.Generator
) -> FloatArray:
    """`statistic` of every resample: [resamples, …]."""
    if resamples < 100:
        raise OffscriptError(
            f"cannot use {resamples} resamples", why="they give no reliable bounds", next="ask for 1000"
        )
    return np.concatenate([statistic(*weights) for weights in weight_blocks(sizes, resamples, generator)])


def two_stage_draws(
    statistic: Callable[[FloatArray], FloatArray], counts: FloatArray, resamples: int, generator: np.random.Generator
) -> FloatArray:
    """The statistic of every resample, [resamples, …]: groups are drawn, and for each as many items as it has.

    Whole groups alone would do where they are many; three are too few to show how far groups vary. What items vary is
    counted in both draws, so intervals err on the wide side.

    Args:
        statistic: Takes [block, groups, outcomes], returns [block, …].
        counts: How many items of each group had each outcome [groups, outcomes].
        resamples: How many resamples to draw.
        generator: Source of the draws.

    Returns:
        One row per resample.
    """
    sizes = counts.sum(axis=1, keepdims=True)  # [groups, 1]
    shares, whole = counts / sizes, sizes[:, 0].astype(np.int64)
    block, draws = max(1, BLOCK_ELEMENTS // counts.size), []
    for first in range(0, resamples, block):
        rows = min(block, resamples - first)
        chosen = generator.integers(0, len(counts), size=(rows, len(counts)))
        draws.append(statistic(generator.multinomial(whole[chosen], shares[chosen]).astype(np.float64)))
    return np.concatenate(draws)


def estimates_of_draws(values: FloatArray, draws: FloatArray, *, level: float, method: str) -> list[Estimate]:
    """Percentile intervals of figures from their values [figures] and from those of each resample [resamples, figures].

    An interval contains its value: a figure with a peak, such as icat, lies below it in every resample.

    Args:
        values: The figures of the whole sample.
        draws: The figures of every resample.
        level: Level of the intervals.
        method: The label of the method.

    Returns:
        One estimate per figure.
    """
    lower, upper = percentile_bounds(draws, level)
    return [
        Estimate(
            float(value),
            float(spread(column)),
            Interval(float(min(low, value)), float(max(high, value)), level, method if low < high else _EQUAL),
        )
        for value, column, low, high in zip(values, draws.T, lower, upper, strict=True)
    ]


def percentile_bounds(draws: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Order statistics of `draws` [resamples, …] that leave (1 - level) / 2 on either side.

    They are not interpolated, so that infinite draws stay exact.
    """
    resamples, tail = len(draws), (1 - level) / 2
    first = max(0, math.floor((resamples + 1) * tail + 1e-9) - 1)  # (1 - 0.9) / 2 is less than 0.05
    ordered = np.partition(draws, [first, resamples - 1 - first], axis=0)
    return ordered[first], ordered[resamples - 1 - first]


def spread(draws: FloatArray) -> FloatArray:
    """Standard deviation over resamples; infinite where a draw is not finite."""
    finite = np.isfinite(draws).all(axis=0)
    return np.where(finite, np.where(finite, draws, 0.0).std(axis=0, ddof=1), math.inf)


def value_and_draws(
    statistic: Callable[..., FloatArray], sizes: Sequence[int], resamples: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """The statistic under equal weights [1, …] and under every resample's [resamples, …]."""
    if min(sizes, default=0) < 2:
        raise OffscriptError(
            f"cannot run a bootstrap over samples of sizes {list(sizes)}", why="an interval needs at least two"
        )
    value = statistic(*(np.full((1, n), 1 / n) for n in sizes))
    if np.isnan(value).any():
        raise OffscriptError(
            "cannot run a bootstrap of a statistic that is NaN", next="look at the values it is made from"
        )
    return value, resampled(statistic, sizes, resamples, generator)


def _bounds_of(values: FloatArray, draws: FloatArray, level: float, method: str) -> Bounds:
    lower, upper = percentile_bounds(draws, level)
    errors = spread(draws)
    if method == "percentile":
        return errors, lower, upper
    if method == "basic":
        mirrored = np.isfinite(values[0]) & np.isfinite(lower) & np.isfinite(upper)
        double = 2 * values[0]
        return errors, np.where(mirrored, double - upper, lower), np.where(mirrored, double - lower, upper)
    raise OffscriptError(f"no method {method!r} for a bootstrap", next="known: percentile, basic")


def with_average(table: FloatArray) -> FloatArray:
    """`table` [rows, lengths] and a last column with the average over the lengths."""
    return np.column_stack([table, table.mean(axis=1)])
