"""Scatter plots of training runs: every run is a point, and the file is drawn."""

from pathlib import Path
from xml.etree import ElementTree

from offscript.measures.measurement import Measurement
from offscript.report.figures import scatter_chart
from offscript.report.vega import save_chart
from offscript.statistics import Estimate, Interval

TABLE = [
    {"variant": variant, "q_per_token": q, "nll_oracle": nll, "ppl": 10.0}
    for variant, q, nll in (("TF <1000>", 2.58, 10.4), ("TF <1000>", 2.57, 10.3), ("SEARNN", 2.44, 10.2))
]


def correlation() -> Measurement:
    return Measurement.of(
        Estimate(0.9, 0.05, Interval(0.7, 0.99, 0.95, "bootstrap")),
        question="correlation",
        name="q_per_token~nll_oracle",
        n=len(TABLE),
        seed=1,
        seconds=0.0,
        recipe={"kind": "pearson", "table": TABLE},
    )


def test_the_axes_are_the_correlated_figures() -> None:
    chart = scatter_chart(correlation())
    assert [chart["encoding"][axis]["field"] for axis in "xy"] == ["q_per_token", "nll_oracle"]
    assert chart["title"] == "correlation 0.90 (95%: 0.70 to 0.99)"
    assert chart["data"]["values"] == TABLE


def test_every_run_is_drawn(tmp_path: Path) -> None:
    save_chart(scatter_chart(correlation()), tmp_path / "plot.svg")
    picture = ElementTree.parse(tmp_path / "plot.svg")
    marks = [each for each in picture.iter() if each.get("aria-roledescription") == "point"]
    assert len(marks) == len(TABLE)
    assert "TF <1000>" in "".join(picture.getroot().itertext())
