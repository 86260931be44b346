"""Batches with random access: batch `index` of `epoch` is a pure function, so training resumes without stored state."""

import functools
import itertools
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offscript.corpora.encoded import EncodedCorpus, Integers
from offscript.corpora.permutation import Permutation, derived_seed
from offscript.errors import OffscriptError

PAD = 0
SCAN = 1 << 13
WINDOW_BATCHES = 64
SELECTION_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of token ids; only the first `lengths[row]` of a row count, the rest is padding.

    In a parallel corpus every row has a source.
    """

    tokens: NDArray[np.int64]  # [rows, time]
    lengths: NDArray[np.int64]  # [rows]
    sources: "Batch | None" = None

    @classmethod
    def of(cls, rows: list[Integers]) -> "Batch":
        """Rows of any lengths, padded to the longest."""
        lengths = np.array([len(row) for row in rows], np.int64)
        tokens = np.full((len(rows), int(lengths.max())), PAD, np.int64)
        for filled, row in zip(tokens, rows, strict=True):
            filled[: len(row)] = row
        return cls(tokens, lengths)

    def select(self, rows: NDArray[np.int64]) -> "Batch":
        """Some of the rows, with their sources."""
        sources = None if self.sources is None else self.sources.select(rows)
        return Batch(self.tokens[rows], self.lengths[rows], sources)


class Batches(ABC):
    """`len(batches)` batches an epoch. Every epoch has its own order, unless `shuffle` is off: then corpus order."""

    def __init__(self, corpus: EncodedCorpus, size: int, seed: int, shuffle: bool) -> None:
        _check_positive(size=size)
        self.corpus, self.size, self.seed, self.shuffle = corpus, size, seed, shuffle

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _rows(self, epoch: int, index: int) -> list[Integers]:
        """Rows of a batch whose index is within bounds."""

    def batch(self, epoch: int, index: int) -> Batch:
        """Batch `index` of `epoch`, whatever was asked before."""
        if not 0 <= index < len(self):
            raise IndexError(f"batch {index} of {len(self)}")
        return Batch.of(self._rows(epoch, index))

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """Every batch of an epoch in turn."""
        return (self.batch(epoch, index) for index in range(len(self)))

    def _order(self, count: int, epoch: int, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of `count` things stand at these positions of the epoch's order."""
        return Permutation(count, derived_seed(self.seed, epoch))(positions) if self.shuffle else positions


