"""Baselines and the ensemble."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora.associations import AssociationTest
from offscript.corpora.wordlists import SentimentWords
from offscript.errors import OffscriptError
from offscript.measures.stereotypes.baselines import random_scores, sentiment_scores, weighted_ensemble

Scores = dict[str, float]


def test_sentiment_prefers_what_is_negative(tests: list[AssociationTest]) -> None:
    words = SentimentWords(frozenset({"clever"}), frozenset({"poor", "fool"}))
    scores = sentiment_scores(tests, words)
    clever, poor = tests[1], tests[3]
    assert scores[clever.stereotype.id] == -1 / 5
    assert scores[poor.stereotype.id] == 1 / 6
    assert scores[poor.anti_stereotype.id] == 0


def test_random_scores_follow_their_generator(tests: list[AssociationTest]) -> None:
    first, again = (random_scores(tests, generator=np.random.default_rng(4)) for _ in range(2))
    assert first == again
    assert len(set(first.values())) == 3 * len(tests)


def test_ensemble_is_the_weighted_sum_of_what_all_scored() -> None:
    assert weighted_ensemble([{"a": 1.0, "b": 2.0}, {"a": 10.0, "c": 3.0}], [0.5, 0.25]) == {"a": 3.0}


@given(st.dictionaries(st.sampled_from("abcd"), st.floats(-9, 9), min_size=1), st.floats(0.1, 5))
def test_an_ensemble_of_one_keeps_the_order(scores: Scores, weight: float) -> None:
    combined = weighted_ensemble([scores], [weight])
    assert sorted(scores, key=scores.__getitem__) == sorted(scores, key=combined.__getitem__)


@pytest.mark.parametrize("weights", [[], [1.0], [1.0, float("nan")], [1.0, float("inf")], [1.0, 1.0, 1.0]])
def test_weights_must_fit(weights: list[float]) -> None:
    with pytest.raises(OffscriptError, match="weights"):
        weighted_ensemble([{"a": 1.0}, {"a": 2.0}], weights)
