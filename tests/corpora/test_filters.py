"""Filters: hand-worked examples and the overlap facts of the real news files; splits depend on the text alone."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from offscript.corpora import (
    Split,
    cut_into_pieces,
    cut_to_length,
    drop_rare_words,
    drop_repeats,
    exclude,
    keep_lengths,
    read_sentences,
)
from offscript.corpora.filters import normal_form
from offscript.errors import OffscriptError

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])))
SENTENCES = st.lists(st.lists(st.sampled_from("abcde"), min_size=1).map(" ".join))


def test_rare_words_go_with_the_sentences_that_hold_them() -> None:
    sentences = ["a b a", "b c", "a b", "c a"]
    assert list(drop_rare_words(lambda: sentences, 3)) == ["a b a", "a b"]  # a: 4, b: 3, c: 2
    assert list(drop_rare_words(lambda: sentences, 1)) == sentences
    assert list(drop_rare_words(lambda: sentences, 5)) == []


@given(sentences=SENTENCES, minimum=st.integers(1, 6))
def test_a_sentence_stays_exactly_when_all_its_words_are_frequent(sentences: list[str], minimum: int) -> None:
    counts = Counter(" ".join(sentences).split())
    expected = [sentence for sentence in sentences if min(counts[word] for word in sentence.split()) >= minimum]
    assert list(drop_rare_words(lambda: sentences, minimum)) == expected


def test_lengths_are_kept_within_both_ends() -> None:
    sentences = ["a", "a b", "a b c", "a b c d"]
    assert list(keep_lengths(sentences, 2, 3)) == ["a b", "a b c"]
    assert list(keep_lengths(sentences, 3)) == ["a b c", "a b c d"]


def test_sentences_are_cut_and_short_ones_dropped() -> None:
    assert list(cut_to_length(["a  b c", "a b", "a"], 2)) == ["a b", "a b"]


def test_text_without_lines_is_cut_into_pieces() -> None:
    assert list(cut_into_pieces(["abcdefg", "hi", "jkl"], 3)) == ["abc", "def", "jkl"]


def test_the_first_of_equal_sentences_stays() -> None:
    assert list(drop_repeats(["a", "b", "a", "A", "b"])) == ["a", "b", "A"]


def test_exclusion_looks_past_case_punctuation_and_blanks() -> None:
    sentences = ["It ' s here , \" he said .", "Not this one .", "STRASSE"]
    others = ["it's here,\" he said .", "straße"]
    assert list(exclude(sentences, others)) == ["Not this one ."]


@pytest.mark.parametrize(
    "call",
    [
        lambda: drop_rare_words(list, 0),
        lambda: keep_lengths([], 3, 2),
        lambda: keep_lengths([], -1),
        lambda: cut_to_length([], 0),
        lambda: cut_into_pieces([], 0),
    ],
)
def test_impossible_settings_are_refused_before_reading(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OffscriptError):
        call()


def test_the_overlap_of_the_news_files_is_the_known_one(data_folder: Path) -> None:
    news = data_folder / "emnlp2017-wmt-news"
    small, test, valid, gfs_test = (
        list(read_sentences(news / f"{name}.txt.xz"))
        for name in ("emnlp_news_small", "test_emnlp", "gfs_news_valid", "gfs_news_test")
    )
    assert len(small) == len(test) == len(valid) == len(gfs_test) == 10_000
    forms = {normal_form(sentence) for sentence in test}
    assert len(forms) == 9975
    assert forms == {normal_form(sentence) for sentence in gfs_test}
    assert len({normal_form(sentence) for sentence in small} & forms) == 37
    assert list(exclude(valid, [*small, *test])) == valid
    kept = list(exclude(small, test))
    assert len({normal_form(sentence) for sentence in small}) - len({normal_form(sentence) for sentence in kept}) == 37
    assert not {normal_form(sentence) for sentence in kept} & forms


def test_the_news_files_have_the_known_types_and_lengths(data_folder: Path) -> None:
    sentences = list(read_sentences(data_folder / "emnlp2017-wmt-news" / "test_emnlp.txt.xz"))
    lengths = [len(sentence.split()) for sentence in sentences]
    assert (min(lengths), max(lengths), round(sum(lengths) / len(lengths), 1)) == (21, 48, 27.7)
    assert len({word for sentence in sentences for word in sentence.split()}) == 5562
    assert len(list(cut_to_length(sentences, 20))) == 10_000


@given(sentences=TEXTS, salt=st.text(st.characters(exclude_categories=["Cs"])))
def test_the_parts_divide_the_sentences(sentences: list[str], salt: str) -> None:
    split = Split(salt=salt)
    parts = {part: list(split.select(sentences, part)) for part in split.fractions}
    assert sorted(sentence for chosen in parts.values() for sentence in chosen) == sorted(sentences)
    assert all(split.part(sentence) == part for part, chosen in parts.items() for sentence in chosen)


@given(sentences=TEXTS, others=TEXTS)
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
