"""Agreement of raters: Krippendorff's alpha, Fleiss' kappa and the intraclass correlation, with intervals.

Each is one minus a ratio of disagreements. Its interval is over items and over raters (`crossed`): influence values are
the derivatives of the ratio with respect to the weight of each rating.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.crossed import crossed_variance
from offscript.statistics.estimates import Estimate, Interval, student_quantile

Metric = Literal["nominal", "ordinal", "interval"]
IntArray = npt.NDArray[np.int64]


def krippendorff_alpha(
    values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike, metric: Metric, *, level: float = 0.95
) -> Estimate:
    """Krippendorff's alpha: 1 - observed / expected disagreement, over items with two ratings or more.

    Ratings may be missing. The ordinal metric is the interval metric on mid-ranks, which is Krippendorff's definition.

    Args:
        values: The ratings [n]; for the nominal metric any labels.
        items: The item of each rating.
        raters: The rater of each rating.
        metric: What counts as disagreement: any difference, a difference of ranks, or of values, squared.
        level: Of the interval.

    Returns:
        Alpha with an interval over items and raters.
    """
    table = _Table.of(values, items, raters, nominal=metric == "nominal", least=2)
    if metric == "nominal":
        alike = table.cell_sizes
        own = (table.size - alike) / (table.size - 1)
        expected = (len(table.codes) - table.totals[table.codes]) / (len(table.codes) - 1)
        return _one_minus_ratio(table, _averaged(table, own), expected, 0.0, level)
    scale = table.values if metric == "interval" else _mid_ranks(table.totals)[table.codes]
    own, expected = _squared_distances(table, scale)
    slope: FloatArray | float = 0.0
    if metric == "ordinal":
        slope = _rank_slope(table, scale)
    return _one_minus_ratio(table, _averaged(table, own), expected, slope, level)


def fleiss_kappa(
    values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike, *, level: float = 0.95
) -> Estimate:
    """Fleiss' kappa: agreement beyond chance; items may have different numbers of ratings, and count alike.

    Args:
        values: The ratings [n], as any labels.
        items: The item of each rating.
        raters: The rater of each rating.
        level: Of the interval.

    Returns:
        Kappa with an interval over items and raters.
    """
    table = _Table.of(values, items, raters, nominal=True, least=2)
    n = len(table.codes)
    own = (table.size - table.cell_sizes) / (table.size - 1)
    mean = _item_means(table, own)
    observed = (mean + 2 * (own - mean)) / table.size  # what each rating adds to the sum of the items' disagreement
    expected = 1 - table.totals[table.codes] / n
    disagreement = float(observed.sum()) / table.count
    chance = float(expected.mean())
    _require_variety(chance)
    if disagreement == 0:
        return _unanimous(level)
    influence = (observed - disagreement / table.size) / (disagreement * table.count)
    influence -= 2 * (expected - chance) / (n * chance)
    return _from_log_ratio(disagreement / chance, influence, table, level)


def intraclass_correlation(
    values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike, *, level: float = 0.95
) -> Estimate:
    """ICC(1), one-way random: the share of a single rating's variance that is between items (Shrout and Fleiss 1979).

    Args:
        values: The ratings [n].
        items: The item of each rating; numbers of ratings may differ.
        raters: The rater of each rating.
        level: Of the interval.

    Returns:
        The correlation with an interval over items and raters.
    """
    table = _Table.of(values, items, raters, nominal=False, least=1)
    n, count, size = len(table.codes), table.count, table.size
    if count < 2 or n <= count:
        raise OffscriptError("no intraclass correlation", why="it needs two items, and one of them rated twice")
    sizes = table.sizes
    means, mean = table.sums(table.values) / sizes, float(table.values.mean())
    own = means[table.places]
    within = float(((table.values - own) ** 2).sum()) / (n - count)
    between = float((sizes * (means - mean) ** 2).sum()) / (count - 1)
    squares = float((sizes**2).sum())
    typical = (n - squares / n) / (count - 1)  # k0, ratings per item
    total = between + (typical - 1) * within
    if total <= 0:
        raise OffscriptError("no intraclass correlation", why="all ratings are the same")
    if within == 0:
        return _unanimous(level)
    d_within = ((table.values - own) ** 2 - within * (size - 1) / size) / (n - count)
    d_between = 2 * table.values * own - own**2 - 2 * table.values * mean + mean**2
    d_between = (d_between - between / size) / (count - 1)
    d_typical = (1 - 2 * size / n + squares / n**2 - typical / size) / (count - 1)
    d_total = d_between + d_typical * within + (typical - 1) * d_within
    influence = d_typical / typical + d_within / within - d_total / total
    return _from_log_ratio(typical * within / total, influence, table, level)


@dataclass(frozen=True)
class _Table:
    """Ratings of the items that have enough of them, by places."""

    values: FloatArray  # [n]
    codes: IntArray  # [n], place of the value among the distinct ones, in ascending order
    places: IntArray  # [n], the item
    raters: npt.NDArray[np.generic]  # [n]
    sizes: IntArray  # [items], ratings
    totals: IntArray  # [distinct values], ratings

    @classmethod
    def of(
        cls, values: npt.ArrayLike, items: npt.ArrayLike, raters: npt.ArrayLike, *, nominal: bool, least: int
    ) -> "_Table":
        given = np.asarray(values)
        if not nominal:
            given = given.astype(np.float64)
            if not np.isfinite(given).all():
                raise OffscriptError("a rating that is no finite number", next="leave it out")
        _, places = np.unique(np.asarray(items), return_inverse=True)
        kept = np.bincount(places)[places] >= least
        if not kept.any():
            raise OffscriptError(
                "no item has two ratings", why="agreement is between ratings of one item", next="give more ratings"
            )
        _, places = np.unique(places[kept], return_inverse=True)
        _, codes = np.unique(given[kept], return_inverse=True)
        numbers = codes.astype(np.float64) if nominal else given[kept]
        return cls(
            numbers, codes, places, np.asarray(raters)[kept], np.bincount(places), np.bincount(codes)
        )  # fmt: skip

    @property
    def count(self) -> int:
        """How many items."""
        return len(self.sizes)

    @property
    def size(self) -> IntArray:
        """How many ratings the item of each rating has."""
        return self.sizes[self.places]

    @property
    def cell_sizes(self) -> IntArray:
        """How many ratings of the same item have the same value, for each rating."""
        cells = self.places * len(self.totals) + self.codes
        _, where, sizes = np.unique(cells, return_inverse=True, return_counts=True)
        counted: IntArray = sizes[where]
        return counted

    def sums(self, values: FloatArray) -> FloatArray:
        """By item."""
        return np.asarray(np.bincount(self.places, values, minlength=self.count), dtype=np.float64)


def _item_means(table: _Table, own: FloatArray) -> FloatArray:
    means: FloatArray = (table.sums(own) / table.sizes)[table.places]
    return means


def _averaged(table: _Table, own: FloatArray) -> FloatArray:
    """What each rating adds to the sum over ratings of its item's mean disagreement (a U-statistic's projection)."""
    mean = _item_means(table, own)
    projected: FloatArray = mean + 2 * (own - mean)
    return projected


def _squared_distances(table: _Table, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean squared distance of each rating to the others of its item, and to all others."""
    centred = scale - scale.mean()  # moments of numbers near 0 lose no digits
    first, second = table.sums(centred), table.sums(centred**2)
    size, n = table.size, len(scale)
    own = (size * centred**2 - 2 * centred * first[table.places] + second[table.places]) / (size - 1)
    everyone = (n * centred**2 - 2 * centred * centred.sum() + (centred**2).sum()) / (n - 1)
    return np.maximum(own, 0.0), everyone


