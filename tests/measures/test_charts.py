"""Charts as data: which points, which layers, which axes; the looks are free."""

import math
from typing import Any

import pytest

from offscript.measures import charts
from offscript.measures.charts import (
    bar_chart,
    charts_by_length,
    choices,
    curve_chart,
    curves_of,
    reliability_chart,
    rule,
    scatter_chart,
    trade_off_chart,
)
from offscript.measures.measurement import Measurement
from offscript.statistics import Curve, Estimate, Interval
from offscript.statistics.classification import ReliabilityBin


def curve(*values: float, reach: float = 0.1) -> Curve:
    return Curve(values, tuple(v - reach for v in values), tuple(v + reach for v in values), 0.95, "")


def figure(
    name: str, value: float, low: float, high: float, by_position: Curve | None = None, **recipe: Any
) -> Measurement:
    return Measurement(
        question="q",
        name=name,
        value=value,
        standard_error=0.1,
        interval=Interval(low, high, 0.95, ""),
        n=9,
        seed=1,
        seconds=0.0,
        recipe=recipe,
        by_position=by_position,
    )


def marks(chart: dict[str, Any]) -> list[str]:
    kinds = [layer.get("mark", layer.get("layer", [{}])[0].get("mark")) for layer in chart["layer"]]
    return [kind if isinstance(kind, str) else kind["type"] for kind in kinds]


def test_curves_of_figures_by_the_rest_of_their_names() -> None:
    known = [figure("a.x", 1, 0, 2, curve(1.0)), figure("a.y", 1, 0, 2), figure("b.x", 1, 0, 2, curve(2.0))]
    assert curves_of(known, "a.") == {"x": curve(1.0)}
    assert list(curves_of(known)) == ["a.x", "b.x"]
    assert [title for title, _ in charts_by_length(known)] == ["a.x by length", "b.x by length"]


def test_a_line_with_its_band_from_the_first_position() -> None:
    chart = curve_chart({"a": curve(*range(5))}, x="length", y="loss")
    assert marks(chart) == ["area", "line"]
    assert (chart["width"], chart["height"]) == ("container", 260)
    assert chart["data"]["values"][0] == {
        "series": "a", "place": 1, "value": 0, "lower": -0.1, "upper": 0.1, "part": 0, "bounded": 0,
    }  # fmt: skip
    assert [point["place"] for point in chart["data"]["values"]] == [1, 2, 3, 4, 5]
    x = chart["layer"][1]["encoding"]["x"]
    assert (x["title"], x["axis"]) == ("length", {"values": [1, 2, 3, 4, 5], "format": "d"})
    assert chart["layer"][1]["mark"]["point"] is True
    assert chart["layer"][0]["encoding"]["y"] == {
        "field": "lower", "type": "quantitative", "title": "loss", "scale": {"zero": False},
    }  # fmt: skip
    later = curve_chart({"a": curve(*range(5))}, x="length", y="loss", first=3)
    assert later["layer"][1]["encoding"]["x"]["axis"]["values"] == [3, 4, 5, 6, 7]
    assert [point["place"] for point in later["data"]["values"]] == [3, 4, 5, 6, 7]
    formats = {
        entry["field"]: (entry["title"], entry.get("format")) for entry in chart["layer"][1]["encoding"]["tooltip"]
    }
    assert formats == {
        "series": ("series", None), "place": ("length", None), "value": ("loss", ".4g"),
        "lower": ("lower", ".4g"), "upper": ("upper", ".4g"),
    }  # fmt: skip


@pytest.mark.parametrize(("positions", "ticks"), [(12, True), (13, False)])
def test_each_of_a_few_positions_has_its_tick(positions: int, ticks: bool) -> None:
    chart = curve_chart({"a": curve(*range(positions))}, x="x", y="y")
    assert ("values" in chart["layer"][1]["encoding"]["x"]["axis"]) is ticks


