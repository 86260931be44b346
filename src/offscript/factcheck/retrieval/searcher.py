"""The searcher: queries in, best documents out, by the statistics of one index or of all shards of a collection."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from offscript._specification import nearest
from offscript.errors import OffscriptError
from offscript.factcheck.analysis.lexicon import ABSENT, Lexicon
from offscript.factcheck.index import Index
from offscript.factcheck.index.reading import Segment
from offscript.factcheck.retrieval.models import (
    DEFAULT_MODEL,
    Similarity,
    Term,
    is_dense,
    lexical_part,
    retrieval_model,
)
from offscript.factcheck.retrieval.top import DELETED, UNMET, Best, Queries, ScoredPostings, rank

if TYPE_CHECKING:  # encoders need torch, which searching by words does without
    from offscript.factcheck.retrieval.dense import DenseSearcher
    from offscript.factcheck.retrieval.encoding import Encoder

Norms = Literal["exact", "lucene"]
FREE_VALUES = 24  # Lucene's SmallFloat.intToByte4 keeps so many lengths as they are
SIGNIFICANT_BITS = 4
Frequencies = tuple[NDArray[np.int64], NDArray[np.int64]]
QUERIES_A_THREAD = 32  # fewer are not worth a thread
NOTHING = -1
FUSED = 100  # documents of either ranking that are fused at least


def scoring_lengths(lengths: NDArray[np.int32], norms: Norms) -> NDArray[np.float64]:
    """The lengths that similarities are given."""
    if norms == "exact":
        return lengths.astype(np.float64)
    if norms == "lucene":
        return lucene_lengths(lengths).astype(np.float64)
    raise OffscriptError(f"unknown norms {norms!r}", next=nearest(norms, ("exact", "lucene")))


def lucene_lengths(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """What is left of lengths after SmallFloat.byte4ToInt(intToByte4(length)): 4 significant bits above 24."""
    excess = np.maximum(lengths.astype(np.int64) - FREE_VALUES, 0)
    bits = np.frexp(excess.astype(np.float64))[1]
    shift = np.maximum(bits - SIGNIFICANT_BITS, 0)
    return np.where(lengths < FREE_VALUES, lengths, FREE_VALUES + ((excess >> shift) << shift))


class Statistics(Protocol):
    """N and T of a collection, and df and F of any of its terms."""

    @property
    def documents(self) -> int:
        """How many documents there are, N."""

    @property
    def tokens(self) -> int:
        """How many tokens they have together, T."""

    def frequencies(self, terms: Lexicon) -> Frequencies:
        """For every term the number of documents that hold it, df, and its occurrences, F."""


class IndexStatistics:
    """The statistics of one index."""

    def __init__(self, index: Index) -> None:
        self._segments = index.segments
        self.documents, self.tokens = len(index), index.tokens

    def frequencies(self, terms: Lexicon) -> Frequencies:
        """Summed over the index's segments."""
        documents, totals = np.zeros(terms.size, dtype=np.int64), np.zeros(terms.size, dtype=np.int64)
        for segment in self._segments:
            numbers = segment.terms.find_all(terms)
            known = numbers != ABSENT
            documents[known] += segment.document_frequencies[numbers[known]]
            totals[known] += segment.total_frequencies[numbers[known]]
        return documents, totals


class SummedStatistics:
    """The statistics of several shards together; a shard may be an index here or a proxy of one elsewhere."""

    def __init__(self, shards: Sequence[Statistics]) -> None:
        self._shards = shards
        self.documents = sum(shard.documents for shard in shards)
        self.tokens = sum(shard.tokens for shard in shards)

    def frequencies(self, terms: Lexicon) -> Frequencies:
        """Summed over the shards."""
        documents, totals = zip(*(shard.frequencies(terms) for shard in self._shards), strict=True)
        return np.sum(documents, axis=0), np.sum(totals, axis=0)


class Workspace(NamedTuple):
    """What `rank` needs for itself: the sums of all documents, and room for the documents met."""

    sums: NDArray[np.float64]
    met: NDArray[np.int32]


