"""Word lists: sentiment by counting, frequencies by reading or counting."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora.wordlists import (
    SentimentWords,
    count_words,
    read_frequencies,
    read_sentiment_words,
    words_of,
)
from offscript.errors import OffscriptError

WORDS = SentimentWords(frozenset({"good", "kind"}), frozenset({"bad"}))


@pytest.mark.parametrize(
    ("text", "polarity"),
    [("a good man", 1 / 3), ("Bad, bad, GOOD man!", -1 / 4), ("kind and good", 2 / 3), ("", 0.0), ("12 …", 0.0)],
)
def test_polarity_is_the_balance_of_shares(text: str, polarity: float) -> None:
    assert WORDS.polarity(words_of(text)) == polarity


@given(st.lists(st.sampled_from(["good", "bad", "man"])))
def test_polarity_stays_within_one(words: list[str]) -> None:
    assert -1 <= WORDS.polarity(words) <= 1


def test_words_keep_hyphens_and_apostrophes() -> None:
    assert words_of("He's a well-read 42-year-old (über) man.") == ["he's", "a", "well-read", "year-old", "über", "man"]


def test_sentiment_words_are_read_without_comments(tmp_path: Path) -> None:
    (tmp_path / "positive-words.txt").write_text("; comment\n\nGood\nkind\n")
    (tmp_path / "negative-words.txt").write_text("bad\n")
    assert read_sentiment_words(tmp_path) == WORDS


def test_missing_and_empty_lists_are_refused(tmp_path: Path) -> None:
    (tmp_path / "positive-words.txt").write_text(";;;\n")
    with pytest.raises(OffscriptError, match="lists no word"):
        read_sentiment_words(tmp_path)
    with pytest.raises(OffscriptError, match="no such file"):
        read_sentiment_words(tmp_path / "none")


@pytest.mark.parametrize("divided", ["the\t5\nThe\t2\ncat\t1\n", "the 5\nThe 2\n\ncat 1\n", "the,5\nThe,2\ncat,1\n"])
def test_frequencies_add_up_whatever_divides_them(tmp_path: Path, divided: str) -> None:
    (tmp_path / "words").write_text(divided)
    assert read_frequencies(tmp_path / "words") == Counter(the=7, cat=1)


@pytest.mark.parametrize(
    ("content", "said"), [("the five\n", "line 1"), ("", "counts no word"), ("a 0\n", "counts no word")]
)
def test_faulty_frequencies_are_refused(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "words").write_text(content)
    with pytest.raises(OffscriptError, match=said):
        read_frequencies(tmp_path / "words")


def test_words_of_a_corpus_are_counted() -> None:
    assert count_words(["The cat.", "the dog"]) == Counter(the=2, cat=1, dog=1)


def test_the_opinion_lexicon_is_read_whole(data_folder: Path) -> None:
    words = read_sentiment_words(data_folder / "lexicons" / "opinion_lexicon")
    assert (len(words.positive), len(words.negative)) == (2006, 4783)
