"""From a claim to a query, to shorter ones, and to documents in a better order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offscript.factcheck.documents import Document
from offscript.factcheck.queries import FEWEST, MOST, query_of, relaxed, search
from offscript.factcheck.retrieval.reranking import rerank_by_title
from offscript.factcheck.sources import Found, Kind
from offscript.factcheck.tagging.tagger import spans


@pytest.mark.parametrize(
    ("claim", "query"),
    [
        (
            "Nikolaj Coster-Waldau worked with the Fox Broadcasting Company.",
            ("Nikolaj", "Coster", "Waldau", "Fox", "Broadcasting", "Company", "worked"),
        ),
        ("The capital of Australia is Sydney.", ("Australia", "Sydney", "capital", "is", "of")),
        ("Soul Food is a 1997 American film.", ("Soul", "Food", "American", "film", "1997")),
        ("Rome, Rome and ROME!", ("Rome", "and")),
        ("?!", ()),
        ("", ()),
    ],
)
def test_names_come_first_then_telling_words_then_what_fills_up(claim: str, query: tuple[str, ...]) -> None:
    assert query_of(claim) == query


@given(
    claim=st.text(max_size=300)
    | st.lists(st.sampled_from(["Paris", "is", "the", "big", "old", "city", "of", "12", "men", "ran"])).map(" ".join)
)
def test_queries_have_five_to_ten_different_words_of_the_claim(claim: str) -> None:
    query = query_of(claim)
    assert len({word.lower() for word in query}) == len(query) <= MOST
    words = {claim[start:end].lower() for start, end in spans(claim)}
    assert all(word.lower() in words and any(map(str.isalnum, word)) for word in query)
    assert len(query) >= min(FEWEST, len({word for word in words if any(map(str.isalnum, word))}))


def test_relaxation_drops_the_last_word_each_time() -> None:
    assert list(relaxed(("a", "b", "c"))) == [("a", "b", "c"), ("a", "b"), ("a",)]
    assert list(relaxed(())) == []


class Fussy:
    """A search engine that finds something only for the queries it knows."""

    def __init__(self, known: str) -> None:
        self.known, self.asked = known, list[str]()

    def find(self, query: str, k: int) -> list[Found]:
        self.asked.append(query)
        return [Found(Document("d"), 1.0, Kind.high)][:k] if query == self.known else []


def test_a_query_is_relaxed_until_something_is_found() -> None:
    engine = Fussy("ISIS United")
    found = search(engine, ("ISIS", "United", "States", "infiltrates"), 3)
    assert engine.asked == ["ISIS United States infiltrates", "ISIS United States", "ISIS United"]
    assert found.query == ("ISIS", "United")
    assert [each.document.id for each in found.found] == ["d"]


def test_what_is_nowhere_is_not_found() -> None:
    engine = Fussy("nothing")
    assert search(engine, ("a", "b"), 3) == ([], ())
    assert search(engine, (), 3) == ([], ())
    assert engine.asked == ["a b", "a"]


def found(title: str, score: float) -> Found:
    return Found(Document(title or "untitled", title), score, Kind.unrated)


def test_ranks_are_those_of_equation_2_1() -> None:
    """Keywords of the claim: Soul, Food, 1997, American, film."""
    claim = "Soul Food is a 1997 American film."
    ranked = rerank_by_title(
        claim, [found("Canada", 9.0), found("Soul Food", 2.0), found("American film", 3.0), found("", 7.0)]
    )
    assert [(each.document.title, each.score) for each in ranked] == [
        ("American film", pytest.approx(2 / 5 * 2 / 2 * 3.0)),
        ("Soul Food", pytest.approx(2 / 5 * 2 / 2 * 2.0)),
        ("Canada", 0.0),
        ("", 0.0),
    ]


def test_a_longer_title_that_matches_no_more_ranks_lower() -> None:
    first, second = rerank_by_title("Paris is big.", [found("Paris Hilton", 1.0), found("Paris", 1.0)])
    assert (first.document.title, second.document.title) == ("Paris", "Paris Hilton")
    assert first.score == pytest.approx(2 * second.score)


@given(claim=st.text(max_size=80), titles=st.lists(st.text(max_size=40), max_size=5))
def test_reranking_keeps_every_document_and_orders_by_score(claim: str, titles: list[str]) -> None:
    given_documents = [found(title, float(len(titles) - place)) for place, title in enumerate(titles)]
    ranked = rerank_by_title(claim, given_documents)
    assert sorted(id(each.document) for each in ranked) == sorted(id(each.document) for each in given_documents)
    scores = [each.score for each in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= each.score <= len(titles) for each in ranked)
