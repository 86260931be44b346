"""Reading: the index as a snapshot that later writes do not touch, and its segments, one immutable file each."""

import itertools
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.analysis.lexicon import ABSENT, Lexicon
from offscript.factcheck.documents import Document
from offscript.factcheck.index.files import (
    DELETIONS,
    SEGMENT,
    Arrays,
    Manifest,
    SegmentFiles,
    check_file,
    damaged,
    map_arrays,
    read_manifest,
    release,
)
from offscript.factcheck.index.validation import deep_fault, deletions_fault, segment_fault

STORED_FIELDS = ("title", "text", "url", "date")
ATTEMPTS = 5  # a writer may replace segments between reading the manifest and opening them


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

    def __init__(self, path: Path, arrays: Arrays, deletions: Arrays | None = None) -> None:
        self.terms = Lexicon(*(arrays[f"terms.{name}"] for name in Lexicon._fields))
        self.ids = Lexicon(*(arrays[f"ids.{name}"] for name in Lexicon._fields))
        self.postings = Postings(*(arrays[f"postings.{name}"] for name in Postings._fields))
        self.stored = Ragged(arrays["stored.offsets"], arrays["stored.values"])
        self.sentences = Ragged(arrays["sentences.offsets"], arrays["sentences.values"])
        self.lengths: NDArray[np.int32] = arrays["lengths"]
        self.path, self.arrays, self._deletions = path, arrays, deletions

    @classmethod
    def open(cls, path: Path, deletions: Path | None = None, *, verify: bool) -> "Segment":
        """Map a segment's file, and its deletions' if there are any; `verify` looks at every offset in them."""
        arrays, deleted = map_arrays(path, SEGMENT), map_arrays(deletions, DELETIONS) if deletions else None
        if verify and (fault := segment_fault(arrays, len(STORED_FIELDS))):
            raise damaged(path, f"{fault} does not fit the rest")
        if verify and deletions and deleted and (fault := deletions_fault(deleted, arrays)):
            raise damaged(deletions, f"{fault} does not fit the segment")
        return cls(path, arrays, deleted)

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
        return (self._deletions or self.arrays)["total_frequencies"]

    def release(self) -> None:
        """Let go of the memory that what was read so far takes; it comes back from disk when it is needed again."""
        release(self.arrays)

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
        title, text, url, date = (pool[start:end].decode("utf-8", "replace") for start, end in itertools.pairwise(ends))
        starts = self.sentences.values[self.sentences.offsets[number] : self.sentences.offsets[number + 1]]
        return Document(self.id_of(number), title, text, url, date, tuple(starts.tolist()))

    def urls(self) -> Iterator[str]:
        """The addresses of all documents in order, deleted ones included."""
        place, step = STORED_FIELDS.index("url"), len(STORED_FIELDS)
        starts, ends = (self.stored.offsets[place + shift :: step][: self.size].tolist() for shift in (0, 1))
        for start, end in zip(starts, ends, strict=True):
            yield self.stored.values[start:end].tobytes().decode("utf-8", "replace") if end > start else ""

    def id_of(self, number: int) -> str:
        """The id of a document."""
        return self.ids.entry(number).decode("utf-8", "replace")


class Index:
    """Documents that can be searched, by segments in document order."""

    def __init__(self, segments: list[Segment], analyzer: Analyzer, folder: Path) -> None:
        self.segments, self.analyzer, self.folder = segments, analyzer, folder

    def __len__(self) -> int:
        return sum(len(segment.live) for segment in self.segments)

    def __contains__(self, id: str) -> bool:
        return any(segment.number_of(id) != ABSENT for segment in self.segments)

    @cached_property
    def tokens(self) -> int:
        """How many tokens all documents have together."""
        return sum(segment.tokens for segment in self.segments)

    def document(self, id: str) -> Document:
        """The document of this id."""
        for segment in self.segments:
            if (number := segment.number_of(id)) != ABSENT:
                return segment.document(number)
        raise OffscriptError(f"no document {id!r} in {self.folder}")


def open_index(folder: Path | str, *, verify: bool = True) -> Index:
    """Open an index; a file whose size or checksum is not the manifest's, or whose offsets do not fit, is refused.

    Args:
        folder: What `build_index` wrote.
        verify: Read every file twice to look at checksums and offsets, at a gigabyte per second or more. False saves
            that, for files that this process wrote itself.

    Returns:
        A snapshot that later writes do not touch.
    """
    folder = Path(folder)
    for attempt in range(ATTEMPTS):
        manifest = read_manifest(folder)
        try:
            return _opened(folder, manifest, verify)
        except OffscriptError:
            if attempt == ATTEMPTS - 1 or read_manifest(folder) == manifest:
                raise
    raise AssertionError("the last attempt returns or raises")


def _opened(folder: Path, manifest: Manifest, verify: bool) -> Index:
    segments = [open_segment(folder, files, verify=verify) for files in manifest.segments]
    return Index(segments, manifest.analyzer, folder)


def open_segment(folder: Path, files: SegmentFiles, *, verify: bool) -> Segment:
    """Open one segment after a look at its files."""
    return Segment.open(*(check_file(folder, file, contents=verify) for file in files.files), verify=verify)


def check_index(folder: Path | str) -> Index:
    """Open an index and look at all that can be: also that ids and terms are found, and that counts add up.

    Args:
        folder: What `build_index` wrote.

    Returns:
        The index, open; one with a fault is refused in one line.
    """
    index = open_index(folder)
    for segment in index.segments:
        if fault := deep_fault(segment.arrays):
            raise damaged(segment.path, f"{fault} does not fit the rest")
    return index