@pytest.mark.parametrize(("positions", "curves", "dots"), [(4, 2, True), (5, 2, False), (4, 1, False), (1, 2, True)])
def test_a_few_positions_of_several_curves_are_dots(positions: int, curves: int, dots: bool) -> None:
    chart = curve_chart({str(n): curve(*range(positions)) for n in range(curves)}, x="x", y="y", reference=1.0)
    assert ("xOffset" in chart["layer"][-1]["encoding"]) is dots
    assert marks(chart)[0] == "rule"
    assert chart["layer"][0]["encoding"]["y"] == {"datum": 1.0}
    bare = curve_chart({str(n): curve(*range(positions)) for n in range(curves)}, x="x", y="y")
    assert len(bare["layer"]) == len(chart["layer"]) - 1
    if dots:
        assert marks(bare) == ["rule", "point"]
        assert bare["layer"][1]["mark"]["filled"] is True


@pytest.mark.parametrize(
    ("curves", "named", "legend"), [(1, False, False), (2, True, False), (3, True, False), (4, False, True)]
)
def test_lines_are_named_at_their_ends_or_in_a_legend(curves: int, named: bool, legend: bool) -> None:
    chart = curve_chart({str(n): curve(*(n + k for k in range(6))) for n in range(curves)}, x="x", y="y")
    assert ("text" in marks(chart)) is named
    assert (chart["layer"][0]["encoding"]["color"]["legend"] is not None) is legend


def test_names_at_the_ends_of_lines_do_not_overlap() -> None:
    ends = curve(0.0, 0.0, 0.0, 0.0, 9.8, reach=0.0), curve(0.0, 0.0, 0.0, 0.0, 10.0, reach=0.0)
    chart = curve_chart({"a": ends[0], "b": ends[1]}, x="x", y="y")
    names = chart["layer"][-1]["data"]["values"]
    assert names == [
        {"series": "a", "place": 5, "value": 9.8},
        {"series": "b", "place": 5, "value": pytest.approx(9.8 + 0.07 * 10)},
    ]
    far = curve_chart({"a": curve(*range(5)), "b": curve(*range(9, 14)), "c": curve(9, 9, 9, 9, 4.2)}, x="x", y="y")
    assert [name["series"] for name in far["layer"][-1]["data"]["values"]] == ["a", "c", "b"]
    heights = [name["value"] for name in far["layer"][-1]["data"]["values"]]
    assert heights == pytest.approx([4, 4 + 0.07 * (13.1 + 0.1), 13])
    nothing = charts._line_ends([], {}, "y")
    assert nothing["data"]["values"] == []


@pytest.mark.parametrize(("points", "marked"), [(59, True), (60, False)])
def test_a_line_of_few_points_shows_them(points: int, marked: bool) -> None:
    chart = curve_chart({"a": curve(*range(points))}, x="x", y="y")
    assert chart["layer"][1]["mark"]["point"] is marked


@pytest.mark.parametrize(
    ("positions", "reach", "smooth"), [(99, 0.1, False), (100, 0.1, True), (19, 99.0, False), (20, 99.0, True)]
)
def test_long_and_noisy_curves_are_smoothed(positions: int, reach: float, smooth: bool) -> None:
    chart = curve_chart({"a": curve(*range(positions), reach=reach)}, x="x", y="y")
    assert marks(chart) == (["area", "point", "line"] if smooth else ["area", "line"])
    if smooth:
        (window,) = chart["layer"][2]["transform"]
        assert window["frame"] == [-2, 2]
        assert chart["layer"][1]["mark"]["filled"] is True
    long = curve_chart({"a": curve(*range(200))}, x="x", y="y")
    assert long["layer"][2]["transform"][0]["frame"] == [-5, 5]
    both = curve_chart({"a": curve(*range(100)), "b": curve(*range(3))}, x="x", y="y")
    assert "point" in marks(both)


