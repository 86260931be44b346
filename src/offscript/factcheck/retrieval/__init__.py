"""Retrieval: the models of the thesis's Table 2.1 over one index, exact top-k, shards, dense re-ranking."""

from offscript.factcheck.retrieval.models import DEFAULT_MODEL, model_names, retrieval_model
from offscript.factcheck.retrieval.reranking import rerank
from offscript.factcheck.retrieval.searcher import (
    Hit,
    IndexStatistics,
    Searcher,
    Statistics,
    SummedStatistics,
    merge_hits,
)

__all__ = [
    "DEFAULT_MODEL",
    "Hit",
    "IndexStatistics",
    "Searcher",
    "Statistics",
    "SummedStatistics",
    "merge_hits",
    "model_names",
    "rerank",
    "retrieval_model",
]
