"""Charts as plain data: Vega-Lite specifications of curves and bars with their intervals.

Nothing here draws: pages embed the specifications, `report/vega.py` writes them to files.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.statistics import Curve

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
HEIGHT = 260
_LEGEND: dict[str, Any] = {"orient": "top", "symbolOpacity": 1}
_WRAPPED = {**_LEGEND, "columns": {"expr": "max(1, floor(width / 85))"}}  # where more names than fit on a phone
_NAMES = {
    "labelExpr": "split(datum.label, ',')",
    "labelAngle": {"expr": "width < 300 ? -35 : 0"},
    "labelAlign": {"expr": "width < 300 ? 'right' : 'center'"},
}
"""Names below bars: one line per part of `nucleus,p=0.9`, and at an angle on a phone."""

Specification = dict[str, Any]
Chart = tuple[str, Specification]
"""A title and what is drawn below it."""


def curves_of(measurements: "Sequence[Measurement]", prefix: str = "") -> "dict[str, Curve]":
    """The curves of the figures whose names begin with a prefix, by the rest of their names."""
    return {
        entry.name.removeprefix(prefix): entry.by_position
        for entry in measurements
        if entry.by_position is not None and entry.name.startswith(prefix)
    }


def charts_by_length(measurements: "Sequence[Measurement]") -> list[Chart]:
    """A curve for each figure that is known at every length."""
    curves = curves_of(measurements)
    return [(f"{name} by length", curve_chart({name: curve}, x="length", y=name)) for name, curve in curves.items()]


def curve_chart(
    curves: "Mapping[str, Curve]",
    *,
    x: str,
    y: str,
    first: int = 1,
    reference: float | None = None,
    meaning: str = "",
) -> Specification:
    """Lines with bands over `first`, `first + 1`, …; `reference` draws a rule with its `meaning`, as the 1 of a ratio.

    Up to three lines have their names at their ends, more of them a legend.
    Points that are infinite are left out of the drawing, and bands where they have no end; the tables have both.
    Nothing is joined across them. Of long curves, and of those whose points are mostly noise, a smoothed line is drawn
    over faint points.
    """
    points = [point for name, curve in curves.items() for point in _points(name, curve, first)]
    longest = max((len(curve.values) for curve in curves.values()), default=0)
    if longest <= _FEWEST and len(curves) > 1:
        return _dot_chart(points, list(curves), x, y, [] if reference is None else [rule(reference, meaning)])
    axis: Specification = {"tickMinStep": 1}
    if longest <= _FEW:
        axis = {"values": list(range(first, first + longest)), "format": "d"}
    along = {"field": "place", "type": "quantitative", "title": x, "axis": axis}
    labelled = 1 < len(curves) <= _LABELLED and _end_late(points, first + longest - 1)
    legend = None if labelled or len(curves) == 1 else _WRAPPED
    color = {"field": "series", "type": "nominal", "title": None, "sort": list(curves), "legend": legend}
    shared = {"x": along, "color": color}
    band = {
        "transform": [{"filter": "isValid(datum.upper)"}],
        "mark": {"type": "area", "opacity": 0.2},
        "encoding": {**shared, "y": _quantity("lower", y), "y2": {"field": "upper"}, "detail": {"field": "bounded"}},
    }
    value = {**shared, "y": _quantity("value", y), "tooltip": _tooltip(x, y)}
    lines: list[Specification] = [
        {"mark": {"type": "line", "point": len(points) < 60}, "encoding": {**value, "detail": {"field": "part"}}}
    ]
    if longest >= _LONG or any(_is_noisy(curve) for curve in curves.values()):
        smooth = {**shared, "y": _quantity("smooth", y), "detail": {"field": "part"}}
        lines = [
            {"mark": {"type": "point", "filled": True, "opacity": 0.25, "size": 12}, "encoding": value},
            {"transform": [_moving_mean(max(2, longest // 40))], "mark": {"type": "line"}, "encoding": smooth},
        ]
    if labelled:
        lines.append(_line_ends(points, shared, y))
    return layered([*([] if reference is None else [rule(reference, meaning)]), band, *lines], points)


_FEWEST = 4  # positions up to which several curves are dots side by side: their bands would hide one another
_LABELLED = 3  # lines that are named where they end
_APART = 0.07  # of the chart's height, between two names


def _end_late(points: Sequence[Mapping[str, Any]], last: int) -> bool:
    """Whether every line reaches the right half of the chart, where no other line's points hide its name."""
    ends = {point["series"]: point["place"] for point in points}
    return all(2 * place >= last for place in ends.values())


