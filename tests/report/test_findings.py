"""Findings: the interval decides the words, and every sentence holds it."""

import math
from collections.abc import Sequence

import pytest

from offscript.measures.charts import curve_chart
from offscript.measures.measurement import Measurement
from offscript.measures.words import with_interval
from offscript.report.figures import charts_of, finding_of
from offscript.statistics import Curve, Interval


def figure(name: str, value: float, lower: float, upper: float, **recipe: str) -> Measurement:
    return Measurement(
        question="any",
        name=name,
        value=value,
        standard_error=0.1,
        interval=Interval(lower, upper, 0.95, "t"),
        n=10,
        seed=1,
        seconds=0.0,
        recipe=recipe,
    )


def shares(*refuted: tuple[float, float]) -> list[Measurement]:
    return [
        figure(f"tempered;temperature={heat}.prompted.refuted", (lower + upper) / 2, lower, upper)
        for heat, (lower, upper) in enumerate(refuted)
    ]


@pytest.mark.parametrize(
    ("question", "figures", "headline", "status"),
    [
        ("exposure", [figure("eb_c.js", 1.2, 1.1, 1.3)], "Exposure bias found", "found"),
        ("exposure", [figure("eb_c.js", 1.0, 0.98, 1.02)], "No exposure bias detected", "fine"),
        ("exposure", [figure("eb_c.js", 1.0, 0.5, 1.5)], "No exposure bias detected", "cannot tell"),
        ("exposure", [figure("eb_m.js", 1.4, 0.0, math.inf)], "Too few samples to tell", "cannot tell"),
        ("exposure", [figure("eb_m.js", 0.8, 0.7, 0.9)], "It deviates less on its own histories", "fine"),
        ("recovery", [figure("nll_gap.random", 0.5, 0.4, 0.6)], "Its text is worse after random prefixes", "found"),
        ("recovery", [figure("nll_gap.random", 0.1, -0.1, 0.3)], "It recovers from bad prefixes", "fine"),
        (
            "recovery",
            [figure("corpus_bleu_4.data", 0.5, 0.4, 0.6), figure("corpus_bleu_4.random", 0.2, 0.1, 0.3)],
            "Its text is worse after random prefixes",
            "found",
        ),
        (
            "factuality",
            shares((0.1, 0.2), (0.2, 0.3), (0.4, 0.5)),
            "False statements increase with temperature",
            "found",
        ),
        (
            "factuality",
            shares((0.4, 0.5), (0.1, 0.2)),
            "Fewer statements are refuted at higher temperature",
            "cannot tell",
        ),
        ("factuality", shares((0.1, 0.4), (0.2, 0.5)), "No increase with temperature detected", "cannot tell"),
    ],
)
def test_the_interval_decides(question: str, figures: Sequence[Measurement], headline: str, status: str) -> None:
    found = finding_of(question, figures)
    assert found is not None
    assert (found.headline, found.status) == (headline, status)
    assert all(with_interval(entry) in found.sentence for entry in figures)


def test_a_sampler_as_diverse_as_real_text_is_recommended() -> None:
    figures = [figure("real text.self_bleu_4", 0.30, 0.29, 0.31)]
    for setting, quality, diversity in (("p=0.5", 0.5, 0.8), ("p=0.8", 0.4, 0.31), ("p=0.9", 0.3, 0.29)):
        figures.append(figure(f"{setting}.corpus_bleu_4", quality, quality - 0.01, quality + 0.01, sampler=setting))
        figures.append(figure(f"{setting}.self_bleu_4", diversity, diversity - 0.01, diversity + 0.01, sampler=setting))
    found = finding_of("sampling", figures)
    assert found is not None
    assert found.headline == "Use p=0.8"


def test_a_question_without_figures_has_no_verdict() -> None:
    assert finding_of("samples", []) is None


def test_statements_are_drawn_as_bars_by_sampler() -> None:
    [(title, chart)] = charts_of("factuality", shares((0.1, 0.2), (0.2, 0.3)))
    assert "prompted" in title
    assert [point["group"] for point in chart["data"]["values"]] == ["tempered temperature=0", "tempered temperature=1"]
    assert chart["data"]["values"][0]["lower"] == 0.1


def test_a_band_without_an_end_is_not_drawn_but_its_line_is() -> None:
    curve = Curve((1.2, 1.1, math.inf), (0.0, 0.9, 1.0), (math.inf, 1.3, math.inf), 0.95, "jackknife")
    points = curve_chart({"js": curve}, x="length", y="EB-M")["data"]["values"]
    assert [(point["value"], point["lower"], point["upper"]) for point in points] == [
        (1.2, None, None),
        (1.1, 0.9, 1.3),
    ]
