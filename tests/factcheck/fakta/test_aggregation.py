"""Averaged stances, the threshold on the retrieval score, and a confidence that holds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.errors import OffscriptError
from offscript.factcheck.checked import CheckedDocument, Verdict
from offscript.factcheck.documents import Document
from offscript.factcheck.fakta import Aggregate, Rule, aggregate, shipped_rule
from offscript.factcheck.fakta.fitting import best_threshold, fit_rule
from offscript.factcheck.sources import Kind, Scale
from offscript.factcheck.stance.stance import UNRELATED, Stance

RULE = Rule({Scale.scores: 10.0, Scale.ranks: 0.5})
AGREES, DISAGREES = Stance(0.5, 0.1, 0.2, 0.2), Stance(0.1, 0.3, 0.2, 0.4)


def _document(stance: Stance, kind: Kind) -> CheckedDocument:
    return CheckedDocument(Document("d"), kind, 1.0, stance, (), {})


def test_stances_are_averaged_over_all_documents() -> None:
    documents = [_document(AGREES, Kind.high), _document(AGREES, Kind.high), _document(DISAGREES, Kind.low)]
    found = aggregate(documents, {Scale.scores: 3.0})
    assert found.stance.probabilities == pytest.approx((1.1 / 3, 0.5 / 3, 0.2, 0.8 / 3))
    assert aggregate([], {}) == Aggregate(UNRELATED, {})


@pytest.mark.parametrize(
    ("stance", "best", "verdict"),
    [
        (AGREES, {Scale.scores: 10.0}, Verdict.supported),
        (DISAGREES, {Scale.scores: 12.0}, Verdict.refuted),
        (AGREES, {Scale.scores: 9.9}, Verdict.unknown),
        (AGREES, {Scale.ranks: 0.4}, Verdict.unknown),
        (AGREES, {Scale.scores: 1.0, Scale.ranks: 0.5}, Verdict.supported),
        (UNRELATED, {}, Verdict.unknown),
    ],
)
def test_the_most_relevant_document_must_score_high_enough(
    stance: Stance, best: dict[Scale, float], verdict: Verdict
) -> None:
    assert RULE.decide(Aggregate(stance, best)) is verdict


def test_a_rule_that_must_decide_does() -> None:
    rule = RULE.forced()
    assert rule.decide(Aggregate(AGREES, {Scale.scores: 0.1})) is Verdict.supported
    assert rule.decide(Aggregate(UNRELATED, {})) is not Verdict.unknown


def _claims(size: int, seed: int) -> tuple[list[Aggregate], list[Verdict]]:
    """The score says whether anything decides a claim; its stance leans the right way two times in three."""
    random, claims, answers = np.random.default_rng(seed), [], []
    for _ in range(size):
        answer = list(Verdict)[random.integers(3)]
        score = random.normal(8.0 if answer is Verdict.unknown else 12.0, 1.5)
        leans = 0.4 if (answer is Verdict.supported) == (random.random() < 2 / 3) else 0.1
        claims.append(Aggregate(Stance(leans, 0.25, 0.2, 0.55 - leans), {Scale.scores: float(score)}))
        answers.append(answer)
    return claims, answers


def test_the_threshold_is_where_f1_is_highest() -> None:
    claims, answers = _claims(2000, seed=1)
    threshold = best_threshold(claims, answers, Scale.scores)
    assert threshold == pytest.approx(10.0, abs=1.0)  # the densities cross between the means
    chosen = Rule({Scale.scores: threshold})
    right = np.mean([chosen.decide(found) is answer for found, answer in zip(claims, answers, strict=True)])
    for other in (threshold - 2, threshold + 2):
        rule = Rule({Scale.scores: other})
        assert right > np.mean([rule.decide(found) is answer for found, answer in zip(claims, answers, strict=True)])


def test_confidence_is_the_share_that_is_right_on_new_claims() -> None:
    rule = fit_rule({Scale.scores: (fitted := _claims(3000, seed=1))[0]}, fitted[1])
    claims, answers = _claims(3000, seed=2)
    verdicts = [rule.decide(found) for found in claims]
    stated = [rule.probabilities(found, verdict)[verdict] for found, verdict in zip(claims, verdicts, strict=True)]
    right = [verdict is answer for verdict, answer in zip(verdicts, answers, strict=True)]
    for verdict in Verdict:
        own = [place for place, given in enumerate(verdicts) if given is verdict]
        error = np.mean([stated[place] for place in own]) - np.mean([right[place] for place in own])
        assert abs(error) < 4 * math.sqrt(0.25 / len(own))  # four standard errors


def test_every_scale_needs_the_same_claims() -> None:
    claims, answers = _claims(5, seed=1)
    with pytest.raises(OffscriptError, match="one aggregate per answer"):
        fit_rule({Scale.scores: claims[:-1]}, answers)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1e6), st.booleans())
def test_probabilities_add_up(agree: float, disagree: float, score: float, must: bool) -> None:
    rule = shipped_rule().forced() if must else shipped_rule()
    found = Aggregate(Stance(agree, disagree, 0.0, 0.0), {Scale.scores: score})
    probabilities = rule.probabilities(found, rule.decide(found))
    assert sum(probabilities.values()) == pytest.approx(1)
    assert not must or probabilities[Verdict.unknown] == 0


def test_a_rule_comes_back_from_json() -> None:
    rule = shipped_rule()
    again = Rule.from_json(rule.to_json())
    found = Aggregate(AGREES, {Scale.scores: 12.0})
    assert again.thresholds == rule.thresholds
    assert again.probabilities(found, Verdict.supported) == rule.probabilities(found, Verdict.supported)
    with pytest.raises(OffscriptError, match="not a rule"):
        Rule.from_json({"thresholds": {"metres": 1}, "calibration": {}})
