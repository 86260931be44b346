"""Retrieval measured: rankings by hand, intervals over queries, and what generation and re-ranking change."""

from pathlib import Path

import numpy as np
import pytest

from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document
from offscript.factcheck.evaluation import Query
from offscript.factcheck.index import Index, build_index
from offscript.factcheck.tagging.tagger import PerceptronTagger, TaggedSentence
from offscript.measures.measurement import Measurement
from offscript.measures.retrieval.estimation import MEASURES, measure_retrieval
from offscript.measures.tagging import measure_tagging
from offscript.statistics import mean_interval, proportion_interval

DOCUMENTS = [
    Document("d1", "Sydney", "Sydney Sydney city harbour"),
    Document("d2", "Canberra", "Canberra city capital"),
    Document("d3", "Opera", "Sydney opera house by the harbour"),
]
QUERIES = [
    Query("q1", "sydney harbour"), Query("q2", "capital"), Query("q3", "zanzibar"), Query("q4", "nobody asks"),
    Query("q6", "timbuktu"),
]  # fmt: skip
JUDGMENTS = {"q1": {"d1": 1, "d3": 1}, "q2": {"d2": 1, "d1": 0}, "q3": {"d1": 1}, "q5": {"d1": 1}, "q6": {"d2": 1}}


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return build_index(DOCUMENTS, tmp_path)


def by_name(found: list[Measurement]) -> dict[str, Measurement]:
    return {entry.name: entry for entry in found}


def test_figures_are_means_over_the_judged_queries(index: Index) -> None:
    found = by_name(measure_retrieval(index, QUERIES, JUDGMENTS, model="bm25"))
    assert tuple(found) == MEASURES
    assert all(entry.n == 4 and entry.higher_is_better for entry in found.values())
    assert found["recall@1"].value == pytest.approx((0.5 + 1 + 0 + 0) / 4)
    assert found["recall@5"].value == pytest.approx(2 / 4)
    assert found["map"].value == pytest.approx(2 / 4)
    assert found["recall@1"].interval == mean_interval(np.array([0.5, 1, 0, 0])).interval
    assert found["recall@5"].interval == proportion_interval(2, 4).interval
    assert found["map"].recipe["retrieval_model"] == "bm25"
    assert found["map"].recipe["collection"]["documents"] == 3


def test_titles_decide_where_reranking_is_asked_for(index: Index) -> None:
    asked, judged = [Query("q", "The Opera stands in Sydney harbour city")], {"q": {"d3": 1}}
    plain = by_name(measure_retrieval(index, asked, judged, model="classic"))
    reranked = by_name(measure_retrieval(index, asked, judged, model="classic", reranked=2))
    assert plain["recall@5"].value == reranked["recall@5"].value == 1.0
    assert reranked["recall@1"].value >= plain["recall@1"].value
    assert by_name(measure_retrieval(index, asked, judged, generated=True))["recall@5"].value == 1.0


def test_judgments_without_a_query_are_refused(index: Index) -> None:
    with pytest.raises(OffscriptError, match="no query has a relevant document"):
        measure_retrieval(index, QUERIES, {"q9": {"d1": 1}})


def test_one_query_that_is_half_answered_is_refused(index: Index) -> None:
    with pytest.raises(OffscriptError, match="need at least 4 samples for an interval, got 1"):
        measure_retrieval(index, QUERIES, {"q1": {"d1": 1, "d2": 1}})


def test_tagging_accuracy_counts_words_and_its_interval_is_over_sentences() -> None:
    taught = [TaggedSentence(("the", "dog"), ("DET", "NOUN")), TaggedSentence(("a", "cat"), ("DET", "NOUN"))]
    tagger = PerceptronTagger.train(taught, seed=1, rows=256, epochs=5)
    asked = [*taught, *taught, TaggedSentence(("the", "dog"), ("NOUN", "DET"))]
    [found] = measure_tagging(tagger, asked)
    assert (found.name, found.n, found.value) == ("accuracy", 10, pytest.approx(8 / 10))
    assert found.interval.lower < 0.8 < found.interval.upper
    with pytest.raises(OffscriptError, match="at least 4 sentences"):
        measure_tagging(tagger, asked[:3])
