"""What ratings say: means over items and raters by system, the thesis's filter, agreement, convergence."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from offscript._types import FloatArray
from offscript.corpora.ratings import Ratings
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure
from offscript.measures.measurement import figure_name
from offscript.statistics import Curve, Estimate, crossed_mean, fleiss_kappa, intraclass_correlation, krippendorff_alpha

QUESTION = "ratings"
FASTEST, SLOWEST = 4.5, 20
"""The thesis drops raters under 45 seconds for ten items, and keeps the 20 slowest of 25 per item (A.3, 5.4)."""

LONGEST_CURVE = 100


class Filtered(NamedTuple):
    """Ratings that a filter keeps, and how many raters and ratings it drops."""

    ratings: Ratings
    raters: int
    dropped: int


def without_failed(ratings: Ratings) -> Ratings:
    """The ratings of raters who passed the checks of attention, or had none."""
    return ratings.select(ratings.passed != 0)


def filter_by_time(ratings: Ratings, *, fastest: float = FASTEST, slowest: int = SLOWEST) -> Filtered | None:
    """The thesis's filter; None where no time is known.

    Args:
        ratings: With seconds.
        fastest: Raters whose mean time per rating is below are dropped, as are those without a time.
        slowest: How many ratings of each item are kept: those of the raters who took most time; of equals the
            smaller name.

    Returns:
        What is kept.
    """
    if np.isnan(ratings.seconds).all():
        return None
    times = rater_times(ratings)
    own = np.array([times[rater] for rater in ratings.raters.tolist()])
    kept = ratings.select(own >= fastest)
    removed = len(np.unique(ratings.raters)) - len(np.unique(kept.raters))
    order = np.lexsort((kept.raters, -own[own >= fastest], kept.items))
    items = kept.items[order]
    first = np.concatenate([[True], items[1:] != items[:-1]]) if len(items) else np.zeros(0, dtype=bool)
    starts = np.maximum.accumulate(np.where(first, np.arange(len(items)), 0))
    chosen = order[np.arange(len(items)) - starts < slowest]
    final = kept.select(np.sort(chosen))
    return Filtered(final, removed, len(ratings) - len(final))


def rater_times(ratings: Ratings) -> dict[str, float]:
    """Each rater's mean time per rating in seconds; a time of the whole session is divided among its ratings."""
    names, places = np.unique(ratings.raters, return_inverse=True)
    known = np.isfinite(ratings.seconds)
    counts = np.bincount(places[known], minlength=len(names))
    sums = np.bincount(places[known], ratings.seconds[known], minlength=len(names))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, sums / counts, -math.inf)
        if ratings.time_of == "rater":
            means = means / np.bincount(places)
    return dict(zip(names.tolist(), means.tolist(), strict=True))


def mean_figures(ratings: Ratings, prefix: str, *, seed: int | None) -> dict[str, Figure]:
    """`PREFIX.SYSTEM` for each system that an interval can be given for; with a seed, its convergence as a curve."""
    figures = {}
    for system in ratings.names:
        own = ratings.of(system)
        if len(own) < 2 or max(len(np.unique(own.items)), len(np.unique(own.raters))) < 2:
            continue
        estimate = crossed_mean(own.values, own.items, own.raters)
        curve = None if seed is None else convergence(own, seed)
        figures[f"{prefix}.{label(system)}"] = Figure(estimate, curve)
    return figures


def label(system: str) -> str:
    """A system's name as it stands in names of figures: on one line, with single spaces."""
    return " ".join(figure_name(system).split())


def system_rows(ratings: Ratings, figures: dict[str, Figure], prefix: str) -> list[dict[str, Any]]:
    """Mean, interval, standard deviations and counts of each system; `sd` divides by n, `sd_sample` by n - 1."""
    rows = []
    for system in ratings.names:
        figure, own = figures.get(f"{prefix}.{label(system)}"), ratings.of(system)
        if figure is None:
            continue
        bounds = figure.estimate.interval
        rows.append(
            {
                "system": system,
                "mean": figure.estimate.value,
                "ci": [bounds.lower, bounds.upper],
                "sd": float(own.values.std()),
                "sd_sample": float(own.values.std(ddof=1)),
                "ratings": len(own),
                "items": len(np.unique(own.items)),
                "raters": len(np.unique(own.raters)),
            }
        )
    return rows


