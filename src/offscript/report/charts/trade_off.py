"""Quality over diversity: a curve for each sampling algorithm."""

from collections.abc import Sequence
from typing import Any

from offscript.measures.measurement import Measurement
from offscript.report.charts.curves import SCHEMA, Specification

_LEGEND = {"orient": "top", "symbolOpacity": 1}


def trade_off_chart(measurements: Sequence[Measurement]) -> Specification:
    """Corpus-BLEU over self-BLEU with both intervals, from a sweep's measurements; up and left is better.

    A figure of no sampler is the diversity of real text: a rule with its interval.
    """
    by_sampler: dict[str, dict[str, Measurement]] = {}
    real = [_span(entry) for entry in measurements if "sampler" not in entry.recipe]
    for entry in measurements:
        if "sampler" not in entry.recipe:
            continue
        kind = "quality" if ".corpus_bleu" in entry.name else "diversity"
        by_sampler.setdefault(entry.recipe["sampler"], {})[kind] = entry
    points = [_point(sampler, **pair) for sampler, pair in by_sampler.items()]
    color = {"field": "algorithm", "type": "nominal", "title": None, "legend": _LEGEND}
    x, y = _axis("diversity", "self-BLEU (lower: more diverse)"), _axis("quality", "corpus-BLEU (higher: better)")
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
        "height": 380,
        "data": {"values": points},
        "layer": [*real, line, *crosses],
    }


def _span(entry: Measurement) -> Specification:
    """The interval of one self-BLEU as a band from bottom to top."""
    point = {"left": entry.interval.lower, "right": entry.interval.upper, "text": "real text"}
    return {
        "data": {"values": [point]},
        "layer": [
            {"mark": {"type": "rect", "opacity": 0.12}, "encoding": {"x2": {"field": "right"}}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "baseline": "top", "fontStyle": "italic"},
                "encoding": {"text": {"field": "text"}, "y": {"value": 4}},
            },
        ],
        "encoding": {"x": {**_axis("left", "self-BLEU (lower: more diverse)")}},
    }


def _axis(field: str, title: str) -> Specification:
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": False}}


def _point(sampler: str, *, quality: Measurement, diversity: Measurement) -> dict[str, Any]:
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
