"""n-grams as exact integers, counted sentence by sentence and order after order, without hashing.

An n-gram's number is the rank of the pair (number of its first n-1 tokens, last token), so two n-grams share a number
only if they are equal, and all orders together cost one sort each.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from offscript.errors import OffscriptError

IntArray = npt.NDArray[np.int64]
AnyIntArray = npt.NDArray[np.integer]
Sentences = Sequence[Sequence[Hashable]] | AnyIntArray
"""Tokenised sentences; or token ids [sentences, length] in an array."""


@dataclass(frozen=True)
class TokenTable:
    """Sentences end to end: token ids below `vocabulary`, and how many of them belong to each sentence."""

    tokens: IntArray  # [total]
    lengths: IntArray  # [sentences]
    vocabulary: int

    def __len__(self) -> int:
        return len(self.lengths)

    def select(self, kept: npt.NDArray[np.bool_]) -> "TokenTable":
        """The sentences marked in `kept` [sentences]."""
        return TokenTable(self.tokens[np.repeat(kept, self.lengths)], self.lengths[kept], self.vocabulary)


@dataclass(frozen=True)
class NgramCounts:
    """How often each n-gram stands in each sentence that has it: triples sorted by n-gram, then by sentence."""

    gram: IntArray  # [triples]
    sentence: IntArray  # [triples]
    count: IntArray  # [triples]
    first: IntArray  # [grams], where the triples of each n-gram begin

    def largest(self, values: IntArray) -> IntArray:
        """[grams]: the largest of an n-gram's values [triples]."""
        return np.maximum.reduceat(values, self.first) if len(self.first) else values[:0]

    def total(self, values: IntArray) -> IntArray:
        """[grams]: the sum of an n-gram's values [triples]."""
        return np.add.reduceat(values, self.first) if len(self.first) else values[:0]


class NgramCounter:
    """Counts n-grams of orders 1, 2, 3 …; n-grams that are set aside take all longer ones that hold them along."""

    def __init__(self, table: TokenTable) -> None:
        self._table = table
        self._order = 0
        total = len(table.tokens)
        compact = np.int32 if total < 2**31 else np.int64  # what is read in random order should stay in the cache
        self._sentence: AnyIntArray = np.repeat(np.arange(len(table), dtype=compact), table.lengths)  # [total]
        self._remaining = np.repeat(np.cumsum(table.lengths), table.lengths) - np.arange(total)  # [total], tokens left
        self._number: AnyIntArray = np.zeros(total, dtype=compact)  # [total], of the n-gram that begins here
        self._positions: IntArray = np.arange(total)  # where n-grams begin that were not set aside
        self._grams: IntArray = np.zeros(total, dtype=np.int64)  # their numbers
        self._different = 1

    def next_order(self) -> NgramCounts:
        """Counts of the n-grams one token longer."""
        positions, shorter = self._longer()
        last = self._table.tokens[positions + self._order - 1]
        keys = shorter * self._table.vocabulary + last
        keys, positions = _sort_together(keys, positions, self._different * self._table.vocabulary)
        new_gram = _starts(keys)
        gram = np.cumsum(new_gram) - 1
        sentence = self._sentence[positions]
        beginnings = np.flatnonzero(new_gram | _starts(sentence))
        self._positions, self._grams, self._different = positions, gram, int(new_gram.sum())
        counts = np.diff(beginnings, append=len(positions))
        return NgramCounts(
            gram[beginnings], sentence[beginnings].astype(np.int64), counts, np.flatnonzero(new_gram[beginnings])
        )

    def keep(self, grams: npt.NDArray[np.bool_]) -> None:
        """Set aside every n-gram of the last order that is not marked in `grams` [grams]."""
        kept = grams[self._grams]
        self._positions, self._grams = self._positions[kept], self._grams[kept]

    def _longer(self) -> tuple[IntArray, IntArray]:
        """Where n-grams of the next order begin whose first and last n-1 tokens were kept, and the former's number."""
        self._order += 1
        if self._order == 1:
            return self._positions, self._grams
        alive = np.zeros(len(self._number) + 1, dtype=bool)
        alive[self._positions] = True
        self._number[self._positions] = self._grams
        positions = np.flatnonzero(alive[:-1] & alive[1:] & (self._remaining >= self._order))
        return positions, self._number[positions].astype(np.int64)


def tabulate(*corpora: Sentences) -> list[TokenTable]:
    """Token tables that share their ids: equal tokens, as Python compares them, get the same one."""
    if all(isinstance(corpus, np.ndarray) for corpus in corpora):
        return _from_arrays([np.asarray(corpus) for corpus in corpora])
    ids: defaultdict[Hashable, int] = defaultdict()
    ids.default_factory = ids.__len__
    lists = [corpus.tolist() if isinstance(corpus, np.ndarray) else corpus for corpus in corpora]
    tables = [_encoded(sentences, ids) for sentences in lists]
    return [TokenTable(tokens, lengths, len(ids)) for tokens, lengths in tables]


def joined(first: TokenTable, second: TokenTable) -> TokenTable:
    """The sentences of both, in this order; they must come from one call of `tabulate`."""
    tokens, lengths = (np.concatenate(pair) for pair in zip(_parts(first), _parts(second), strict=True))
    return TokenTable(tokens, lengths, first.vocabulary)


def _parts(table: TokenTable) -> tuple[IntArray, IntArray]:
    return table.tokens, table.lengths


def _encoded(sentences: Sequence[Sequence[Hashable]], ids: defaultdict[Hashable, int]) -> tuple[IntArray, IntArray]:
    if any(isinstance(sentence, str) for sentence in sentences):
        raise OffscriptError(
            "cannot count n-grams of a sentence that is one string", next="split it into tokens, or name a tokenizer"
        )
    lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    numbers = map(ids.__getitem__, chain.from_iterable(sentences))
    return np.fromiter(numbers, dtype=np.int64, count=int(lengths.sum())), lengths


def _from_arrays(arrays: list[AnyIntArray]) -> list[TokenTable]:
    for array in arrays:
        if array.ndim != 2 or not np.issubdtype(array.dtype, np.integer):
            raise OffscriptError(
                f"cannot count n-grams of an array of {array.dtype} of shape {array.shape}",
                next="give token ids [sentences, length]",
            )
    tokens = np.concatenate([array.ravel() for array in arrays]).astype(np.int64)
    if tokens.size and (tokens.min() < 0 or tokens.max() >= 2 * tokens.size):
        tokens = np.unique(tokens, return_inverse=True)[1]
    vocabulary = int(tokens.max()) + 1 if tokens.size else 0
    pieces = np.split(tokens, np.cumsum([array.size for array in arrays])[:-1])
    lengths = [np.full(len(array), array.shape[1], dtype=np.int64) for array in arrays]
    return [TokenTable(piece, length, vocabulary) for piece, length in zip(pieces, lengths, strict=True)]


def _sort_together(keys: IntArray, positions: IntArray, bound: int) -> tuple[IntArray, IntArray]:
    """Keys below `bound` and their positions, by key, then by position.

    While both fit into one 64-bit number, sorting bare numbers is several times as fast as sorting indices.
    """
    bits = int(positions[-1]).bit_length() if len(positions) else 0
    if bound.bit_length() + bits < 64:
        packed = np.sort(keys << bits | positions)
        return packed >> bits, packed & ((1 << bits) - 1)
    order = np.argsort(keys, kind="stable")
    return keys[order], positions[order]


def _starts(values: AnyIntArray) -> npt.NDArray[np.bool_]:
    """Where a run of equal values begins."""
    starts = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=starts[1:])
    return starts