def _line_ends(points: list[dict[str, Any]], shared: Specification, y: str) -> Specification:
    """The names of the lines to the right of where they end, moved apart where they would overlap."""
    sides = [point[side] for point in points for side in ("value", "lower", "upper") if point[side] is not None]
    gap = _APART * (max(sides) - min(sides)) if sides else 0.0
    ends = {point["series"]: point for point in points}
    names: list[dict[str, Any]] = []
    for point in sorted(ends.values(), key=lambda point: float(point["value"])):
        value = point["value"] if not names else max(point["value"], names[-1]["value"] + gap)
        names.append({"series": point["series"], "place": point["place"], "value": value})
    return {
        "data": {"values": names},
        "mark": {"type": "text", "align": "left", "dx": 6, "fontWeight": 600},
        "encoding": {**shared, "y": _quantity("value", y), "text": {"field": "series"}},
    }


def _dot_chart(
    points: list[dict[str, Any]], series: list[str], x: str, y: str, rules: list[Specification]
) -> Specification:
    """Dots with their intervals, side by side at each of a few positions."""
    along = {"field": "place", "type": "ordinal", "title": x, "axis": {"labelAngle": 0}}
    color = {"field": "series", "type": "nominal", "title": None, "sort": series, "legend": _WRAPPED}
    beside = {"field": "series", "type": "nominal", "sort": series}
    shared = {"x": along, "xOffset": beside, "color": color}
    bars = {
        "transform": [{"filter": "isValid(datum.upper)"}],
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
        "encoding": {**shared, "y": _quantity("lower", y), "y2": {"field": "upper"}},
    }
    dots = {
        "mark": {"type": "point", "filled": True, "opacity": 1, "size": 60},
        "encoding": {**shared, "y": _quantity("value", y), "tooltip": _tooltip(x, y)},
    }
    return layered([*rules, bars, dots], points)


_FEW = 12  # positions up to which each has its tick
_LONG, _SHORT = 100, 20  # positions from which on a curve is smoothed; below the second never
_NOISE = 0.25  # width of the band, as a share of the curve's height, above which points are mostly noise


def _is_noisy(curve: "Curve") -> bool:
    """Whether the intervals of a curve of some length are as wide as what it shows."""
    values = [value for value in curve.values if math.isfinite(value)]
    widths = [high - low for low, high in zip(curve.lower, curve.upper, strict=True) if math.isfinite(high - low)]
    if len(values) < _SHORT or not widths:
        return False
    return median(widths) > _NOISE * (max(values) - min(values))


def _points(name: str, curve: "Curve", first: int) -> list[dict[str, Any]]:
    """The finite points of a curve; `part` and `bounded` count the gaps before each in its line and in its band."""
    points: list[dict[str, Any]] = []
    part = bounded = 0
    for place, (value, lower, upper) in enumerate(zip(curve.values, curve.lower, curve.upper, strict=True)):
        bounds = _bounds(lower, upper)
        unbounded = bounds["lower"] is None
        bounded += unbounded
        part += unbounded or not math.isfinite(value)
        if math.isfinite(value):
            at = {"series": name, "place": first + place, "value": value}
            points.append({**at, **bounds, "part": part, "bounded": bounded})
            part += unbounded  # a point without bounds is joined to nothing
    return points


def _moving_mean(reach: int) -> Specification:
    """The mean of a point and so many on either side, within one part of one curve."""
    mean = {"op": "mean", "field": "value", "as": "smooth"}
    sort = [{"field": "place"}]
    return {"window": [mean], "frame": [-reach, reach], "groupby": ["series", "part"], "sort": sort}


def layered(layers: list[Specification], points: list[dict[str, Any]]) -> Specification:
    """Layers over the same points, as wide as the place they are put in."""
    return {"$schema": SCHEMA, "width": "container", "height": HEIGHT, "data": {"values": points}, "layer": layers}


def rule(value: float, meaning: str = "") -> Specification:
    """A dashed line across at a value, and what it stands for."""
    line = {"mark": {"type": "rule", "strokeDash": [4, 4], "opacity": 0.6}, "encoding": {"y": {"datum": value}}}
    if not meaning:
        return line
    text = {"type": "text", "align": "left", "baseline": "bottom", "dx": 4, "dy": -3, "fontStyle": "italic"}
    name = {
        "data": {"values": [{"meaning": meaning}]},
        "mark": text,
        "encoding": {"y": {"datum": value}, "x": {"value": 0}, "text": {"field": "meaning"}},
    }
    return {"layer": [line, name]}


