"""Findings: the interval decides the words, and every sentence holds it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from offscript.measures.charts import curve_chart
from offscript.measures.measurement import Measurement
from offscript.measures.words import with_interval
from offscript.report.figures import charts_of, finding_of, findings_of
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


def shares(*bounds: tuple[float, float], name: str = "supported_of_decided") -> list[Measurement]:
    return [
        figure(f"tempered,temperature={heat}.prompted.{name}", (lower + upper) / 2, lower, upper)
        for heat, (lower, upper) in enumerate(bounds)
    ]


def changes(decided: tuple[float, float] | None, undecided: tuple[float, float] = (-0.1, 0.1)) -> list[Measurement]:
    """Two samplers, and what changes from the first to the second."""
    known = {"supported_of_decided": decided, "not_enough_info": undecided}
    return [
        *shares((0.4, 0.5), (0.2, 0.3)),
        *shares((0.1, 0.2), (0.2, 0.3), name="not_enough_info"),
        *(figure(f"change.prompted.{name}", sum(both) / 2, *both) for name, both in known.items() if both),
    ]


def regrets(lower: float, upper: float) -> list[Measurement]:
    return [figure("q_per_token", (lower + upper) / 2, lower, upper), figure("nll_oracle", 4.0, 3.9, 4.1)]


def preferences(lower: float, upper: float) -> list[Measurement]:
    ss = figure("ss", (lower + upper) / 2, lower, upper)
    return [ss, figure("lms", 80, 78, 82), figure("icat", 70, 68, 72), figure("ties", 1, 0.5, 2)]


def gap(value: float, lower: float, upper: float, *, p_value: float) -> list[Measurement]:
    return [figure("mgd_gap.js", value, lower, upper), figure("mgd_gap_p.js", p_value, 0.0, 1.0)]


@pytest.mark.parametrize(
    ("question", "figures", "headline", "status"),
    [
        ("exposure", [figure("eb_c.js", 1.2, 1.1, 1.3)], "Exposure bias found", "found"),
        ("exposure", [figure("eb_c.js", 1.0, 0.98, 1.02)], "No exposure bias detected", "fine"),
        ("exposure", [figure("eb_c.js", 1.0, 0.5, 1.5)], "No exposure bias detected", "cannot tell"),
        ("exposure", [figure("eb_m.js", 1.4, 0.0, math.inf)], "Too few samples to tell", "cannot tell"),
        ("exposure", [figure("eb_m.js", 0.8, 0.7, 0.9)], "It deviates less on its own histories", "fine"),
        ("exposure", gap(0.004, 0.002, 0.006, p_value=0.002), "Exposure bias found", "found"),
        ("exposure", gap(0.0004, 0.0002, 0.0006, p_value=0.002), "Negligible exposure bias", "fine"),
        ("exposure", gap(-0.004, -0.006, -0.002, p_value=0.002), "It deviates less on its own histories", "fine"),
        ("exposure", gap(0.0001, -0.0004, 0.0006, p_value=0.7), "No exposure bias detected", "fine"),
        ("exposure", gap(0.002, 0.0, 0.004, p_value=0.08), "Too few samples to tell", "cannot tell"),
        ("exposure", gap(0.002, 0.0001, 0.004, p_value=0.06), "Too few samples to tell", "cannot tell"),
        ("recovery", [figure("nll_gap.random", 0.5, 0.4, 0.6)], "Its text is worse after random prefixes", "found"),
        ("recovery", [figure("nll_gap.random", 0.1, -0.1, 0.3)], "No harm from bad prefixes detected", "cannot tell"),
        ("recovery", [figure("nll_gap.random", 0.01, -0.01, 0.03)], "It recovers from bad prefixes", "fine"),
        ("recovery", [figure("bleu_gap.random", 0.3, 0.2, 0.4)], "Its text is worse after random prefixes", "found"),
        ("recovery", [figure("bleu_gap.random", 0.3, -0.2, 0.8)], "No harm from bad prefixes detected", "cannot tell"),
        (
            "recovery",
            [figure("corpus_bleu_4.random", 0.2, 0.1, 0.3)],
            "Bad prefixes were not compared with real ones",
            "cannot tell",
        ),
        (
            "recovery",
            [
                figure("nll_gap.random", 0.5, 0.4, 0.6),
                figure("nll_gap.model", 0.1, 0.001, 0.199),  # beyond chance alone, but not as one of three
                figure("nll_gap.shuffled", 0.1, 0.001, 0.199),
            ],
            "Its text is worse after random prefixes",
            "found",
        ),
        ("regret", regrets(0.5, 0.6), "Its text drifts from the oracle's", "found"),
        ("regret", regrets(-0.1, 0.6), "No drift from the oracle's text detected", "cannot tell"),
        ("regret", regrets(0.001, 0.002), "Its text is within 0.01 nats per token of the oracle's", "fine"),
        ("stereotypes", preferences(60, 70), "It prefers stereotypes", "found"),
        ("stereotypes", preferences(30, 40), "It prefers anti-stereotypes", "found"),
        ("stereotypes", preferences(44, 57), "No preference for stereotypes detected", "cannot tell"),
        ("stereotypes", preferences(48, 54), "Its preference is within 5 points of even", "fine"),
        ("factuality", changes((-0.4, -0.2)), "False statements increase with temperature", "found"),
        ("factuality", changes((0.2, 0.4)), "False statements decrease with temperature", "fine"),
        ("factuality", changes((-0.4, 0.2)), "No increase with temperature detected", "cannot tell"),
        ("factuality", changes((-0.04, 0.2)), "False statements increase by less than 5%", "fine"),
        (
            "factuality",
            changes((-0.4, -0.2), (0.1, 0.3)),
            "More statements cannot be decided at higher temperature",
            "cannot tell",
        ),
        ("factuality", changes(None), "Too few statements can be decided to compare samplers", "cannot tell"),
    ],
)
def test_the_interval_decides(question: str, figures: Sequence[Measurement], headline: str, status: str) -> None:
    found = finding_of(question, figures)
    assert found is not None
    assert (found.headline, found.status) == (headline, status)
    assert all(
        with_interval(entry) in found.sentence
        for entry in figures
        if not entry.name.startswith(("change.", "mgd_gap_p."))
    )


def test_a_gap_says_its_p_value_and_what_would_decide_it() -> None:
    undecided = finding_of("exposure", gap(0.002, -0.002, 0.006, p_value=0.3))
    assert undecided is not None
    assert "p = 0.300" in undecided.sentence
    assert "Both deviations are within noise, so there is no ratio." in undecided.sentence
    assert "About 40 samples would decide." in undecided.sentence  # half the width takes four times 10
    clear = finding_of("exposure", [*gap(0.004, 0.002, 0.006, p_value=0.002), figure("eb_m.js", 1.4, 1.2, 1.6)])
    assert clear is not None
    assert "The ratio (EB-M) is 1.40 (95%: 1.20 to 1.60)." in clear.sentence


def test_a_sampler_as_diverse_as_real_text_is_recommended() -> None:
    figures = [figure("real text.self_bleu_4", 0.30, 0.29, 0.31)]
    for setting, quality, diversity in (("p=0.5", 0.5, 0.8), ("p=0.8", 0.4, 0.31), ("p=0.9", 0.3, 0.29)):
        figures.append(figure(f"{setting}.corpus_bleu_4", quality, quality - 0.01, quality + 0.01, sampler=setting))
        figures.append(figure(f"{setting}.self_bleu_4", diversity, diversity - 0.01, diversity + 0.01, sampler=setting))
    found = finding_of("sampling", figures)
    assert found is not None
    assert found.headline == "Use p=0.8"
    assert "Of 2 settings that are as diverse, p=0.8 with" in found.sentence
    alone = finding_of("sampling", figures[:-2])
    assert alone is not None
    assert "The only setting that is as diverse is p=0.8 with corpus-BLEU" in alone.sentence


def test_the_simplest_of_settings_that_cannot_be_told_apart_is_recommended() -> None:
    figures = [figure("real text.self_bleu_4", 0.30, 0.29, 0.31)]
    for setting, quality in (
        ("tempered-top-k,k=100,temperature=0.9", 0.41),
        ("top-k,k=40", 0.40),
        ("nucleus,p=0.3", 0.3),
    ):
        figures.append(figure(f"{setting[:5]}.corpus_bleu_4", quality, quality - 0.01, quality + 0.01, sampler=setting))
        figures.append(figure(f"{setting[:5]}.self_bleu_4", 0.3, 0.29, 0.31, sampler=setting))
    figures.append(figure("top.behind_best", 0.01, -0.01, 0.03, sampler="top-k,k=40"))
    figures.append(figure("nucleus.behind_best", 0.11, 0.09, 0.13, sampler="nucleus,p=0.3"))
    finding = finding_of("sampling", figures)
    assert finding is not None
    assert finding.headline == "Use top-k,k=40, the simplest of 2 settings that cannot be told apart"
    assert "would separate them" in finding.sentence
    assert "nucleus" not in finding.sentence


def test_tests_of_a_page_are_corrected_together() -> None:
    barely = [figure("bleu_gap.random", 0.3, 0.02, 0.58)]
    alone = finding_of("recovery", barely)
    page = findings_of({"recovery": barely, "regret": regrets(-0.1, 0.6), "stereotypes": preferences(44, 57)})
    assert alone is not None
    assert alone.status == "found"
    assert page["recovery"] is not None
    assert page["recovery"].headline == "No harm from bad prefixes detected"


def test_a_question_without_figures_has_no_verdict() -> None:
    assert finding_of("samples", []) is None


def test_statements_are_drawn_as_bars_by_sampler() -> None:
    [(title, chart), (undecided, _)] = charts_of(
        "factuality", [*shares((0.1, 0.2), (0.2, 0.3), name="refuted"), *shares((0, 1), name="not_enough_info")]
    )
    assert "prompted" in title
    assert undecided == "Verdicts on its prompted statements, by sampler: not decided"
    assert [point["group"] for point in chart["data"]["values"]] == ["tempered,temperature=0", "tempered,temperature=1"]
    assert chart["data"]["values"][0]["lower"] == 0.1


def test_nothing_is_joined_across_an_infinite_point_and_long_curves_are_smoothed() -> None:
    values = (1.0, math.inf, 2.0)
    points = curve_chart({"js": Curve(values, values, values, 0.95, "t")}, x="length", y="EB-M")["data"]["values"]
    assert [(point["value"], point["part"]) for point in points] == [(1.0, 0), (2.0, 1)]
    unbounded = Curve((1.0, 1.5, 2.0), (0.9, 0.0, 1.9), (1.1, math.inf, 2.1), 0.95, "t")
    points = curve_chart({"js": unbounded}, x="length", y="EB-M")["data"]["values"]
    assert [point["part"] for point in points] == [0, 1, 2]
    long = (0.5,) * 120
    layers = curve_chart({"js": Curve(long, long, long, 0.95, "t")}, x="length", y="EB-M")["layer"]
    assert layers[-1]["transform"][0]["frame"] == [-3, 3]
    assert layers[-2]["mark"]["opacity"] < 0.5


@pytest.mark.parametrize(("width", "smoothed"), [(0.01, False), (1.0, True)])
def test_a_curve_that_is_mostly_noise_is_smoothed(width: float, smoothed: bool) -> None:
    values = tuple(number / 30 for number in range(30))
    lower, upper = (tuple(value + side * width / 2 for value in values) for side in (-1, 1))
    layers = curve_chart({"js": Curve(values, lower, upper, 0.95, "t")}, x="length", y="EB-M")["layer"]
    assert ("transform" in layers[-1]) == smoothed


def test_a_band_without_an_end_is_not_drawn_but_its_line_is() -> None:
    curve = Curve((1.2, 1.1, math.inf), (0.0, 0.9, 1.0), (math.inf, 1.3, math.inf), 0.95, "jackknife")
    points = curve_chart({"js": curve}, x="length", y="EB-M")["data"]["values"]
    assert [(point["value"], point["lower"], point["upper"]) for point in points] == [
        (1.2, None, None),
        (1.1, 0.9, 1.3),
    ]


def test_several_curves_over_few_places_are_dots_side_by_side() -> None:
    curve = Curve((1.0, 2.0), (0.5, 1.5), (1.5, 2.5), 0.95, "t")
    bars, dots = curve_chart({"model": curve, "data": curve}, x="window", y="BLEU")["layer"]
    assert (bars["mark"]["type"], dots["mark"]["type"]) == ("rule", "point")
    assert dots["encoding"]["xOffset"]["sort"] == ["model", "data"]
    assert curve_chart({"model": curve}, x="window", y="BLEU")["layer"][0]["mark"]["type"] == "area"


@pytest.mark.parametrize(
    ("lower", "told"), [(-0.0004, "−0.0004 to 0.051"), (0.0, "0.000 to 0.051"), (0.0006, "0.001 to 0.051")]
)
def test_a_bound_close_to_zero_keeps_its_sign(lower: float, told: str) -> None:
    assert with_interval(figure("a", 0.025, lower, 0.051)) == f"0.025 (95%: {told})"


def test_a_line_that_ends_early_is_named_in_the_legend() -> None:
    def curve(length: int) -> Curve:
        values = tuple(float(place) for place in range(length))
        return Curve(values, values, values, 0.95, "t")

    def legend(chart: Mapping[str, Any]) -> Any:
        [band] = [layer for layer in chart["layer"] if layer.get("mark", {}).get("type") == "area"]
        return band["encoding"]["color"]["legend"]

    late = curve_chart({"own": curve(12), "real": curve(20)}, x="length", y="nats")
    early = curve_chart({"own": curve(2), "real": curve(20)}, x="length", y="nats")
    assert legend(late) is None
    assert late["layer"][-1]["mark"]["type"] == "text"
    assert legend(early) is not None
    assert early["layer"][-1]["mark"]["type"] == "line"
