"""Splits: a sentence's part depends on its text, the salt and the fractions alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from offscript.corpora import Split
from offscript.errors import OffscriptError

SENTENCES = st.lists(st.text(st.characters(exclude_categories=["Cs"])))


@given(sentences=SENTENCES, salt=st.text(st.characters(exclude_categories=["Cs"])))
def test_the_parts_divide_the_sentences(sentences: list[str], salt: str) -> None:
    split = Split(salt=salt)
    parts = {part: list(split.select(sentences, part)) for part in split.fractions}
    assert sorted(sentence for chosen in parts.values() for sentence in chosen) == sorted(sentences)
    assert all(split.part(sentence) == part for part, chosen in parts.items() for sentence in chosen)


@given(sentences=SENTENCES, others=SENTENCES)
def test_what_stands_around_a_sentence_does_not_move_it(sentences: list[str], others: list[str]) -> None:
    split = Split({"a": 0.5, "b": 0.5})
    alone = [sentence for sentence in split.select(sentences, "a") if sentence not in others]
    together = [sentence for sentence in split.select([*others, *sentences], "a") if sentence not in others]
    assert alone == together


def test_fractions_are_met() -> None:
    split = Split({"train": 0.8, "validation": 0.15, "test": 0.05, "none": 0.0})
    parts = [split.part(f"sentence {index}") for index in range(20_000)]
    for part, fraction in split.fractions.items():
        assert binomtest(parts.count(part), len(parts), fraction).pvalue > 0.001 or not fraction
    assert parts.count("none") == 0


def test_another_salt_divides_otherwise_and_the_parts_are_stable() -> None:
    sentences = [f"sentence {index}" for index in range(2000)]
    plain, salted = Split({"a": 0.5, "b": 0.5}), Split({"a": 0.5, "b": 0.5}, salt="x")
    same = sum(plain.part(sentence) == salted.part(sentence) for sentence in sentences)
    assert binomtest(same, len(sentences)).pvalue > 0.001
    assert [plain.part(sentence) for sentence in sentences[:8]] == ["a", "a", "a", "a", "b", "b", "b", "a"]


@pytest.mark.parametrize("fractions", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}, {"a": float("nan")}])
def test_fractions_that_do_not_divide_one_are_refused(fractions: dict[str, float]) -> None:
    with pytest.raises(OffscriptError, match="do not add up to 1"):
        Split(fractions)


def test_an_unknown_part_is_refused_with_a_hint() -> None:
    with pytest.raises(OffscriptError, match="did you mean 'train'"):
        Split().select([], "trian")
