"""The searcher: queries in, best documents out."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript.errors import OffscriptError
from offscript.factcheck.analysis.lexicon import ABSENT, Lexicon
from offscript.factcheck.index import Index
from offscript.factcheck.retrieval.lengths import Norms, scoring_lengths
from offscript.factcheck.retrieval.models import DEFAULT_MODEL, retrieval_model
from offscript.factcheck.retrieval.scoring import SegmentScores
from offscript.factcheck.retrieval.similarities import Term
from offscript.factcheck.retrieval.statistics import IndexStatistics, Statistics
from offscript.factcheck.retrieval.top import Best, Queries, rank

QUERIES_A_THREAD = 32  # fewer are not worth a thread
NOTHING = -1


class Hit(NamedTuple):
    """A document that holds at least one of the query's terms, and its score."""

    document_id: str
    score: float


class Ranking(NamedTuple):
    """The best documents of every query by their numbers in the index, best first, NOTHING where there are no more."""

    documents: NDArray[np.int64]  # [queries, k]
    scores: NDArray[np.float32]  # [queries, k]


class Searcher:
    """Searches one snapshot of an index by any model. Several threads may use one searcher.

    `statistics` are those of the whole collection when the index is a shard of it (see `SummedStatistics`).
    `norms` "lucene" rounds document lengths as Lucene does; "exact" does not. `threads` is for many queries at once.
    """

    def __init__(
        self,
        index: Index,
        *,
        statistics: Statistics | None = None,
        norms: Norms = "exact",
        threads: int | None = None,
    ) -> None:
        self.index, self._threads = index, threads or os.cpu_count() or 1
        self._statistics = statistics or IndexStatistics(index)
        self._lengths = [scoring_lengths(segment.lengths, norms) for segment in index.segments]
        self._firsts = np.cumsum([0, *(segment.size for segment in index.segments)])
        self._scores: dict[str, list[SegmentScores]] = {}

    def search(self, query: str, k: int = 10, *, model: str = DEFAULT_MODEL) -> list[Hit]:
        """The k best documents for a query, best first; equal scores in the order of the index."""
        return self.search_all([query], k, model=model)[0]

    def search_all(self, queries: Sequence[str], k: int = 10, *, model: str = DEFAULT_MODEL) -> list[list[Hit]]:
        """As `search`, for many queries at once."""
        documents, scores = self.rank(queries, k, model=model)
        return [
            [Hit(self._id_of(number), score) for number, score in zip(*row, strict=True) if number != NOTHING]
            for row in zip(documents.tolist(), scores.tolist(), strict=True)
        ]

    def rank(self, queries: Sequence[str], k: int = 10, *, model: str = DEFAULT_MODEL) -> Ranking:
        """As `search_all`, in arrays and with numbers in the place of ids."""
        if k < 1:
            raise OffscriptError(f"k is {k}", next="ask for 1 document or more")
        parts = []
        tokens, counts, terms = self.index.analyzer.analyze(queries)
        owners, numbers, weights = _distinct_terms(tokens, counts, terms.size)
        for place, scores in enumerate(self._prepared(model, terms)):
            found = self.index.segments[place].terms.find_all(terms)[numbers]
            present = found != ABSENT
            starts = np.searchsorted(owners[present], np.arange(len(queries) + 1))
            best = self._best(scores, Queries(starts, found[present], weights[present]), k)
            parts.append(_numbered(best, int(self._firsts[place])))
        return _merged(parts, len(queries), k)

    def _prepared(self, model: str, terms: Lexicon) -> list[SegmentScores]:
        """The scores of all segments, with those of the given terms worked out."""
        if model not in self._scores:
            similarity = retrieval_model(model)
            segments = zip(self.index.segments, self._lengths, strict=True)
            self._scores[model] = [SegmentScores(segment, lengths, similarity) for segment, lengths in segments]
        scores = self._scores[model]
        documents, tokens = self._statistics.documents, self._statistics.tokens
        frequencies = self._statistics.frequencies(terms)
        for segment, segment_scores in zip(self.index.segments, scores, strict=True):
            numbers = segment.terms.find_all(terms)
            for place in segment_scores.unknown(numbers):
                term = Term(documents, tokens, *(int(counts[place]) for counts in frequencies))
                segment_scores.prepare(int(numbers[place]), term)
        return scores

    def _best(self, scores: SegmentScores, queries: Queries, k: int) -> Best:
        """The best documents of one segment."""
        total = len(queries.starts) - 1
        k = min(k, scores.size)
        best = Best(np.full((total, k), NOTHING, dtype=np.int32), np.full((total, k), -np.inf))

        def run(first: int, last: int) -> None:
            with scores.workspace() as (sums, met):
                rank(scores.postings, queries, first, last, sums, met, best)

        share = max(-(-total // self._threads), QUERIES_A_THREAD)
        if total <= share:
            run(0, total)
            return best
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(lambda first: run(first, min(first + share, total)), range(0, total, share)))
        return best

    def _id_of(self, number: int) -> str:
        place = int(np.searchsorted(self._firsts, number, side="right")) - 1
        return self.index.segments[place].id_of(number - int(self._firsts[place]))


def merge_hits(shards: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """The k best of the shards' hits for one query; equal scores in the order of the shards."""
    return sorted((hit for hits in shards for hit in hits), key=lambda hit: -hit.score)[:k]


def _distinct_terms(
    tokens: NDArray[np.int32], counts: NDArray[np.int64], terms: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """For every distinct term of every query: the query, the term, and how often it is there."""
    owners = np.repeat(np.arange(len(counts)), counts)
    pairs, repeats = np.unique(owners * max(terms, 1) + tokens, return_counts=True)
    return pairs // max(terms, 1), pairs % max(terms, 1), repeats.astype(np.float64)


def _numbered(best: Best, first: int) -> Ranking:
    return Ranking(
        np.where(best.documents == NOTHING, NOTHING, best.documents + np.int64(first)), best.scores.astype(np.float32)
    )


def _merged(parts: Sequence[Ranking], queries: int, k: int) -> Ranking:
    """One ranking of several segments'; a stable sort keeps equal scores in the order of the segments."""
    if not parts:
        return Ranking(np.empty((queries, 0), np.int64), np.empty((queries, 0), np.float32))
    if len(parts) == 1:
        return parts[0]
    documents = np.concatenate([part.documents for part in parts], axis=1)
    scores = np.concatenate([part.scores for part in parts], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Ranking(np.take_along_axis(documents, order, axis=1), np.take_along_axis(scores, order, axis=1))
