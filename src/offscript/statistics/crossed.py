"""Intervals over values that are crossed: every value belongs to an item and to a rater, and both vary.

A mean of ratings is as sure as its items and its raters are many, not as its ratings are: the ratings of one item are
alike, and so are those of one rater. The variance of any figure that is a smooth function of the ratings is that of its
influence values summed by item, plus by rater, minus by single rating, which both sums count (Cameron, Gelbach and
Miller 2011). Student's quantile has Satterthwaite's degrees of freedom for that sum.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.estimates import Difference, Estimate, Interval, as_vector, normal_quantile, student_quantile

IntArray = npt.NDArray[np.int64]


class CrossedVariance(NamedTuple):
    """The variance of a figure, its parts by item and by rater, and the degrees of freedom it is known with."""

    total: float
    items: float
    raters: float
    freedom: float
    method: str


def crossed_variance(
    influence: FloatArray, items: npt.ArrayLike, raters: npt.ArrayLike, *, heavy: bool = False
) -> CrossedVariance:
    """The variance of a figure from its influence values.

    With a single item the raters alone vary, and the other way round.

    Args:
        influence: How far each rating moves the figure, [n]; they sum to 0.
        items: The item of each rating, as any labels [n].
        raters: The rater of each rating [n].
        heavy: Whether influence values have heavy tails, as those of variances have; a variance of them is known with
            fewer degrees of freedom, which their fourth powers tell.

    Returns:
        The variance and its parts.
    """
    by_item, by_rater = (_cluster_variance(influence, labels, heavy) for labels in (items, raters))
    if by_item.clusters < 2 and by_rater.clusters < 2:
        raise OffscriptError(
            "no interval from one rater of one item", why="neither can vary", next="give the ratings of more raters"
        )
    if by_item.clusters < 2 or by_rater.clusters < 2:
        known, name = (by_rater, "raters") if by_item.clusters < 2 else (by_item, "items")
        parts = (0.0, known.variance) if name == "raters" else (known.variance, 0.0)
        return CrossedVariance(known.variance, *parts, known.freedom, f"clustered by {name}")
    single = float((influence**2).sum()) * len(influence) / (len(influence) - 1)
    total = max(by_item.variance + by_rater.variance - single, by_item.variance, by_rater.variance)
    spread = by_item.variance**2 / by_item.freedom + by_rater.variance**2 / by_rater.freedom
    freedom = total**2 / spread if spread > 0 else min(by_item.freedom, by_rater.freedom)
    return CrossedVariance(total, by_item.variance, by_rater.variance, freedom, "clustered by items and raters")


def crossed_interval(
    value: float, influence: FloatArray, items: npt.ArrayLike, raters: npt.ArrayLike, *, level: float = 0.95
) -> Estimate:
    """A figure with the interval that its influence values give it.

    Args:
        value: The figure.
        influence: As in `crossed_variance`.
        items: The item of each rating.
        raters: The rater of each rating.
        level: How often the interval should hold the true figure.

    Returns:
        The estimate; its interval is symmetric.
    """
    known = crossed_variance(influence, items, raters)
    error = math.sqrt(known.total)
    reach = student_quantile(known.freedom, (1 + level) / 2) * error
    return Estimate(value, error, Interval(value - reach, value + reach, level, known.method))


def crossed_mean(
    values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike, *, level: float = 0.95
) -> Estimate:
    """The mean of ratings, whose interval is over items and raters.

    Args:
        values: The ratings [n].
        items: The item of each.
        raters: The rater of each.
        level: How often the interval should hold the true mean.

    Returns:
        The mean over ratings with its interval.
    """
    ratings = as_vector(values)
    mean = float(ratings.mean())
    return crossed_interval(mean, mean_influence(ratings), items, raters, level=level)


def mean_influence(ratings: FloatArray) -> FloatArray:
    """How far each value moves the mean."""
    influence: FloatArray = (ratings - ratings.mean()) / len(ratings)
    return influence


def crossed_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    items: tuple[npt.ArrayLike, npt.ArrayLike],
    raters: tuple[npt.ArrayLike, npt.ArrayLike],
    *,
    level: float = 0.95,
) -> tuple[Difference, CrossedVariance]:
    """The difference of two systems' means; raters and items that both have count as the same.

    Args:
        first: Ratings of the first system.
        second: Ratings of the second.
        items: The items of both; the same label in both is the same item, such as a prompt.
        raters: The raters of both.
        level: Of the interval.

    Returns:
        First minus second with its p-value, and the variance by parts, which says what more raters would give.
    """
    ratings = as_vector(first), as_vector(second)
    influence = np.concatenate([mean_influence(ratings[0]), -mean_influence(ratings[1])])
    labels = (np.concatenate([np.asarray(part) for part in pair]) for pair in (items, raters))
    item_labels, rater_labels = labels
    if max(len(np.unique(np.asarray(part))) for part in items) < 2:
        item_labels = np.zeros(len(influence), dtype=np.int64)  # a single item per system is the system itself
    known = crossed_variance(influence, item_labels, rater_labels)
    value, error = float(ratings[0].mean() - ratings[1].mean()), math.sqrt(known.total)
    reach = student_quantile(known.freedom, (1 + level) / 2) * error
    interval = Interval(value - reach, value + reach, level, known.method)
    return Difference(value, error, interval, _tails(value, error, known.freedom)), known


class Power(NamedTuple):
    """How many raters a difference needs; infinite where the items alone leave it in doubt, then `items` helps."""

    raters: float
    items: float


def raters_needed(
    known: CrossedVariance, raters: int, items: int, difference: float, *, power: float = 0.8, level: float = 0.95
) -> Power:
    """How many raters find a difference, by a pilot's variance: its rater part falls as one over the raters.

    Args:
        known: The variance of the pilot's difference.
        raters: How many raters the pilot had.
        items: How many items per system.
        difference: What is to be found.
        power: How often it should be found.
        level: One minus the test's level.

    Returns:
        Raters for as many items as the pilot had, and items per system for as many raters.
    """
    if not difference > 0:
        raise OffscriptError(f"a difference of {difference:g}", next="ask for one above 0")
    allowed = (difference / (normal_quantile((1 + level) / 2) + normal_quantile(power))) ** 2
    by_items, by_raters = known.total - known.raters, known.total - known.items

    def scaled(count: int, part: float, rest: float) -> float:
        if rest >= allowed:
            return math.inf
        return float(max(2, math.ceil(count * part / (allowed - rest))))

    return Power(scaled(raters, known.raters, max(0.0, by_items)), scaled(items, known.items, max(0.0, by_raters)))


class _Clustered(NamedTuple):
    variance: float
    clusters: int
    freedom: float


def _cluster_variance(influence: FloatArray, labels: npt.ArrayLike, heavy: bool) -> _Clustered:
    """Of the sums by label; degrees of freedom are those of as many equal clusters as unequal ones amount to."""
    _, places = np.unique(np.asarray(labels), return_inverse=True)
    sums, sizes = np.bincount(places, influence), np.bincount(places)
    clusters = len(sizes)
    if clusters < 2:
        return _Clustered(0.0, clusters, 1.0)
    effective = float(sizes.sum()) ** 2 / float((sizes**2).sum())
    variance, freedom = float((sums**2).sum()), max(1.0, effective - 1)
    if heavy and variance > 0:
        spread = float((sums**4).sum()) - variance**2 / clusters
        freedom = min(freedom, max(1.0, 2 * variance**2 / spread)) if spread > 0 else freedom
    return _Clustered(variance * clusters / (clusters - 1), clusters, freedom)


def _tails(value: float, error: float, freedom: float) -> float:
    from scipy.special import stdtr

    if error == 0:
        return 1.0 if value == 0 else 0.0
    return 2 * float(stdtr(freedom, -abs(value) / error))
