"""The almanac: known facts, no doubtful ones, whole on disk, and claims that are true or false as they say."""

import multiprocessing
import re
from collections import Counter
from pathlib import Path

import pytest

from offscript.errors import OffscriptError
from offscript.factcheck.almanac import Fact, Relation, almanac_facts, almanac_index, draw_claims, prompts
from offscript.factcheck.almanac.facts import enumerated, merged, with_article
from offscript.factcheck.almanac.storage import almanac_documents
from offscript.factcheck.index import Index

FRUIT = Relation("colour", "fruit", "colour", "{subject} is {values}.", ("{subject} is {value}.",))


@pytest.fixture(scope="module")
def index() -> Index:
    return almanac_index()


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ("country/Australia", "The capital of Australia is Canberra."),
        ("country/Kazakhstan", "The capital of Kazakhstan is Astana."),
        ("country/Burundi", "The capital of Burundi is Gitega."),
        ("country/South Africa", "The capital of South Africa is Pretoria, Cape Town and Bloemfontein."),
        ("country/the Netherlands", "The calling code of the Netherlands is +31."),
        ("country/Bulgaria", "The currency of Bulgaria is the euro."),
        ("country/Portugal", "Portugal borders Spain."),
        ("country/Japan", "The official language of Japan is Japanese."),
        ("country/Brazil", "Brazil lies in South America."),
        ("city/Lyon", "Lyon is a city in France."),
        ("city/Perth", "Perth is a city in Australia."),
        ("city/Perth", "The city of Perth is in the time zone Australia/Perth."),
        ("city/Perth (the United Kingdom)", "Another city called Perth is in the United Kingdom."),
        ("country/France", "France borders Spain."),
        ("country/Portugal", "All countries that border Portugal: Spain."),
        ("country/Japan", "People in Japan pay with the Japanese Yen."),
        ("person/Marilyn Monroe", "Marilyn Monroe was born on 1 June 1926."),
        ("person/Marilyn Monroe", "Marilyn Monroe died on 5 August 1962."),
        ("film/Pulp Fiction", "The film Pulp Fiction was directed by Quentin Tarantino."),
        ("state/California", "The postal abbreviation of California is CA."),
        ("element/iron", "The chemical symbol of iron is Fe."),
        ("element/iron", "The melting point of iron is 1538 degrees Celsius."),
        ("element/neon", "The element neon is a noble gas."),
        ("element/oxygen", "The atomic number of oxygen is 8."),
    ],
)
def test_known_facts_are_told(index: Index, document: str, sentence: str) -> None:
    assert sentence in index.document(document).sentences()


def test_there_are_more_than_twenty_thousand_sentences() -> None:
    sentences = [fact.sentence for fact in almanac_facts()]
    assert len(sentences) >= 20_000
    assert not [sentence for sentence in sentences if re.search(r"\bnan\b|\bNone\b|\{|  |^[a-z]", sentence)]


def test_states_that_are_gone_and_borders_that_are_none_are_left_out() -> None:
    subjects = {fact.subject for fact in almanac_facts()}
    assert not subjects & {"Serbia and Montenegro", "Netherlands Antilles", "the Netherlands Antilles"}
    borders = {fact.subject: fact.values for fact in almanac_facts() if fact.relation.name == "borders"}
    assert "Cuba" not in borders["the United States"]
    assert all(one in borders[other] for one, values in borders.items() for other in values)


def test_every_claim_says_what_its_fact_says() -> None:
    facts = almanac_facts()
    claims = draw_claims(facts, 400, seed=3)
    assert Counter(claim.true for claim in claims) == {True: 200, False: 200}
    for claim in claims:
        told = [claim.fact.claim(value, wording) for value in claim.fact.values for wording in range(2)]
        assert (claim.text in told) == claim.true
    assert claims == draw_claims(facts, 400, seed=3)
    assert claims != draw_claims(facts, 400, seed=4)


def test_false_numbers_are_not_nearly_true() -> None:
    relation = Relation("size", "thing", "number", "{subject} has {values}.", ("{subject} has {value}.",))
    facts = [Fact(relation, "one", ("1,000",)), Fact(relation, "another", ("1,050",))]
    with pytest.raises(OffscriptError, match="nothing else stands"):
        draw_claims(facts, 2, seed=1)


def test_a_fact_with_two_subjects_of_one_name_is_told_as_one() -> None:
    facts = merged([Fact(FRUIT, "plum", ("blue",)), Fact(FRUIT, "lime", ("green",)), Fact(FRUIT, "plum", ("red",))])
    assert [fact.sentence for fact in facts] == ["Plum is blue and red.", "Lime is green."]
    assert [document.sentences() for document in almanac_documents(facts)] == [
        ["Plum is blue and red.", "Plum is blue.", "Plum is red."],
        ["Lime is green."],
    ]


def test_namesakes_are_told_apart() -> None:
    relation = Relation.of(
        "place", "town", "land", "{subject} is in {values}.", another="Another {subject} is in {value}."
    )
    documents = almanac_documents([Fact(relation, "Sydney", ("Australia", "Canada"))])
    assert [(document.title, document.sentences()) for document in documents] == [
        ("Sydney", ["Sydney is in Australia."]),
        ("Sydney (Canada)", ["Another Sydney is in Canada."]),
    ]


def test_no_sentence_is_told_twice_of_a_subject_and_the_index_is_small(index: Index) -> None:
    for document in almanac_documents(almanac_facts()):
        sentences = document.sentences()
        assert len(sentences) == len(set(sentences))
    assert sum(path.stat().st_size for path in index.folder.rglob("*") if path.is_file()) <= 15e6


def test_prompts_end_before_the_value() -> None:
    asked = prompts(almanac_facts(), seed=1)
    assert "The capital of France is" in {prompt.text for prompt in asked}
    for prompt in asked[:50]:
        assert prompt.fact.claim(prompt.fact.values[0]) == f"{prompt.text} {prompt.fact.values[0]}."


@pytest.mark.parametrize(("names", "told"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_enumerations(names: list[str], told: str) -> None:
    assert enumerated(names) == told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("France", "France"),
        ("The Netherlands", "the Netherlands"),
        ("United States", "the United States"),
        ("Dominican Republic", "the Dominican Republic"),
        ("Cayman Islands", "the Cayman Islands"),
        ("South Georgia and the South Sandwich Islands", "South Georgia and the South Sandwich Islands"),
    ],
)
def test_articles(name: str, told: str) -> None:
    assert with_article(name) == told


def test_a_cache_that_cannot_be_written_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "almanac").write_text("in the way")
    monkeypatch.setenv("OFFSCRIPT_CACHE", str(tmp_path))
    with pytest.raises(OffscriptError, match="cannot be written.*OFFSCRIPT_CACHE"):
        almanac_index()


def _documents(_: int) -> int:
    return len(almanac_index())


def test_two_processes_that_come_first_at_once_both_find_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: Index
) -> None:
    monkeypatch.setenv("OFFSCRIPT_CACHE", str(tmp_path))
    facts = almanac_facts()[:200]
    monkeypatch.setattr("offscript.factcheck.almanac.storage.almanac_facts", lambda: facts)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        sizes = pool.map(_documents, range(4))
    assert set(sizes) == {len(almanac_documents(facts))}
    assert [path.name for path in (tmp_path / "almanac").iterdir() if path.name.startswith(".")] == []
