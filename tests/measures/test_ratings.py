"""Published figures of three studies, the thesis's filter, comparisons and HUSE."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offscript.corpora.ratings import RatedText, Ratings, ratings_of
from offscript.errors import OffscriptError
from offscript.measures import Answer, Subject
from offscript.measures._figures import Figure
from offscript.measures.question import Silent
from offscript.measures.ratings.automatic import correlation_figures, diversity_figures, huse_figures
from offscript.measures.ratings.comparisons import compare_systems
from offscript.measures.ratings.estimation import _estimate, convergence, filter_by_time, mean_figures, rater_times
from offscript.measures.ratings.huse import _nearest, _score, estimate_huse
from offscript.measures.registry import question
from offscript.statistics import Interval, crossed_mean, mean_interval


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


def test_raters_who_are_just_not_too_fast_are_kept_and_those_without_a_time_are_not() -> None:
    rows = [
        {"item": "a", "rater": "just", "rating": 1, "seconds": 4.0},
        {"item": "b", "rater": "just", "rating": 2, "seconds": 5.0},
        {"item": "a", "rater": "unknown", "rating": 3, "seconds": None},
    ]
    ratings = ratings_of(rows)
    assert rater_times(ratings) == {"just": 4.5, "unknown": -np.inf}
    filtered = filter_by_time(ratings, fastest=4.5, slowest=9)
    assert filtered is not None
    assert sorted(filtered.ratings.values.tolist()) == [1, 2]
    assert (filtered.raters, filtered.dropped) == (1, 1)


def test_a_rater_who_rates_an_item_twice_tells_nothing_of_its_spread() -> None:
    found = _estimate(ratings_of([{"item": "a", "rater": "x", "rating": rating} for rating in (1, 2)]))
    assert found.value == 1.5
    assert (found.interval.lower, found.interval.upper) == (-np.inf, np.inf)


@pytest.mark.parametrize("items", [15, 16])
def test_huse_needs_sixteen_items_of_each_kind(items: int) -> None:
    rng = np.random.default_rng(1)
    human = np.arange(20 + items) < 20
    quality, log_probs = rng.normal(size=len(human)), rng.normal(size=len(human))
    if items < 16:
        with pytest.raises(OffscriptError, match="HUSE needs 16 items of each kind, got 15"):
            estimate_huse(quality, log_probs, human, seed=1, resamples=20)
    else:
        assert 0 <= estimate_huse(quality, log_probs, human, seed=1, resamples=20).huse.value <= 2


def test_ten_times_as_many_neighbours_are_looked_at_as_count() -> None:
    assert _nearest(np.arange(300.0)[:, None]).shape == (300, 160)


def test_one_human_text_weighs_as_much_as_three_others() -> None:
    """After weighing, 2 votes of the human text stand against 2/3 each of the two others: all four are misjudged."""
    near = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
    human = np.array([True, False, False, False])
    assert _score(near, human, np.ones(4)) == 2.0


def test_two_ratings_of_each_system_are_compared_and_one_is_not() -> None:
    """By rater the first is rated lower by 1 and by 2: t = -1.5 / (√½ / √2)."""
    rows = [
        {"item": f"{system}-{rater}", "rater": rater, "rating": rating, "system": system}
        for system, given in (("s", (0, 1)), ("t", (1, 3)))
        for rater, rating in zip("xy", given, strict=True)
    ]
    (pair,) = compare_systems(ratings_of(rows))
    assert (pair["difference"], pair["pairs"]) == (-1.5, 2)
    assert pair["t"] == pytest.approx(-3)
    assert compare_systems(ratings_of(rows[:-1])) == []


def test_diversity_stays_within_what_it_can_be() -> None:
    def found(name: str, *texts: str) -> Interval:
        figures = diversity_figures([RatedText(str(number), "s", text) for number, text in enumerate(texts)])
        return figures[name].estimate.interval

    assert found("entropy_3.s", "a a a", "a a a", "a b c").lower == 0.0
    assert found("self_bleu_4.s", "a b c d e f", "a b c d e f", "a b c d e g").upper == 1.0


def test_means_go_together_with_the_diversity_of_all_systems_but_the_human_one() -> None:
    systems = [f"s{number}" for number in range(6)]
    texts = [
        RatedText(f"{system}-{row}", system, " ".join(f"w{row if place > number else 0}-{place}" for place in range(9)))
        for number, system in enumerate([*systems, "gold"])
        for row in range(3)
    ]
    means = {
        f"mean.{system}": Figure(mean_interval([number**2, number**2 + 1.0, 5.0, 6.0]))
        for number, system in enumerate([*systems, "gold"])
    }
    ratings = ratings_of([{"item": "other", "rater": "x", "rating": 1, "system": "s0"}])
    found = correlation_figures(ratings, texts, means, "gold")["correlation.entropy_3"].estimate.value
    diversity = diversity_figures(texts)
    columns = [
        [figures[f"{name}.{system}"].estimate.value for system in systems]
        for figures, name in ((means, "mean"), (diversity, "entropy_3"))
    ]
    assert found == pytest.approx(np.corrcoef(np.array(columns))[0, 1])


@pytest.mark.parametrize(("items", "known"), [(15, False), (16, True)])
@pytest.mark.parametrize("few", ["a", "gold"])
def test_huse_is_of_systems_with_sixteen_items(items: int, known: bool, few: str) -> None:
    sizes = {"a": 20, "gold": 20, few: items}
    rows = [
        {"item": f"{system}-{item}", "rater": "x", "rating": item % 5, "system": system}
        for system, size in sizes.items()
        for item in range(size)
    ]
    ratings = ratings_of(rows)
    log_probs = {item: -3.0 + 0.01 * place for place, item in enumerate(ratings.items.tolist())}
    assert bool(huse_figures(replace(ratings, log_probs=log_probs), "gold", seed=1)) is known
