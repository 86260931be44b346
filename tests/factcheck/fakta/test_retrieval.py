"""Sources of each kind are searched by themselves, and re-ranked within their kind."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from offscript.factcheck.documents import Document
from offscript.factcheck.fakta.retrieval import RanksAlone, alternating, find_by_kind
from offscript.factcheck.index import build_index
from offscript.factcheck.sources import Found, Kind, Scale
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.sources.ratings import Ratings

RATINGS = Ratings({"good.org": Kind.high, "so-so.org": Kind.mixed, "bad.org": Kind.low})


class Shelf:
    """Gives documents with scores of its own, whatever is asked."""

    def __init__(self, found: Sequence[Found], scale: Scale = Scale.scores) -> None:
        self._documents, self.scale, self.asked = list(found), scale, list[str]()

    def find(self, query: str, k: int) -> list[Found]:
        self.asked.append(query)
        return self._documents[:k]


def _found(id: str, score: float, kind: Kind = Kind.wikipedia, title: str = "") -> Found:
    return Found(Document(id, title, f"Canberra {id}."), score, kind)


@pytest.fixture
def source(tmp_path: Path) -> LocalIndex:
    """130 pages of a good site that fit the query best, and few of the others."""
    sites = ["good.org"] * 130 + ["so-so.org"] * 3 + ["bad.org"] * 2 + ["en.wikipedia.org"] + [""] * 2
    texts = ["Canberra Canberra Canberra capital." if site == "good.org" else "Canberra, a town." for site in sites]
    documents = [
        Document(f"d{number}", "", text, f"https://{site}/{number}" if site else "")
        for number, (site, text) in enumerate(zip(sites, texts, strict=True))
    ]
    return LocalIndex(build_index(documents, tmp_path / "index"), ratings=RATINGS)


def test_every_kind_has_its_places_however_low_it_scores(source: LocalIndex) -> None:
    found = find_by_kind([source], "Canberra is the capital", ("Canberra", "capital"), 2).documents
    assert {kind: len(own) for kind, own in found.items()} == {
        Kind.wikipedia: 1,
        Kind.high: 2,
        Kind.mixed: 2,
        Kind.low: 2,
        Kind.unrated: 2,
    }
    assert all(each.kind is kind for kind, own in found.items() for each in own)


def test_a_kind_is_searched_as_deep_as_it_takes(source: LocalIndex) -> None:
    everything = [each for each in source.find("Canberra capital", 200) if each.kind is Kind.low]
    assert source.find_kind("Canberra capital", 2, Kind.low) == everything
    assert source.find_kind("Canberra capital", 5, Kind.low) == everything
    assert source.find_kind("platypus", 5, Kind.low) == []


def test_a_kind_that_an_index_does_not_hold_is_empty(sayings: list[Document], tmp_path: Path) -> None:
    source = LocalIndex(build_index(sayings, tmp_path), kind=Kind.high)
    assert source.find_kind("lazy dog", 3, Kind.low) == []
    assert source.find_kind("lazy dog", 3, Kind.high) == source.find("lazy dog", 3)


def test_web_pages_alternate_with_local_documents_whatever_their_scores() -> None:
    local = Shelf([_found(f"local-{place}", 40.0 - place) for place in range(10)])
    web = Shelf([_found(f"web-{place}", 1 / (1 + place)) for place in range(10)], Scale.ranks)
    found = find_by_kind([local, web], "Canberra", ("Canberra",), 4)
    ids = [each.document.id for each in found.documents[Kind.wikipedia]]
    assert ids == ["local-0", "web-0", "local-1", "web-1"]


def test_documents_are_ranked_by_title_within_their_kind() -> None:
    shelf = Shelf(
        [
            _found("a", 9.0, Kind.low, "Sydney"),
            _found("b", 5.0, Kind.low, "Canberra"),
            _found("c", 1.0, Kind.high, "Canberra"),
        ]
    )
    found = find_by_kind([shelf], "Canberra grows", ("Canberra",), 2).documents
    assert [each.document.id for each in found[Kind.low]] == ["b", "a"]
    assert [each.document.id for each in found[Kind.high]] == ["c"]


def test_the_best_score_is_kept_for_each_scale() -> None:
    local = Shelf([_found("a", 8.0, title="Canberra")])
    web = RanksAlone(Shelf([_found("b", 3.0, title="Canberra"), _found("c", 2.0, title="Canberra")]))
    best = find_by_kind([local, web], "Canberra", ("Canberra",), 4).best
    assert best == {Scale.scores: 8.0, Scale.ranks: 1.0}
    assert find_by_kind([], "Canberra", ("Canberra",), 4) == ({}, {})


def test_final_words_are_dropped_until_a_kind_is_found(source: LocalIndex) -> None:
    shelf = Shelf([])
    assert find_by_kind([shelf], "x", ("one", "two", "three"), 1, kinds=[Kind.low]).documents == {}
    assert shelf.asked == ["one two three", "one two", "one"]


def test_a_document_of_two_providers_is_listed_once() -> None:
    first, second, third = (_found(name, 1.0) for name in "abc")
    assert alternating([[first, second], [first, third], []]) == [first, second, third]
