"""Which sentences were chosen, at one bit each."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

BLOCK = 512


class Selection:
    """The indices at which a stream of truth values is true, found by their rank.

    The stream comes in pieces; every piece but the last is a multiple of `BLOCK` long.
    """

    def __init__(self, pieces: Iterable[NDArray[np.bool_]]) -> None:
        bits, counts = [], [np.zeros(1, np.int64)]
        for piece in pieces:
            blocks = np.pad(piece, (0, -len(piece) % BLOCK)).reshape(-1, BLOCK)
            bits.append(np.packbits(blocks, axis=1))
            counts.append(np.count_nonzero(blocks, axis=1))
        self._bits = np.concatenate(bits)  # [blocks, BLOCK / 8]
        self._before = np.cumsum(np.concatenate(counts))  # [blocks + 1]

    def __len__(self) -> int:
        return int(self._before[-1])

    def __call__(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The index of the first chosen, of the second, …, for ranks 0, 1, …"""
        block = np.searchsorted(self._before, ranks, side="right") - 1
        chosen_so_far = np.cumsum(np.unpackbits(self._bits[block], axis=1), axis=1)  # [ranks, BLOCK]
        inside = np.argmax(chosen_so_far > (ranks - self._before[block])[:, None], axis=1)
        indices: NDArray[np.int64] = block * BLOCK + inside
        return indices
