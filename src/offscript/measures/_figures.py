"""Figures on their way to measurements: an estimate, its course by length, the values behind it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.measures.measurement import Measurement, environment
from offscript.models.language_model import LanguageModel
from offscript.statistics import Curve, Estimate, Interval, Profile


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
