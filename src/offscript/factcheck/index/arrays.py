"""Named arrays in one file, in the layout of safetensors, written and read through the file's memory map."""

import contextlib
import json
import math
import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._files import replacing
from offscript.errors import OffscriptError

Arrays = dict[str, NDArray[Any]]
Shape = tuple[np.dtype[Any], int]
DTYPES: dict[str, np.dtype[Any]] = {
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "U32": np.dtype(np.uint32),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
LENGTH_BYTES = 8  # a file begins with the length of its header
ALIGNMENT = 8


@contextlib.contextmanager
def writing_arrays(path: Path, shapes: Mapping[str, Shape]) -> Iterator[Arrays]:
    """Yield arrays of the given shapes to be filled; the file takes its name when the block ends well."""
    header, offsets, size = _layout(shapes)
    try:
        with replacing(path) as temporary, temporary.open("r+b") as stream:
            _reserve(stream.fileno(), size)
            mapping = mmap.mmap(stream.fileno(), size)
            mapping[: len(header)] = header
            yield {name: np.ndarray(length, dtype, mapping, offsets[name]) for name, (dtype, length) in shapes.items()}
            mapping.flush()
    except OSError as error:
        raise OffscriptError(f"{path} cannot be written", why=error.strerror or str(error)) from error


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write one-dimensional arrays that are in memory."""
    with writing_arrays(path, {name: (array.dtype, len(array)) for name, array in arrays.items()}) as mapped:
        for name, array in arrays.items():
            mapped[name][:] = array


def map_arrays(path: Path) -> Arrays:
    """The arrays of a file whose checksum holds, read-only and mapped: pages come from disk when they are touched."""
    with path.open("rb") as stream:
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    begin = LENGTH_BYTES + int.from_bytes(mapping[:LENGTH_BYTES], "little")
    arrays: Arrays = {}
    for name, entry in json.loads(mapping[LENGTH_BYTES:begin]).items():
        arrays[name] = np.ndarray(entry["shape"], DTYPES[entry["dtype"]], mapping, begin + entry["data_offsets"][0])
    return arrays


def release(arrays: Arrays) -> None:
    """Let go of the memory that the touched pages of mapped arrays take; the files keep what was written."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for mapping in {id(array.base): array.base for array in arrays.values()}.values():
            if isinstance(mapping, mmap.mmap):
                mapping.madvise(mmap.MADV_DONTNEED)


def _layout(shapes: Mapping[str, Shape]) -> tuple[bytes, dict[str, int], int]:
    """The file's first bytes, where each array begins, and the file's size; widest items first keeps all aligned."""
    entries: dict[str, Any] = {}
    position = 0
    for name, (dtype, length) in sorted(shapes.items(), key=lambda item: -item[1][0].itemsize):
        end = position + length * dtype.itemsize
        entries[name] = {"dtype": NAMES[dtype], "shape": [length], "data_offsets": [position, end]}
        position = end
    text = json.dumps(entries).encode()
    text = text.ljust(math.ceil(len(text) / ALIGNMENT) * ALIGNMENT)
    header = len(text).to_bytes(LENGTH_BYTES, "little") + text
    offsets = {name: len(header) + entry["data_offsets"][0] for name, entry in entries.items()}
    return header, offsets, len(header) + position


def _reserve(descriptor: int, size: int) -> None:
    """Claim the room on disk now: a map that runs out of room later would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.truncate(descriptor, size)
