"""Figures along a length or position, each with the band of its interval."""

import math
from collections.abc import Mapping
from typing import Any

from offscript.statistics import Curve

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
HEIGHT = 260
Specification = dict[str, Any]


def curve_chart(
    curves: Mapping[str, Curve], *, x: str, y: str, first: int = 1, reference: float | None = None
) -> Specification:
    """Lines with bands over `first`, `first + 1`, …; `reference` draws a rule, such as the 1 of a ratio.

    Points that are infinite are left out of the drawing, and bands where they have no end; the tables have both.
    """
    points = [
        {"series": name, "place": first + place, "value": value, **_bounds(lower, upper)}
        for name, curve in curves.items()
        for place, (value, lower, upper) in enumerate(zip(curve.values, curve.lower, curve.upper, strict=True))
        if math.isfinite(value)
    ]
    along = {"field": "place", "type": "quantitative", "title": x, "axis": {"tickMinStep": 1}}
    legend = {"orient": "top", "symbolOpacity": 1} if len(curves) > 1 else None
    color = {"field": "series", "type": "nominal", "title": None, "sort": list(curves), "legend": legend}
    shared = {"x": along, "color": color}
    band = {
        "transform": [{"filter": "isValid(datum.upper)"}],
        "mark": {"type": "area", "opacity": 0.2},
        "encoding": {**shared, "y": _quantity("lower", y), "y2": {"field": "upper"}},
    }
    line = {
        "mark": {"type": "line", "point": len(points) < 60},
        "encoding": {**shared, "y": _quantity("value", y), "tooltip": _tooltip(x, y)},
    }
    return layered([*([] if reference is None else [rule(reference)]), band, line], points)


def layered(layers: list[Specification], points: list[dict[str, Any]]) -> Specification:
    """Layers over the same points, as wide as the place they are put in."""
    return {"$schema": SCHEMA, "width": "container", "height": HEIGHT, "data": {"values": points}, "layer": layers}


def rule(value: float) -> Specification:
    """A dashed line across at a value."""
    return {"mark": {"type": "rule", "strokeDash": [4, 4], "opacity": 0.6}, "encoding": {"y": {"datum": value}}}


def _bounds(lower: float, upper: float) -> dict[str, float | None]:
    bounded = math.isfinite(lower) and math.isfinite(upper)
    return {"lower": lower if bounded else None, "upper": upper if bounded else None}


def _quantity(field: str, title: str) -> Specification:
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": False}}


def _tooltip(x: str, y: str) -> list[Specification]:
    fields = (("series", ""), ("place", x), ("value", y), ("lower", "lower"), ("upper", "upper"))
    return [
        {
            "field": field,
            "title": title or "series",
            **({"format": ".4g"} if field in ("value", "lower", "upper") else {}),
        }
        for field, title in fields
    ]
