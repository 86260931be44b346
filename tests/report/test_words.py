"""Verdicts: the interval decides the words, and every sentence holds it."""

import math
from collections.abc import Sequence

import pytest

from offscript.measures.measurement import Measurement
from offscript.report.charts.by_question import charts_of
from offscript.report.charts.curves import curve_chart
from offscript.report.words import verdict, with_interval
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
    ("question", "figures", "headline", "tone"),
    [
        ("exposure", [figure("eb_c.js", 1.2, 1.1, 1.3)], "Exposure bias is there", "bad"),
        ("exposure", [figure("eb_c.js", 1.0, 0.98, 1.02)], "No exposure bias to be seen", "good"),
        ("exposure", [figure("eb_c.js", 1.0, 0.5, 1.5)], "No exposure bias to be seen", "open"),
        ("exposure", [figure("eb_m.js", 1.4, 0.0, math.inf)], "Too few samples to tell", "open"),
        ("exposure", [figure("eb_m.js", 0.8, 0.7, 0.9)], "Its own histories suit it better", "good"),
        ("recovery", [figure("nll_gap.random", 0.5, 0.4, 0.6)], "Its text is worse after random prefixes", "bad"),
        ("recovery", [figure("nll_gap.random", 0.1, -0.1, 0.3)], "It recovers from bad beginnings", "good"),
        (
            "recovery",
            [figure("corpus_bleu_4.data", 0.5, 0.4, 0.6), figure("corpus_bleu_4.random", 0.2, 0.1, 0.3)],
            "Its text is worse after random prefixes",
            "bad",
        ),
        ("factuality", shares((0.1, 0.2), (0.2, 0.3), (0.4, 0.5)), "A hotter sampler lies more", "bad"),
        ("factuality", shares((0.4, 0.5), (0.1, 0.2)), "A hotter sampler lies less", "open"),
        ("factuality", shares((0.1, 0.4), (0.2, 0.5)), "Heat is not seen to make it lie more", "open"),
    ],
)
def test_the_interval_decides(question: str, figures: Sequence[Measurement], headline: str, tone: str) -> None:
    found = verdict(question, figures)
    assert found is not None
    assert (found.headline, found.tone) == (headline, tone)
    assert all(with_interval(entry) in found.told for entry in figures)


def test_a_sampler_as_diverse_as_real_text_is_recommended() -> None:
    figures = [figure("real text.self_bleu_4", 0.30, 0.29, 0.31)]
    for setting, quality, diversity in (("p=0.5", 0.5, 0.8), ("p=0.8", 0.4, 0.31), ("p=0.9", 0.3, 0.29)):
        figures.append(figure(f"{setting}.corpus_bleu_4", quality, quality - 0.01, quality + 0.01, sampler=setting))
        figures.append(figure(f"{setting}.self_bleu_4", diversity, diversity - 0.01, diversity + 0.01, sampler=setting))
    found = verdict("sampling", figures)
    assert found is not None
    assert found.headline == "Use p=0.8"


def test_a_question_without_figures_has_no_verdict() -> None:
    assert verdict("samples", []) is None


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