@pytest.mark.parametrize(("width", "noisy"), [(4.9, True), (4.75, False), (4.7, False)])
def test_a_curve_is_noisy_where_its_band_is_a_quarter_of_its_height(width: float, noisy: bool) -> None:
    assert charts._is_noisy(curve(*range(20), reach=width / 2)) is noisy
    unbounded = Curve(tuple(range(20)), (-math.inf,) * 20, (math.inf,) * 20, 0.95, "")
    assert charts._is_noisy(unbounded) is False


def test_what_is_infinite_is_left_out_and_nothing_joined_across_it() -> None:
    broken = Curve(
        (1.0, math.inf, 3.0, 4.0, 5.0), (0.0, 0.0, 2.0, -math.inf, 4.0), (2.0, math.inf, 4.0, 5.0, 6.0), 0.95, ""
    )
    points = charts._points("a", broken, 1)
    assert [(p["place"], p["part"], p["bounded"]) for p in points] == [(1, 0, 0), (3, 1, 1), (4, 2, 2), (5, 3, 2)]
    assert points[2] == {"series": "a", "place": 4, "value": 4.0, "lower": None, "upper": None, "part": 2, "bounded": 2}


def test_a_rule_has_a_name_where_it_has_a_meaning() -> None:
    assert rule(2.0)["mark"]["type"] == "rule"
    line, name = rule(2.0, "no bias")["layer"]
    assert line == rule(2.0)
    assert name["data"]["values"] == [{"meaning": "no bias"}]
    assert name["encoding"] == {"y": {"datum": 2.0}, "x": {"value": 0}, "text": {"field": "meaning"}}


def test_choices_share_a_title() -> None:
    (title, chart), _ = choices("By length", {"a": rule(1.0), "b": rule(2.0)})
    assert title == "By length: a"
    assert chart["usermeta"] == {"group": "By length", "choice": "a"}


def test_bars_stand_side_by_side() -> None:
    one = bar_chart({"g": {"a": figure("a", 1, 0, 2)}}, y="share")
    assert marks(one) == ["bar", "rule"]
    assert one["layer"][0]["encoding"]["color"]["legend"] is None
    two = bar_chart({"g": {"a": figure("a", 1, 0, 2), "b": figure("b", 3, 2, 4)}}, y="share", reference=50.0)
    assert two["layer"][0]["encoding"]["color"]["legend"] is not None
    assert marks(two) == ["bar", "rule", "rule"]
    assert two["data"]["values"][1] == {"group": "g", "figure": "b", "value": 3.0, "lower": 2.0, "upper": 4.0}


def test_a_reliable_checker_lies_on_the_diagonal() -> None:
    bins = [ReliabilityBin(0.75, Estimate(0.5, 0.1, Interval(0.25, 0.75, 0.95, "")), 7)]
    chart = reliability_chart(bins)
    assert chart["data"]["values"] == [{"confidence": 0.75, "right": 0.5, "lower": 0.25, "upper": 0.75, "claims": 7}]
    diagonal, _, dots = chart["layer"]
    assert diagonal["data"]["values"] == [{"confidence": 0, "right": 0}, {"confidence": 1, "right": 1}]
    for side in ("x", "y"):
        assert dots["encoding"][side]["scale"] == {"domain": [0, 1]}
    assert [entry["field"] for entry in dots["encoding"]["tooltip"]] == [
        "confidence",
        "right",
        "lower",
        "upper",
        "claims",
    ]
    assert dots["mark"]["filled"] is True
    assert reliability_chart([])["layer"][2]["encoding"]["tooltip"] == []


