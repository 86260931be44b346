"""Where runs differ in a number: training length, data size, a temperature. Figures are drawn along it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from offscript.audits.comparison import Run
from offscript.measures.charts import Chart, Specification, layered
from offscript.measures.measurement import Measurement
from offscript.report.figures import in_words

_NOT_AXES = ("seed", "seconds", "date")
_FEWEST = 2


def numeric_axes(runs: Sequence[Run]) -> dict[str, list[float]]:
    """By name of a setting: its value in each run, where all runs have a number there and two or more differ.

    Args:
        runs: each with the configuration that it was stored with.

    Returns:
        One value per run; seeds and times are no axes.
    """
    values = [_numbers(run.config) for run in runs]
    shared = [name for name in values[0] if all(name in each for each in values[1:]) and name not in _NOT_AXES]
    return {name: [each[name] for each in values] for name in shared if len({each[name] for each in values}) >= _FEWEST}


def charts_along(
    axes: Mapping[str, Sequence[float]], entries: Mapping[str, Measurement], runs: Sequence[Run]
) -> list[Chart]:
    """One figure of every run that has it, over each axis, with intervals."""
    charts = []
    for axis, places in axes.items():
        points = [
            _point(run.label, place, entries[run.label])
            for run, place in zip(runs, places, strict=True)
            if run.label in entries and math.isfinite(entries[run.label].value)
        ]
        if len({point["place"] for point in points}) >= _FEWEST:
            title = in_words(next(iter(entries.values())))
            charts.append((f"{title} by {axis}", _along(points, axis, title)))
    return charts


def _along(points: list[dict[str, Any]], axis: str, title: str) -> Specification:
    x = {"field": "place", "type": "quantitative", "title": axis, "scale": {"zero": False}}
    y = {"type": "quantitative", "title": title, "scale": {"zero": False}}
    tooltip = [{"field": name} for name in ("run", "place", "value", "lower", "upper")]
    return layered(
        [
            {
                "mark": {"type": "rule", "strokeWidth": 1.5},
                "encoding": {"x": x, "y": {**y, "field": "lower"}, "y2": {"field": "upper"}},
            },
            {
                "mark": {"type": "line", "opacity": 0.4},
                "encoding": {"x": x, "y": {**y, "field": "value", "aggregate": "mean"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"x": x, "y": {**y, "field": "value"}, "tooltip": tooltip},
            },
        ],
        points,
    )


def _point(label: str, place: float, entry: Measurement) -> dict[str, Any]:
    bounds = [bound if math.isfinite(bound) else None for bound in (entry.interval.lower, entry.interval.upper)]
    return {"run": label, "place": place, "value": entry.value, "lower": bounds[0], "upper": bounds[1]}


def _numbers(config: Mapping[str, Any], before: str = "") -> dict[str, float]:
    """The numbers of a configuration by their dotted keys; text that is a number is one."""
    numbers: dict[str, float] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            numbers |= _numbers(value, f"{before}{key}.")
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            number = _number(value)
            if number is not None:
                numbers[f"{before}{key}"] = number
    return numbers


def _number(value: str | float) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