class SegmentScores:
    """One segment's postings as one model scores them. Room for all scores is claimed; only used ones take memory."""

    def __init__(self, segment: Segment, lengths: NDArray[np.float64], similarity: Similarity) -> None:
        self._segment, self._lengths, self._similarity = segment, lengths, similarity
        self._known = np.zeros(segment.terms.size, dtype=bool)
        self._spare: list[Workspace] = []
        self.postings = ScoredPostings(
            segment.postings.starts,
            segment.postings.documents,
            np.empty(len(segment.postings.documents), dtype=np.float32),
            np.zeros(segment.terms.size, dtype=np.float32),
        )

    @property
    def size(self) -> int:
        """How many documents there are."""
        return self._segment.size

    def unknown(self, numbers: NDArray[np.int32]) -> NDArray[np.int64]:
        """Places of the numbers of terms that are in the segment and not scored yet."""
        present = np.flatnonzero(numbers != ABSENT)
        return present[~self._known[numbers[present]]]

    def prepare(self, number: int, term: Term) -> None:
        """Score the postings of the segment's term `number`."""
        starts, documents, frequencies = self._segment.postings
        span = slice(int(starts[number]), int(starts[number + 1]))
        lengths = self._lengths[documents[span]]
        scores = self._similarity.score(frequencies[span].astype(np.float64), lengths, term).astype(np.float32)
        self.postings.scores[span] = scores
        self.postings.highest[number] = scores.max(initial=-np.inf)
        self._known[number] = True

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Workspace]:
        """A workspace that no other thread uses meanwhile."""
        space = self._spare.pop() if self._spare else self._new_workspace()
        yield space
        self._spare.append(space)

    def _new_workspace(self) -> Workspace:
        sums = np.full(self._segment.size, UNMET)
        if self._segment.deleted is not None:
            sums[self._segment.deleted] = DELETED
        return Workspace(sums, np.empty(self._segment.size, dtype=np.int32))


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

    Args:
        index: What to search.
        statistics: Those of the whole collection when the index is a shard of it (see `SummedStatistics`).
        norms: "lucene" rounds document lengths as Lucene does; "exact" does not.
        threads: How many share the work of many queries at once; one per core by default.
        encoder: Encodes queries for `dense` and `hybrid`; the one that encoded the documents by default.
    """

    def __init__(
        self,
        index: Index,
        *,
        statistics: Statistics | None = None,
        norms: Norms = "exact",
        threads: int | None = None,
        encoder: "Encoder | None" = None,
    ) -> None:
        self._encoder, self._dense = encoder, cast("DenseSearcher | None", None)
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
            [Hit(self.id_of(number), score) for number, score in zip(*row, strict=True) if number != NOTHING]
            for row in zip(documents.tolist(), scores.tolist(), strict=True)
        ]

    def rank(self, queries: Sequence[str], k: int = 10, *, model: str = DEFAULT_MODEL) -> Ranking:
        """As `search_all`, in arrays and with numbers in the place of ids."""
        if k < 1:
            raise OffscriptError(f"cannot return {k} documents", next="ask for 1 document or more")
        if is_dense(model):
            return self._rank_by_meaning(queries, k, lexical_part(model))
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

    def _rank_by_meaning(self, queries: Sequence[str], k: int, lexical: str) -> Ranking:
        """By vectors alone, or fused with a model that goes by words, each to the same depth."""
        from offscript.factcheck.retrieval.dense import DenseSearcher, fuse

        if self._dense is None:
            self._dense = DenseSearcher(self.index, self._encoder)
        depth = max(k, FUSED)
        near = self._dense.rank(queries, depth if lexical else k)
        if not lexical:
            return Ranking(*near)
        return Ranking(*fuse([self.rank(queries, depth, model=lexical).documents, near[0]], k))

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

    def id_of(self, number: int) -> str:
        """The id of the document with this number in the index."""
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