def choices(group: str, charts: "Mapping[str, Specification]") -> list[Chart]:
    """Charts of which a page shows one at a time, by the names of the choices.

    Args:
        group: the title that they share.
        charts: each by the name of the choice.

    Returns:
        Titled charts, which files and other readers still see one by one.
    """
    return [
        (f"{group}: {choice}", {**chart, "usermeta": {"group": group, "choice": choice}})
        for choice, chart in charts.items()
    ]


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


def bar_chart(
    groups: "Mapping[str, Mapping[str, Measurement]]", *, y: str, reference: float | None = None
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
        "x": {"field": "group", "type": "nominal", "title": None, "sort": list(groups), "axis": _NAMES},
        "xOffset": {"field": "figure", "type": "nominal", "sort": order},
    }
    legend = _LEGEND if len(order) > 1 else None
    color = {"field": "figure", "type": "nominal", "title": None, "sort": order, "legend": legend}
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


CONFIDENCE, RIGHT = "confidence of the verdict", "share of verdicts that are right"


def reliability_chart(bins: "Sequence[Any]") -> Specification:
    """Points with intervals; a checker that is sure as often as it is right lies on the dashed diagonal."""
    points: list[dict[str, Any]] = [
        {
            "confidence": each.confidence,
            "right": each.right.value,
            "lower": each.right.interval.lower,
            "upper": each.right.interval.upper,
            "claims": each.claims,
        }
        for each in bins
    ]
    along = {"field": "confidence", "type": "quantitative", "title": CONFIDENCE, "scale": {"domain": [0, 1]}}
    upwards = {"field": "right", "type": "quantitative", "title": RIGHT, "scale": {"domain": [0, 1]}}
    tooltip = [{"field": field, "type": "quantitative", "format": ".3g"} for field in points[0]] if points else []
    diagonal = {
        "data": {"values": [{"confidence": 0, "right": 0}, {"confidence": 1, "right": 1}]},
        "mark": {"type": "line", "strokeDash": [4, 4], "opacity": 0.6},
        "encoding": {"x": along, "y": upwards},
    }
    bars = {
        "mark": "rule",
        "encoding": {"x": along, "y": {**upwards, "field": "lower"}, "y2": {"field": "upper"}},
    }
    dots = {
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {
            "x": along,
            "y": upwards,
            "size": {"field": "claims", "type": "quantitative", "title": "claims"},
            "tooltip": tooltip,
        },
    }
    return layered([diagonal, bars, dots], points)


_KINDS = {".corpus_bleu": "quality", ".self_bleu": "diversity"}
_TALL = 380
_TICKS = 8  # so that labels such as 0.14 stand apart


def trade_off_chart(measurements: "Sequence[Measurement]") -> Specification:
    """Corpus-BLEU over self-BLEU with both intervals, from a sweep's measurements; up and left is better.

    The self-BLEU of no sampler is that of real text: a band from bottom to top; its corpus-BLEU is a dashed line.
    """
    by_sampler: dict[str, dict[str, Measurement]] = {}
    real: list[Specification] = []
    together = _indistinguishable(measurements)
    best = {entry.recipe["best"] for entry in measurements if entry.name.endswith(".behind_best")}
    for entry in measurements:
        kind = next((kind for part, kind in _KINDS.items() if part in entry.name), None)
        if kind is not None and "sampler" in entry.recipe:
            by_sampler.setdefault(entry.recipe["sampler"], {})[kind] = entry
        elif kind is not None:
            real.append(_span(entry) if kind == "diversity" else rule(entry.value))
    points = [
        {**_point(sampler, **pair), "together": sampler in together, "best": sampler in best}
        for sampler, pair in by_sampler.items()
        if pair.keys() == set(_KINDS.values())
    ]
    color = {"field": "algorithm", "type": "nominal", "title": None, "legend": _WRAPPED}
    x, y = (
        {**_free_axis("diversity", "self-BLEU (lower: more diverse)"), "axis": {"tickCount": _TICKS}},
        _free_axis("quality", "corpus-BLEU (higher: better)"),
    )
    line = {
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": x,
            "y": y,
            "color": color,
            "order": {"field": "diversity", "type": "quantitative"},
            "tooltip": [{"field": name} for name in ("sampler", "quality", "diversity")],
        },
    }
    rules = [
        {"x": x, "y": {**y, "field": "lower"}, "y2": {"field": "upper"}},
        {"x": {**x, "field": "left"}, "x2": {"field": "right"}, "y": y},
    ]
    crosses = [{"mark": {"type": "rule", "opacity": 0.4}, "encoding": {**rule, "color": color}} for rule in rules]
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": _TALL,
        "data": {"values": points},
        "layer": [*real, _halo(x, y), line, *crosses, _best_name(x, y), *_real_point(measurements, x, y)],
    }


