"""Ratios of means at every length and their average: what each resample or each sequence does to them."""

import math

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.estimates import (
    LEAST,
    Bounds,
    Estimate,
    Profile,
    as_table,
    as_vector,
    profile,
    student_quantiles,
)
from offscript.statistics.resampling import RESAMPLES, percentile_bounds, resampled, spread, with_average

_SMALL = 50  # from so many sequences on, the percentile bootstrap covers
_UNBOUNDED = "; unbounded where a mean is zero or infinite"


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Ratio of deviations (eq. 6 and 9): x/0 is infinite, and equal ones give 1, zeros and infinities included.

    Args:
        numerator: Deviations of any shape.
        denominator: Deviations of the same shape.

    Returns:
        Their ratios.
    """
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    bottom = bottom + 0.0  # -0.0 is no negative deviation
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(top == bottom, 1.0, top / bottom)


def ratio_of_means_interval(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    *,
    generator: np.random.Generator,
    paired: bool = False,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Estimate:
    """`ratio_of_means_by_length` for a single length.

    Args:
        numerator: One value per sequence, [n_a].
        denominator: One value per sequence, [n_b].
        generator: Source of the resamples.
        paired: Whether item i of both comes from one draw of common random numbers.
        level: Level of the interval.
        resamples: How often the sequences are resampled.

    Returns:
        The ratio with its interval.
    """
    return ratio_of_means_by_length(
        as_vector(numerator, least=LEAST)[:, None],
        as_vector(denominator, least=LEAST)[:, None],
        generator=generator,
        paired=paired,
        level=level,
        resamples=resamples,
    ).average


def ratio_of_means_by_length(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    *,
    generator: np.random.Generator,
    paired: bool = False,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Profile:
    """Mean over mean at every length (EB-C, eq. 9) and the average of these ratios over the lengths.

    Whole rows are resampled, so the average's interval knows how the lengths depend on each other; percentile intervals
    cover 0.94 to 0.96 at n = 200 to 1,000 for beta, exponential, log-normal and Bernoulli(≥ 0.05) values. Fewer than 50
    rows get the jackknife of the logarithm with Student's t: at n = 10 it covers 0.94 to 0.97, percentiles 0.90.

    x/0 is infinite; 0/0 and inf/inf are 1, as for any two equal deviations. Where a mean is zero or infinite the
    sample does not bound the ratio: the interval goes from 0 (from -inf if any value is negative) to inf, and its
    method says so.

    Args:
        numerator: One row per sequence, [n_a, lengths].
        denominator: One row per sequence, [n_b, lengths].
        generator: Source of the resamples.
        paired: Whether row i of both comes from one draw of common random numbers, so that both are resampled together.
        level: Level of the intervals.
        resamples: How often the sequences are resampled.

    Returns:
        The average of the ratios, and the ratio at each length.
    """
    top, bottom = as_table(numerator, least=LEAST), as_table(denominator, least=LEAST)
    if top.shape[1] != bottom.shape[1] or (paired and len(top) != len(bottom)):
        raise OffscriptError(
            f"cannot compute a ratio of values of shapes {top.shape} and {bottom.shape}", next="give equal lengths"
        )
    values = with_average(ratio(top.mean(axis=0), bottom.mean(axis=0))[None])[0]
    if min(len(top), len(bottom)) < _SMALL:
        bounds = _jackknife_bounds(top, bottom, values, paired=paired, level=level)
        method = "jackknife of the logarithm"
    else:
        bounds = _bootstrap_bounds(top, bottom, paired=paired, level=level, resamples=resamples, generator=generator)
        method = "bootstrap percentile"
    return profile(values, bounds, level, method if _bounded(top, bottom).all() else method + _UNBOUNDED)


def pseudo_values(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Each sequence's part in the average ratio to first order: their mean is the ratio, their spread its own.

    Args:
        numerator: One row per sequence, [n, lengths].
        denominator: One row per sequence, [n, lengths].

    Returns:
        One value per sequence, [n].
    """
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    top_means, bottom_means = top.mean(axis=0), bottom.mean(axis=0)
    ratios = ratio(top_means, bottom_means)  # [lengths]
    with np.errstate(divide="ignore", invalid="ignore"):
        influences = (top - top_means - ratios * (bottom - bottom_means)) / bottom_means  # [n, lengths]
    return np.asarray((ratios + influences).mean(axis=1))


def _bootstrap_bounds(
    top: FloatArray,
    bottom: FloatArray,
    *,
    paired: bool,
    level: float,
    resamples: int,
    generator: np.random.Generator,
) -> Bounds:
    """Percentile bounds over resampled sequences; a ratio that is undefined may lie anywhere from the floor up."""
    sizes = [len(top)] if paired else [len(top), len(bottom)]
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = resampled(lambda *weights: (weights[0] @ top) / (weights[-1] @ bottom), sizes, resamples, generator)
    draws = np.where(_bounded(top, bottom), draws, math.nan)
    floor, undefined = _floor(top, bottom), np.isnan(draws)
    lower, _ = percentile_bounds(with_average(np.where(undefined, floor, draws)), level)
    _, upper = percentile_bounds(with_average(np.where(undefined, math.inf, draws)), level)
    return spread(with_average(draws)), lower, upper


def _jackknife_bounds(top: FloatArray, bottom: FloatArray, values: FloatArray, *, paired: bool, level: float) -> Bounds:
    """Bounds of `values` [lengths + 1] from the ratios without each sequence in turn.

    They are symmetric for the logarithm, or for the ratio itself where values may be negative.
    """
    floor = _floor(top, bottom)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tables = _left_out(top, bottom, paired)
        scaled = tables if floor else [np.log(table) for table in tables]
        sizes = np.array([[len(table)] for table in scaled])
        parts = (sizes - 1) * np.stack([table.var(axis=0) for table in scaled])  # variances, [samples, lengths + 1]
        variances = parts.sum(axis=0)
        freedom = np.where(variances > 0, variances**2 / (parts**2 / (sizes - 1)).sum(axis=0), 1.0)  # Welch's
        errors = np.sqrt(variances)
        reach = student_quantiles(freedom, (1 + level) / 2) * errors
        ends = (values - reach, values + reach) if floor else (values / np.exp(reach), values * np.exp(reach))
    bounded = _bounded(top, bottom)
    known = np.append(bounded, bounded.all()) & np.isfinite(reach)
    errors = np.where(known, errors if floor else errors * values, math.inf)
    return errors, np.where(known, ends[0], floor), np.where(known, ends[1], math.inf)


def _left_out(top: FloatArray, bottom: FloatArray, paired: bool) -> list[FloatArray]:
    """Ratios without each sequence [n, lengths + 1], the average's last: of both sides together, or of each side."""
    tops, bottoms = ((table.sum(axis=0) - table) / (len(table) - 1) for table in (top, bottom))
    if paired:
        return [with_average(ratio(tops, bottoms))]
    return [with_average(ratio(tops, bottom.mean(axis=0))), with_average(ratio(top.mean(axis=0), bottoms))]


def _bounded(top: FloatArray, bottom: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether a sample bounds the ratio at each length: not where it saw a mean of zero or infinity."""
    means = np.stack([top.mean(axis=0), bottom.mean(axis=0)])
    bounded: npt.NDArray[np.bool_] = (np.isfinite(means) & (means != 0)).all(axis=0)
    return bounded


def _floor(top: FloatArray, bottom: FloatArray) -> float:
    return 0.0 if min(top.min(), bottom.min()) >= 0 else -math.inf
