"""A segment: documents and their postings in one immutable file, and which of the documents are deleted since."""

import itertools
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript.factcheck.analysis.lexicon import ABSENT, Lexicon
from offscript.factcheck.documents import Document
from offscript.factcheck.index.arrays import Arrays, map_arrays, release

STORED_FIELDS = ("title", "text", "url", "date")


class Postings(NamedTuple):
    """For term t the documents documents[starts[t] : starts[t + 1]], ascending, and how often t occurs in each."""

    starts: NDArray[np.int64]  # [terms + 1]
    documents: NDArray[np.int32]
    frequencies: NDArray[np.int32]


class Ragged(NamedTuple):
    """Rows of different lengths: row r is values[offsets[r] : offsets[r + 1]]."""

    offsets: NDArray[np.int64]  # [rows + 1]
    values: NDArray[np.generic]


class Segment:
    """Everything the index knows of some documents, numbered from 0."""

    def __init__(self, arrays: Arrays, deletions: Arrays | None = None) -> None:
        self.terms = Lexicon(*(arrays[f"terms.{name}"] for name in Lexicon._fields))
        self.ids = Lexicon(*(arrays[f"ids.{name}"] for name in Lexicon._fields))
        self.postings = Postings(*(arrays[f"postings.{name}"] for name in Postings._fields))
        self.stored = Ragged(arrays["stored.offsets"], arrays["stored.values"])
        self.sentences = Ragged(arrays["sentences.offsets"], arrays["sentences.values"])
        self.lengths: NDArray[np.int32] = arrays["lengths"]
        self._arrays, self._deletions = arrays, deletions

    @classmethod
    def open(cls, path: Path, deletions: Path | None = None) -> "Segment":
        """Map a segment's file, and its deletions' if there are any."""
        return cls(map_arrays(path), map_arrays(deletions) if deletions else None)

    @property
    def size(self) -> int:
        """How many documents there are, deleted ones included."""
        return len(self.lengths)

    @property
    def deleted(self) -> NDArray[np.bool_] | None:
        """Which documents are deleted; None when none is."""
        return self._deletions["deleted"] if self._deletions else None

    @cached_property
    def live(self) -> NDArray[np.int64]:
        """The numbers of the documents that are not deleted."""
        return np.arange(self.size) if self.deleted is None else np.flatnonzero(~self.deleted)

    @cached_property
    def tokens(self) -> int:
        """How many tokens the live documents have."""
        return int(self.lengths[self.live].sum(dtype=np.int64))

    @cached_property
    def document_frequencies(self) -> NDArray[np.int64]:
        """For every term the number of live documents that hold it."""
        return self._deletions["document_frequencies"] if self._deletions else np.diff(self.postings.starts)

    @property
    def total_frequencies(self) -> NDArray[np.int64]:
        """For every term how often the live documents use it."""
        return (self._deletions or self._arrays)["total_frequencies"]

    def release(self) -> None:
        """Let go of the memory that what was read so far takes; it comes back from disk when it is needed again."""
        release(self._arrays)

    def number_of(self, id: str) -> int:
        """The number of the live document of this id, or ABSENT."""
        number = self.ids.find(id.encode("utf-8", "replace"))
        return ABSENT if number != ABSENT and self.deleted is not None and self.deleted[number] else number

    def document(self, number: int) -> Document:
        """A document as it was given."""
        first = len(STORED_FIELDS) * number
        bounds = self.stored.offsets[first : first + len(STORED_FIELDS) + 1]
        pool = self.stored.values[bounds[0] : bounds[-1]].tobytes()
        ends = (bounds - bounds[0]).tolist()
        title, text, url, date = (pool[start:end].decode("utf-8") for start, end in itertools.pairwise(ends))
        starts = self.sentences.values[self.sentences.offsets[number] : self.sentences.offsets[number + 1]]
        return Document(self.id_of(number), title, text, url, date, tuple(starts.tolist()))

    def id_of(self, number: int) -> str:
        """The id of a document."""
        return self.ids.entry(number).decode("utf-8")