def trade_off(real: bool = True) -> list[Measurement]:
    best = {"best": "top-k,k=5"}
    known = [
        figure("s1.corpus_bleu", 0.5, 0.4, 0.6, sampler="top-k,k=5"),
        figure("s1.self_bleu", 0.3, 0.2, 0.4, sampler="top-k,k=5"),
        figure("s2.corpus_bleu", 0.45, 0.4, 0.6, sampler="nucleus,p=0.9,x=1"),
        figure("s2.self_bleu", 0.35, 0.3, 0.4, sampler="nucleus,p=0.9,x=1"),
        figure("s3.corpus_bleu", 0.1, 0.0, 0.2, sampler="greedy"),
        figure("s4.corpus_bleu", 0.1, 0.0, 0.2, sampler="ancestral"),
        figure("s4.self_bleu", 0.1, 0.0, 0.2, sampler="ancestral"),
        figure("s2.behind_best", 0.05, -0.1, 0.2, sampler="nucleus,p=0.9,x=1", **best),
        figure("s4.behind_best", 0.4, 0.3, 0.5, sampler="ancestral", **best),
        figure("other", 0.4, 0.3, 0.5, sampler="ancestral"),
    ]
    if real:
        known += [figure("real.corpus_bleu", 0.6, 0.5, 0.7), figure("real.self_bleu", 0.25, 0.2, 0.3)]
    return known


def test_quality_over_diversity_sampler_by_sampler() -> None:
    chart = trade_off_chart(trade_off())
    points = {point["sampler"]: point for point in chart["data"]["values"]}
    assert list(points) == ["top-k,k=5", "nucleus,p=0.9,x=1", "ancestral"]  # greedy has no self-BLEU
    assert points["nucleus,p=0.9,x=1"] == {
        "algorithm": "nucleus", "sampler": "nucleus,p=0.9,x=1", "quality": 0.45, "lower": 0.4, "upper": 0.6,
        "diversity": 0.35, "left": 0.3, "right": 0.4, "together": True, "best": False,
    }  # fmt: skip
    assert {name: (point["together"], point["best"]) for name, point in points.items()} == {
        "top-k,k=5": (True, True), "nucleus,p=0.9,x=1": (True, False), "ancestral": (False, False),
    }  # fmt: skip
    line = next(layer for layer in chart["layer"] if layer.get("mark", {}).get("type") == "line")
    assert line["mark"]["point"] is True
    assert line["encoding"]["x"]["scale"] == {"zero": False}
    assert chart["height"] == 380


def test_real_text_is_a_band_a_rule_and_a_cross() -> None:
    chart = trade_off_chart(trade_off())
    assert rule(0.6) in chart["layer"]
    (band,) = [layer for layer in chart["layer"] if layer.get("data", {}).get("values", [{}])[0].get("left") == 0.2]
    assert band["data"]["values"][0]["right"] == 0.3
    assert band["layer"][1]["encoding"]["y"] == {"value": 376}
    crosses = [layer for layer in chart["layer"] if layer.get("mark", {}).get("shape") == "cross"]
    assert crosses[0]["data"]["values"] == [{"quality": 0.6, "diversity": 0.25, "text": "real text"}]
    assert crosses[0]["mark"]["filled"] is True
    without = trade_off_chart(trade_off(real=False))
    assert not [layer for layer in without["layer"] if layer.get("mark", {}).get("shape") == "cross"]
    assert len(without["layer"]) == len(chart["layer"]) - 4
    half = trade_off_chart(trade_off()[:-1])
    assert not [layer for layer in half["layer"] if layer.get("mark", {}).get("shape") == "cross"]


def test_rings_are_open_and_points_of_systems_full() -> None:
    chart = trade_off_chart(trade_off())
    (ring,) = [layer for layer in chart["layer"] if layer.get("transform") == [{"filter": "datum.together"}]]
    assert ring["mark"]["filled"] is False
    scatter = scatter_chart([{"system": "a", "quality": 1}], x="d", y="q")
    assert scatter["layer"][0]["mark"]["filled"] is True
    assert scatter["layer"][0]["encoding"]["x"] == {
        "field": "diversity", "type": "quantitative", "title": "d", "scale": {"zero": False},
    }  # fmt: skip
    assert scatter["data"]["values"] == [{"system": "a", "quality": 1}]
