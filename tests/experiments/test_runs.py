"""Several runs of a variant: means and paired differences by hand, correlations, and an experiment that has runs."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from offscript.experiments.experiment import Experiment, read_experiment
from offscript.experiments.reproduce import reproduce, store_reproduction
from offscript.experiments.runs import averaged, correlations, difference
from offscript.experiments.statements import Ordering
from offscript.measures.measurement import Measurement
from offscript.statistics import mean_interval, proportion_interval

SYMBOLS = ["a", "b"]
LENGTH = 3


def figures(q: float, nll: float = 0.0, ppl: float = 0.0) -> dict[str, Measurement]:
    common: dict[str, Any] = {"n": 10, "seed": 1, "seconds": 1.0, "recipe": {"of": q}}
    return {
        "regret.q_per_token": Measurement.exact(q, question="regret", name="q_per_token", **common),
        "regret.nll_oracle": Measurement.exact(nll, question="regret", name="nll_oracle", **common),
        "likelihood.ppl": Measurement.exact(ppl, question="likelihood", name="ppl", **common),
    }


def q_over(values: Sequence[float]) -> Measurement:
    return averaged([figures(value) for value in values])["regret.q_per_token"]


def test_runs_are_averaged_with_students_interval() -> None:
    values = [1.2, 1.5, 1.1]
    found = q_over(values)
    assert found.value == pytest.approx(np.mean(values))
    assert (found.n, found.seconds) == (3, 3.0)
    bounds = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    assert (found.interval.lower, found.interval.upper) == pytest.approx(bounds)


def test_a_single_run_keeps_its_own_interval() -> None:
    assert averaged([figures(2.0)]) == figures(2.0)


def test_of_means_of_few_items_no_difference_is_known() -> None:
    few = [
        Measurement.of(mean_interval(np.arange(n)), question="q", name="x", n=n, seed=1, seconds=0.0, recipe={"of": n})
        for n in (10, 11)
    ]
    found = difference(*few)
    assert (found.lower, found.upper) == (-np.inf, np.inf)


def test_runs_are_compared_in_pairs() -> None:
    high, low = [1.0, 2.0, 3.0], [0.9, 1.92, 2.88]
    found = difference(q_over(high), q_over(low))
    bounds = stats.t.interval(0.95, 2, loc=0.1, scale=stats.sem(np.subtract(high, low)))
    assert (found.lower, found.upper) == pytest.approx(bounds)
    ordering = Ordering(figure="regret.q_per_token", order="falls", along={"high": None, "low": None}, source="here")
    measured = {f"{name}/regret.q_per_token": q_over(values) for name, values in (("high", high), ("low", low))}
    shown, verdict = ordering.judged(measured)
    assert verdict == "agrees"
    assert shown.endswith(f"; falls by [{bounds[0]:.2g}, {bounds[1]:.2g}]")
    swapped = Ordering(figure="regret.q_per_token", order="rises", along={"high": None, "low": None}, source="here")
    shown, verdict = swapped.judged(measured)
    assert verdict == "disagrees"
    assert shown.endswith(f"; rises by [{-bounds[1]:.2g}, {-bounds[0]:.2g}]")


def test_single_runs_are_compared_by_their_intervals() -> None:
    found = difference(figures(3.0)["regret.q_per_token"], figures(1.0)["regret.q_per_token"])
    assert (found.lower, found.upper) == (2.0, 2.0)


def test_correlations_are_pearsons() -> None:
    runs = [
        figures(1, 2, 9),
        figures(2, 4, 1),
        figures(3, 6.5, 5),
        figures(4, 7, 2),
        figures(5, 3, 8),
        figures(6, 8, 4),
    ]
    found = correlations({"first": runs[:3], "second": runs[3:]}, CORRELATED, seed=1)
    assert found["correlation.q_per_token~nll_oracle"].value == pytest.approx(
        np.corrcoef([1, 2, 3, 4, 5, 6], [2, 4, 6.5, 7, 3, 8])[0, 1]
    )
    assert set(found) == {
        f"correlation.{pair}" for pair in ("q_per_token~nll_oracle", "q_per_token~ppl", "nll_oracle~ppl")
    }
    table = found["correlation.nll_oracle~ppl"].recipe["table"]
    assert [row["variant"] for row in table] == ["first"] * 3 + ["second"] * 3
    assert [row["nll_oracle"] for row in table] == [2, 4, 6.5, 7, 3, 8]


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    histories = [" ".join(each) for length in range(LENGTH + 1) for each in product(SYMBOLS, repeat=length)]
    following = {history: [0.9, 0.1] if history.endswith("b") else [0.3, 0.7] for history in histories}
    oracle = tmp_path / "oracle.json"
    oracle.write_text(json.dumps({"kind": "tabular", "vocabulary": SYMBOLS, "length": LENGTH + 1, "next": following}))
    risk = {"algorithm": "minimum-risk", "algorithm_settings": {"oracle": str(oracle)}}
    return Experiment(
        name="toy",
        paper="none",
        title="two algorithms",
        oracle=str(oracle),
        seeds=3,
        training={
            "model": {"kind": "lstm", "hidden": 4, "embedding": 4},
            "data": {"kind": "samples", "model": str(oracle), "length": LENGTH, "size": 8, "validation": 8},
            "stop": {"steps": 3},
        },
        variants=[{"name": "TF"}, {"name": "risk", "begins_with": "TF", "changes": risk}],
        measures=[
            {"question": "regret", "settings": {"samples": 20, "length": LENGTH}},
            {"question": "likelihood", "settings": {"samples": 20, "length": LENGTH}},
        ],
        correlations={"all runs": ["TF", "risk"]},
        correlated=list(CORRELATED),
        expected=[{"figure": "all runs/correlation.q_per_token~ppl", "relation": "above", "value": -2, "source": "-"}],
    )


def test_an_experiment_trains_each_variant_several_times(experiment: Experiment, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = reproduce(experiment, out)
    recipes = [json.loads(path.read_text()) for path in (out / "models").glob("*/recipe.json")]
    assert sorted((recipe["algorithm"], recipe["seed"]) for recipe in recipes) == [
        ("minimum-risk", 1),
        ("minimum-risk", 2),
        ("minimum-risk", 3),
        ("teacher-forcing", 1),
        ("teacher-forcing", 2),
        ("teacher-forcing", 3),
    ]
    starts = {recipe["seed"]: recipe["warm_start"] for recipe in recipes if recipe["algorithm"] == "minimum-risk"}
    assert len(set(starts.values())) == 3
    assert all(Path(start).is_dir() for start in starts.values())
    assert found.figures["risk/regret.q_per_token"].n == 3
    assert [each.verdict for each in found.statements] == ["agrees"]
    assert reproduce(experiment, out).figures.keys() == found.figures.keys()
    assert len(store_reproduction(found, out, "quick")) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variants": [{"name": "risk", "begins_with": "TF"}, {"name": "TF"}]}, "not an earlier variant"),
        ({"correlations": {"all": ["nobody"]}}, "not a variant"),
    ],
)
def test_names_that_nobody_has_are_refused(change: dict[str, Any], message: str, experiment: Experiment) -> None:
    with pytest.raises(ValueError, match=message):
        Experiment(**{**experiment.model_dump(), **change})


CORRELATED = ("regret.q_per_token", "regret.nll_oracle", "likelihood.ppl")


def test_table_4_is_table_3_with_correlations() -> None:
    third, fourth = (read_experiment(f"regret/table-{number}", "quick") for number in (3, 4))
    assert fourth.variants == third.variants
    assert set(fourth.correlations) == {"overall", "teacher forcing", "others"}


def recall(hits: Sequence[float], data: str = "claims") -> Measurement:
    return Measurement.of(
        proportion_interval(int(sum(hits)), len(hits)),
        question="retrieval",
        name="recall@1",
        n=len(hits),
        seed=1,
        seconds=0.0,
        recipe={"collection": data},
        per_item=np.array(hits, float),
    )


def test_systems_on_the_same_items_pair() -> None:
    generator = np.random.default_rng(1)
    worse = (generator.random(1000) < 0.8).astype(float)
    better = np.maximum(worse, generator.random(1000) < 0.1)  # whatever the worse one finds, and a little more
    paired = difference(recall(better), recall(worse))
    assert paired.lower > 0
    assert (better - worse).mean() in paired
    apart = difference(recall(better), recall(worse, "others"))
    assert apart.upper - apart.lower > 2 * (paired.upper - paired.lower)
