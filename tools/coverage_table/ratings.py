"""Rows of ratings by raters of items."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from coverage_table.cases import Case, covered
from offscript.statistics import (
    crossed_difference,
    crossed_mean,
    intraclass_correlation,
    krippendorff_alpha,
    mean_interval,
)

DESIGNS: dict[str, tuple[int, int, int]] = {
    "10 items, 10 raters": (10, 10, 10),
    "20 items, 8 raters": (20, 8, 20),
    "50 items, 20 raters": (50, 20, 50),
    "8 items, 60 raters": (8, 60, 8),
    "40 items, 30 raters of 10 each": (40, 30, 10),
    "200 items, 100 raters of 10 each": (200, 100, 10),
}
SPREADS = {"both alike": (0.5, 0.5), "items differ": (1.0, 0.2), "raters differ": (0.2, 1.0)}
"""How far items and raters vary; single ratings vary by 1 beside."""


def _crossed(
    rng: np.random.Generator, size: tuple[int, int, int], spread: tuple[float, float], points: bool
) -> list[Any]:
    """Ratings, items and raters; `points` rounds to a scale from 0 to 5."""
    items, raters, each = size
    item = np.concatenate([rng.permutation(items)[:each] for _ in range(raters)])
    rater = np.repeat(np.arange(raters), each)
    values = 2.5 + rng.normal(0, spread[0], items)[item] + rng.normal(0, spread[1], raters)[rater]
    values += rng.normal(0, 1, len(item))
    return [np.clip(np.floor(values + 0.5), 0, 5) if points else values, item, rater]


def ratings_rows() -> Iterator[Case]:
    """Ratings by raters of items, and beside it the interval that takes them for independent."""
    for name, size in DESIGNS.items():
        for told, spread in SPREADS.items():

            def clustered(
                rng: np.random.Generator,
                repeats: int,
                size: tuple[int, int, int] = size,
                spread: tuple[float, float] = spread,
                naive: bool = False,
            ) -> float:
                samples = [_crossed(rng, size, spread, points=True) for _ in range(repeats)]
                found = [mean_interval(each[0], share=False) if naive else crossed_mean(*each) for each in samples]
                return covered([each.interval for each in found], 2.5)

            yield Case("mean rating (`crossed_mean`)", name, told, clustered, 0.5)
            yield Case("the same, naive (`mean_interval`)", name, told, partial(clustered, naive=True), 0.5, True)
    for name in ("10 items, 10 raters", "40 items, 30 raters of 10 each"):
        run = partial(_rating_difference, size=DESIGNS[name])
        yield Case("difference of mean ratings (`crossed_difference`)", name, "the same raters", run, 0.5)
    for name in ("20 items, 8 raters", "50 items, 20 raters", "40 items, 30 raters of 10 each"):
        for measure in ("interval", "icc"):
            run = partial(_agreement, size=DESIGNS[name], measure=measure)
            known = "`intraclass_correlation`" if measure == "icc" else "`krippendorff_alpha`"
            yield Case(f"agreement ({known})", name, "both alike", run, 0.5)


def _rating_difference(rng: np.random.Generator, repeats: int, size: tuple[int, int, int] = (10, 10, 10)) -> float:
    held = []
    for _ in range(repeats):
        first, item, rater = _crossed(rng, size, (0.5, 0.5), points=False)
        second = first + rng.normal(0, 0.7, len(first)) + rng.normal(0, 0.5, size[0])[item]
        difference, _known = crossed_difference(first, second, (item, item), (rater, rater))
        held.append(difference.interval)
    return covered(held, 0.0)


def _agreement(
    rng: np.random.Generator, repeats: int, size: tuple[int, int, int] = (20, 8, 20), measure: str = "icc"
) -> float:
    held = []
    for _ in range(repeats):
        values, item, rater = _crossed(rng, size, (0.7, 0.5), points=False)
        held.append(
            intraclass_correlation(values, item, rater)
            if measure == "icc"
            else krippendorff_alpha(values, item, rater, "interval")
        )
    return covered([each.interval for each in held], 0.49 / (0.49 + 0.25 + 1))
