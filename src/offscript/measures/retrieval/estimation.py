"""How well an index finds what was judged relevant: recall@k, MAP and nDCG@k over queries."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript.errors import OffscriptError
from offscript.factcheck.evaluation import Grades, Query, evaluate
from offscript.factcheck.index import Index
from offscript.factcheck.queries import query_of
from offscript.factcheck.retrieval import DEFAULT_MODEL
from offscript.factcheck.retrieval.reranking import rerank_by_title
from offscript.factcheck.sources.local import LocalIndex
from offscript.measures.measurement import Measurement, environment
from offscript.statistics import Estimate, mean_interval

QUESTION = "retrieval"
MEASURES = ("recall@1", "recall@5", "recall@10", "recall@20", "map", "ndcg@10")
DEPTH = 1000


def measure_retrieval(
    index: Index,
    queries: Sequence[Query],
    judgments: Mapping[str, Grades],
    *,
    model: str = DEFAULT_MODEL,
    depth: int = DEPTH,
    generated: bool = False,
    reranked: int = 0,
    level: float = 0.95,
    recipe: Mapping[str, Any] | None = None,
) -> list[Measurement]:
    """`recall@1` … `recall@20`, `map` and `ndcg@10` of the first `depth` documents, over the queries that are judged.

    `generated` turns each text into a query first (section 2.2.1); `reranked` orders that many of the best documents by
    eq. 2.1, the rest after them. Intervals are over queries; a query without a relevant document does not count.
    """
    started = time.perf_counter()
    asked = [query for query in queries if any(grade > 0 for grade in judgments.get(query.id, {}).values())]
    if not asked:
        raise OffscriptError(
            "no query has a relevant document", next="check that the judgments are those of the queries"
        )
    rankings = _rankings(LocalIndex(index, model=model), asked, depth, generated=generated, reranked=reranked)
    values = evaluate(rankings, {query.id: judgments[query.id] for query in asked}, MEASURES)
    seconds = time.perf_counter() - started
    settings = {"retrieval_model": model, "depth": depth, "generated_queries": generated, "reranked": reranked}
    collection = {"documents": len(index), "tokens": index.tokens, "analyzer": index.analyzer.settings()}
    return [
        Measurement.of(
            _estimate(per_query, level),
            question=QUESTION,
            name=name,
            n=len(asked),
            seed=None,
            seconds=seconds,
            recipe={**(recipe or {}), **settings, "collection": collection, **environment()},
            higher_is_better=True,
            per_item=per_query,
        )
        for name, per_query in values.items()
    ]


def _rankings(
    source: LocalIndex, queries: Sequence[Query], depth: int, *, generated: bool, reranked: int
) -> dict[str, list[str]]:
    """The ids of the best documents of every query."""
    texts = [" ".join(query_of(query.text)) if generated else query.text for query in queries]
    rankings = {
        query.id: [hit.document_id for hit in hits]
        for query, hits in zip(queries, source.searcher.search_all(texts, depth, model=source.model), strict=True)
    }
    if reranked:
        for query, found in zip(queries, source.find_all(texts, reranked), strict=True):
            best = [each.document.id for each in rerank_by_title(query.text, found)]
            rankings[query.id][: len(best)] = best
    return rankings


def _estimate(values: NDArray[np.float64], level: float) -> Estimate:
    return mean_interval(values, level=level)
