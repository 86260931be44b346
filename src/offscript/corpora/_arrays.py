"""Flat arrays of integers that grow by blocks and are read by pieces, in memory or in a file."""

import hashlib
import os
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from offscript.errors import OffscriptError

Integers = NDArray[np.integer[Any]]
BLOCK = 1 << 13


class Column:
    """A growing array: values are handed to `write` in blocks and hashed on the way."""

    def __init__(self, dtype: np.dtype[Any], write: Callable[[Integers], object]) -> None:
        self.count = 0
        self._dtype, self._write = dtype, write
        self._waiting: list[int] = []
        self._digest = hashlib.sha256()

    def extend(self, values: Sequence[int]) -> None:
        """Add values at the end."""
        self._waiting += values
        self.count += len(values)
        if len(self._waiting) >= BLOCK:
            self._flush()

    def finish(self) -> str:
        """Write what is left; the SHA-256 of all bytes."""
        self._flush()
        return self._digest.hexdigest()

    def _flush(self) -> None:
        block = np.array(self._waiting, self._dtype)
        self._digest.update(block.data)
        self._write(block)
        self._waiting.clear()


class Array(Protocol):
    """A flat array that is read by pieces."""

    def between(self, start: int, stop: int) -> Integers:
        """Elements start … stop-1."""

    def pairs(self, indices: NDArray[np.int64]) -> Integers:
        """Element i and its successor for each index, [n, 2]."""


class MemoryArray:
    """An array in memory."""

    def __init__(self, values: Integers) -> None:
        self._values = values
        self._values.flags.writeable = False

    def between(self, start: int, stop: int) -> Integers:
        return self._values[start:stop]

    def pairs(self, indices: NDArray[np.int64]) -> Integers:
        return np.stack([self._values[indices], self._values[indices + 1]], axis=1)


class FileArray:
    """An array in a file, read by position.

    Not a memory map: mapped pages stay resident while the file is walked through, so memory would grow with it.
    """

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self._path, self._dtype = path, dtype
        self._descriptor = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)

    def between(self, start: int, stop: int) -> Integers:
        size = self._dtype.itemsize
        return np.frombuffer(self._read(size * start, size * (stop - start)), self._dtype)

    def pairs(self, indices: NDArray[np.int64]) -> Integers:
        size = self._dtype.itemsize
        read = b"".join([self._read(size * index, 2 * size) for index in indices.tolist()])
        return np.frombuffer(read, self._dtype).reshape(-1, 2)

    def _read(self, start: int, size: int) -> bytes:
        read = os.pread(self._descriptor, size, start)
        if len(read) < size:
            raise OffscriptError(f"{self._path} was cut off while it was read", next="encode the corpus again")
        return read
