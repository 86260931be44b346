"""Ratios of means at every length and their average: what each resample or each sequence does to them."""

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from offscript.measures._resampling import FloatArray, percentile_bounds, resampled, spread

Bounds = tuple[FloatArray, FloatArray, FloatArray]  # standard errors, lower, upper: each [lengths + 1], average last


def quotient(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Ratio of deviations: x/0 is infinite, and equal ones give 1 even where both are zero or infinite."""
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    bottom = bottom + 0.0  # -0.0 is no negative deviation
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(top == bottom, 1.0, top / bottom)


def with_average(table: FloatArray) -> FloatArray:
    """`table` [rows, lengths] and a last column with the average over the lengths."""
    return np.column_stack([table, table.mean(axis=1)])


def pseudo_values(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Each sequence's part in the average ratio to first order, [n]: their mean is the ratio, their spread its own."""
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    top_means, bottom_means = top.mean(axis=0), bottom.mean(axis=0)
    ratios = quotient(top_means, bottom_means)  # [lengths]
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
        factor = np.exp(ndtri((1 + level) / 2) * errors / np.abs(values))
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
