"""Search over the segments of an index, each wherever it is run: exact, since statistics are exchanged first."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from offscript.factcheck.analysis.lexicon import Lexicon
from offscript.factcheck.index import Index, open_index
from offscript.factcheck.index.sharding import Run, run_here
from offscript.factcheck.retrieval.models import DEFAULT_MODEL, retrieval_model
from offscript.factcheck.retrieval.searcher import Frequencies, Hit, IndexStatistics, Searcher, merge_hits


@dataclass(frozen=True)
class KnownStatistics:
    """Statistics of a collection as far as some queries need them: N, T, and df and F of their terms."""

    documents: int
    tokens: int
    by_term: dict[bytes, tuple[int, int]]

    def frequencies(self, terms: Lexicon) -> Frequencies:
        """Of terms that were asked for; others are in no document."""
        counts = [self.by_term.get(bytes(term), (0, 0)) for term in terms.entries()]
        table = np.array(counts, dtype=np.int64).reshape(len(counts), 2)
        return table[:, 0], table[:, 1]

    def __add__(self, other: "KnownStatistics") -> "KnownStatistics":
        terms = {
            term: (one + more[0], all_ + more[1])
            for term, (one, all_) in self.by_term.items()
            for more in [other.by_term.get(term, (0, 0))]
        }
        return KnownStatistics(self.documents + other.documents, self.tokens + other.tokens, terms)


class ShardedSearcher:
    """Searches the segments of an index apart from each other and merges what they find.

    Scores and order are those of a `Searcher` on the whole index: the segments exchange how many documents hold each
    term of the queries before any of them scores.

    Args:
        folder: The index, at a place that every worker reads.
        run: Where segments are searched.
    """

    def __init__(self, folder: Path | str, *, run: Run = run_here) -> None:
        self.folder, self._run = str(Path(folder).resolve()), run
        self._segments = range(len(open_index(self.folder).segments))

    def search_all(self, queries: Sequence[str], k: int = 10, *, model: str = DEFAULT_MODEL) -> list[list[Hit]]:
        """The k best documents of every query, best first; equal scores in the order of the index."""
        retrieval_model(model)
        asked = list(queries)
        counted = list(self._run(count_terms, ((self.folder, place, asked) for place in self._segments)))
        if not counted:
            return [[] for _ in asked]
        whole = counted[0]
        for each in counted[1:]:
            whole = whole + each
        found = list(
            self._run(search_segment, ((self.folder, place, asked, k, model, whole) for place in self._segments))
        )
        return [merge_hits([own[row] for own in found], k) for row in range(len(asked))]


def count_terms(folder: str, place: int, queries: list[str]) -> KnownStatistics:
    """What one segment knows of the queries' terms; what a worker does first."""
    shard = _shard(folder, place)
    _, _, terms = shard.analyzer.analyze(queries)
    documents, totals = IndexStatistics(shard).frequencies(terms)
    counts = zip(terms.entries(), documents.tolist(), totals.tolist(), strict=True)
    return KnownStatistics(len(shard), shard.tokens, {bytes(term): (one, all_) for term, one, all_ in counts})


def search_segment(
    folder: str, place: int, queries: list[str], k: int, model: str, statistics: KnownStatistics
) -> list[list[Hit]]:
    """The best of one segment by the statistics of all; what a worker does then."""
    return Searcher(_shard(folder, place), statistics=statistics, threads=1).search_all(queries, k, model=model)


@lru_cache(maxsize=16)
def _shard(folder: str, place: int) -> Index:
    """A segment as an index of its own."""
    index = open_index(folder)
    return Index([index.segments[place]], index.analyzer, index.folder)
