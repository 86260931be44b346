"""Figures of several groups as bars, each with its interval."""

from collections.abc import Mapping

from offscript.measures.measurement import Measurement
from offscript.report.charts.curves import Specification, layered, rule


def bar_chart(
    groups: Mapping[str, Mapping[str, Measurement]], *, y: str, reference: float | None = None
) -> Specification:
    """A bar a figure, side by side within each group; `reference` draws a rule, such as the 50 of an even choice."""
    points = [
        {
            "group": group,
            "figure": figure,
            "value": entry.value,
            "lower": entry.interval.lower,
            "upper": entry.interval.upper,
        }
        for group, figures in groups.items()
        for figure, entry in figures.items()
    ]
    order = list(dict.fromkeys(point["figure"] for point in points))
    shared = {
        "x": {"field": "group", "type": "nominal", "title": None, "sort": list(groups), "axis": {"labelAngle": 0}},
        "xOffset": {"field": "figure", "type": "nominal", "sort": order},
    }
    color = {"field": "figure", "type": "nominal", "title": None, "sort": order, "legend": {"orient": "top"}}
    height = {"type": "quantitative", "title": y}
    tooltip = [{"field": name} for name in ("group", "figure")]
    tooltip += [{"field": name, "format": ".4g"} for name in ("value", "lower", "upper")]
    bars = {
        "mark": {"type": "bar", "opacity": 0.75},
        "encoding": {**shared, "y": {"field": "value", **height}, "color": color, "tooltip": tooltip},
    }
    intervals = {
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {**shared, "y": {"field": "lower", **height}, "y2": {"field": "upper"}},
    }
    return layered([bars, intervals, *([] if reference is None else [rule(reference)])], points)
