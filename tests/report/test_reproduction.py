"""Charts of an experiment: variants apart and together, and no band that hides the others."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from offscript.experiments.experiment import read_experiment
from offscript.experiments.reproduce import Reproduction
from offscript.measures.measurement import Measurement
from offscript.report.figures import charts_of, charts_of_reproduction
from offscript.report.vega import save_chart
from offscript.statistics import Curve, Estimate, Interval


def eb_c(distance: str, *, half: float = 0.01, values: tuple[float, ...] = (1.0, 1.02, 1.03)) -> Measurement:
    lower, upper = (tuple(value + sign * half for value in values) for sign in (-1, 1))
    return Measurement.of(
        Estimate(1.02, half / 2, Interval(1.02 - half, 1.02 + half, 0.95, "bootstrap")),
        question="exposure", name=f"eb_c.{distance}", n=100, seed=1, seconds=0.0, recipe={},
        by_position=Curve(values, lower, upper, 0.95, "bootstrap"),
    )  # fmt: skip


def reproduction(*variants: str) -> Reproduction:
    figures = {f"{variant}/exposure.eb_c.{name}": eb_c(name) for variant in variants for name in ("js", "tv")}
    return Reproduction(read_experiment("exposure-bias/figure-5", "quick"), figures, [])


def series(chart: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(point["series"] for point in chart["data"]["values"]))


def test_variants_are_drawn_apart_and_together() -> None:
    charts = charts_of_reproduction(reproduction("500 samples", "2000 samples"))
    assert list(charts) == ["exposure", "500 samples.exposure", "2000 samples.exposure"]
    assert [series(part) for part in charts["exposure"]["vconcat"]] == [["500 samples", "2000 samples"]]
    assert [series(part) for part in charts["500 samples.exposure"]["vconcat"]] == [["js"], ["tv"]]
    assert list(charts_of_reproduction(reproduction("alone"))) == ["alone.exposure"]


def test_stacked_charts_become_one_file(tmp_path: Path) -> None:
    save_chart(charts_of_reproduction(reproduction("a", "b"))["a.exposure"], tmp_path / "a.svg")
    picture = ElementTree.parse(tmp_path / "a.svg")
    assert len([each for each in picture.iter() if each.get("aria-roledescription") == "line mark container"]) == 2
    assert "by distance" in "".join(picture.getroot().itertext())


@pytest.mark.parametrize(
    ("greedy", "drawn"),
    [
        (eb_c("gd", half=0.025), [["js"], ["gd"]]),
        (eb_c("gd", half=0.04), [["js"], ["gd"]]),
        (eb_c("gd", half=0.0), [["js"], ["gd"]]),
        (eb_c("gd", half=0.0, values=(float("inf"),) * 3), [["js"]]),
    ],
)
def test_a_band_that_would_hide_the_others_is_drawn_apart(greedy: Measurement, drawn: list[list[str]]) -> None:
    assert [series(chart) for _, chart in charts_of("exposure", [eb_c("js"), greedy])] == drawn
