"""The lexical baseline: what it must see, on sentences where nobody would differ, and that nothing upsets it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.factcheck.stance.lexical import (
    FEATURES,
    TERMS,
    LexicalStance,
    _features,
    antonyms,
    sentence_features,
    with_products,
)
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.tokens import Token, same_number, tokens_of


@pytest.fixture(scope="module")
def lexical() -> LexicalStance:
    return LexicalStance()


def _feature(claim: str, sentence: str, name: str) -> float:
    return float(sentence_features(claim, [sentence])[0, FEATURES.index(name)])


@pytest.mark.parametrize(
    ("claim", "sentence", "stance"),
    [
        ("The capital of Australia is Canberra.", "Canberra is the capital of Australia.", "agree"),
        ("The capital of Australia is Sydney.", "The capital of Australia is Canberra.", "disagree"),
        ("Iron was discovered in 1800.", "Iron was discovered in 1751.", "disagree"),
        ("The population of Germany is 83 million.", "The population of Germany is 82,927,922.", "agree"),
        ("Berlin is not the capital of Germany.", "Berlin is the capital of Germany.", "disagree"),
    ],
)
def test_plain_cases(lexical: LexicalStance, claim: str, sentence: str, stance: str) -> None:
    judged = dict(zip(STANCES, lexical.of_sentences(claim, [sentence])[0], strict=True))
    told = {name: judged[name] for name in ("agree", "disagree")}
    assert max(told, key=lambda name: told[name]) == stance


def test_a_sentence_about_something_else_neither_agrees_nor_disagrees(lexical: LexicalStance) -> None:
    [stances] = lexical.of_sentences("The capital of Australia is Sydney.", ["Tin melts at low temperatures."])
    assert stances.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("claim", "sentence", "feature", "value"),
    [
        ("Lyon is in France", "Lyon is a city in France.", "covered", 1),
        ("Lyon is in Spain", "Lyon is a city in France.", "covered", 0),
        ("Lyon is in Spain", "Lyon is in France.", "only values differ", 1),
        ("Lyon is in Spain", "Lyon is a city in France.", "only values differ", 0),
        ("Lyon is in Spain", "Lyon is a city in France.", "only a few words differ", 1),
        ("He was born in 1975", "He was born in 1980", "other number", 1),
        ("He was born in 1975", "He was born with 12 toes", "other number", 0),
        ("The oldest city", "The youngest city", "antonym", 0.5),
        ("The city fell", "The city did not fall", "negation differs", 0.5),
        ("Bogotá", "Bogota", "covered", 1),
    ],
)
def test_features(claim: str, sentence: str, feature: str, value: float) -> None:
    assert _feature(claim, sentence, feature) == pytest.approx(value)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("1,000,000", "1 million", True), ("2010", "2011", False), ("82,927,922", "83 million", True), ("5", "6", False)],
)
def test_numbers(one: str, other: str, same: bool) -> None:
    [first], [second] = (tokens_of(text).content for text in (one, other))
    assert same_number(first, second) == same


def test_tokens_of_a_sentence() -> None:
    found = tokens_of("The Eiffel Tower wasn't built in two years.")
    assert found.negated
    assert not found.exclusive
    assert [(token.kind, token.key) for token in found.content] == [
        ("name", "eiffel"),
        ("name", "tower"),
        ("word", "built"),
        ("number", "2"),
        ("word", "year"),
    ]
    assert Token("number", "2", 2.0) in found.numbers


def test_features_come_in_their_order() -> None:
    assert tuple(_features(tokens_of("Lyon is in Spain"), tokens_of("Lyon is in France"))) == FEATURES


def test_antonyms_hold_both_ways() -> None:
    assert all(word in antonyms()[other] for word, others in antonyms().items() for other in others)


def test_products_are_of_any_two_features() -> None:
    table = np.arange(2 * len(FEATURES), dtype=np.float64).reshape(2, -1)
    found = with_products(table)
    assert found.shape == (2, len(TERMS))
    place = TERMS.index("words × names")
    assert found[1, place] == table[1, FEATURES.index("words")] * table[1, FEATURES.index("names")]


def test_a_document_is_judged_by_its_related_sentences(lexical: LexicalStance) -> None:
    claim, telling = "The capital of Australia is Canberra.", "Canberra is the capital of Australia."
    alone, among, empty = lexical.of_documents(claim, [[telling], ["Tin melts.", telling, "Tin melts."], []])
    assert among[0] > 0.6 * alone[0]
    assert empty.tolist() == [0, 0, 0, 1]


@given(st.text(), st.lists(st.text(), max_size=4))
def test_whatever_the_text_stances_are_probabilities(claim: str, sentences: list[str]) -> None:
    model = LexicalStance()
    for found in (model.of_sentences(claim, sentences), model.of_documents(claim, [sentences, []])):
        assert found.shape[1] == len(STANCES)
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)


@given(st.text(min_size=1))
def test_features_lie_between_0_and_1(text: str) -> None:
    found = sentence_features(text, [text, "The capital of Australia is Canberra."])
    assert ((found >= 0) & (found <= 1)).all()
