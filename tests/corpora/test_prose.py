"""Prose: hand-worked sentence boundaries and the token shape of the news files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora import read_sentences, separate_punctuation, split_sentences
from offscript.corpora.filters import normal_form
from offscript.corpora.prose import decode_brackets


@pytest.mark.parametrize(
    "sentences",
    [
        ["One sentence.", "Another one!", "A third?", "Yes."],
        ['He said "no."', '"Why?" she asked.', "(So it was.)", "They left."],
        ["Mr. Smith met Dr. J. P. Jones on Oct. 3.", "They spoke."],
        ["She lives in the U.S. Army base.", "He left the U.S.", "The end."],
        ["It rose 2.5 percent to $3.75.", "Apple Inc. Chief Tim Cook agreed."],
        ["It opens at 9 a.m. Monday.", "It closes at 5 p.m.", "The shop is small."],
        ["Wait...", "What?!", "No.", "He left."],
        ["1. First point.", "2 men came."],
        ["He is No. 1 here.", "I think so.", "So do I.", "We agree."],
        ["Bring food, e.g. Bread.", "Then go."],
        ["No full stop at the end"],
    ],
)
def test_sentences_come_apart_where_they_should(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


def test_line_breaks_end_sentences_and_blanks_are_joined() -> None:
    assert split_sentences("A heading\n\nFirst  one.\t Second one.\r\n \u200b\nlast") == [
        "A heading",
        "First one.",
        "Second one.",
        "last",
    ]
    assert split_sentences(" \n ") == []


def test_typographic_signs_become_plain() -> None:
    assert split_sentences("“It’s here — now…” he said.") == ['"It\'s here -- now..." he said.']


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't know.", "I don ' t know ."),
        ("It rose 2.5%, to $1,600.", "It rose 2 . 5 % , to $ 1 , 600 ."),
        ('"Yes," he said.', '" Yes , " he said .'),
        ("a long-lasting one -- or not", "a long - lasting one -- or not"),
        ("Well.... yes…no", "Well ... yes ... no"),
        ("‘quoted’—so", "' quoted ' -- so"),
        ("cafe\u0301 नि", "café नि"),
        ("", ""),
    ],
)
def test_punctuation_stands_apart(text: str, expected: str) -> None:
    assert separate_punctuation(text) == expected


@given(text=st.text())
def test_separating_twice_changes_nothing_and_loses_no_letter(text: str) -> None:
    once = separate_punctuation(text)
    assert separate_punctuation(once) == once


@given(text=st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_no_letter_is_lost_or_moved(text: str) -> None:
    assert normal_form(separate_punctuation(text)) == normal_form(text)
    assert normal_form("".join(split_sentences(text))) == normal_form(text)


@given(text=st.text())
def test_sentences_are_never_blank(text: str) -> None:
    assert all(sentence == sentence.strip() != "" for sentence in split_sentences(text))


def test_news_sentences_already_have_this_shape(data_folder: Path) -> None:
    sentences = list(read_sentences(data_folder / "emnlp2017-wmt-news" / "gfs_news_valid.txt.xz"))
    changed = [sentence for sentence in sentences if separate_punctuation(sentence) != sentence]
    assert len(changed) < 0.02 * len(sentences)  # glued signs such as `.,` and `),`


def test_bracket_codes_are_replaced() -> None:
    assert decode_brackets("-LRB- born `` X '' -RRB-") == '( born " X " )'
    assert decode_brackets("-LCB--LSB-x-RSB--RCB-") == "{[x]}"
