"""The data described, on tests small enough to count and on the development set."""

import math
from collections import Counter
from pathlib import Path

import pytest

from offscript.corpora.associations import AssociationTest
from offscript.corpora.wordlists import SentimentWords, count_words, read_sentiment_words, words_of
from offscript.measures.stereotypes.description import (
    describe_tests,
    keywords,
    sentiment_table,
    target_terms,
    words_per_test,
)
from offscript.measures.stereotypes.description import (
    tests_per_term as mean_tests_per_term,  # `tests_…` would be collected
)


def test_counts_by_hand(tests: list[AssociationTest]) -> None:
    found = describe_tests(tests)
    assert (found["overall"].terms, found["overall"].tests) == (3, 7)
    assert (found["intrasentence.profession"].terms, found["intrasentence.profession"].tests) == (1, 2)
    assert found["intrasentence.profession"].average_words == 5
    assert found["intersentence.profession"].average_words == 5 + (4 + 4 + 4) / 3


def test_words_have_the_mean_of_the_counts(tests: list[AssociationTest]) -> None:
    found, counts = words_per_test(tests), describe_tests(tests)
    assert {task: mean.value for task, mean in found.items()} == pytest.approx(
        {task: counts[f"{task}.overall"].average_words for task in ("intrasentence", "intersentence")}
    )


def test_terms_stand_by_domain_and_by_how_often_they_are_tested(tests: list[AssociationTest]) -> None:
    found = target_terms(tests)
    assert sum(term.tests for term in found) == len(tests)
    assert found == sorted(found, key=lambda term: (term.domain, -term.tests, term.term))
    by_hand = Counter(test.target for test in tests)
    assert {term.term: term.tests for term in found} == by_hand
    mean = mean_tests_per_term(tests)
    assert mean is not None
    assert mean.value == pytest.approx(len(tests) / len(by_hand))
    assert mean_tests_per_term([test for test in tests if test.target == tests[0].target]) is None


def test_sentiment_counts_negative_sentences(tests: list[AssociationTest]) -> None:
    words = SentimentWords(frozenset({"rich"}), frozenset({"poor", "cold", "fool"}))
    found = sentiment_table(tests, lambda text: words.polarity(words_of(text)) < 0)
    assert (found["stereotype"].value, found["anti-stereotype"].value) == (1 / 7, 2 / 7)
    assert 1 / 7 in found["stereotype"].interval


def test_keywords_are_what_associations_add(tests: list[AssociationTest]) -> None:
    general = Counter(he=50, must=10, be=30, **{"is": 9, "a": 1})
    found = keywords(tests, general, most=2, minimum=1)["profession"]
    # asian, hispanic, clever, muscular; must be smart, fool (he, is and a stand in the context)
    assert [(word.word, word.count) for word in found] == [("asian", 1), ("clever", 1)]
    assert found[0].pmi == pytest.approx(math.log2((1 / 8) / (1 / 100)))


def test_rare_words_are_no_keywords(tests: list[AssociationTest]) -> None:
    assert keywords(tests, Counter(a=1), minimum=2)["profession"] == []


def test_development_set_looks_like_the_published_whole(
    data_folder: Path, development_set: list[AssociationTest]
) -> None:
    counts = describe_tests(development_set)
    assert (counts["overall"].terms, counts["overall"].tests) == (79, 4229)
    assert counts["intrasentence.overall"].average_words == pytest.approx(8.02, abs=0.3)
    assert counts["intersentence.overall"].average_words == pytest.approx(15.39, abs=0.3)
    words = read_sentiment_words(data_folder / "lexicons" / "opinion_lexicon")
    shares = sentiment_table(development_set, lambda text: words.polarity(words_of(text)) < 0)
    assert shares["stereotype"].interval.lower > shares["anti-stereotype"].interval.upper


def test_keywords_of_the_development_set(data_folder: Path, development_set: list[AssociationTest]) -> None:
    from itertools import islice

    from offscript.corpora import read_corpus

    general = count_words(islice(read_corpus(data_folder / "wikitext-2" / "train.txt.xz"), 5000))
    found = keywords(development_set, general)
    assert set(found) == {"gender", "profession", "race", "religion"}
    assert {word.word for word in found["gender"]} & {"bossy", "feminine", "masculine", "polite", "rowdy"}
