"""No figure leaves with an infinite interval or one without width: a reason takes its place."""

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.audits.audit import plan_audit
from offscript.measures._computable import computed, is_computed, plain_reason
from offscript.measures.measurement import Measurement
from offscript.measures.question import Answer, Silent
from offscript.measures.registry import question
from offscript.measures.subject import Subject
from offscript.models.tabular import Tabular
from offscript.report.figures import findings_of
from offscript.statistics import Interval, clustered_proportion_interval, mean_interval, proportion_interval

BOUNDS = st.floats(allow_nan=False)


def figure(name: str, value: float, lower: float, upper: float, method: str = "t") -> Measurement:
    made: dict[str, Any] = {"n": 30, "seed": 1, "seconds": 0.0, "recipe": {}}
    return Measurement(
        question="exposure", name=name, value=value, standard_error=0.0,
        interval=Interval(lower, upper, 0.95, method), **made,
    )  # fmt: skip


@given(st.lists(st.tuples(BOUNDS, BOUNDS, BOUNDS), max_size=6))
def test_what_is_left_is_finite_and_has_width_and_the_rest_has_reasons(rows: list[tuple[float, float, float]]) -> None:
    measurements = [figure(f"f{place}", *sorted_row) for place, sorted_row in enumerate(map(_ordered, rows))]
    answer = computed(Answer(measurements), lambda entry, figures: plain_reason(entry))
    for entry in answer.measurements:
        assert math.isfinite(entry.value)
        assert entry.interval.lower < entry.interval.upper
        assert math.isfinite(entry.interval.upper - entry.interval.lower) or entry.interval.upper > 1e300
    reasons = answer.details.get("cannot_be_computed", {})
    assert {entry.name for entry in measurements} == {entry.name for entry in answer.measurements} | reasons.keys()
    assert len(answer.exhibits) == len(answer.tables) == bool(reasons)


def _ordered(row: tuple[float, float, float]) -> tuple[float, float, float]:
    value, first, second = row
    return value, min(first, second), max(first, second)


def test_an_exact_figure_needs_no_width() -> None:
    assert is_computed(figure("q", 0.3, 0.3, 0.3, "exact"))
    assert is_computed(figure("q", math.inf, math.inf, math.inf, "exact"))
    assert not is_computed(figure("q", 0.3, 0.3, 0.3))
    assert not is_computed(figure("q", 0.1, 0.1, 0.1 + 1e-16))
    assert is_computed(figure("q", 1e-12, 0.0, 2e-12))


@given(st.integers(1, 200), st.data())
def test_a_share_always_has_width(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    values = [1.0] * successes + [0.0] * (trials - successes)
    for estimate in (
        proportion_interval(successes, trials),
        mean_interval(values),
        clustered_proportion_interval(values, [1.0] * trials),
    ):
        assert 0 <= estimate.interval.lower < estimate.interval.upper <= 1


@pytest.mark.parametrize(
    ("on_model", "on_data", "reason"),
    [
        (0.5, 0.0, "the data-side deviation is zero"),
        (0.0, 0.0, "both deviations are zero"),
        (math.inf, math.inf, "different supports"),
    ],
)
def test_a_ratio_says_what_its_deviations_are(on_model: float, on_data: float, reason: str) -> None:
    bias = figure("eb_m.gd", math.inf, math.inf, math.inf)
    sides = {f"mgd_{side}.gd": figure("x", value, value, value) for side, value in
             (("model", on_model), ("data", on_data))}  # fmt: skip
    assert reason in question("exposure").reason(bias, {"eb_m.gd": bias, **sides})


LENGTH = 8


def table(start: list[float], after_a: list[float], after_b: list[float], name: str) -> Tabular:
    """The next symbol depends on the last one."""
    rows = {"A": after_a, "B": after_b}
    histories = [" ".join(symbols) for length in range(LENGTH) for symbols in product("AB", repeat=length)]
    following = {history: rows[history[-1]] if history else start for history in histories}
    return Tabular.from_json({"vocabulary": ["A", "B"], "length": LENGTH, "next": following}, name)


EVEN, SURE, OTHER, LEANING = [0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.8, 0.2]
DEGENERATE = {
    "a model against itself": ((EVEN, LEANING, EVEN), (EVEN, LEANING, EVEN)),
    "one text only": ((SURE, SURE, SURE), (SURE, SURE, SURE)),
    "nothing in common": ((SURE, SURE, SURE), (OTHER, OTHER, OTHER)),
    "an oracle that excludes a symbol": ((EVEN, EVEN, EVEN), (SURE, SURE, EVEN)),
    "a model that excludes a symbol": ((SURE, SURE, SURE), (EVEN, EVEN, EVEN)),
    "a model that errs after B alone": ((LEANING, LEANING, OTHER), (LEANING, LEANING, SURE)),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_every_question_about_a_degenerate_pair_gives_figures_or_reasons(name: str) -> None:
    model, oracle = (
        table(*rows, name=which) for rows, which in zip(DEGENERATE[name], ("student", "oracle"), strict=True)
    )
    subject = Subject(model, oracle, length=LENGTH, limit=20)
    answers = {}
    changes = {"exposure": {"distances": ["tv", "js", "gd", "kl", "kl_reverse", "hellinger"], "marginal": True}}
    asked = [each for each in plan_audit(subject, changes=changes).asked if each.question.name != "factuality"]
    for planned in asked:  # (factuality's prompts are English)
        answer = planned.question.answer(subject, planned.settings, Silent())
        reasons = answer.details.get("cannot_be_computed", {})
        assert not reasons.keys() & {entry.name for entry in answer.measurements}
        assert all(reasons.values())
        for entry in answer.measurements:
            assert is_computed(entry), (planned.question.name, entry.name, entry.interval)
        answers[planned.question.name] = answer.measurements
    for finding in findings_of(answers).values():
        assert finding is None or not {"∞", "inf", "nan"} & set(str(finding).split()), finding


def test_a_constant_stays_where_nothing_is_concluded_from_it() -> None:
    constant, infinite = figure("ss", 100.0, 100.0, 100.0), figure("kl", math.inf, 0.0, math.inf)
    answer = computed(Answer([constant, infinite]), lambda entry, figures: plain_reason(entry), constants=True)
    assert answer.measurements == [constant]
    assert answer.details["cannot_be_computed"].keys() == {"kl"}
