"""Byte strings and their numbers: a hash table of flat arrays, grown while indexing, mapped from disk later."""

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import compiled

SMALLEST_TABLE = 1 << 10
ABSENT = -1
Number = TypeVar("Number", bound=np.generic)


class Lexicon(NamedTuple):
    """Strings numbered in the order they came. `slots` is an open-addressing table of number + 1, 0 where free.

    A named tuple, because compiled loops take those as they are.
    """

    slots: NDArray[np.int32]
    hashes: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    pool: NDArray[np.uint8]

    @property
    def size(self) -> int:
        """How many strings there are."""
        return len(self.offsets) - 1

    def entry(self, number: int) -> bytes:
        """The string that has this number."""
        return self.pool[self.offsets[number] : self.offsets[number + 1]].tobytes()

    def entries(self) -> Iterator[bytes]:
        """All strings in order."""
        pool, offsets = self.pool.tobytes(), self.offsets.tolist()
        return (pool[start:end] for start, end in itertools.pairwise(offsets))

    def find_all(self, other: "Lexicon") -> NDArray[np.int32]:
        """For every string of another lexicon its number in this one, or ABSENT."""
        numbers = np.empty(other.size, dtype=np.int32)
        find_pieces(other.pool, other.offsets, numbers, self)
        return numbers

    def find(self, entry: bytes) -> int:
        """The number of a string, or ABSENT."""
        numbers = np.empty(1, dtype=np.int32)
        find_pieces(np.frombuffer(entry, np.uint8), np.array([0, len(entry)]), numbers, self)
        return int(numbers[0])


class LexiconBuilder:
    """A lexicon that still grows. Compiled loops insert into `table` once `reserve` has made room."""

    def __init__(self) -> None:
        self.size = np.zeros(1, dtype=np.int64)  # an array, so that compiled loops can advance it
        self.table = Lexicon(
            slots=np.zeros(2 * SMALLEST_TABLE, dtype=np.int32),
            hashes=np.zeros(SMALLEST_TABLE, dtype=np.uint32),
            offsets=np.zeros(SMALLEST_TABLE + 1, dtype=np.int64),
            pool=np.zeros(8 * SMALLEST_TABLE, dtype=np.uint8),
        )

    def reserve(self, entries: int, pool_bytes: int) -> None:
        """Make room for so many more entries of so many bytes in all."""
        size, (slots, hashes, offsets, pool) = int(self.size[0]), self.table
        hashes = _grown(hashes, size + entries)
        if 2 * len(hashes) > len(slots):
            slots = _filled_slots(hashes, size, 2 * len(hashes))
        self.table = Lexicon(
            slots, hashes, _grown(offsets, size + entries + 1), _grown(pool, int(offsets[size]) + pool_bytes)
        )

    def insert(self, entries: Iterable[bytes]) -> NDArray[np.int32]:
        """The numbers of the given strings; those not known yet are taken in."""
        listed = list(entries)
        offsets = np.zeros(len(listed) + 1, dtype=np.int64)
        np.cumsum([len(entry) for entry in listed], out=offsets[1:])
        return self.insert_joined(np.frombuffer(b"".join(listed), np.uint8), offsets)

    def insert_joined(self, joined: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """As `insert`, for the strings joined[offsets[i] : offsets[i + 1]]."""
        self.reserve(len(offsets) - 1, len(joined))
        numbers = np.empty(len(offsets) - 1, dtype=np.int32)
        insert_pieces(joined, offsets, numbers, self.table, self.size)
        return numbers

    def finished(self) -> Lexicon:
        """The lexicon as it stands, with no spare room."""
        size, table = int(self.size[0]), self.table
        offsets = table.offsets[: size + 1].copy()
        slots = _filled_slots(table.hashes, size, 2 * max(size, 1))
        return Lexicon(slots, table.hashes[:size].copy(), offsets, table.pool[: offsets[-1]].copy())


def _grown(array: NDArray[Number], needed: int) -> NDArray[Number]:
    if needed <= len(array):
        return array
    larger = np.zeros(_power_of_two(needed), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def _filled_slots(hashes: NDArray[np.uint32], size: int, least: int) -> NDArray[np.int32]:
    slots = np.zeros(_power_of_two(least), dtype=np.int32)
    place_all(slots, hashes, size)
    return slots


@compiled
def hash_of(entry: NDArray[np.uint8], start: int, end: int) -> np.uint32:
    """FNV-1a with a final mix, so that the low bits that choose the slot depend on every byte."""
    value = np.uint64(0xCBF29CE484222325)
    for index in range(start, end):
        value = (value ^ np.uint64(entry[index])) * np.uint64(0x100000001B3)
    value = (value ^ (value >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.uint32(value >> np.uint64(32))


@compiled
def probe(entry: NDArray[np.uint8], start: int, end: int, hashed: np.uint32, lexicon: Lexicon) -> np.int64:
    """The slot that holds entry[start:end], or the free one where it belongs."""
    mask = len(lexicon.slots) - 1
    slot = np.int64(hashed) & mask
    while lexicon.slots[slot] != 0:
        number = lexicon.slots[slot] - 1
        known = lexicon.offsets[number]
        if lexicon.hashes[number] == hashed and lexicon.offsets[number + 1] - known == end - start:
            index = start
            while index < end and lexicon.pool[known + index - start] == entry[index]:
                index += 1
            if index == end:
                return slot
        slot = (slot + 1) & mask
    return slot


@compiled
def insert_pieces(
    joined: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    numbers: NDArray[np.int32],
    lexicon: Lexicon,
    size: NDArray[np.int64],
) -> None:
    """Write down the number of every piece between two offsets; new ones are taken in, into room made before.

    Taking in stands here and not in a function of its own: numba would count references on every call.
    """
    slots, hashes, starts, pool = lexicon.slots, lexicon.hashes, lexicon.offsets, lexicon.pool
    for index in range(len(numbers)):
        start, end = offsets[index], offsets[index + 1]
        hashed = hash_of(joined, start, end)
        slot = probe(joined, start, end, hashed, lexicon)
        if slots[slot] == 0:
            number = size[0]
            free = starts[number]
            for byte in range(start, end):
                pool[free + byte - start] = joined[byte]
            hashes[number] = hashed
            starts[number + 1] = free + end - start
            slots[slot] = number + 1
            size[0] = number + 1
        numbers[index] = slots[slot] - 1


@compiled
def find_pieces(
    joined: NDArray[np.uint8], offsets: NDArray[np.int64], numbers: NDArray[np.int32], lexicon: Lexicon
) -> None:
    """Write down the number of every piece between two offsets, or ABSENT."""
    for index in range(len(numbers)):
        start, end = offsets[index], offsets[index + 1]
        slot = probe(joined, start, end, hash_of(joined, start, end), lexicon)
        numbers[index] = lexicon.slots[slot] - 1


@compiled
def place_all(slots: NDArray[np.int32], hashes: NDArray[np.uint32], size: int) -> None:
    """Fill an empty table with entries known to differ from one another."""
    mask = len(slots) - 1
    for number in range(size):
        slot = np.int64(hashes[number]) & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = number + 1
