"""Two systems compared: on the same items, by resamples that they share, or by their intervals alone.

One convention for p-values: two-sided, (1 + b) / (1 + B), where b of the B resamples lie at least as far from the
observed difference as that lies from zero (Davison and Hinkley 1997, section 4.4). Resamples centred at what was
observed stand for the hypothesis of no difference (Hall and Wilson 1991), and no p-value is ever 0. Differences of
means are measured in standard errors, each resample in its own. Only where there are no items, but two intervals, the
p-value is that of the normal distribution.
"""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.estimates import (
    LEAST,
    Difference,
    Estimate,
    Interval,
    as_table,
    normal_quantile,
    normal_tails,
    student_freedoms,
    student_quantile,
    student_tails,
)
from offscript.statistics.means import RUNS, WIDER, clustered_proportion_interval, mean_interval
from offscript.statistics.resampling import RESAMPLES, estimates_of_draws, percentile_bounds, resampled, value_and_draws

MOVER = "both intervals, as independent (MOVER)"
_SMALL, _SMALL_SHARES = 12, 100
_ALIKE = 2.0  # degrees of freedom over degrees of freedom; of unlike sizes the smaller one decides
_SURPLUS = 1e-3  # above the normal quantile, where degrees of freedom have no end
_FARTHEST = 6.0  # standard errors; beyond, tails are too thin for their quantiles to be exact

Counts = tuple[npt.ArrayLike, npt.ArrayLike]
"""Successes and trials of each item, [n] each."""
Settings = tuple[FloatArray, FloatArray]
"""Positions and heights of a curve's points, item by item: [settings, n] each."""


