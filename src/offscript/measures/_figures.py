"""Figures on their way to measurements: an estimate, its course by length, the values behind it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.measures.measurement import Measurement, environment
from offscript.models.language_model import LanguageModel
from offscript.statistics import Curve, Estimate, Interval, Profile, mean_interval
from offscript.statistics.estimates import LEAST


class Figure(NamedTuple):
    """An estimate and, where there are any, its course over the lengths, single sequences' values and their weights."""

    estimate: Estimate
    by_length: Curve | None = None
    per_item: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None

    @classmethod
    def of(cls, profile: Profile, per_item: NDArray[Any] | None = None) -> "Figure":
        """The average over lengths, with the curve it averages."""
        return cls(profile.average, profile.by_length, per_item)

    @classmethod
    def exact(cls, value: float, by_length: FloatArray | None = None) -> "Figure":
        """Found by enumeration."""
        curve = None if by_length is None else Curve.exact(by_length.tolist())
        return cls(Estimate(float(value), 0.0, Interval.exact(float(value))), curve)


def as_measurements(figures: Mapping[str, Figure], **shared: Any) -> list[Measurement]:
    """One measurement a figure; `shared` are the fields that all have in common."""
    return [
        Measurement.of(
            figure.estimate,
            name=name,
            by_position=figure.by_length,
            per_item=figure.per_item,
            weights=figure.weights,
            **shared,
        )
        for name, figure in figures.items()
    ]


def means_by_position(table: FloatArray) -> Curve | None:
    """Means of the columns of [n, positions], over the rows that are not NaN, up to the first that has too few.

    Args:
        table: One row per sequence, NaN after its end.

    Returns:
        The curve, or None where the first position has too few values for an interval.
    """
    points = []
    for column in table.T:
        known = column[~np.isnan(column)]
        if len(known) < LEAST:
            break
        points.append(mean_interval(known))
    if not points:
        return None
    values, lower, upper = np.array([(each.value, each.interval.lower, each.interval.upper) for each in points]).T
    return Curve.of(values, (lower, upper), points[0].interval.level, "mean over sequences")


def recipe_of(
    question: str, model: LanguageModel, oracle: LanguageModel | None, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """What it takes to make a question's figures again."""
    return {
        "measure": question,
        "model": {"name": model.name, "weights": model.weight_hash},
        "oracle": None if oracle is None else {"name": oracle.name, "weights": oracle.weight_hash},
        **settings,
        **environment(),
    }
