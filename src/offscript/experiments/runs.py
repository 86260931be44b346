"""Several runs of one variant: their mean and its interval, differences in pairs, correlations over all runs."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from offscript._types import FloatArray
from offscript.measures.measurement import Measurement
from offscript.measures.regret.estimation import regret_correlations
from offscript.statistics import (
    Curve,
    Interval,
    can_be_compared,
    independent_difference,
    paired_differences,
    student_interval,
)

Figures = Mapping[str, Measurement]
"""What one run was measured to be, by `QUESTION.NAME`."""

_RUNS = "runs"
_ITEMS = ("data", "collection")
"""Where recipes tell what was asked about."""

_SEED = 1


def averaged(runs: Sequence[Figures]) -> dict[str, Measurement]:
    """Every figure's mean over the runs; its interval tells how far training runs differ. One run stays as it is."""
    if len(runs) == 1:
        return dict(runs[0])
    return {name: _over_runs([figures[name] for figures in runs]) for name in runs[0]}


def difference(first: Measurement, second: Measurement) -> Interval:
    """First less second: by pairs of runs with the same seed where there are several, else by pairs of items.

    Two systems that were asked about the same items (claims, target terms, sentences: their recipes name the same data)
    pair item by item; all other figures are taken as independent. Of means of fewer than 12 items nothing is known.
    """
    if _RUNS in first.recipe and _RUNS in second.recipe and first.n == second.n:
        assert first.per_item is not None
        assert second.per_item is not None
        return student_interval(first.per_item - second.per_item).interval
    parts = _paired_items(first, second)
    if parts is not None:
        [paired] = paired_differences(*parts, generator=np.random.default_rng(_SEED))
        return paired.interval
    if not can_be_compared(first.estimate, second.estimate):
        return Interval(-math.inf, math.inf, first.interval.level, "too few items")
    return independent_difference(first.estimate, second.estimate).interval


def _paired_items(first: Measurement, second: Measurement) -> tuple[FloatArray, FloatArray] | None:
    """Each item's part in both figures, [items, 1], where these are of one kind and of the same items."""
    same = [key for key in _ITEMS if key in first.recipe and first.recipe[key] == second.recipe.get(key)]
    if not same or (first.question, first.name, first.n) != (second.question, second.name, second.n):
        return None
    parts = first.contributions(), second.contributions()
    if parts[0] is None or parts[1] is None or parts[0].shape != parts[1].shape:
        return None
    return parts[0][:, np.newaxis], parts[1][:, np.newaxis]


def correlations(
    runs: Mapping[str, Sequence[Figures]], correlated: Sequence[str], *, seed: int
) -> dict[str, Measurement]:
    """How figures, such as Q and perplexity, correlate over the runs of some variants (Table 4).

    They are called `correlation.FIRST~SECOND`; the recipe holds the table of all runs, which a scatter plot shows.
    """
    names = [name.partition(".")[2] for name in correlated]
    table = [
        dict(zip(names, (figures[name].value for name in correlated), strict=True))
        for own in runs.values()
        for figures in own
    ]
    variants = [variant for variant, own in runs.items() for _ in own]
    found = regret_correlations(table, names=names)
    return {
        f"correlation.{first}~{second}": Measurement.of(
            estimate,
            question="correlation",
            name=f"{first}~{second}",
            n=len(table),
            seed=seed,
            seconds=0.0,
            recipe={
                "kind": "pearson",
                "table": [{"variant": name, **row} for name, row in zip(variants, table, strict=True)],
            },
        )
        for (first, second), estimate in found.items()
    }


def _over_runs(entries: Sequence[Measurement]) -> Measurement:
    values = np.array([entry.value for entry in entries])
    first = entries[0]
    return Measurement.of(
        student_interval(values),
        question=first.question,
        name=first.name,
        n=len(entries),
        seed=first.seed,
        seconds=sum(entry.seconds for entry in entries),
        recipe={_RUNS: [entry.recipe for entry in entries]},
        higher_is_better=first.higher_is_better,
        per_item=values,
        by_position=_curve_over_runs([entry.by_position for entry in entries]),
    )


def _curve_over_runs(curves: Sequence[Curve | None]) -> Curve | None:
    """The mean of the runs' curves at every length; None where a run has none or the curves differ in length."""
    known = [curve.values for curve in curves if curve is not None]
    if len(known) < len(curves) or len({len(values) for values in known}) != 1 or not np.isfinite(known).all():
        return None
    estimates = [student_interval(column) for column in np.array(known).T]
    return Curve(
        tuple(each.value for each in estimates),
        tuple(each.interval.lower for each in estimates),
        tuple(each.interval.upper for each in estimates),
        estimates[0].interval.level,
        estimates[0].interval.method,
    )