def _mid_ranks(totals: IntArray) -> FloatArray:
    ranks: FloatArray = np.cumsum(totals) - totals / 2
    return ranks


def _rank_slope(table: _Table, ranks: FloatArray) -> FloatArray:
    """How one more rating of each value moves the ratio through the ranks of the others, per rating."""
    n, centred = len(ranks), ranks - ranks.mean()
    first = table.sums(centred)[table.places]
    own = 4 * (table.size * centred - first) / (table.size - 1)  # d(observed) / d(rank of this rating)
    everyone = 4 * n * centred / (n - 1)
    observed, expected = _squared_distances(table, ranks)
    gradient = own / observed.sum() - everyone / expected.sum() if observed.sum() > 0 else 0 * own
    by_value = np.bincount(table.codes, gradient, minlength=len(table.totals))
    above = by_value[::-1].cumsum()[::-1] - by_value / 2  # values above move by one rank, ratings of the same by half
    slope: FloatArray = above[table.codes]
    return slope


def _one_minus_ratio(
    table: _Table, observed: FloatArray, expected: FloatArray, slope: FloatArray | float, level: float
) -> Estimate:
    disagreement, chance = float(observed.mean()), float(expected.mean())
    _require_variety(chance)
    if disagreement <= 0:
        return _unanimous(level)
    n = len(observed)
    influence = (observed - disagreement) / (n * disagreement) - 2 * (expected - chance) / (n * chance) + slope
    return _from_log_ratio(disagreement / chance, influence, table, level)


def _from_log_ratio(ratio: float, influence: FloatArray, table: _Table, level: float) -> Estimate:
    """One minus the ratio, a, with bounds on the scale log (1 + (m - 1) a) / (1 - a) for m ratings per item.

    On that scale, which is that of the F ratio, the error does not depend on the figure.
    """
    known = crossed_variance(influence, table.places, table.raters, heavy=True)
    error, value = ratio * math.sqrt(known.total), 1 - ratio
    size = len(table.codes) / table.count
    share = max(1 + (size - 1) * value, 1e-3)
    reach = student_quantile(known.freedom, (1 + level) / 2) * error * size / (share * ratio)
    bounds = [share / ratio * math.exp(min(max(way * reach, -500.0), 500.0)) for way in (-1, 1)]
    lower, upper = ((bound - 1) / (bound + size - 1) for bound in bounds)
    return Estimate(value, error, Interval(min(lower, value), max(upper, value), level, known.method))


def _unanimous(level: float) -> Estimate:
    return Estimate(1.0, 0.0, Interval(1.0, 1.0, level, "all ratings agree"))


def _require_variety(chance: float) -> None:
    if chance <= 0:
        raise OffscriptError("no agreement beyond chance", why="all ratings are the same", next="look at the ratings")
