"""Inversion: a block of documents in memory becomes the arrays of a segment."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import compiled
from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.analysis.lexicon import ABSENT, Lexicon, LexiconBuilder
from offscript.factcheck.analysis.surfaces import number_surfaces, whole_characters
from offscript.factcheck.documents import Document
from offscript.factcheck.index.arrays import Arrays
from offscript.factcheck.index.segment import STORED_FIELDS


class Block:
    """Documents that came in since the last segment was written, their words numbered already."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._surfaces, self._ids = LexiconBuilder(), LexiconBuilder()
        self._words: list[NDArray[np.int32]] = []
        self._counts: list[NDArray[np.int64]] = []
        self._stored: list[bytes] = []
        self._sentences: list[tuple[int, ...]] = []
        self.tokens = self.bytes = 0

    def __len__(self) -> int:
        return len(self._sentences)

    def add(self, documents: Sequence[Document]) -> None:
        """Take in some documents, a few hundred thousand characters at a time for speed."""
        self._add_ids([document.id for document in documents])
        words, counts = number_surfaces([document.searched for document in documents], self._surfaces)
        self._words.append(words)
        self._counts.append(counts)
        for document in documents:
            fields = [_encoded(getattr(document, name)) for name in STORED_FIELDS]
            self._stored.extend(fields)
            self._sentences.append(document.sentence_starts())
            self.bytes += sum(map(len, fields))
        self.tokens += len(words)

    def ids(self) -> Lexicon:
        """The ids of the documents so far."""
        return self._ids.finished()

    def arrays(self) -> Arrays:
        """The block as a segment's arrays."""
        terms_of, terms = self._analyzer.filter(self._surfaces.finished())
        tokens = terms_of[np.concatenate([*self._words, np.empty(0, np.int32)])]
        ends = np.cumsum(np.concatenate([*self._counts, np.empty(0, np.int64)]))
        return {
            **{f"terms.{name}": array for name, array in terms._asdict().items()},
            **{f"ids.{name}": array for name, array in self.ids()._asdict().items()},
            **_inverted(tokens, ends, terms.size),
            **_ragged(
                "stored", [len(field) for field in self._stored], np.frombuffer(b"".join(self._stored), np.uint8)
            ),
            **_ragged(
                "sentences",
                [len(starts) for starts in self._sentences],
                np.fromiter((start for starts in self._sentences for start in starts), np.int32),
            ),
        }

    def _add_ids(self, ids: list[str]) -> None:
        expected = len(self) + np.arange(len(ids))
        numbers = self._ids.insert(_encoded(id) for id in ids)
        if (repeated := np.flatnonzero(numbers != expected)).size:
            raise OffscriptError(
                f"document id {ids[repeated[0]]!r} occurs twice", next="give every document an id of its own"
            )


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return whole_characters(text).encode("utf-8")


def _ragged(name: str, lengths: Sequence[int], values: NDArray[np.generic]) -> Arrays:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return {f"{name}.offsets": offsets, f"{name}.values": values}


def _inverted(tokens: NDArray[np.int32], ends: NDArray[np.int64], terms: int) -> Arrays:
    """Postings, term totals and document lengths of a stream of tokens in document order."""
    lengths = np.zeros(len(ends), dtype=np.int32)
    document_frequencies, total_frequencies = np.zeros(terms, dtype=np.int64), np.zeros(terms, dtype=np.int64)
    _count_postings(tokens, ends, document_frequencies, total_frequencies, lengths)
    starts = np.concatenate([[0], np.cumsum(document_frequencies)])
    documents, frequencies = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.int32)
    _fill_postings(tokens, ends, starts, documents, frequencies)
    return {
        "postings.starts": starts,
        "postings.documents": documents,
        "postings.frequencies": frequencies,
        "total_frequencies": total_frequencies,
        "lengths": lengths,
    }


@compiled
def _count_postings(
    tokens: NDArray[np.int32],
    ends: NDArray[np.int64],
    document_frequencies: NDArray[np.int64],
    total_frequencies: NDArray[np.int64],
    lengths: NDArray[np.int32],
) -> None:
    seen_in = np.full(len(document_frequencies), ABSENT, dtype=np.int32)
    start = 0
    for document in range(len(ends)):
        for position in range(start, ends[document]):
            term = tokens[position]
            if term == ABSENT:
                continue
            lengths[document] += 1
            total_frequencies[term] += 1
            if seen_in[term] != document:
                seen_in[term] = document
                document_frequencies[term] += 1
        start = ends[document]


@compiled
def _fill_postings(
    tokens: NDArray[np.int32],
    ends: NDArray[np.int64],
    starts: NDArray[np.int64],
    documents: NDArray[np.int32],
    frequencies: NDArray[np.int32],
) -> None:
    free = starts.copy()
    start = 0
    for document in range(len(ends)):
        for position in range(start, ends[document]):
            term = tokens[position]
            if term == ABSENT:
                continue
            slot = free[term]
            if slot > starts[term] and documents[slot - 1] == document:
                frequencies[slot - 1] += 1
            else:
                documents[slot] = document
                frequencies[slot] = 1
                free[term] = slot + 1
        start = ends[document]
