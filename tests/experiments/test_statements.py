"""Statements of papers: what intervals decide, and what they leave undecided."""

import numpy as np
import pytest

from offscript.experiments.experiment import Experiment
from offscript.experiments.runs import averaged
from offscript.experiments.statements import Bound, Equivalence, Ordering, Trend, slope_of
from offscript.measures.measurement import Measurement
from offscript.statistics import Curve, Estimate, Interval


def figure(value: float, reach: float, curve: Curve | None = None) -> Measurement:
    estimate = Estimate(value, reach / 1.96, Interval(value - reach, value + reach, 0.95, "test"))
    return Measurement.of(
        estimate, question="regret", name="q", n=10, seed=1, seconds=0.0, recipe={}, by_position=curve
    )


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
