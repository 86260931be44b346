"""The scorecard: every finding with its status, and its figure on an axis with the reference it is read against."""

import math

import pytest

from offscript.measures.measurement import Measurement
from offscript.measures.question import Finding, Gauge, Question
from offscript.measures.registry import questions
from offscript.report.scorecard import EDGE, WIDTH, Row, counted, draw, drawing_of, in_order, ticks
from offscript.statistics import Interval


def figure(name: str, value: float, lower: float, upper: float, **recipe: str) -> Measurement:
    return Measurement(
        question="any", name=name, value=value, standard_error=0.1, interval=Interval(lower, upper, 0.95, "t"),
        n=10, seed=1, seconds=0.0, recipe=recipe,
    )  # fmt: skip


def row(name: str, status: str) -> Row:
    return Row(name, name, Finding("Said", "so", status), None)  # type: ignore[arg-type]


def test_dot_interval_and_reference_stand_in_the_order_of_their_values() -> None:
    gauge = Gauge("eb", "EB-C", "times", 1.0, "no exposure bias")
    drawing = draw(gauge, {"": figure("eb", 1.2, 1.1, 1.4)})
    [mark] = drawing.marks
    assert EDGE < drawing.reference < mark.left < mark.place < mark.right < WIDTH - EDGE  # type: ignore[operator]
    share = (mark.place - drawing.reference) / (mark.right - drawing.reference)  # type: ignore[operator]
    assert share == pytest.approx(0.2 / 0.4, abs=1e-3)
    assert drawing.told == "EB-C, times: 1.20 (95%: 1.10 to 1.40); no exposure bias: 1.000"


def test_an_interval_without_an_end_is_drawn_open() -> None:
    [mark] = draw(Gauge("a", "a"), {"": figure("a", 2.0, 1.0, math.inf)}).marks
    assert (mark.open_left, mark.open_right) == (False, True)
    assert mark.right == WIDTH - EDGE


def test_runs_share_an_axis_and_have_a_lane_each() -> None:
    drawing = draw(Gauge("a", "a"), {"one": figure("a", 1.0, 0.5, 1.5), "two": figure("a", 3.0, 2.5, 3.5)})
    first, second = drawing.marks
    assert first.place < second.place
    assert first.height < second.height < drawing.base


@pytest.mark.parametrize(
    ("low", "high"), [(0.95, 1.07), (-0.4, 0.15), (-0.53, 0.07), (60.0, 92.0), (0.0, 1e-5), (3.0, 1e6)]
)
def test_ticks_are_two_to_five_round_numbers_inside(low: float, high: float) -> None:
    shown = ticks(low, high)
    assert 2 <= len(shown) <= 5
    assert all(low <= place <= high for place, _ in shown)
    assert any(place == 0 for place, _ in shown) or not low <= 0 <= high  # zero is the reference of most figures
    assert all(float(text.replace("−", "-").replace(",", "")) == pytest.approx(place) for place, text in shown)


def test_a_figure_without_width_or_reference_is_drawn_in_the_middle() -> None:
    [mark] = draw(Gauge("a", "a"), {"": figure("a", 0.0, 0.0, 0.0)}).marks
    assert mark.place == pytest.approx(WIDTH / 2)


def test_what_was_found_stands_first_and_everything_is_counted() -> None:
    rows = [row("a", "fine"), row("b", "for information"), row("c", "found"), row("d", "cannot tell"), row("e", "fine")]
    assert [each.name for each in in_order(rows)] == ["c", "d", "a", "e", "b"]
    assert counted(rows) == [("found", 1), ("cannot tell", 1), ("fine", 2), ("for information", 1)]


@pytest.mark.parametrize(
    ("question", "figures", "reference", "meaning"),
    [
        ("exposure", [figure("eb_c.js", 1.2, 1.1, 1.3)], 1.0, "no exposure bias"),
        ("exposure", [figure("mgd_gap.js", 0.1, 0.0, 0.2), figure("eb_m.js", 1, 1, 1)], 0.0, "no exposure bias"),
        ("stereotypes", [figure("ss", 60, 55, 65), figure("ss_decided", 61, 56, 66)], 50.0, "even"),
        ("regret", [figure("q_per_token", 0.1, 0.0, 0.2)], 0.0, "the oracle's own text"),
        ("recovery", [figure("nll_gap.a", 0.1, 0, 1), figure("nll_gap.b", 1, 0, 2)], 0.0, "as after real prefixes"),
        ("likelihood", [figure("ppl", 70, 60, 80)], None, ""),
        ("translation", [figure("content_gap.random", 0.05, 0.03, 0.07)], 0.0, "as without a prefix"),
        ("factuality", [figure("change.free.supported_of_decided", 0.1, 0, 1)], 0.0, "no change"),
        ("sampling", [figure("top-k,k=5.corpus_bleu_4", 0.1, 0, 1, sampler="top-k,k=5"),
                      figure("top-k,k=5.self_bleu_4", 0.1, 0, 1, sampler="top-k,k=5"),
                      figure("real text.self_bleu_4", 0.2, 0.1, 0.3)], 0.2, "real text"),
    ],
)  # fmt: skip
def test_each_question_says_what_its_figure_is_read_against(
    question: str, figures: list[Measurement], reference: float | None, meaning: str
) -> None:
    gauge = questions()[question].gauge({entry.name: entry for entry in figures})
    assert gauge is not None
    assert (gauge.reference, gauge.meaning) == (reference, meaning)
    assert drawing_of(question, {entry.name: entry for entry in figures}) is not None


def test_recovery_draws_the_loss_that_its_finding_rests_on() -> None:
    figures = [figure("bleu_gap.model", 0.014, 0.007, 0.022), figure("bleu_gap.random", 0.0143, -0.006, 0.025)]
    gauge = questions()["recovery"].gauge({entry.name: entry for entry in figures})
    assert gauge is not None
    assert gauge.figure == "bleu_gap.model"


def test_a_question_without_gauges_draws_the_figure_it_is_known_by() -> None:
    class Known(Question):  # type: ignore[type-arg]
        headlines = ("a", "b")

    assert Known().gauge({"b": figure("b", 1, 0, 2)}) == Gauge("b", "b")
    assert Known().gauge({}) is None
