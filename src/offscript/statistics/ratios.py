"""Ratios of means at every length and their average: what each resample or each sequence does to them."""

import math

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.estimates import Bounds, Estimate, Profile, as_table, as_vector, normal_quantile, profile
from offscript.statistics.resampling import RESAMPLES, percentile_bounds, resampled, spread, with_average


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Ratio of deviations (eq. 6 and 9): x/0 is infinite, and equal ones give 1, zeros and infinities included."""
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
    method: str = "bootstrap",
    resamples: int = RESAMPLES,
) -> Estimate:
    """`ratio_of_means_by_length` for a single length: vectors [n_a] and [n_b]."""
    return ratio_of_means_by_length(
        as_vector(numerator)[:, None],
        as_vector(denominator)[:, None],
        generator=generator,
        paired=paired,
        level=level,
        method=method,
        resamples=resamples,
    ).average


def ratio_of_means_by_length(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    *,
    generator: np.random.Generator,
    paired: bool = False,
    level: float = 0.95,
    method: str = "bootstrap",
    resamples: int = RESAMPLES,
) -> Profile:
    """Mean over mean at every length (EB-C, eq. 9) and the average of these ratios over the lengths.

    `numerator` [n_a, lengths] and `denominator` [n_b, lengths] hold one row a sequence. Whole rows are resampled, so
    the average's interval knows how the lengths depend on each other. `paired` says that row i of both comes from one
    draw of common random numbers: the same rows are resampled on both sides.

    `method` is "bootstrap" (percentile) or "delta" (closed form on the logarithmic scale, for non-negative values).
    Both cover 0.94 to 0.96 at n = 200 to 1,000 for beta, exponential, log-normal and Bernoulli(≥ 0.05) values; a delta
    interval on the linear scale leaves 3 to 12 % below and next to nothing above.

    x/0 is infinite; 0/0 and inf/inf are 1, as for any two equal deviations. Where a mean is zero or infinite the
    sample does not bound the ratio, and the interval says so: from 0 (from -inf if any value is negative) to inf.
    """
    top, bottom = as_table(numerator), as_table(denominator)
    if top.shape[1] != bottom.shape[1] or (paired and len(top) != len(bottom)):
        raise OffscriptError(f"a ratio of values of shapes {top.shape} and {bottom.shape}", next="give equal lengths")
    values = with_average(ratio(top.mean(axis=0), bottom.mean(axis=0))[None])[0]
    if method == "bootstrap":
        bounds = bootstrap_bounds(top, bottom, paired=paired, level=level, resamples=resamples, generator=generator)
    elif method == "delta":
        bounds = delta_bounds(top, bottom, values, paired=paired, level=level)
    else:
        raise OffscriptError(f"no method {method!r} for a ratio", next="known: bootstrap, delta")
    return profile(values, bounds, level, method)


def pseudo_values(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Each sequence's part in the average ratio to first order, [n]: their mean is the ratio, their spread its own."""
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    top_means, bottom_means = top.mean(axis=0), bottom.mean(axis=0)
    ratios = ratio(top_means, bottom_means)  # [lengths]
    with np.errstate(divide="ignore", invalid="ignore"):
        influences = (top - top_means - ratios * (bottom - bottom_means)) / bottom_means  # [n, lengths]
    return np.asarray((ratios + influences).mean(axis=1))


def bootstrap_bounds(
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


def delta_bounds(top: FloatArray, bottom: FloatArray, values: FloatArray, *, paired: bool, level: float) -> Bounds:
    """Bounds from the first-order influence of each sequence on `values` [lengths + 1], symmetric for the logarithm."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = bottom.mean(axis=0)
        from_top = with_average((top - top.mean(axis=0)) / scale)
        from_bottom = with_average((scale - bottom) * values[:-1] / scale)
        if paired:
            variances = (from_top + from_bottom).var(axis=0, ddof=1) / len(top)
        else:
            variances = from_top.var(axis=0, ddof=1) / len(top) + from_bottom.var(axis=0, ddof=1) / len(bottom)
        errors = np.sqrt(variances)
        factor = np.exp(normal_quantile((1 + level) / 2) * errors / np.abs(values))
        ends = values / factor, values * factor
    bounded = _bounded(top, bottom)
    known = np.append(bounded, bounded.all())
    lower = np.where(known, np.minimum(*ends), _floor(top, bottom))
    return np.where(known, errors, math.inf), lower, np.where(known, np.maximum(*ends), math.inf)


def _bounded(top: FloatArray, bottom: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether a sample bounds the ratio at each length: not where it saw a mean of zero or infinity."""
    means = np.stack([top.mean(axis=0), bottom.mean(axis=0)])
    bounded: npt.NDArray[np.bool_] = (np.isfinite(means) & (means != 0)).all(axis=0)
    return bounded


def _floor(top: FloatArray, bottom: FloatArray) -> float:
    return 0.0 if min(top.min(), bottom.min()) >= 0 else -math.inf
