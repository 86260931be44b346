"""Quotations and citations: where a passage is from, and whether the cited document supports what cites it."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offscript.factcheck.checking import Checker
from offscript.factcheck.documents import Document
from offscript.factcheck.index import Index, build_index
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.texts.citations import check_citations
from offscript.factcheck.texts.quotations import (
    altered_words,
    check_quotations,
    compare,
    find_quotation,
    quotations_in,
)

SPEECH = (
    "Four score and seven years ago our fathers brought forth, upon this continent, a new nation. "
    "Now we are engaged in a great civil war — testing whether that nation can long endure."
)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    documents = [
        Document("speech", "Gettysburg Address", SPEECH, date="1863-11-19"),
        Document("a", "Australia", "The capital of Australia is Canberra.", url="https://example.org/australia"),
        Document("b", "Brazil", "The capital of Brazil is Brasilia."),
    ]
    return build_index(documents, tmp_path / "index")


@pytest.mark.parametrize(
    ("quotation", "status", "found"),
    [
        ("our fathers brought forth, upon this continent, a new nation", "verbatim", None),
        (
            "Our fathers  brought forth,\nupon this continent",
            "verbatim",
            "our fathers brought forth, upon this continent",
        ),
        (
            "a great civil war – testing whether that nation",
            "altered",
            "a great civil war — testing whether that nation",
        ),
        ("seven years ago our mothers brought forth a new nation", "altered", None),
        ("the only thing we have to fear is fear itself", "not found", ""),
    ],
)
def test_quotations_are_verbatim_altered_or_not_found(
    index: Index, quotation: str, status: str, found: str | None
) -> None:
    result = find_quotation(quotation, [LocalIndex(index)], start=7)
    assert (result.status, result.start, result.end) == (status, 7, 7 + len(quotation))
    if result.document:
        assert SPEECH[result.found_start : result.found_end] == result.found
        assert (result.document, result.date) == ("speech", "1863-11-19")
    assert found is None or result.found == found


def test_what_was_altered_is_shown(index: Index) -> None:
    result = find_quotation("testing whether this nation can long endure", [LocalIndex(index)])
    assert (result.status, altered_words(result)) == ("altered", [("this", "that")])


def test_quotations_of_a_text_have_their_places(index: Index) -> None:
    text = 'He said "a new nation", “Now we are engaged in a great civil war” and "this was never said by anyone".'
    assert [text[start:end] for start, end in quotations_in(text)] == [
        "Now we are engaged in a great civil war", "this was never said by anyone",
    ]  # fmt: skip
    assert [each.status for each in check_quotations(text, [LocalIndex(index)])] == ["verbatim", "not found"]


@given(st.text(max_size=80), st.text(max_size=200))
@settings(max_examples=80, deadline=None)
def test_any_quotation_and_text_are_taken(quotation: str, text: str) -> None:
    result = compare(quotation, Document("a", text=text))
    assert result.found == text[result.found_start : result.found_end]
    assert 0 <= result.similarity <= 1


@given(st.integers(0, len(SPEECH) - 1), st.integers(1, 60))
def test_whatever_is_cut_out_at_words_is_verbatim(start: int, length: int) -> None:
    words = SPEECH[start : start + length].split()[1:-1]
    if words and any(letter.isalnum() for word in words for letter in word):
        assert compare(" ".join(words), Document("a", text=SPEECH)).status == "verbatim"


def test_cited_documents_are_asked_and_no_others(index: Index) -> None:
    text = (
        "The capital of Australia is Canberra [a]. The capital of Australia is Sydney [1].\n"
        "The capital of Australia is [Canberra](https://example.org/australia/). "
        "The capital of Australia is Canberra [2]. Nobody knows this [3]. An array [of words] is no citation.\n\n"
        "[1]: Australia\n[2]: Brazil\n[3]: A lost book\n"
    )
    checker = Checker([LocalIndex(index)], stance=stance_model("lexical"))
    found = [each.to_json() for each in check_citations(text, checker, [index])]
    assert [(each["cited"], each["document"]) for each in found] == [
        ("a", "a"), ("Australia", "a"), ("https://example.org/australia/", "a"), ("Brazil", "b"), ("A lost book", None),
    ]  # fmt: skip
    assert [each["verdict"] for each in found][:3] == ["SUPPORTED", "REFUTED", "SUPPORTED"]
    assert found[3]["verdict"] != "SUPPORTED"
    assert found[4]["verdict"] == "no such document"
    assert found[1]["sentence"] == "The capital of Australia is Sydney."
    assert text[found[1]["start"] : found[1]["end"]] == "The capital of Australia is Sydney [1]."
