"""The glossary: one file for pages and docs, and terms found in what a page says."""

from pathlib import Path

import pytest

from offscript.report.glossary import glossary, terms_in

DOCS = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("After its own histories it deviates (EB-C).", ["EB-C", "history"]),
        ("It costs 0.1 nats of regret (p < 0.001)", ["nats", "p-value", "regret"]),
        ("exposure.eb_c.js", ["EB-C", "js"]),
        ("classes, jsonl and issues", []),
    ],
)
def test_terms_are_found_as_whole_words(text: str, terms: list[str]) -> None:
    assert [term.term for term in terms_in([text])] == terms


def test_every_term_is_explained_once_and_found_by_its_words() -> None:
    names = [term.term for term in glossary()]
    assert len(set(names)) == len(names)
    for term in glossary():
        assert term.about.endswith(".")
        assert all(term.occurs_in(f"a {word} b") for word in term.found or (term.term,))


def test_the_docs_have_the_same_terms() -> None:
    written = DOCS.read_text(encoding="utf-8")
    for term in glossary():
        assert f"| {term.term} | {term.about} |" in written
        assert term.formula in written
        assert not term.picture or (DOCS.parent / "images" / term.picture).is_file()
