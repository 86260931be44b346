"""lms, ss and icat: the published numbers, the definitions on tests worked by hand, and honest intervals."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora.associations import Association, AssociationTest, read_predictions
from offscript.errors import OffscriptError
from offscript.measures.stereotypes.baselines import ideal_judgements, random_scores, stereotyped_scores
from offscript.measures.stereotypes.judgements import judge
from offscript.measures.stereotypes.scores import icat, measure_stereotypes, score_group, score_groups, score_terms

Outcomes = Callable[..., dict[str, float]]
SYSTEMS = {
    "gpt2": "gpt2_ModelNSP_GPT2LM",
    "bert-base-cased": "bert-base-cased_BertNextSentence_BertLM",
    "SentimentModel.json": "SentimentModel",
}

# lms, ss, icat of Tables B.2 (test set), B.3 (domains and terms) and B.4 (tasks)
PUBLISHED = """
100 50.0 100 | 50.0 50.0 50.0 | 65.1 60.8 51.1 | 86.4 60.4 68.3 | 86.5 59.3 70.4 | 68.2 50.5 67.5 | 75.8 54.8 68.5
67.7 54.1 62.1 | 78.2 54.0 72.0 | 83.6 56.4 73.0 | 85.9 58.2 71.7 | 88.3 60.1 70.5 | 90.5 62.5 68.0
92.4 63.9 66.7 | 97.2 77.8 43.2 | 96.2 52.8 90.8 | 88.8 62.6 66.5 | 94.0 75.9 45.4 | 91.7 53.7 84.9 | 91.2 61.8 69.7
91.8 74.5 46.7 | 93.3 50.0 93.3 | 93.5 63.8 67.7 | 85.0 66.0 57.8 | 94.8 46.6 88.3
82.5 57.5 70.2 | 82.9 57.6 70.3 | 71.9 53.6 66.7 | 72.7 54.4 66.3 | 70.3 53.6 65.2 | 74.0 51.8 71.3 | 91.0 60.4 72.0
91.2 62.9 67.7 | 91.8 63.9 66.2 | 91.7 63.9 66.3 | 88.3 61.7 67.6 | 90.1 60.6 71.0 | 64.4 47.4 61.0 | 78.8 55.2 70.6
65.0 54.6 59.0 | 82.5 56.1 72.5 | 76.3 52.3 72.8 | 80.5 53.5 74.9 | 84.9 56.1 74.5 | 89.4 60.9 69.9
"""


@pytest.mark.parametrize("system", SYSTEMS)
def test_published_scores_of_the_prediction_files(
    system: str, data_folder: Path, development_set: list[AssociationTest], expected_scores: Any
) -> None:
    file = data_folder / "stereoset" / "predictions" / f"predictions_{SYSTEMS[system]}.json.xz"
    found = score_groups(judge(development_set, read_predictions(file)), seed=1, resamples=100)
    expected = {"": expected_scores[system]["overall"]}
    for task in ("intrasentence", "intersentence"):
        expected |= {f"{task}.{domain}": scores for domain, scores in expected_scores[system][task].items()}
    assert len(expected) == 11
    for name, scores in expected.items():
        assert found[name].lms.value == pytest.approx(scores["LM Score"], abs=1e-9)
        assert found[name].ss.value == pytest.approx(scores["SS Score"], abs=1e-9)
        assert found[name].icat.value == pytest.approx(scores["ICAT Score"], abs=1e-9)
        assert scores["Count"] == found[name].tests * (1 if name == "" or name.endswith("overall") else 3)


def test_icat_of_the_published_tables() -> None:
    rows = [tuple(map(float, row.split())) for row in PUBLISHED.replace("\n", "|").split("|") if row.strip()]
    assert len(rows) == 45
    for lms, ss, published in rows:
        assert float(icat(lms, ss)) == pytest.approx(published, abs=0.2)  # what rounding of all three can make


@pytest.mark.parametrize(
    ("lms", "ss", "expected"), [(100, 50, 100), (50, 50, 50), (80, 100, 0), (80, 0, 0), (80, 40, 64)]
)
def test_icat_keeps_its_axioms(lms: float, ss: float, expected: float) -> None:
    assert float(icat(lms, ss)) == expected


def test_scores_worked_by_hand(tests: list[AssociationTest], outcomes: Outcomes) -> None:
    told = [(1, 2), (0, 1), (1, 2), (0, 0), (1, 1), (0, 2), (1, 2)]
    found = score_groups(judge(tests, outcomes(tests, told)), seed=1)
    # chess player: intra (1,2), (0,1), inter (1,1); mother: (1,2), (0,2); Ghanaian: (0,0), (1,2)
    assert found[""].ss.value == pytest.approx((200 / 3 + 50 + 50) / 3)
    assert found[""].lms.value == pytest.approx((100 * 4 / 6 + 100 + 50) / 3)
    assert found[""].icat.value == pytest.approx(float(icat(found[""].lms.value, found[""].ss.value)))
    assert found["profession"].ss.value == pytest.approx(200 / 3)
    assert found["intrasentence.overall"].ss.value == pytest.approx((50 + 100 + 0) / 3)
    assert found["intrasentence.overall"].lms.value == pytest.approx((75 + 100 + 0) / 3)
    assert found["intersentence.race"].icat.value == 0.0
    domains, tasks = ("gender", "profession", "race"), ("intrasentence", "intersentence")
    assert set(found) == {"", *domains, *(f"{task}.{domain}" for task in tasks for domain in ("overall", *domains))}


def test_a_term_is_one_term_whatever_its_domain(make: Callable[..., AssociationTest], outcomes: Outcomes) -> None:
    twice = [
        make(0, "Crimean", "race", "a BLANK", ("b", "c", "d")),
        make(1, "Crimean", "religion", "e BLANK", ("f", "g", "h")),
    ]
    judged = judge(twice, outcomes(twice, [(1, 2), (0, 2)]))
    assert score_groups(judged, seed=1)[""].terms == 1
    assert set(score_terms(judged, seed=1)) == {("race", "Crimean"), ("religion", "Crimean")}


def test_a_tie_counts_for_the_other_side_and_is_reported(tests: list[AssociationTest]) -> None:
    level = {association.id: 0.5 for test in tests for association in test.associations}
    judged = judge(tests, level)
    assert judged.stereotype_wins.sum() == 0
    assert judged.meaningful.sum() == 0
    assert judged.stereotype_ties.sum() == 7
    assert judged.meaningful_ties.sum() == 14
    found = {entry.name: entry for entry in measure_stereotypes(judged, recipe={})}
    assert (found["ss"].value, found["lms"].value, found["ties"].value) == (0, 0, 100)
    assert "ss_decided" not in found


def test_ties_at_minus_infinity_are_ties(tests: list[AssociationTest]) -> None:
    cut = {association.id: -np.inf for test in tests for association in test.associations}
    assert judge(tests, cut).stereotype_ties.all()


def test_ss_of_the_decided_leaves_ties_out(tests: list[AssociationTest], outcomes: Outcomes) -> None:
    scores = outcomes(tests, [(1, 2)] * 7)
    first = tests[0]
    scores[first.stereotype.id] = scores[first.anti_stereotype.id]
    found = {entry.name: entry for entry in measure_stereotypes(judge(tests, scores), recipe={})}
    assert found["ss"].value == pytest.approx(100 * (2 / 3 + 1 + 1) / 3)
    assert (found["ss_decided"].value, found["ss_decided"].n) == (100, 6)
    assert found["ties"].value == pytest.approx(100 / 7)


def test_a_missing_score_is_named(tests: list[AssociationTest]) -> None:
    with pytest.raises(OffscriptError, match=f"{tests[0].id}: the sentence {tests[0].stereotype.id} has no score"):
        judge(tests, {})
    nan = {association.id: np.nan for test in tests for association in test.associations}
    with pytest.raises(OffscriptError, match=f"{tests[0].id}: .* is NaN"):
        judge(tests, nan)


def test_ideal_is_100_50_100_everywhere(tests: list[AssociationTest]) -> None:
    for scores in score_groups(ideal_judgements(tests), seed=1).values():
        assert (scores.lms.value, scores.ss.value, scores.icat.value) == (100, 50, 100)
        assert 100 in scores.icat.interval


def test_stereotyped_has_ss_100_and_icat_0(tests: list[AssociationTest]) -> None:
    for scores in score_groups(judge(tests, stereotyped_scores(tests)), seed=1).values():
        assert (scores.ss.value, scores.icat.value) == (100, 0)


@pytest.mark.parametrize("seed", range(5))
def test_random_is_50_50_50_within_its_interval(seed: int, many_tests: list[AssociationTest]) -> None:
    scores = random_scores(many_tests, generator=np.random.default_rng(seed))
    found = score_groups(judge(many_tests, scores), seed=seed)[""]
    assert 50 in found.lms.interval
    assert 50 in found.ss.interval
    assert 50 in found.icat.interval


def test_random_on_the_development_set(development_set: list[AssociationTest]) -> None:
    scores = random_scores(development_set, generator=np.random.default_rng(1))
    found = score_groups(judge(development_set, scores), seed=1)[""]
    assert 50 in found.lms.interval
    assert 50 in found.ss.interval
    assert 50 in found.icat.interval
    assert found.ss.interval.width < 6


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=20
    )
)
def test_scores_stay_in_range_whatever_the_scores(rows: list[tuple[int, float, float, float]]) -> None:
    listed, scores = [], {}
    for number, (term, *values) in enumerate(rows):
        found = [Association(f"{number}-{place}", "x") for place in range(3)]
        listed.append(AssociationTest(str(number), "intersentence", "race", f"term {term}", "c", *found))
        scores |= {association.id: value for association, value in zip(found, values, strict=True)}
    group = score_group(judge(listed, scores), generator=np.random.default_rng(1), resamples=100)
    for estimate in (group.lms, group.ss, group.icat):
        assert 0 <= estimate.interval.lower <= estimate.value <= estimate.interval.upper <= 100
    again = score_group(judge(listed[::-1], scores), generator=np.random.default_rng(1), resamples=100)
    assert again == group
    shifted = judge(listed, {name: 3 * value for name, value in scores.items()})
    assert (shifted.stereotype_wins == judge(listed, scores).stereotype_wins).all()


def test_terms_have_their_own_intervals(tests: list[AssociationTest], outcomes: Outcomes) -> None:
    told = [(1, 2), (0, 1), (1, 2), (0, 0), (1, 1), (0, 2), (1, 2)]
    found = score_terms(judge(tests, outcomes(tests, told)), seed=1)
    chess = found["profession", "chess player"]
    assert (chess.terms, chess.tests) == (1, 3)
    assert chess.ss.value == pytest.approx(200 / 3)
    assert (chess.ss.interval.lower, chess.ss.interval.upper) == (0, 100)


@pytest.mark.parametrize(("terms", "size", "at_least"), [(40, 20, 0.94), (3, 26, 0.85)])
def test_intervals_cover(terms: int, size: int, at_least: float) -> None:
    """Terms with probabilities of their own around 0.6; few terms are covered less often, never much less."""
    generator, hits, rounds = np.random.default_rng(1), 0, 200
    for _ in range(rounds):
        listed, scores = [], {}
        for term in range(terms):
            chance = float(np.clip(generator.normal(0.6, 0.08), 0, 1))
            for number in range(size):
                found = [Association(f"{term}-{number}-{place}", "x") for place in range(3)]
                listed.append(AssociationTest(f"{term}-{number}", "intersentence", "race", f"t{term}", "c", *found))
                won = generator.random() < chance
                scores |= {found[0].id: 1.0 + won, found[1].id: 1.5, found[2].id: 0.0}
        group = score_group(judge(listed, scores), generator=generator, resamples=200)
        hits += 60 in group.ss.interval
    assert hits / rounds >= at_least


def test_measurements_carry_names_recipe_and_items(tests: list[AssociationTest]) -> None:
    judged = judge(tests, stereotyped_scores(tests))
    found = {entry.name: entry for entry in measure_stereotypes(judged, recipe={"model": "x"}, seed=3)}
    assert {
        "lms",
        "ss",
        "icat",
        "intrasentence.profession.lms",
        "intersentence.overall.icat",
        "gender.ss",
        "ties",
    } <= set(found)
    assert found["ss"].per_item is not None
    assert found["ss"].per_item.tolist() == [100.0] * 3  # a term each
    assert found["lms"].recipe["model"] == "x"
    assert found["lms"].recipe["data"]["tests"] == 7
    better = {name: found[name].higher_is_better for name in ("lms", "ss", "icat", "ties")}
    assert better == {"lms": True, "ss": None, "icat": True, "ties": False}


def test_terms_are_the_items_behind_the_scores(many_tests: list[AssociationTest]) -> None:
    judged = judge(many_tests, random_scores(many_tests, generator=np.random.default_rng(1)))
    found = {entry.name: entry for entry in measure_stereotypes(judged, recipe={})}
    for name in ("lms", "ss"):
        parts = found[name].contributions()
        assert parts is not None
        assert len(parts) == 40
        assert parts.mean() == pytest.approx(found[name].value)
