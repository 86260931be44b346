"""The longest verbatim run that texts share with a corpus of any size, in one pass over the corpus.

A suffix array of the corpus would answer this for any text, at five bytes of memory for each of the corpus (5 GB for
1 GB). The texts are few and the corpus is large, so it is done the other way round: windows of the texts are indexed by
a polynomial hash, and the corpus streams by. Memory does not depend on the corpus; hits are compared byte by byte, so
that nothing rests on the hash.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript.errors import OffscriptError

BUCKETS = 16
"""Random parts of a corpus, each about half as large as the one before: together they make any fraction of it."""

_OF_TEXTS, _OF_CORPUS = b"\xfe", b"\xff"  # separators that no UTF-8 has; different, so that no run crosses them
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_BITS = 22  # of the table that sorts out most windows
_CHUNK = 1 << 20
_PIECE = 1 << 17
_CONTEXT = 60
_WIDEST = 32

Hashes = NDArray[np.uint64]


class Run(NamedTuple):
    """A verbatim run: its characters, its place in the text, and the passage of the corpus around it."""

    text: str
    before: str
    passage: str

    @property
    def length(self) -> int:
        """In characters."""
        return len(self.text)


@dataclass
class Overlap:
    """The longest run of each text with each part of a corpus, in bytes, and the longest of all with its passage."""

    lengths: NDArray[np.int64]  # [buckets, texts]
    sizes: NDArray[np.int64]  # [buckets], bytes read
    runs: dict[int, Run] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of the corpus."""
        return int(self.sizes.sum())

    def of_whole(self) -> NDArray[np.int64]:
        """The longest run of each text with the whole corpus."""
        longest: NDArray[np.int64] = self.lengths.max(axis=0)
        return longest

    def of_size(self, size: int) -> NDArray[np.int64]:
        """The longest run of each text with a random part of the corpus of about so many bytes, at most."""
        taken, left = np.zeros(BUCKETS, dtype=bool), size
        for bucket in np.argsort(-self.sizes):
            if self.sizes[bucket] <= left:
                taken[bucket], left = True, left - int(self.sizes[bucket])
        chosen = self.lengths[taken]
        return chosen.max(axis=0) if len(chosen) else np.zeros(self.lengths.shape[1], dtype=np.int64)


