"""Building segments: a block of documents in memory is inverted, and adjacent segments on disk are merged."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import compiled
from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.analysis.lexicon import ABSENT, Lexicon, LexiconBuilder
from offscript.factcheck.analysis.words import number_surfaces, whole_characters
from offscript.factcheck.documents import Document
from offscript.factcheck.index.files import Arrays, Shape, release, writing_arrays
from offscript.factcheck.index.reading import STORED_FIELDS, Postings, Ragged, Segment


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


def merge_segments(segments: Sequence[Segment], path: Path) -> None:
    """Write one segment that holds the live documents of several, in their order."""
    terms, term_maps = _merged_terms(segments)
    document_frequencies, total_frequencies = _summed_frequencies(segments, term_maps, terms.size)
    starts = np.concatenate([[0], np.cumsum(document_frequencies)])
    small = {
        **{f"terms.{name}": array for name, array in terms._asdict().items()},
        **{f"ids.{name}": array for name, array in _merged_ids(segments)._asdict().items()},
        "postings.starts": starts,
        "total_frequencies": total_frequencies,
        "lengths": np.concatenate([segment.lengths[segment.live] for segment in segments]),
    }
    ragged = {name: _live_rows(segments, name) for name in ("stored", "sentences")}
    with writing_arrays(path, _shapes(small, int(starts[-1]), ragged)) as out:
        for name, array in small.items():
            out[name][:] = array
        postings = Postings(starts, out["postings.documents"], out["postings.frequencies"])
        rows = dict.fromkeys(ragged, 0)
        free, first = starts.copy(), 0
        for place, segment in enumerate(segments):
            first = _append_postings(segment, term_maps[place], postings, free, first)
            for name, pieces in ragged.items():
                target = Ragged(out[f"{name}.offsets"], out[f"{name}.values"])
                rows[name] = _append_rows(*pieces[place], target, rows[name])
            segment.release()
            release(out)


def _shapes(
    small: Arrays, postings: int, ragged: dict[str, list[tuple[Ragged, NDArray[np.int64]]]]
) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {name: (array.dtype, len(array)) for name, array in small.items()}
    for name in ("postings.documents", "postings.frequencies"):
        shapes[name] = (np.dtype(np.int32), postings)
    for name, pieces in ragged.items():
        values = sum(int((source.offsets[rows + 1] - source.offsets[rows]).sum()) for source, rows in pieces)
        shapes[f"{name}.offsets"] = (np.dtype(np.int64), sum(len(rows) for _, rows in pieces) + 1)
        shapes[f"{name}.values"] = (pieces[0][0].values.dtype, values)
    return shapes


def _merged_terms(segments: Sequence[Segment]) -> tuple[Lexicon, list[NDArray[np.int32]]]:
    """One lexicon of the terms that live documents use, and for each segment its terms' numbers in it."""
    builder = LexiconBuilder()
    maps = []
    for segment in segments:
        if segment.deleted is None:
            maps.append(builder.insert_joined(segment.terms.pool, segment.terms.offsets))
            continue
        used = segment.document_frequencies > 0
        numbers = np.full(segment.terms.size, ABSENT, dtype=np.int32)
        numbers[used] = builder.insert(itertools.compress(segment.terms.entries(), used))
        maps.append(numbers)
    return builder.finished(), maps


def _merged_ids(segments: Sequence[Segment]) -> Lexicon:
    builder = LexiconBuilder()
    for segment in segments:
        if segment.deleted is None:
            builder.insert_joined(segment.ids.pool, segment.ids.offsets)
        else:
            builder.insert(itertools.compress(segment.ids.entries(), ~segment.deleted))
    return builder.finished()


def _summed_frequencies(
    segments: Sequence[Segment], term_maps: Sequence[NDArray[np.int32]], terms: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    documents, totals = np.zeros(terms, dtype=np.int64), np.zeros(terms, dtype=np.int64)
    for segment, numbers in zip(segments, term_maps, strict=True):
        used = numbers != ABSENT
        documents[numbers[used]] += segment.document_frequencies[used]
        totals[numbers[used]] += segment.total_frequencies[used]
    return documents, totals


def _append_postings(
    segment: Segment, numbers: NDArray[np.int32], out: Postings, free: NDArray[np.int64], first: int
) -> int:
    """Copy a segment's postings to the free places of each term; its documents are numbered from `first` on."""
    renumbered = np.full(segment.size, ABSENT, dtype=np.int32)
    renumbered[segment.live] = first + np.arange(len(segment.live))
    _copy_postings(*segment.postings, numbers, renumbered, free, out.documents, out.frequencies)
    return first + len(segment.live)


def _live_rows(segments: Sequence[Segment], name: str) -> list[tuple[Ragged, NDArray[np.int64]]]:
    """The rows of a ragged array that belong to live documents, for every segment."""
    if name == "sentences":
        return [(segment.sentences, segment.live) for segment in segments]
    fields = np.arange(len(STORED_FIELDS))
    return [(segment.stored, (len(fields) * segment.live[:, None] + fields).ravel()) for segment in segments]


def _append_rows(source: Ragged, rows: NDArray[np.int64], out: Ragged, first: int) -> int:
    """Copy rows behind the first rows of `out`; returns how many it has then."""
    _copy_rows(*source, rows, *out, first)
    return first + len(rows)


@compiled
def _copy_postings(
    starts: NDArray[np.int64],
    documents: NDArray[np.int32],
    frequencies: NDArray[np.int32],
    numbers: NDArray[np.int32],
    renumbered: NDArray[np.int32],
    free: NDArray[np.int64],
    out_documents: NDArray[np.int32],
    out_frequencies: NDArray[np.int32],
) -> None:
    for term in range(len(numbers)):
        if numbers[term] == ABSENT:
            continue
        slot = free[numbers[term]]
        for posting in range(starts[term], starts[term + 1]):
            document = renumbered[documents[posting]]
            if document != ABSENT:
                out_documents[slot] = document
                out_frequencies[slot] = frequencies[posting]
                slot += 1
        free[numbers[term]] = slot


@compiled
def _copy_rows(
    offsets: NDArray[np.int64],
    values: NDArray[np.generic],
    rows: NDArray[np.int64],
    out_offsets: NDArray[np.int64],
    out_values: NDArray[np.generic],
    first: int,
) -> None:
    """Append the given rows to the first rows of `out`."""
    for index in range(len(rows)):
        start, end = offsets[rows[index]], offsets[rows[index] + 1]
        free = out_offsets[first + index]
        out_values[free : free + end - start] = values[start:end]
        out_offsets[first + index + 1] = free + end - start
