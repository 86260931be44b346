"""Shares of cues (eq. 2.2), and the lexicons they come from."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora.wordlists import words_of
from offscript.errors import OffscriptError
from offscript.factcheck.language import (
    Cues,
    cue_counts,
    default_lexicons,
    language_scores,
    read_cues,
    read_lexicons,
)

CUES = {"bias": Cues.of(["regime", "so-called", "experts say"], stemmed=["murder"])}


def test_scores_are_those_of_equation_2_2() -> None:
    text = "The so-called regime MURDERED; the regime, experts say, murders."
    assert cue_counts(text, CUES) == {
        "bias": Counter({"regime": 2, "so-called": 1, "murdered": 1, "experts say": 1, "murders": 1})
    }
    assert language_scores(text, CUES) == {"bias": pytest.approx(6 / 9)}


def test_texts_without_words_score_nothing() -> None:
    assert language_scores("", CUES) == {"bias": 0.0}
    assert language_scores("123 !?", CUES) == {"bias": 0.0}


@given(text=st.text(max_size=300))
def test_any_text_is_scored_with_the_default_lexicons(text: str) -> None:
    scores = language_scores(text)
    assert set(scores) == {"subjectivity", "sentiment", "bias"}
    counts = cue_counts(text)
    words = len(words_of(text))
    assert all(scores[name] == counts[name].total() / max(words, 1) for name in scores)
    assert all(0 <= score <= 2 for score in scores.values())


def test_loaded_text_scores_higher_than_plain_text() -> None:
    loaded = language_scores("The brutal regime allegedly murdered innocent people, a horrible and disgusting outrage.")
    plain = language_scores("Canberra is the capital of Australia and lies between Sydney and Melbourne.")
    assert all(loaded[name] > plain[name] for name in loaded)


def test_the_public_lexicons_are_read(data_folder: Path) -> None:
    lexicons = read_lexicons(data_folder / "lexicons")
    assert len(lexicons["bias"].words) == 654
    assert {"abortion", "abuse"} <= lexicons["bias"].words
    assert len(lexicons["subjectivity"].words) == pytest.approx(4747, abs=2)
    assert {"abysmal", "wonderful"} <= lexicons["sentiment"].words
    assert "a" not in lexicons["sentiment"].words
    found = cue_counts("He was executing an abysmal plan; sadly, it worked.", lexicons)
    assert found["sentiment"] == Counter({"abysmal": 1, "sadly": 1, "worked": 1})
    assert found["bias"] == Counter({"executing": 1, "plan": 1, "worked": 1})


def test_weak_clues_do_not_count_and_stemmed_ones_stand_for_all_forms(tmp_path: Path) -> None:
    path = tmp_path / "subjclues.tff"
    path.write_text(
        "type=strongsubj len=1 word1=abhor pos1=verb stemmed1=y priorpolarity=negative\n"
        "type=strongsubj len=1 word1=pervasive m pos1=adj stemmed1=n priorpolarity=negative\n"
        "type=weaksubj len=1 word1=able pos1=adj stemmed1=n priorpolarity=positive\n",
        encoding="utf-8",
    )
    cues = read_cues(path)
    assert list(cues.found_in(words_of("Pervasive; able, abhorred, pervasively"))) == ["pervasive", "abhorred"]
    assert set(read_lexicons(tmp_path)) == set(default_lexicons())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tff", "word1=abhor\n", "line 1: not a subjectivity clue"),
        ("x.tff", "type=weaksubj len=1 word1=a pos1=n stemmed1=n\n", "has no strong clue"),
        ("x.txt", "; nothing\n# at all\n\n", "lists no word"),
    ],
)
def test_bad_lexicons_are_refused_in_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(OffscriptError) as caught:
        read_cues(tmp_path / name)
    assert message in str(caught.value)


def test_folders_without_lexicons_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OffscriptError, match="holds no lexicon"):
        read_lexicons(tmp_path)
    with pytest.raises(OffscriptError, match="no such folder"):
        read_lexicons(tmp_path / "none")


@given(entries=st.lists(st.text(max_size=12), max_size=6), text=st.text(max_size=60))
def test_any_list_of_cues_finds_only_what_is_in_the_text(entries: list[str], text: str) -> None:
    words = words_of(text)
    joined = " ".join(words)
    assert all(cue in joined for cue in Cues.of(entries).found_in(words))


def test_joined_cues_find_what_either_finds() -> None:
    joined = Cues.of(["a b"]) | Cues.of(["a c", "d"])
    assert list(joined.found_in(["a", "b", "a", "c", "d"])) == ["a b", "a c", "d"]
