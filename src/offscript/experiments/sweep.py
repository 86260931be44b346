"""A sweep: a YAML grid of models, algorithms, data sizes, seeds, samplers …; every point is a handful of cells."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from offscript._config import change, expanded, first_fault, read_mapping
from offscript.audits.cells import Cell, MeasureCall
from offscript.audits.store import write_results
from offscript.audits.workers import Place, Resources, run_groups
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement
from offscript.measures.registry import question
from offscript.training import recipe_from

Changes = dict[str, Any]
"""Dotted keys of a grid file, and what stands there at one point."""


class Point(BaseModel):
    """What one point of the grid is made of: a model that exists or is trained, and what it is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
    training: dict[str, Any] = {}
    oracle: str | None = None
    seed: int = Field(1, ge=0, description="of the training and of the measures")
    measures: list[MeasureCall] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_model(self) -> "Point":
        if self.model is not None and self.training:
            raise ValueError("a model and a training are given; one of them is what is measured")
        return self


@dataclass(frozen=True)
class Swept:
    """One point, told by the labels of its axes, and what was measured there."""

    labels: dict[str, str]
    cells: tuple[Cell, ...]
    measurements: tuple[Measurement, ...] = ()

    @property
    def name(self) -> str:
        """The labels in a line."""
        return ", ".join(f"{axis}={label}" for axis, label in self.labels.items())


@dataclass(frozen=True)
class Sweep:
    """Every point of a grid, and what each needs of a machine."""

    points: tuple[Swept, ...]
    resources: Resources


def read_sweep(path: Path, *, seed: int = 1) -> Sweep:
    """Read a grid: `grid` holds axes, the rest is what all points share.

    An axis is a dotted key with the values it takes (`training.model.hidden: [32, 64]`), or a name with labelled
    changes (`algorithm: {SS: {training.algorithm: scheduled-sampling}, …}`). `seed` is for points where the grid names
    none.
    """
    content = {"seed": seed, **read_mapping(path, "grid")}
    axes = content.pop("grid", {})
    if not isinstance(axes, dict) or not all(map(_is_axis, axes.values())):
        raise OffscriptError(f"{path}: grid", next="write axes, each with a list of values or labelled changes")
    try:
        resources = Resources.model_validate(content.pop("resources", {}))
        steps = [[(_short(str(key)), *step) for step in _steps(str(key), axis)] for key, axis in axes.items()]
        points = [_point(content, chosen, path) for chosen in product(*steps)]
    except ValidationError as fault:
        raise OffscriptError(f"{path}: {first_fault(fault, Resources)}") from fault
    return Sweep(tuple(points), resources)


def run_sweep(
    sweep: Sweep, out: Path, *, on: str, device: str = "cpu", finished: Callable[[int], None] | None = None
) -> list[Swept]:
    """Run every cell that is not stored yet, and answer the points with their figures."""
    place = Place(on, sweep.resources, device)
    found = run_groups([point.cells for point in sweep.points], out, place, finished)
    return [
        Swept(point.labels, point.cells, tuple(entry for answer in answers for entry in answer.measurements))
        for point, answers in zip(sweep.points, found, strict=True)
    ]


def store_sweep(points: list[Swept], out: Path) -> list[Path]:
    """Results files, one per point."""
    return [write_results(out, point.name or "sweep", point.measurements, config=point.labels) for point in points]


def _is_axis(axis: Any) -> bool:
    """Whether an axis is a list of values, or labels with the keys that each changes."""
    if isinstance(axis, dict):
        return bool(axis) and all(changes is None or isinstance(changes, dict) for changes in axis.values())
    return isinstance(axis, list) and bool(axis)


def _steps(key: str, axis: list[Any] | dict[str, Changes]) -> list[tuple[str, Changes]]:
    """Labels along one axis, each with what it changes."""
    if isinstance(axis, list):
        return [(str(value), {key: value}) for value in axis]
    return [(str(label), changes or {}) for label, changes in axis.items()]


def _short(key: str) -> str:
    return key.rpartition(".")[2]


def _point(shared: dict[str, Any], chosen: tuple[tuple[str, str, Changes], ...], path: Path) -> Swept:
    content, labels = copy.deepcopy(shared), {axis: label for axis, label, _ in chosen}
    for _, _, changes in chosen:
        for key, value in changes.items():
            change(content, key, value)
    name = ", ".join(f"{axis}={label}" for axis, label in labels.items()) or path.stem
    try:
        point = Point.model_validate(content)
    except ValidationError as fault:
        raise OffscriptError(f"{path}, {name}: {first_fault(fault, Point)}") from fault
    trainings = ({**point.training, "seed": point.seed},) if point.training else ()
    for recipe in trainings:
        recipe_from(expanded(recipe), f"{path}, {name}")
    for call in point.measures:
        question(call.question)
    cells = [
        Cell(name=name, model=point.model, trainings=trainings, oracle=point.oracle, call=call, seed=point.seed)
        for call in point.measures
    ]
    return Swept(labels, tuple(cells))