class VerbatimSearch:
    """Finds texts in corpora.

    Args:
        texts: What is looked for; blanks of any kind and number count as one.
        shortest: Runs of fewer bytes are not looked for; at least 8.
    """

    def __init__(self, texts: Sequence[str], shortest: int = 32) -> None:
        if shortest < 8:
            raise OffscriptError(f"cannot look for runs of {shortest} bytes", next="ask for 8 or more")
        self._texts = [_as_bytes(text) for text in texts]
        self._width = min(_WIDEST, 1 << (shortest.bit_length() - 1))
        self._shortest = shortest
        self._joined = _OF_TEXTS.join(self._texts) + _OF_TEXTS
        sizes = np.array([len(text) + 1 for text in self._texts], dtype=np.int64)
        self._owner = np.repeat(np.arange(len(sizes)), sizes)
        self._begins = np.cumsum(sizes) - sizes
        self._bytes = np.frombuffer(self._joined, dtype=np.uint8)
        hashes = window_hashes(self._bytes, self._width)
        ends = slice(self._width - 1, self._width - 1 + len(hashes))
        inside = (self._owner[: len(hashes)] == self._owner[ends]) & (self._bytes[ends] != _OF_TEXTS[0])
        places = np.flatnonzero(inside)
        order = np.argsort(hashes[places], kind="stable")
        self._places, self._hashes = places[order], hashes[places][order]
        self._table = np.zeros(1 << _BITS, dtype=bool)
        self._table[_slots(self._hashes)] = True

    def scan(self, corpus: Iterable[str]) -> Overlap:
        """Read a corpus once.

        Args:
            corpus: Its texts; no run crosses from one into the next.

        Returns:
            The longest run of each text.
        """
        overlap = Overlap(np.zeros((BUCKETS, len(self._texts)), dtype=np.int64), np.zeros(BUCKETS, dtype=np.int64))
        waiting = [bytearray() for _ in range(BUCKETS)]
        for piece in self._pieces(corpus):
            bucket = _bucket(piece)
            waiting[bucket] += piece + _OF_CORPUS
            if len(waiting[bucket]) >= _CHUNK:
                self._search(bytes(waiting[bucket]), bucket, overlap)
                waiting[bucket].clear()
        for bucket, rest in enumerate(waiting):
            self._search(bytes(rest), bucket, overlap)
        return overlap

    def _pieces(self, corpus: Iterable[str]) -> Iterator[bytes]:
        """Texts as bytes, long ones in pieces that overlap by the longest text, so that no run is cut."""
        reach = max(map(len, self._texts), default=0)
        for text in corpus:
            whole = _as_bytes(text)
            for first in range(0, max(1, len(whole)), _PIECE):
                yield whole[first : first + _PIECE + reach]

    def _search(self, chunk: bytes, bucket: int, overlap: Overlap) -> None:
        """Compare every place of a chunk whose window some text has."""
        overlap.sizes[bucket] += len(chunk)
        if not len(self._hashes):
            return
        data = np.frombuffer(chunk, dtype=np.uint8)
        hashes = window_hashes(data, self._width)
        places = np.flatnonzero(self._table[_slots(hashes)])
        low, high = (np.searchsorted(self._hashes, hashes[places], side=side) for side in ("left", "right"))
        counts = high - low
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        mine, theirs = self._places[np.repeat(low, counts) + within], np.repeat(places, counts)
        begun_before = (mine > 0) & (theirs > 0) & (self._bytes[mine - 1] == data[theirs - 1])
        for place, other in zip(theirs[~begun_before].tolist(), mine[~begun_before].tolist(), strict=True):
            self._compare(chunk, place, other, bucket, overlap)

    def _compare(self, chunk: bytes, place: int, other: int, bucket: int, overlap: Overlap) -> None:
        """Keep the run that begins at two places, where it is longer than what its text has."""
        owner = int(self._owner[other])
        best = max(int(overlap.lengths[bucket, owner]), self._shortest - 1)
        if chunk[place : place + best + 1] != self._joined[other : other + best + 1]:
            return
        size = _common(chunk, place, self._joined, other, best + 1)
        if size > overlap.lengths[:, owner].max():
            overlap.runs[owner] = self._run(chunk, place, other, size)
        overlap.lengths[bucket, owner] = size

    def _run(self, chunk: bytes, place: int, other: int, size: int) -> Run:
        begin, end = max(0, place - _CONTEXT), place + size + _CONTEXT
        before = chunk[begin:place].rpartition(_OF_CORPUS)[2]
        after = chunk[place + size : end].partition(_OF_CORPUS)[0]
        run = _as_text(chunk[place : place + size])
        own = self._joined[int(self._begins[self._owner[other]]) : other]
        return Run(run, _as_text(own), f"{_as_text(before)}{run}{_as_text(after)}")


def window_hashes(data: NDArray[np.uint8], width: int) -> Hashes:
    """h(i) = Σⱼ (dᵢ₊ⱼ + 1) · Bʷ⁻¹⁻ʲ mod 2⁶⁴ of all windows of `width` bytes, a power of two, by doubling."""
    hashes, factor, step = data.astype(np.uint64) + np.uint64(1), _BASE, 1
    if len(data) < width:
        return hashes[:0]
    while step < width:
        hashes = hashes[:-step] * factor + hashes[step:]
        factor, step = np.multiply(factor, factor, dtype=np.uint64, casting="unsafe"), 2 * step
    return hashes


def _slots(hashes: Hashes) -> Hashes:
    slots: Hashes = (hashes * _MIX) >> np.uint64(64 - _BITS)
    return slots


def _common(first: bytes, place: int, second: bytes, other: int, known: int) -> int:
    """How far two byte strings agree from two places on; so far it is known already."""
    size = known
    limit = min(len(first) - place, len(second) - other)
    while size < limit and first[place + size] == second[other + size]:
        size += 1
    return size


def _bucket(piece: bytes) -> int:
    """Which part of its corpus a piece is in: 0 with a chance of ½, 1 with ¼, …"""
    number = zlib.crc32(piece)
    return min(32 - number.bit_length(), BUCKETS - 1)


def _as_bytes(text: str) -> bytes:
    return " ".join(text.split()).encode("utf-8", "replace")


def _as_text(data: bytes) -> str:
    return data.decode("utf-8", "ignore")
