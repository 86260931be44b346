"""The jackknife at every length, for distances between averaged distributions: groups of sequences leave in turn.

Chosen by measured coverage. On random tables, with distributions averaged or counted, this covers 0.945 to 0.97, the
percentile and the mirrored bootstrap 0.89 to 0.94. Over large vocabularies such a distance is too large by what
sampling adds, often by many standard errors; that bias is judged by how the distance grows as the sample is halved and
quartered. (The jackknife's own estimate of it would cover 0.71 to 0.95 on the tables: total variation has kinks.)
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from offscript.measures._ratios import with_average
from offscript.measures._resampling import FloatArray
from offscript.measures.intervals import Curve, Estimate, Interval, Profile

METHOD, STRETCHED = "jackknife", "jackknife, stretched by its bias"


def leave_out_profile(
    values: FloatArray,
    left_out: Sequence[FloatArray],
    *,
    level: float,
    highest: float = math.inf,
    logarithmic: bool = False,
) -> Profile:
    """A profile from a non-negative statistic's `values` [lengths] and what it is without each group in turn.

    `left_out` has one table [groups, lengths] for each independent sample. A distance between averages is too large by
    what sampling adds; where the jackknife finds this bias larger than a standard error, the interval is stretched to
    where the unbiased value would lie. `logarithmic` makes it symmetric for the logarithm, as suits a ratio. Where the
    value or a group's share in it is infinite or undefined, the sample does not bound it: from 0 to `highest`.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = _scaled(values[None], logarithmic)[0]  # [lengths + 1]
        replicates = [_scaled(table, logarithmic) for table in left_out]
        errors, bias = _moments(centre, replicates)
        known = np.isfinite(centre) & np.isfinite(errors)
        reach = float(stdtrit(min(map(len, replicates)) - 1, (1 + level) / 2)) * errors
        shift = np.where(np.abs(bias) > errors, -bias, 0.0)
        ends = centre + np.minimum(shift, 0.0) - reach, centre + np.maximum(shift, 0.0) + reach
    found = with_average(values[None])[0]
    if logarithmic:
        with np.errstate(over="ignore"):
            ends, errors = (np.exp(ends[0]), np.exp(ends[1])), found * errors
    lower = np.where(known, np.clip(ends[0], 0.0, highest), 0.0)
    upper = np.where(known, np.clip(ends[1], 0.0, highest), highest)
    method = STRETCHED if (shift[known] != 0).any() else METHOD
    return _profile(found, np.where(known, errors, math.inf), lower, upper, level, method)


def _scaled(table: FloatArray, logarithmic: bool) -> FloatArray:
    averaged = with_average(table)
    return np.log(averaged) if logarithmic else averaged


def _moments(centre: FloatArray, replicates: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Standard error and bias; independent samples add up."""
    variance, bias = np.zeros_like(centre), np.zeros_like(centre)
    for table in replicates:
        groups, mean = len(table), table.mean(axis=0)
        variance += (groups - 1) / groups * ((table - mean) ** 2).sum(axis=0)
        bias += (groups - 1) * (mean - centre)
    return np.sqrt(variance), bias


def _profile(
    values: FloatArray, errors: FloatArray, lower: FloatArray, upper: FloatArray, level: float, method: str
) -> Profile:
    interval = Interval(float(lower[-1]), float(upper[-1]), level, method)
    curve = Curve.of(values[:-1], (lower[:-1], upper[:-1]), level, method)
    return Profile(Estimate(float(values[-1]), float(errors[-1]), interval), curve)
