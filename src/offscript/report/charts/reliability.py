"""Reliability: how often verdicts are right, by how sure the checker was of them."""

from collections.abc import Sequence
from typing import Any

from offscript.report.charts.curves import Specification, layered
from offscript.statistics import ReliabilityBin

CONFIDENCE, RIGHT = "confidence of the verdict", "share of verdicts that are right"


def reliability_chart(bins: Sequence[ReliabilityBin]) -> Specification:
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
