"""Collection statistics: what shards must exchange so that each scores as if it held the whole collection."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from offscript.factcheck.analysis.lexicon import ABSENT, Lexicon
from offscript.factcheck.index import Index

Frequencies = tuple[NDArray[np.int64], NDArray[np.int64]]


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
