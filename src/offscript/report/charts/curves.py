"""Figures along a length or position, each with the band of its interval."""

import math
from collections.abc import Mapping
from typing import Any

from offscript.measures.intervals import Curve

HEIGHT = 260


def curve_chart(
    curves: Mapping[str, Curve], *, x: str, y: str, first: int = 1, reference: float | None = None
) -> dict[str, Any]:
    """Lines with bands over `first`, `first + 1`, …; `reference` draws a rule, such as the 1 of a ratio.

    Points that are infinite are left out of the drawing; the tables have them.
    """
    import altair

    rows = [
        {"series": name, x: first + place, y: value, "lower": lower, "upper": upper}
        for name, curve in curves.items()
        for place, (value, lower, upper) in enumerate(zip(curve.values, curve.lower, curve.upper, strict=True))
        if all(map(math.isfinite, (value, lower, upper)))
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(
        x=altair.X(f"{_escaped(x)}:Q", title=x, axis=altair.Axis(tickMinStep=1)),
        color=altair.Color("series:N", title=None, legend=altair.Legend(orient="top") if len(curves) > 1 else None),
    )
    band = base.mark_area(opacity=0.2).encode(
        y=altair.Y("lower:Q", title=y, scale=altair.Scale(zero=False)), y2=altair.Y2("upper:Q")
    )
    line = base.mark_line(point=len(rows) < 60).encode(
        y=altair.Y(f"{_escaped(y)}:Q", title=y),
        tooltip=["series:N", f"{_escaped(x)}:Q", altair.Tooltip(f"{_escaped(y)}:Q", format=".4g"),
                 altair.Tooltip("lower:Q", format=".4g"), altair.Tooltip("upper:Q", format=".4g")],
    )  # fmt: skip
    layers: list[Any] = [band, line]
    if reference is not None:
        rule = altair.Chart(altair.Data(values=[{"reference": reference}]))
        layers.insert(0, rule.mark_rule(strokeDash=[4, 4], opacity=0.6).encode(y="reference:Q"))
    chart = altair.layer(*layers).properties(width="container", height=HEIGHT)
    specification: dict[str, Any] = chart.to_dict()
    return specification


def _escaped(name: str) -> str:
    """A field name in which Vega-Lite reads no path."""
    return name.replace(".", "\\.").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
