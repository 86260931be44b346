"""The bootstrap's machinery: resampling weights in blocks of bounded memory, and bounds from what they give."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from offscript.errors import OffscriptError

FloatArray = npt.NDArray[np.float64]

BLOCK_ELEMENTS = 1 << 23  # resampling weights held at once: 64 MB
CACHE_ELEMENTS = 1 << 17  # drawn indices held at once, so that counting them stays within the cache


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
        raise OffscriptError(f"{resamples} resamples", why="they give no bounds to rely on", next="ask for 1000")
    return np.concatenate([statistic(*weights) for weights in weight_blocks(sizes, resamples, generator)])


def percentile_bounds(draws: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Order statistics of `draws` [resamples, …] that leave (1 - level) / 2 on either side.

    They are not interpolated, so that infinite draws stay exact.
    """
    resamples, tail = len(draws), (1 - level) / 2
    first = max(0, math.floor((resamples + 1) * tail) - 1)
    ordered = np.partition(draws, [first, resamples - 1 - first], axis=0)
    return ordered[first], ordered[resamples - 1 - first]


def spread(draws: FloatArray) -> FloatArray:
    """Standard deviation over resamples; infinite where a draw is not finite."""
    finite = np.isfinite(draws).all(axis=0)
    return np.where(finite, np.where(finite, draws, 0.0).std(axis=0, ddof=1), math.inf)


def weighted_correlation(weights: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Pearson's correlation under each row of `weights` [resamples, n]; values are [n] or [resamples, n]."""
    first_centred = first - (weights * first).sum(axis=1, keepdims=True)
    second_centred = second - (weights * second).sum(axis=1, keepdims=True)
    covariance = (weights * first_centred * second_centred).sum(axis=1)
    scale = (weights * first_centred**2).sum(axis=1) * (weights * second_centred**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 0, covariance / np.sqrt(scale), math.nan)


def weighted_ranks(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Mid-ranks (ties share theirs) of every item within each resample: [resamples, n], as shares of the sample."""
    _, group = np.unique(values, return_inverse=True)  # [n]
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    masses = np.add.reduceat(weights[:, order], starts, axis=1)  # [resamples, groups]
    return (np.cumsum(masses, axis=1) - masses / 2)[:, group]
