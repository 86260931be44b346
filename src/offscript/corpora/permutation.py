"""Permutations that are computed, not stored: shuffling any number of sentences costs no memory."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from offscript.errors import OffscriptError

# With fewer, orders of 5 or 6 things are visibly not equally likely.
ROUNDS = 16


def derived_seed(*parts: int | str) -> int:
    """A 64-bit seed that depends on every part, the same on every machine."""
    named = "/".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(named.encode(), digest_size=8).digest(), "little")


class Permutation:
    """A pseudo-random order of 0 … n-1, chosen by `seed`: a Feistel network with cycle walking.

    The network permutes the smallest power of two that covers n (Luby and Rackoff 1988); an index that lands
    outside is sent through again until it lands inside (Black and Rogaway 2002).
    """

    def __init__(self, n: int, seed: int) -> None:
        if n < 0:
            raise OffscriptError(f"cannot make a permutation of {n} things", next="give 0 or more")
        self.n = n
        bits = max(2, (n - 1).bit_length())
        self._low_bits, self._high_bits = bits // 2, bits - bits // 2
        drawn = hashlib.shake_128(str(seed).encode()).digest(ROUNDS * 16)
        self._keys = np.frombuffer(drawn, "<u8").astype(np.uint64).reshape(ROUNDS, 2)

    def __len__(self) -> int:
        return self.n

    def __call__(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where each index goes."""
        if len(indices) and (indices.min() < 0 or indices.max() >= self.n):
            raise IndexError(f"an index outside 0 … {self.n - 1}")
        values = self._through_network(indices.astype(np.uint64))
        while len(outside := np.flatnonzero(values >= self.n)):
            values[outside] = self._through_network(values[outside])
        return values.astype(np.int64)

    def _through_network(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Each round hashes the low half by multiply, add and shift (Dietzfelbinger 1996) into the high half."""
        low_bits, high_bits = self._low_bits, self._high_bits
        for factor, summand in self._keys:
            low = values & np.uint64((1 << low_bits) - 1)
            hashed = (low * factor + summand) >> np.uint64(64 - high_bits)
            values = (low << np.uint64(high_bits)) | ((values >> np.uint64(low_bits)) ^ hashed)
            low_bits, high_bits = high_bits, low_bits
        return values
