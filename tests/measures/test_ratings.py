"""Published figures of three studies, the thesis's filter, comparisons and HUSE."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offscript.corpora.ratings import Ratings, ratings_of
from offscript.measures import Answer, Subject
from offscript.measures.question import Silent
from offscript.measures.ratings.automatic import huse_figures
from offscript.measures.ratings.comparisons import compare_systems
from offscript.measures.ratings.estimation import convergence, filter_by_time, mean_figures
from offscript.measures.ratings.huse import estimate_huse
from offscript.measures.registry import question
from offscript.statistics import crossed_mean


def measured(source: Path, **settings: Any) -> Answer:
    asked = question("ratings")
    return asked.measure(Subject(), asked.settings({"source": source, **settings}), Silent())


def figures(answer: Answer) -> dict[str, float]:
    return {entry.name: entry.value for entry in answer.measurements}


def test_alpha_of_the_recipes_is_the_published_one(data_folder: Path) -> None:
    folder = data_folder / "recipe-ratings"
    published = re.findall(r"0\.\d{16,17}", (folder / "SOURCE.md").read_text())
    for name, alpha in zip(
        ["grammar", "fluency", "verbosity", "structure", "success", "overall"], published, strict=True
    ):
        found = figures(measured(folder / "ratings.csv.xz", rating=name))
        assert found["alpha_ordinal"] == pytest.approx(float(alpha), abs=1e-12)


def test_means_and_filter_of_the_recipes(data_folder: Path) -> None:
    answer = measured(data_folder / "recipe-ratings" / "ratings.csv.xz", slowest=15)
    found = figures(answer)
    whole = {"original": 5.0739, "no_context": 3.0170, "dependency": 2.7670, "context": 2.7273, "coref": 2.3295}
    kept = {"original": 5.0333, "no_context": 2.9600, "dependency": 2.6800, "context": 2.7267, "coref": 2.2200}
    assert {name: round(found[f"mean.{name}"], 4) for name in whole} == whole
    assert {name: round(found[f"mean_filtered.{name}"], 4) for name in kept} == kept
    assert len(answer.details["items"]) == 52
    without = measured(
        data_folder / "recipe-ratings" / "ratings.csv.xz", where=("system!=coherence", "system!=grammaticality")
    )
    assert figures(without)["icc"] == pytest.approx(0.4446, abs=5e-5)


def test_agreement_of_the_validators(data_folder: Path) -> None:
    found = figures(measured(data_folder / "crows-pairs-validation" / "annotations.csv.xz"))
    assert found["alpha_nominal"] == pytest.approx(0.6337126748, abs=1e-10)
    assert found["kappa"] == pytest.approx(0.6336640892, abs=1e-10)
    assert "alpha_ordinal" not in found


def test_means_deviations_and_tests_of_the_min_p_study(data_folder: Path) -> None:
    folder = data_folder / "minp-user-study"
    source = (folder / "SOURCE.md").read_text()
    ratings = folder / "ratings.csv.xz"
    quality = measured(ratings, where=("study=v2",), texts=folder / "texts.jsonl.xz")
    diversity = measured(ratings, where=("study=v2",), rating="diversity_or_creativity")
    tables = [{row["system"]: row for row in answer.details["systems"]} for answer in (quality, diversity)]
    rows = re.findall(r"\| (high|low) \| (\d) \| ([\w-]+) \| ([\d.]+) \(([\d.]+)\) \| ([\d.]+) \(([\d.]+)\)", source)
    assert len(rows) == 18
    for setting, temperature, sampler, *numbers in rows:
        system = f"{setting}/{temperature}.0/{sampler}"
        found = [table[system][name] for table in tables for name in ("mean", "sd")]
        assert found == pytest.approx([float(number) for number in numbers], abs=1e-4)
    tests = re.findall(r"\| (diversity|quality) \| (\d) \| (-?[\d.]+) \([\d.]+\) \| (-?[\d.]+) \(", source)
    assert len(tests) == 6
    for score, temperature, *statistics in tests:
        pairs = (quality if score == "quality" else diversity).details["comparisons"]
        for other, t in zip(("temperature-only", "top-p"), statistics, strict=True):
            first, second = (f"high/{temperature}.0/{name}" for name in ("min-p", other))
            [row] = [row for row in pairs if {row["first"], row["second"]} == {first, second}]
            sign = 1 if row["first"] == first else -1
            assert (row["pairs"], sign * row["t"]) == (53, pytest.approx(float(t), abs=1e-9))
    assert figures(quality)["alpha_interval"] == pytest.approx(0.1413, abs=5e-5)
    everybody = measured(ratings, where=("study=v2",), failed="keep")
    assert figures(everybody)["alpha_interval"] == pytest.approx(0.1000, abs=5e-5)
    assert figures(quality)["correlation.self_bleu_4"] < 0
    assert [exhibit["kind"] for exhibit in quality.exhibits] == ["chart", "chart"]


def simulated(seed: int, systems: dict[str, float], items: int = 30, raters: int = 20) -> Ratings:
    rng = np.random.default_rng(seed)
    severity = rng.normal(0, 0.5, raters)
    rows = []
    for name, level in systems.items():
        for item in range(items):
            quality = level + rng.normal(0, 0.5)
            for rater in range(raters):
                value = quality + severity[rater] + rng.normal(0, 0.5)
                seconds = float(rng.integers(1, 30))
                entry = {"item": f"{name}-{item}", "rater": f"r{rater:02}", "system": name}
                rows.append({**entry, "rating": value, "seconds": seconds})
    return ratings_of(rows)


def test_the_filter_drops_the_fast_and_keeps_the_slowest() -> None:
    rows = [
        {"item": "a", "rater": "quick", "rating": 0, "seconds": 4.0},
        {"item": "a", "rater": "x", "rating": 1, "seconds": 10.0},
        {"item": "a", "rater": "y", "rating": 2, "seconds": 9.0},
        {"item": "a", "rater": "z", "rating": 3, "seconds": 10.0},
        {"item": "b", "rater": "y", "rating": 4, "seconds": 9.0},
    ]
    filtered = filter_by_time(ratings_of(rows), fastest=4.5, slowest=2)
    assert filtered is not None
    assert sorted(filtered.ratings.values.tolist()) == [1, 3, 4]
    assert (filtered.raters, filtered.dropped) == (1, 2)
    assert filter_by_time(ratings_of([{**row, "seconds": None} for row in rows])) is None


def test_different_systems_are_found_and_equal_ones_are_not() -> None:
    rows = compare_systems(simulated(1, {"a": 3.0, "b": 3.0, "c": 4.0}))
    found = {(row["first"], row["second"]): row["p_value_holm"] < 0.05 for row in rows}
    assert found == {("a", "b"): False, ("a", "c"): True, ("b", "c"): True}
    against = compare_systems(simulated(1, {"a": 3.0, "b": 3.0, "c": 4.0}), against="a")
    assert [(row["first"], row["second"]) for row in against] == [("b", "a"), ("c", "a")]


def test_convergence_ends_at_the_mean() -> None:
    ratings = simulated(2, {"a": 3.0})
    curve = convergence(ratings, seed=1)
    assert len(curve.values) == 20
    [mean] = mean_figures(ratings, "mean", seed=None).values()
    assert curve.values[-1] == pytest.approx(mean.estimate.value)
    assert curve.upper[0] - curve.lower[0] > curve.upper[-1] - curve.lower[-1]


def test_huse_knows_what_cannot_be_told_apart() -> None:
    rng = np.random.default_rng(1)
    human = np.arange(400) < 200
    same = estimate_huse(rng.normal(size=400), rng.normal(size=400), human, seed=1, resamples=200)
    assert 1.0 in same.huse.interval
    assert 1.0 in same.huse_d.interval
    bad = estimate_huse(rng.normal(size=400) + 6 * human, rng.normal(size=400), human, seed=1, resamples=200)
    assert bad.huse.value < 0.05
    assert bad.huse_q.value < 0.05
    narrow = rng.normal(size=400) * np.where(human, 3, 0.2) + np.where(human, 0, 3)
    dull = estimate_huse(rng.normal(size=400), narrow, human, seed=1, resamples=200)
    assert dull.huse_q.value > 0.8
    assert dull.huse_d.value < dull.huse_q.value


def test_huse_needs_probabilities_and_human_text() -> None:
    ratings = simulated(3, {"a": 3.0, "gold": 4.0})
    assert huse_figures(ratings, "gold", seed=1) == {}
    known = {item: -3.0 + 0.01 * place for place, item in enumerate(dict.fromkeys(ratings.items.tolist()))}
    from dataclasses import replace

    found = huse_figures(replace(ratings, log_probs=known), "gold", seed=1)
    assert set(found) == {"huse", "huse_q", "huse_d"}


def test_ratings_of_categories_and_of_one_rater(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,rater,rating\na,x,yes\na,y,no\nb,x,yes\nb,y,yes\n", encoding="utf-8")
    assert set(figures(measured(path))) == {"alpha_nominal", "kappa"}
    path.write_text("item,rater,rating\na,x,1\nb,x,2\nc,x,4\n", encoding="utf-8")
    assert set(figures(measured(path))) == {"mean.all"}


@pytest.mark.parametrize(("items", "raters"), [(("a", "b"), ("x", "x")), (("a", "a"), ("x", "y"))])
def test_two_ratings_of_two_items_or_by_two_raters_have_a_mean(items: tuple[str, ...], raters: tuple[str, ...]) -> None:
    rows = [
        {"item": item, "rater": rater, "rating": place}
        for place, (item, rater) in enumerate(zip(items, raters, strict=True))
    ]
    ratings = ratings_of([{**row, "system": "s"} for row in rows])
    (figure,) = mean_figures(ratings, "mean", seed=None).values()
    assert figure.estimate == crossed_mean([0.0, 1.0], items, raters)
    alone = ratings_of([{"item": "a", "rater": "x", "rating": 1, "system": "s"}])
    assert mean_figures(alone, "mean", seed=None) == {}
