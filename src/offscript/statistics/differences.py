"""Two systems compared: on the same items, on independent ones, or by their intervals alone."""

import math

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.estimates import Difference, Estimate, Interval, as_vector, normal_quantile, normal_tails
from offscript.statistics.resampling import RESAMPLES, percentile_bounds, resampled, value_and_draws


def paired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    generator: np.random.Generator,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Difference:
    """Mean of first minus second where both were measured on the same items: studentised bootstrap of the pairs."""
    left, right = as_vector(first), as_vector(second)
    if left.shape != right.shape:
        raise OffscriptError(f"{len(left)} values paired with {len(right)}", next="give both on the same items")
    return _difference([left - right], [1.0], generator, level, resamples)


def unpaired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    generator: np.random.Generator,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Difference:
    """Mean of first minus mean of second from independent samples: studentised bootstrap of both."""
    return _difference([as_vector(first), as_vector(second)], [1.0, -1.0], generator, level, resamples)


def contributions(value: float, items: FloatArray, weights: FloatArray | None = None) -> FloatArray | None:
    """Each item's part in a figure, [n], with the figure as their mean; None where the items do not make the figure.

    A figure is the weighted mean of its items, or, as a perplexity, its exponent; either is linearised at its value.
    """
    if items.ndim != 1 or len(items) < 2 or not np.isfinite(items).all() or not math.isfinite(value):
        return None
    shares = np.ones(len(items)) if weights is None else weights / weights.mean()
    if math.isclose(float(np.average(items, weights=shares)), value, rel_tol=1e-6, abs_tol=1e-9):
        return np.asarray(value + shares * (items - value))
    if (items > 0).all() and value > 0:
        logs, log_value = np.log(items), math.log(value)
        if math.isclose(float(np.average(logs, weights=shares)), log_value, rel_tol=1e-6, abs_tol=1e-9):
            return np.asarray(value * (1 + shares * (logs - log_value)))
    return None


def paired_differences(
    first: FloatArray, second: FloatArray, *, generator: np.random.Generator, resamples: int, level: float = 0.95
) -> list[Difference]:
    """Means of the columns of first minus those of second, [n, figures] each: studentised bootstrap of the pairs.

    As `paired_difference`, for many figures that share their items and so their resamples.
    """
    if first.shape != second.shape or first.ndim != 2:
        raise OffscriptError(f"values of shapes {first.shape} and {second.shape}", next="give both on the same items")
    values = first - second  # [n, figures]
    means, n = values.mean(axis=0), len(values)
    centred = values - means

    def moments(weights: FloatArray) -> FloatArray:
        shifts = weights @ centred
        variances = np.maximum(weights @ centred**2 - shifts**2, 0.0) / (n - 1)
        return np.stack([shifts, np.sqrt(variances)], axis=1)  # [rows, 2, figures]

    shifts, errors = resampled(moments, [n], resamples, generator).transpose(1, 0, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.nan_to_num(shifts / errors)  # [resamples, figures]
    spreads = centred.std(axis=0) / math.sqrt(n - 1)
    lower, upper = percentile_bounds(studentised, level)
    return [
        _studentised(
            float(means[place]), float(spreads[place]), studentised[:, place], lower[place], upper[place], level
        )
        for place in range(values.shape[1])
    ]


def unpaired_difference_of(first: Estimate, second: Estimate) -> Difference:
    """First minus second from their intervals alone, as if they were independent (MOVER, Zou and Donner 2008).

    The difference reaches as far down as first's lower and second's upper bound make it, added up as squares. Where
    both were measured on common items, it is wider than need be.
    """
    value = first.value - second.value
    down = math.hypot(first.value - first.interval.lower, second.interval.upper - second.value)
    up = math.hypot(first.interval.upper - first.value, second.value - second.interval.lower)
    level = min(first.interval.level, second.interval.level)
    quantile = normal_quantile((1 + level) / 2) if level < 1 else 1.0
    reach = (down if value > 0 else up) / quantile
    p_value = _two_sided(value, reach)
    error = math.hypot(first.standard_error, second.standard_error)
    return Difference(value, error, Interval(value - down, value + up, level, "both intervals"), p_value)


def holm(p_values: FloatArray) -> FloatArray:
    """P-values corrected so that among all of them the chance of one false finding keeps its level (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def _studentised(
    value: float, error: float, studentised: FloatArray, lower: float, upper: float, level: float
) -> Difference:
    observed = abs(value / error) if error else math.inf
    beyond = int((np.abs(studentised) >= observed).sum()) if value else len(studentised)
    interval = Interval(float(value - upper * error), float(value - lower * error), level, "paired bootstrap t")
    return Difference(value, error, interval, (beyond + 1) / (len(studentised) + 1))


def _two_sided(value: float, error: float) -> float:
    if value == 0:
        return 1.0
    return normal_tails(value / error) if error else 0.0


def _difference(
    samples: list[FloatArray], signs: list[float], generator: np.random.Generator, level: float, resamples: int
) -> Difference:
    """A signed sum of means with a studentised bootstrap interval and the p-value that belongs to it."""
    moments = [np.column_stack([values, values**2]) for values in samples]  # [n, 2]

    def statistic(*weights: FloatArray) -> FloatArray:
        difference, variance = 0.0, 0.0
        for matrix, table, sign in zip(weights, moments, signs, strict=True):
            mean, square = (matrix @ table).T
            difference = difference + sign * mean
            variance = variance + np.maximum(square - mean**2, 0.0) / (len(table) - 1)
        return np.column_stack([difference, np.sqrt(variance)])

    values, draws = value_and_draws(statistic, [len(sample) for sample in samples], resamples, generator)
    value, error = values[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.nan_to_num((draws[:, 0] - value) / draws[:, 1])
        observed = abs(value / error) if value else 0.0
    lower, upper = percentile_bounds(studentised, level)
    interval = Interval(float(value - upper * error), float(value - lower * error), level, "bootstrap t")
    beyond = int((np.abs(studentised) >= observed).sum())
    return Difference(float(value), float(error), interval, (beyond + 1) / (resamples + 1))