def item_rows(ratings: Ratings) -> list[dict[str, Any]]:
    """The mean rating of each item, and of how many ratings."""
    names, first, places = np.unique(ratings.items, return_index=True, return_inverse=True)
    counts = np.bincount(places)
    means = np.bincount(places, ratings.values) / counts
    return [
        {"item": str(name), "system": str(ratings.systems[start]), "mean": float(mean), "ratings": int(count)}
        for name, start, mean, count in zip(names, first, means, counts, strict=True)
    ]


def convergence(ratings: Ratings, seed: int) -> Curve:
    """The mean from the first 1, 2, … ratings of each item, in random order (Figure A-5)."""
    ranks = _ranks(ratings, np.random.default_rng(seed))
    points = [
        _estimate(ratings.select(ranks < most)) for most in range(1, min(int(ranks.max()) + 1, LONGEST_CURVE) + 1)
    ]
    return _curve(points)


def convergence_by_items(ratings: Ratings, seed: int, points: int = 20) -> list[dict[str, Any]]:
    """The mean from a growing number of items, in random order (Figure A-4)."""
    names = np.random.default_rng(seed).permutation(np.unique(ratings.items))
    sizes = sorted(
        {max(2, round(len(names) * share)) for share in np.linspace(0, 1, points + 1)[1:]} if len(names) > 1 else {1}
    )
    rows = []
    for size in sizes:
        estimate = _estimate(ratings.select(np.isin(ratings.items, names[:size])))
        rows.append({"items": size, "mean": estimate.value, "ci": [estimate.interval.lower, estimate.interval.upper]})
    return rows


def _ranks(ratings: Ratings, generator: np.random.Generator) -> Any:
    """For each rating its place among those of its item, in random order."""
    _, places = np.unique(ratings.items, return_inverse=True)
    order = np.lexsort((generator.random(len(places)), places))
    ordered = places[order]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(ordered)) + 1])
    sizes = np.diff(np.append(starts, len(ordered)))
    ranks = np.empty(len(places), dtype=np.int64)
    ranks[order] = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return ranks


def _estimate(ratings: Ratings) -> Estimate:
    """The mean; without bounds where neither items nor raters vary yet."""
    from offscript.statistics import Interval

    if len(ratings) < 2 or max(len(np.unique(ratings.items)), len(np.unique(ratings.raters))) < 2:
        unbounded = Interval(-math.inf, math.inf, 0.95, "one rating")
        return Estimate(float(ratings.values.mean()), math.inf, unbounded)
    return crossed_mean(ratings.values, ratings.items, ratings.raters)


def _curve(points: list[Estimate]) -> Curve:
    values = np.array([point.value for point in points])
    bounds: tuple[FloatArray, FloatArray] = (
        np.array([point.interval.lower for point in points]),
        np.array([point.interval.upper for point in points]),
    )
    return Curve.of(values, bounds, 0.95, points[-1].interval.method)


def agreement_figures(ratings: Ratings) -> dict[str, Figure]:
    """Alpha, kappa and, of numbers, the intraclass correlation; those that the ratings do not decide are left out."""
    return dict(_agreement(ratings))


def _agreement(ratings: Ratings) -> Iterator[tuple[str, Figure]]:
    columns = ratings.values, ratings.items, ratings.raters
    measures: dict[str, Any] = {"alpha_nominal": lambda: krippendorff_alpha(*columns, "nominal")}
    if ratings.numeric:
        measures["alpha_ordinal"] = lambda: krippendorff_alpha(*columns, "ordinal")
        measures["alpha_interval"] = lambda: krippendorff_alpha(*columns, "interval")
        measures["icc"] = lambda: intraclass_correlation(*columns)
    measures["kappa"] = lambda: fleiss_kappa(*columns)
    for name, measure in measures.items():
        try:
            yield name, Figure(measure())
        except OffscriptError:  # one rating per item, one rater, or all ratings the same: no agreement to speak of
            continue
