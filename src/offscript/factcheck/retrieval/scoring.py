"""Scores of postings by one model, worked out when a term is first asked for and kept."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript.factcheck.analysis.lexicon import ABSENT
from offscript.factcheck.index.segment import Segment
from offscript.factcheck.retrieval.similarities import Similarity, Term
from offscript.factcheck.retrieval.top import DELETED, UNMET, ScoredPostings


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