class Selection:
    """The indices at which a stream of truth values is true, found by their rank.

    The stream comes in pieces; every piece but the last is a multiple of `SELECTION_BLOCK` long.
    """

    def __init__(self, pieces: Iterable[NDArray[np.bool_]]) -> None:
        bits, counts = [], [np.zeros(1, np.int64)]
        for piece in pieces:
            blocks = np.pad(piece, (0, -len(piece) % SELECTION_BLOCK)).reshape(-1, SELECTION_BLOCK)
            bits.append(np.packbits(blocks, axis=1))
            counts.append(np.count_nonzero(blocks, axis=1))
        self._bits = np.concatenate(bits)  # [blocks, SELECTION_BLOCK / 8]
        self._before = np.cumsum(np.concatenate(counts))  # [blocks + 1]

    def __len__(self) -> int:
        return int(self._before[-1])

    def __call__(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The index of the first chosen, of the second, …, for ranks 0, 1, …"""
        block = np.searchsorted(self._before, ranks, side="right") - 1
        chosen_so_far = np.cumsum(np.unpackbits(self._bits[block], axis=1), axis=1)  # [ranks, SELECTION_BLOCK]
        inside = np.argmax(chosen_so_far > (ranks - self._before[block])[:, None], axis=1)
        indices: NDArray[np.int64] = block * SELECTION_BLOCK + inside
        return indices


class FixedBatches(Batches):
    """Sentences cut to exactly `length` tokens; shorter ones are left out.

    Args:
        corpus: The sentences.
        length: How many tokens every row has.
        size: How many rows a batch has at most.
        seed: Chooses the order of every epoch.
        shuffle: Whether to shuffle at all.
    """

    def __init__(self, corpus: EncodedCorpus, length: int, size: int, seed: int, *, shuffle: bool = True) -> None:
        super().__init__(corpus, size, seed, shuffle)
        _check_positive(length=length)
        self.length = length
        self._long_enough = Selection(lengths >= length for lengths in _lengths(corpus))
        if not len(self._long_enough):
            raise OffscriptError(f"no sentence has {length} tokens", next="choose a smaller length")

    def __len__(self) -> int:
        return -(-len(self._long_enough) // self.size)

    def _rows(self, epoch: int, index: int) -> list[Integers]:
        positions = np.arange(index * self.size, min((index + 1) * self.size, len(self._long_enough)))
        chosen = self._long_enough(self._order(len(self._long_enough), epoch, positions))
        return [self.corpus[sentence][: self.length] for sentence in chosen.tolist()]


class PackedBatches(Batches):
    """Sentences laid one after the other to rows of exactly `length` tokens.

    Every row begins with the beginning of a sentence; the sentence that overflows a row is cut there and its rest
    is dropped. An epoch has as many rows as the corpus fills in its own order. How many a shuffled order fills
    differs by a few rows, so a shuffled epoch leaves out its last sentences or begins again with its first.

    Args:
        corpus: The sentences.
        length: How many tokens every row has.
        size: How many rows a batch has at most.
        seed: Chooses the order of every epoch.
        shuffle: Whether to shuffle at all.
    """

    def __init__(self, corpus: EncodedCorpus, length: int, size: int, seed: int, *, shuffle: bool = True) -> None:
        super().__init__(corpus, size, seed, shuffle)
        _check_positive(length=length)
        if corpus.tokens < length:
            raise OffscriptError(
                f"cannot make rows of {length} tokens from a corpus of {corpus.tokens}", next="choose a smaller length"
            )
        self.length = length
        self._row_count = _count_rows(corpus, length)
        self._planned_epoch, self._starts = 0, array("q", [0])

    def __len__(self) -> int:
        return -(-self._row_count // self.size)

    def _rows(self, epoch: int, index: int) -> list[Integers]:
        start, rows = self._start(epoch, index), min(self.size, self._row_count - index * self.size)
        packed = list(itertools.islice(self._pack(epoch, start), rows))
        if index + 1 == len(self._starts):
            self._starts.append(packed[-1][1])
        return [np.concatenate([self.corpus[i] for i in sentences])[: self.length] for sentences, _ in packed]

    def _start(self, epoch: int, index: int) -> int:
        """The position in the epoch's order at which a batch begins; found by walking on from the last one known."""
        if epoch != self._planned_epoch:
            self._planned_epoch, self._starts = epoch, array("q", [0])
        while len(self._starts) <= index:
            *_, (_, stop) = itertools.islice(self._pack(epoch, self._starts[-1]), self.size)
            self._starts.append(stop)
        return self._starts[index]

    def _pack(self, epoch: int, position: int) -> Iterator[tuple[list[int], int]]:
        """Sentences of each row from this position on, going round the epoch's order, and the position after them."""
        count = len(self.corpus)
        reach = 16 + int(1.2 * self.size * self.length * count / self.corpus.tokens)
        while True:
            sentences = self._order(count, epoch, np.arange(position, position + reach) % count)
            sums = [0, *np.cumsum(self.corpus.lengths(sentences)).tolist()]
            listed, start = sentences.tolist(), 0
            while (stop := bisect_left(sums, sums[start] + self.length, lo=start)) < len(sums):
                yield listed[start:stop], position + stop
                start = stop
            position += start
            reach += 0 if start else reach


class BucketedBatches(Batches):
    """Whole sentences, each exactly once an epoch, with others of about its length; cut to `max_length` if given.

    The shuffled order is taken in windows; inside one, sentences are sorted by length, divided into batches of at
    most `size` rows, and the batches shuffled.

    Args:
        corpus: The sentences.
        size: How many rows a batch has at most.
        seed: Chooses the order of every epoch.
        max_length: Where longer sentences are cut.
        tokens_per_batch: The most that rows times the longest row may be; windows then keep their sentences from
            epoch to epoch, so that every epoch has the same number of batches.
        shuffle: Whether to shuffle at all.
    """

    def __init__(
        self,
        corpus: EncodedCorpus,
        size: int,
        seed: int,
        *,
        max_length: int | None = None,
        tokens_per_batch: int | None = None,
        shuffle: bool = True,
    ) -> None:
        super().__init__(corpus, size, seed, shuffle)
        _check_positive(max_length=max_length, tokens_per_batch=tokens_per_batch)
        self.max_length, self.tokens_per_batch = max_length, tokens_per_batch
        self._window_size = WINDOW_BATCHES * size
        self._windows = -(-len(corpus) // self._window_size)
        self._batches_in = np.array([self._count_batches(window) for window in range(self._windows)])
        self._batches_of = functools.lru_cache(maxsize=1)(self._divide_window)

    def __len__(self) -> int:
        return int(self._batches_in.sum())

    def _rows(self, epoch: int, index: int) -> list[Integers]:
        windows = self._shuffled(self._windows, epoch, "windows") if self.shuffle else np.arange(self._windows)
        stops = np.cumsum(self._batches_in[windows])
        turn = int(np.searchsorted(stops, index, side="right"))
        window = int(windows[turn])
        sentences = self._batches_of(epoch, window)[index - int(stops[turn])]
        return [self.corpus[sentence][: self.max_length] for sentence in sentences.tolist()]

    def _divide_window(self, epoch: int, window: int) -> list[NDArray[np.int64]]:
        """The batches of a window in the order of the epoch, each as indices of sentences."""
        members = self._members(epoch, window)
        if not self.shuffle:
            return np.split(members, self._starts(self._lengths(members))[1:])
        shuffled = members[self._shuffled(len(members), epoch, window, "sentences")]
        lengths = self._lengths(shuffled)
        by_length = np.argsort(lengths, kind="stable")
        batches = np.split(shuffled[by_length], self._starts(lengths[by_length])[1:])
        return [batches[turn] for turn in self._shuffled(len(batches), epoch, window, "batches").tolist()]

    def _shuffled(self, count: int, *purpose: int | str) -> NDArray[np.int64]:
        return Permutation(count, derived_seed(self.seed, *purpose))(np.arange(count))

    def _members(self, epoch: int, window: int) -> NDArray[np.int64]:
        positions = np.arange(window * self._window_size, window * self._window_size + self._size_of(window))
        return self._order(len(self.corpus), epoch if self.tokens_per_batch is None else 0, positions)

    def _size_of(self, window: int) -> int:
        return min(self._window_size, len(self.corpus) - window * self._window_size)

    def _lengths(self, sentences: NDArray[np.int64]) -> NDArray[np.int64]:
        lengths = self.corpus.lengths(sentences)
        return lengths if self.max_length is None else np.minimum(lengths, self.max_length)

    def _count_batches(self, window: int) -> int:
        if self.tokens_per_batch is None:
            return -(-self._size_of(window) // self.size)
        lengths = self._lengths(self._members(0, window))
        if lengths.max() > self.tokens_per_batch:
            raise OffscriptError(
                f"cannot fit a sentence of {lengths.max()} tokens in batches of {self.tokens_per_batch}",
                next="raise tokens_per_batch or set max_length",
            )
        return len(self._starts(np.sort(lengths) if self.shuffle else lengths))

    def _starts(self, lengths: NDArray[np.int64]) -> list[int]:
        """Where each batch begins when sentences of these lengths are divided in turn."""
        budget = self.size * int(lengths.max()) if self.tokens_per_batch is None else self.tokens_per_batch
        starts, longest = [0], 0
        for position, length in enumerate(lengths.tolist()):
            rows, longest = position - starts[-1] + 1, max(longest, length)
            if rows > self.size or rows * longest > budget:
                starts.append(position)
                longest = length
        return starts


def _check_positive(**given: int | None) -> None:
    for name, value in given.items():
        if value is not None and value < 1:
            raise OffscriptError(f"{name} is {value}", next="give 1 or more")


def _lengths(corpus: EncodedCorpus) -> Iterator[NDArray[np.int64]]:
    """Lengths of all sentences in their order, block by block."""
    for start in range(0, len(corpus), SCAN):
        yield corpus.lengths_between(start, min(start + SCAN, len(corpus)))


def _count_rows(corpus: EncodedCorpus, length: int) -> int:
    rows, filled = 0, 0
    for block in _lengths(corpus):
        for tokens in block.tolist():
            filled += tokens
            if filled >= length:
                rows, filled = rows + 1, 0
    return rows
