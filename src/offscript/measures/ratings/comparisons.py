"""Systems compared in pairs: differences with intervals over items and raters, paired t-tests, correction, power."""

from itertools import combinations
from typing import Any

import numpy as np

from offscript._specification import nearest
from offscript.corpora.ratings import Ratings
from offscript.errors import OffscriptError
from offscript.statistics import crossed_difference, holm, raters_needed


def compare_systems(ratings: Ratings, *, against: str | None = None, difference: float = 0.2) -> list[dict[str, Any]]:
    """Every pair of systems, or every system against one.

    Args:
        ratings: Of two systems or more.
        against: The system to compare the others with.
        difference: What `raters_needed` is for.

    Returns:
        For each pair the difference of means (first minus second) with an interval and a p-value over items and raters,
        corrected by Holm's method over all pairs; the t-test over raters who rated both, each by their mean; and how
        many raters would find a difference of the wished size four times in five.
    """
    names = ratings.names
    if against is not None and against not in names:
        raise OffscriptError(f"no system {against!r} in the ratings", next=nearest(against, names))
    pairs = list(combinations(names, 2)) if against is None else [(name, against) for name in names if name != against]
    rows = [row for pair in pairs if (row := _pair(ratings, *pair, difference)) is not None]
    for name in ("p_value", "paired_p"):
        known = [row for row in rows if row[name] is not None]
        corrected = holm(np.array([row[name] for row in known], dtype=np.float64))
        for row, p in zip(known, corrected, strict=True):
            row[f"{name}_holm"] = float(p)
    return rows


def _pair(ratings: Ratings, first: str, second: str, wished: float) -> dict[str, Any] | None:
    one, other = ratings.of(first), ratings.of(second)
    if min(len(one), len(other)) < 2:
        return None
    try:
        difference, known = crossed_difference(
            one.values, other.values, (one.items, other.items), (one.raters, other.raters)
        )
    except OffscriptError:  # one rater of one item each
        return None
    raters = len(np.union1d(one.raters, other.raters))
    items = min(len(np.unique(one.items)), len(np.unique(other.items)))
    power = raters_needed(known, raters, items, wished)
    return {
        "first": first,
        "second": second,
        "difference": difference.value,
        "ci": [difference.interval.lower, difference.interval.upper],
        "p_value": difference.p_value,
        "p_value_holm": None,
        **paired_test(one, other),
        "paired_p_holm": None,
        "raters_needed": _whole(power.raters),
        "items_needed": _whole(power.items),
    }


def paired_test(first: Ratings, second: Ratings) -> dict[str, Any]:
    """Student's paired t-test over raters who rated both systems, each by the mean of their ratings.

    Args:
        first: Ratings of one system.
        second: Ratings of the other.

    Returns:
        `pairs`, `t`, and p-values: two-sided, and one-sided for the first being rated higher.
    """
    from scipy.stats import ttest_rel

    one, other = rater_means(first), rater_means(second)
    shared = sorted(one.keys() & other.keys())
    values = np.array([[one[rater], other[rater]] for rater in shared])
    nothing = {"pairs": len(shared), "t": None, "paired_p": None, "paired_p_greater": None}
    if len(shared) < 2 or np.ptp(values[:, 0] - values[:, 1]) == 0:
        return nothing
    two, greater = (ttest_rel(values[:, 0], values[:, 1], alternative=kind) for kind in ("two-sided", "greater"))
    return {
        "pairs": len(shared),
        "t": float(two.statistic),
        "paired_p": float(two.pvalue),
        "paired_p_greater": float(greater.pvalue),
    }


def rater_means(ratings: Ratings) -> dict[str, float]:
    """The mean rating of each rater."""
    names, places = np.unique(ratings.raters, return_inverse=True)
    means = np.bincount(places, ratings.values) / np.bincount(places)
    return dict(zip(names.tolist(), means.tolist(), strict=True))


def _whole(count: float) -> int | None:
    """None where no number is enough."""
    return int(count) if np.isfinite(count) else None