def paired_differences(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> list[Difference]:
    """Means of the columns of first minus those of second: studentised bootstrap of the pairs.

    Fewer than 12 pairs, too few to resample, get the interval of `mean_interval`. Fewer than 100 pairs of 0/1 values,
    such as two systems' right and wrong answers, get that of `share_difference`. Where so few pairs differ that many
    resamples hold none of them, resampling bounds nothing, and `mean_interval` serves, too.

    Args:
        first: Values [n, figures]; each row belongs to one item.
        second: Values of the same items.
        generator: Source of the resamples, which all figures share.
        resamples: How often the items are resampled.
        level: Level of the intervals.

    Returns:
        One difference per figure.
    """
    left, right = as_table(first, least=LEAST), as_table(second, least=LEAST)
    if left.shape != right.shape:
        raise OffscriptError(
            f"cannot compare values of shapes {left.shape} and {right.shape}", next="give both on the same items"
        )
    values = left - right  # [n, figures]
    small = [_small(one, two, level) for one, two in zip(left.T, right.T, strict=True)]
    if len(values) < _SMALL:
        return [difference for difference in small if difference is not None]
    means, n = values.mean(axis=0), len(values)
    centred = values - means

    def moments(weights: FloatArray) -> FloatArray:
        shifts = weights @ centred
        variances = np.maximum(weights @ centred**2 - shifts**2, 0.0) / (n - 1)
        return np.stack([shifts, np.sqrt(variances)], axis=1)  # [rows, 2, figures]

    shifts, errors = resampled(moments, [n], resamples, generator).transpose(1, 0, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        studentised = np.nan_to_num(shifts / errors, posinf=np.inf, neginf=-np.inf)  # [resamples, figures]
    spreads = centred.std(axis=0) / math.sqrt(n - 1)
    lower, upper = percentile_bounds(studentised, level)
    return [
        small[place]
        or (None if np.isfinite([lower[place], upper[place]]).all() else _mean_difference(values[:, place], level))
        or _studentised(
            float(means[place]), float(spreads[place]), studentised[:, place], lower[place], upper[place], level
        )
        for place in range(values.shape[1])
    ]


def differences_of_draws(values: FloatArray, draws: FloatArray, *, level: float, method: str) -> list[Difference]:
    """Differences of any figures, from their values and from resamples that both systems share.

    Args:
        values: The differences [figures] in the sample.
        draws: The differences [resamples, figures] in each resample.
        level: Level of the intervals.
        method: What was resampled, for the label of the intervals.

    Returns:
        One difference per figure.
    """
    estimates = estimates_of_draws(values, draws, level=level, method=method)
    return [
        Difference(each.value, each.standard_error, each.interval, _p_value(each.value, column - each.value))
        for each, column in zip(estimates, draws.T, strict=True)
    ]


def curve_difference(
    points: FloatArray,
    first: Settings,
    second: Settings,
    *,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Difference:
    """How much higher one curve runs than another, on average over some positions; both are measured on the same items.

    A curve has one point per setting, at the means over the items, and is straight between them. One resample of the
    items moves all points of both curves.

    Args:
        points: Positions at which the curves are compared.
        first: Positions and heights of the first curve's settings, item by item.
        second: Those of the second curve.
        generator: Source of the resamples.
        resamples: How often the items are resampled.
        level: Level of the interval.

    Returns:
        First minus second.
    """

    def statistic(weights: FloatArray) -> FloatArray:
        return (_mean_height(points, *first, weights) - _mean_height(points, *second, weights))[:, None]

    values, draws = value_and_draws(statistic, [first[0].shape[1]], resamples, generator)
    (difference,) = differences_of_draws(values[0], draws, level=level, method="paired bootstrap percentile")
    return difference


def independent_difference(first: Estimate, second: Estimate) -> Difference:
    """First minus second from their intervals alone, as if they were independent (MOVER, Zou and Donner 2008).

    The difference reaches as far down as first's lower and second's upper bound make it, added up as squares. Where
    both were measured on common items, it is wider than need be. Student's t makes intervals of few runs wide; both
    errors together are better known than either, and a difference of two alike is narrowed to the degrees of freedom of
    Welch (1947): without that, it covers 99 % for two means of 4 runs. Means of fewer than 12 items are refused:
    between skewed values of unlike spread nothing covers (90 % for means of 4 and 8), between alike ones all is too
    wide (99 %).

    Args:
        first: A figure with its interval.
        second: Another.

    Returns:
        The difference; its p-value agrees with its interval.
    """
    if not can_be_compared(first, second):
        raise OffscriptError(
            "means of fewer than 12 items cannot be compared", next="measure more items, or the same items in both"
        )
    inside = _welch_share(first, second)
    return _square_and_add(_narrowed(first, inside), _narrowed(second, inside), 0.0, MOVER)


def can_be_compared(first: Estimate, second: Estimate) -> bool:
    """Whether `independent_difference` has an interval for two figures that covers.

    Args:
        first: A figure with its interval.
        second: Another.

    Returns:
        Whether neither is a mean of fewer than 12 items.
    """
    return WIDER not in (first.interval.method, second.interval.method)


def share_difference(first: Counts, second: Counts, *, level: float = 0.95) -> Difference:
    """A share less another on the same items: Wilson's intervals, squared and added (Newcombe 1998, method 10).

    Args:
        first: Successes and trials of each item, [n] each; an item may have no trials, or several.
        second: Those of another system on the same items.
        level: Level of the interval.

    Returns:
        First minus second. Its interval has a width even where all trials agree.
    """
    sides = [
        (np.asarray(wins, dtype=np.float64), np.asarray(sizes, dtype=np.float64)) for wins, sizes in (first, second)
    ]
    shares = [clustered_proportion_interval(wins, sizes, level=level) for wins, sizes in sides]
    left, right = (
        wins - share.value * sizes for share, (wins, sizes) in zip(shares, sides, strict=True)
    )  # what each item adds to the error of its share
    spread = math.sqrt(float((left**2).sum() * (right**2).sum()))
    correlation = float((left * right).sum()) / spread if spread else 0.0
    return _square_and_add(shares[0], shares[1], correlation, "paired Wilson, squared and added")


def holm(p_values: FloatArray) -> FloatArray:
    """P-values corrected so that among all of them the chance of one false finding keeps its level (Holm 1979).

    Args:
        p_values: The p-values of all findings.

    Returns:
        The corrected p-values in the same order.
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def p_value_of(figure: Estimate, n: int, null: float = 0.0) -> float:
    """Two-sided p-value of the hypothesis that a figure is `null`, read from its interval.

    It is below 1 - level exactly where the interval leaves `null` out. Beyond the bound it falls as Student's t with
    n - 1 degrees of freedom does, and never below that of n signs which all agree, which is what an interval without
    width rests on.

    Args:
        figure: A value with its interval.
        n: How many items it was measured on.
        null: What the figure is if the hypothesis holds.

    Returns:
        The p-value; 0 or 1 for a figure found by enumeration.
    """
    if figure.value == null:
        return 1.0
    if figure.interval.method == "exact":
        return 0.0
    fewest, freedom = min(1.0, 2.0 ** (1 - n)), max(1, n - 1)
    bound = figure.interval.lower if figure.value > null else figure.interval.upper
    reach = abs(figure.value - bound) if math.isfinite(figure.value) else 0.0
    if math.isinf(reach):
        return 1.0
    if reach == 0:
        return fewest
    distance = abs(figure.value - null) / reach * student_quantile(freedom, (1 + figure.interval.level) / 2)
    return max(fewest, student_tails(freedom, distance))


def differences_from_best(
    values: npt.ArrayLike,
    *,
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> tuple[int, list[Difference]]:
    """Which column has the largest mean, and how far the others are below it, on the same items.

    The best is chosen by the same items, so chance alone gives it a lead. That lead is compared with the largest lead
    of any column over any other in resamples of the items, in standard errors: intervals and p-values hold for all
    pairs of columns at once.

    Args:
        values: Values [n, systems]; each row belongs to one item.
        generator: Source of the resamples.
        resamples: How often the items are resampled.
        level: Level at which all intervals hold together.

    Returns:
        The best column, and the best minus each column, the best itself included.
    """
    table = as_table(values)
    means, n = table.mean(axis=0), len(table)
    centred, best = table - means, int(means.argmax())
    spreads = centred.T @ centred / (n * (n - 1))
    variances = spreads.diagonal()[:, None] + spreads.diagonal() - 2 * spreads
    errors = np.sqrt(np.maximum(variances, 0.0))  # [systems, systems]
    errors[errors < 1e-12] = math.inf  # the same values twice
    shifts = resampled(lambda weights: weights @ centred, [n], resamples, generator)  # [resamples, systems]
    leads = [(np.abs(shifts - shifts[:, [system]]) / errors[system]).max(axis=1) for system in range(len(means))]
    largest = np.max(leads, axis=0)  # [resamples]
    largest *= math.sqrt(n / (n - 1))  # resamples vary less than samples
    reach = float(np.sort(largest)[min(len(largest) - 1, math.ceil(level * (len(largest) + 1)) - 1)])
    # The errors of the resamples are those of the sample; as far out as the largest of many leads Student's t, which
    # knows that errors vary, is much wider than the normal distribution.
    inside = 1 - normal_tails(min(reach, _FARTHEST)) / 2
    wider = max(1.0, student_quantile(n - 1, inside) / normal_quantile(inside)) if reach > 0 else 1.0
    largest, reach = largest * wider, reach * wider
    differences = []
    for value, error in zip((means[best] - means).tolist(), errors[best].tolist(), strict=True):
        spread = 0.0 if math.isinf(error) else error
        interval = Interval(value - reach * spread, value + reach * spread, level, "paired bootstrap, all pairs")
        differences.append(Difference(value, spread, interval, _p_value(value / error, largest)))
    return best, differences


def contributions(value: float, items: FloatArray, weights: FloatArray | None = None) -> FloatArray | None:
    """Each item's part in a figure, [n], with the figure as their mean; None where the items do not make the figure.

    A figure is the weighted mean of its items, or, as a perplexity, its exponent; either is linearised at its value.

    Args:
        value: The figure.
        items: What each item was measured to be.
        weights: How much each item counts; all alike by default.

    Returns:
        Values that can be paired with those of another system on the same items.
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


def _square_and_add(first: Estimate, second: Estimate, correlation: float, method: str) -> Difference:
    """First minus second from their intervals and the correlation of their errors."""
    value = first.value - second.value

    def reach(one: float, other: float) -> float:
        if not (math.isfinite(one) and math.isfinite(other)):
            return math.inf
        scale = 2.0 ** min(math.frexp(max(abs(one), abs(other)))[1], 1023)  # squares stay within what a float holds
        one, other = one / scale, other / scale
        return scale * math.sqrt(max(0.0, one**2 + other**2 - 2 * correlation * one * other))

    down = reach(first.value - first.interval.lower, second.interval.upper - second.value)
    up = reach(first.interval.upper - first.value, second.value - second.interval.lower)
    level = min(first.interval.level, second.interval.level)
    quantile = normal_quantile((1 + level) / 2) if level < 1 else 1.0
    error = reach(first.standard_error, second.standard_error)
    p_value = _normal_p_value(value, (down if value > 0 else up) / quantile)
    return Difference(value, error, Interval(value - down, value + up, level, method), p_value)


def _welch_share(first: Estimate, second: Estimate) -> float:
    """The quantile of t for both errors together over that which both intervals have; 1 where they are not by t."""
    sides = (first, second)
    if not all(side.interval.method == RUNS and side.standard_error > 0 for side in sides):
        return 1.0
    inside = (1 + min(side.interval.level for side in sides)) / 2
    variances = np.array([side.standard_error**2 for side in sides])
    quantiles = np.array([(side.interval.upper - side.interval.lower) / 2 / side.standard_error for side in sides])
    if not np.isfinite(quantiles).all() or inside >= 1:
        return 1.0
    freedoms = student_freedoms(np.maximum(quantiles, normal_quantile(inside) + _SURPLUS), inside)
    if freedoms.max() > _ALIKE * freedoms.min():
        return 1.0
    together = variances.sum() ** 2 / (variances**2 / freedoms).sum()
    own = math.sqrt((variances * quantiles**2).sum() / variances.sum())
    return min(1.0, student_quantile(together, inside) / own)


def _narrowed(estimate: Estimate, share: float) -> Estimate:
    """The estimate with so much of its interval on both sides."""
    value, known = estimate.value, estimate.interval
    if share == 1:
        return estimate
    ends = (value - share * (value - known.lower), value + share * (known.upper - value))
    return replace(estimate, interval=Interval(*ends, known.level, known.method))


def _studentised(
    value: float, error: float, studentised: FloatArray, lower: float, upper: float, level: float
) -> Difference:
    observed = value / error if error else math.copysign(math.inf, value)
    interval = Interval(float(value - upper * error), float(value - lower * error), level, "paired bootstrap t")
    return Difference(value, error, interval, _p_value(observed if value else 0.0, studentised))


def _small(first: FloatArray, second: FloatArray, level: float) -> Difference | None:
    """The difference on few pairs, where there is a better way than to resample them."""
    n = len(first)
    if n < _SMALL_SHARES and _is_share(first) and _is_share(second):
        return share_difference((first.round(), np.ones(n)), (second.round(), np.ones(n)), level=level)
    return _mean_difference(first - second, level) if n < _SMALL else None


def _is_share(values: FloatArray) -> bool:
    return bool((np.minimum(np.abs(values), np.abs(values - 1)) < 1e-9).all())


def _mean_difference(values: FloatArray, level: float) -> Difference:
    found = mean_interval(values, share=False, level=level)
    interval = replace(found.interval, method=f"paired, {found.interval.method}")
    return Difference(found.value, found.standard_error, interval, p_value_of(found, len(values)))


def _p_value(observed: float, resamples: FloatArray) -> float:
    """How often resamples [B] of a difference that is zero lie at least as far from it as the observed one."""
    beyond = int((np.abs(resamples) >= abs(observed)).sum()) if observed else len(resamples)
    return (beyond + 1) / (len(resamples) + 1)


def _normal_p_value(value: float, error: float) -> float:
    if value == 0:
        return 1.0
    return normal_tails(value / error) if error else 0.0


def _mean_height(points: FloatArray, positions: FloatArray, heights: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean over the points of the height read off the curve, for each row of weights [resamples, n]."""
    along, upwards = weights @ positions.T, weights @ heights.T  # [resamples, settings]
    order = np.argsort(along, axis=1)
    along, upwards = np.take_along_axis(along, order, 1), np.take_along_axis(upwards, order, 1)
    read = [np.interp(points, place, height) for place, height in zip(along, upwards, strict=True)]
    return np.asarray(np.mean(read, axis=1))