def scatter_chart(points: Sequence[Mapping[str, Any]], *, x: str, y: str) -> Specification:
    """Systems as points with both intervals: quality (lower, upper) over diversity (left, right)."""
    color = {"field": "system", "type": "nominal", "title": None, "legend": _LEGEND}
    along, upwards = _free_axis("diversity", x), _free_axis("quality", y)
    tooltip = [{"field": "system"}, *({"field": name, "format": ".4g"} for name in ("quality", "diversity"))]
    dots = {
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {"x": along, "y": upwards, "color": color, "tooltip": tooltip},
    }
    rules = [
        {"x": along, "y": {**upwards, "field": "lower"}, "y2": {"field": "upper"}},
        {"x": {**along, "field": "left"}, "x2": {"field": "right"}, "y": upwards},
    ]
    crosses = [{"mark": {"type": "rule", "opacity": 0.4}, "encoding": {**bars, "color": color}} for bars in rules]
    return layered([dots, *crosses], [dict(point) for point in points])


def _indistinguishable(measurements: "Sequence[Measurement]") -> set[str]:
    """The best setting and those whose distance behind it may be 0."""
    behind = [entry for entry in measurements if entry.name.endswith(".behind_best")]
    rivals = {entry.recipe["sampler"] for entry in behind if 0 in entry.interval}
    return rivals | {entry.recipe["best"] for entry in behind if entry.recipe["sampler"] in rivals}


def _halo(x: Specification, y: Specification) -> Specification:
    """A ring around each setting that cannot be told apart from the best."""
    return {
        "transform": [{"filter": "datum.together"}],
        "mark": {"type": "point", "size": 260, "filled": False, "strokeWidth": 2, "opacity": 0.9, "color": "#b8860b"},
        "encoding": {"x": x, "y": y, "tooltip": [{"field": "sampler"}]},
    }


def _best_name(x: Specification, y: Specification) -> Specification:
    """The name of the setting that scores highest among those as diverse as real text."""
    return {
        "transform": [{"filter": "datum.best"}],
        "mark": {"type": "text", "align": "left", "dx": 11, "dy": -9, "fontWeight": 600},
        "encoding": {"x": x, "y": y, "text": {"field": "sampler"}},
    }


def _real_point(measurements: "Sequence[Measurement]", x: Specification, y: Specification) -> list[Specification]:
    """Real text as a cross with its name, where both of its figures are known."""
    known = {kind: entry for entry in measurements for part, kind in _KINDS.items() if _is_real(entry, part)}
    if len(known) < len(_KINDS):
        return []
    point = {**{kind: entry.value for kind, entry in known.items()}, "text": "real text"}
    data = {"values": [point]}
    cross = {"type": "point", "shape": "cross", "filled": True, "size": 130, "opacity": 1}
    name = {"type": "text", "align": "left", "dx": 5, "dy": 15, "fontWeight": 600}  # names of samplers stand above
    return [
        {"data": data, "mark": cross, "encoding": {"x": x, "y": y}},
        {"data": data, "mark": name, "encoding": {"x": x, "y": y, "text": {"field": "text"}}},
    ]


def _is_real(entry: "Measurement", part: str) -> bool:
    return part in entry.name and "sampler" not in entry.recipe


def _span(entry: "Measurement") -> Specification:
    """The interval of one self-BLEU as a band from bottom to top."""
    point = {"left": entry.interval.lower, "right": entry.interval.upper, "text": "as diverse as real text"}
    return {
        "data": {"values": [point]},
        "layer": [
            {"mark": {"type": "rect", "opacity": 0.12}, "encoding": {"x2": {"field": "right"}}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "baseline": "bottom", "fontStyle": "italic"},
                "encoding": {"text": {"field": "text"}, "y": {"value": _TALL - 4}},
            },
        ],
        "encoding": {"x": {**_free_axis("left", "self-BLEU (lower: more diverse)")}},
    }


def _free_axis(field: str, title: str) -> Specification:
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": False}}


def _point(sampler: str, *, quality: "Measurement", diversity: "Measurement") -> dict[str, Any]:
    return {
        "algorithm": sampler.split(",", 1)[0],
        "sampler": sampler,
        "quality": quality.value,
        "lower": quality.interval.lower,
        "upper": quality.interval.upper,
        "diversity": diversity.value,
        "left": diversity.interval.lower,
        "right": diversity.interval.upper,
    }
