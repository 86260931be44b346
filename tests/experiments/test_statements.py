"""Statements of papers: what intervals decide, and what they leave undecided."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from offscript.experiments.experiment import Experiment
from offscript.experiments.runs import averaged
from offscript.experiments.statements import Bound, Equivalence, Ordering, Trend, all_narrower, narrower, slope_of
from offscript.measures.measurement import Measurement
from offscript.statistics import Curve, Estimate, Interval


def figure_with(value: float, below: float, above: float, curve: Curve | None = None) -> Measurement:
    estimate = Estimate(value, (below + above) / 3.92, Interval(value - below, value + above, 0.95, "test"))
    return Measurement.of(
        estimate, question="regret", name="q", n=10, seed=1, seconds=0.0, recipe={}, by_position=curve
    )


def figure(value: float, reach: float, curve: Curve | None = None) -> Measurement:
    return figure_with(value, reach, reach, curve)


def band(values: list[float], reach: float) -> Curve:
    return Curve(tuple(values), tuple(v - reach for v in values), tuple(v + reach for v in values), 0.95, "test")


@pytest.mark.parametrize(
    ("values", "reach", "decision"),
    [
        ((1.00, 1.01, 1.02), 0.005, "agrees"),
        ((1.00, 1.01, 1.20), 0.005, "disagrees"),
        ((1.00, 1.01, 1.02), 0.10, "undecided"),
        ((1.00, 1.04, 1.00), 0.02, "undecided"),
    ],
)
def test_figures_are_equivalent_where_every_difference_is_within_delta(
    values: tuple[float, ...], reach: float, decision: str
) -> None:
    found = {f"{name}/regret.q": figure(value, reach) for name, value in zip("abc", values, strict=True)}
    statement = Equivalence(figure="regret.q", among=list("abc"), within=0.05, source="here")
    assert statement.judged(found)[1] == decision
    assert statement.judged({})[1] == "not measured"


@pytest.mark.parametrize(
    ("slope", "reach", "trend", "decision"),
    [
        (0.01, 0.001, "rises", "agrees"),
        (0.01, 0.001, "falls", "disagrees"),
        (-0.01, 0.001, "falls", "agrees"),
        (0.01, 0.5, "rises", "undecided"),
        (0.0, 0.001, "level", "agrees"),
        (0.01, 0.001, "level", "disagrees"),
        (0.0, 0.5, "level", "undecided"),
    ],
)
def test_a_trend_is_decided_by_the_slope_of_the_curve(slope: float, reach: float, trend: str, decision: str) -> None:
    found = {"a/regret.q": figure(1.0, 0.1, band([slope * place for place in range(20)], reach))}
    statement = Trend.model_validate({"figure": "a/regret.q", "trend": trend, "within": 0.005, "source": "here"})
    assert statement.judged(found)[1] == decision
    assert statement.judged({"a/regret.q": figure(1.0, 0.1)})[1] == "not measured"


def test_unbounded_points_leave_a_trend_undecided() -> None:
    curve = Curve((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (np.inf, np.inf, 4.0), 0.95, "test")
    assert slope_of(curve) is None
    statement = Trend(figure="a/regret.q", trend="rises", source="here")
    assert statement.judged({"a/regret.q": figure(1.0, 0.1, curve)})[1] == "undecided"


@pytest.mark.parametrize("correlation", [0.0, 0.9, 1.0])
def test_the_interval_of_a_slope_covers_however_the_points_depend(correlation: float) -> None:
    rng = np.random.default_rng(5)
    length, error, slope, hits = 15, 0.3, 0.02, 0
    for _ in range(2000):
        noise = np.sqrt(correlation) * rng.normal() + np.sqrt(1 - correlation) * rng.normal(size=length)
        found = slope_of(band(list(slope * np.arange(length) + error * noise), 1.96 * error))
        assert found is not None
        hits += found[1].lower <= slope <= found[1].upper
    assert hits / 2000 >= 0.95


def test_a_value_far_from_the_papers_is_pointed_out() -> None:
    found = {"a/regret.q": figure(6.0, 0.1), "b/regret.q": figure(1.0, 0.1)}
    about = Bound(figure="a/regret.q", relation="about", value=1.5, tolerance=0.1, source="here")
    assert about.judged(found) == ("6 [5.9, 6.1]; 4 times the paper's 1.5", "disagrees")
    order = Ordering(figure="regret.q", order="falls", along={"a": 5.0, "b": 4.0}, source="here")
    assert order.judged(found)[0].endswith("; 0.25 times the paper's 4")
    near = Ordering(figure="regret.q", order="falls", along={"a": 5.0, "b": 0.9}, source="here")
    assert "paper's" not in near.judged(found)[0]


def test_runs_are_averaged_length_by_length() -> None:
    runs = [{"regret.q": figure(1.0, 0.1, band(values, 0.1))} for values in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])]
    curve = averaged(runs)["regret.q"].by_position
    assert curve is not None
    assert curve.values == (2.0, 2.0, 2.0)
    assert curve.upper[1] == pytest.approx(2.0)
    assert curve.upper[0] == pytest.approx(2.0 + 12.706204736, abs=1e-6)  # t with one degree of freedom


def test_an_experiment_may_hold_every_kind_of_statement() -> None:
    experiment = Experiment.model_validate(
        {
            "name": "mine",
            "paper": "P",
            "title": "T",
            "variants": [{"name": "a", "model": "m"}],
            "measures": [{"question": "regret"}],
            "expected": [
                {"figure": "a/regret.q", "relation": "below", "value": 1, "source": "s"},
                {"figure": "regret.q", "order": "falls", "along": {"a": 1, "b": 2}, "source": "s"},
                {"figure": "regret.q", "among": ["a", "b"], "within": 0.1, "source": "s"},
                {"figure": "a/regret.q", "trend": "rises", "source": "s"},
            ],
        }
    )
    assert [type(each) for each in experiment.expected] == [Bound, Ordering, Equivalence, Trend]


@pytest.mark.parametrize(("within", "decision"), [(0.5, "agrees"), (0.1, "undecided"), (0.05, "disagrees")])
def test_a_value_of_nought_has_a_tolerance_in_its_own_unit(within: float, decision: str) -> None:
    bound = Bound(figure="a/regret.q", relation="about", value=0, within=within, source="here")
    assert bound.judged({"a/regret.q": figure(0.1, 0.04)})[1] == decision
    assert str(bound) == f"a/regret.q about 0 ± {within:g} (here)"


@pytest.mark.parametrize(
    ("value", "reaches", "low", "high", "factor"),
    [
        (0.5, (0.2, 0.2), -np.inf, 1.0, 0.4),
        (0.9, (0.2, 0.2), -np.inf, 1.0, 2.0),
        (1.1, (0.3, 0.1), -np.inf, 1.0, 3.0),
        (-0.1, (0.1, 0.4), 0.0, np.inf, 4.0),
        (0.0, (0.2, 0.1), -0.1, 0.1, 2.0),
        (1.0, (0.2, 0.1), -np.inf, 1.0, np.inf),
    ],
)
def test_how_much_narrower_an_interval_must_be(
    value: float, reaches: tuple[float, float], low: float, high: float, factor: float
) -> None:
    interval = Interval(value - reaches[0], value + reaches[1], 0.95, "test")
    assert narrower(value, interval, low, high) == pytest.approx(factor)


@given(
    value=st.floats(-3, 3),
    below=st.floats(0.01, 5),
    above=st.floats(0.01, 5),
    low=st.floats(-2, 0),
    width=st.floats(0.01, 4),
)
def test_an_interval_that_is_as_much_narrower_decides(
    value: float, below: float, above: float, low: float, width: float
) -> None:
    bound = Bound(figure="a/regret.q", relation="about", value=low + width / 2, within=width / 2, source="here")
    factor = narrower(value, Interval(value - below, value + above, 0.95, "test"), low, low + width)
    assume(1 < factor < 1e6)
    for share, decided in ((1.001, True), (0.999, False)):
        found = {"a/regret.q": figure_with(value, below / factor / share, above / factor / share)}
        assert (bound.judged(found)[1] != "undecided") is decided


def test_all_intervals_must_lie_inside_or_one_of_them_outside() -> None:
    steps = [Interval(middle - 0.4, middle + 0.4, 0.95, "test") for middle in (0.1, 0.2)]
    assert all_narrower(steps, 0.0, np.inf) == pytest.approx(4.0)
    against = Interval(-0.6, 0.2, 0.95, "test")
    assert all_narrower([*steps, against], 0.0, np.inf) == pytest.approx(2.0)
    assert all_narrower([Interval(-np.inf, np.inf, 0.95, "test")], 0.0, np.inf) == np.inf


def test_every_kind_of_statement_says_how_far_it_is_from_a_decision() -> None:
    curve = band([0.01 * place for place in range(20)], 0.5)
    found = {"a/regret.q": figure(1.0, 0.2, curve), "b/regret.q": figure(0.9, 0.2)}
    bound = Bound(figure="a/regret.q", relation="below", value=1.1, source="here")
    order = Ordering(figure="regret.q", order="falls", along={"a": None, "b": None}, source="here")
    alike = Equivalence(figure="regret.q", among=["a", "b"], within=0.2, source="here")
    trend = Trend(figure="a/regret.q", trend="rises", source="here")
    slope = slope_of(curve)
    assert slope is not None
    assert bound.shortfall(found) == pytest.approx(2.0)
    assert order.shortfall(found) == pytest.approx(0.2 * 2**0.5 / 0.1, rel=1e-3)
    assert alike.shortfall(found) == pytest.approx(0.2 * 2**0.5 / 0.1, rel=1e-3)
    assert trend.shortfall(found) == pytest.approx((slope[0] - slope[1].lower) / slope[0])
    for statement in (bound, order, alike, trend):
        assert statement.judged(found)[1] == "undecided"
        assert statement.shortfall({}) is None


def test_a_statement_without_a_sentence_is_what_it_tests() -> None:
    bound = {"figure": "a/regret.q", "relation": "below", "value": 1, "source": "s"}
    assert Bound.model_validate(bound).words == "a/regret.q below 1 (s)"
    assert Bound.model_validate({**bound, "claim": "Q is small."}).words == "Q is small."
