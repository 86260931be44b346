"""The files of an index: named arrays in the layout of safetensors, and the manifest that says which files count."""

import contextlib
import dataclasses
import json
import math
import mmap
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._files import replacing, write_json
from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer

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
MANIFEST = "manifest.json"
FORMAT = "offscript-index"
VERSION = 1
READ_BYTES = 1 << 24
REBUILD = "build the index again from its documents"
_NUMBERED = re.compile(r"\.?(?:segment|deletions)-(\d+)\b")


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


@dataclass(frozen=True)
class File:
    """A file of the index, with what it must measure."""

    name: str
    bytes: int
    crc32: int

    @classmethod
    def of(cls, path: Path) -> "File":
        """Measure a file."""
        return cls(path.name, path.stat().st_size, checksum(path))


@dataclass(frozen=True)
class SegmentFiles:
    """A segment's own file, and the file of its deletions if it has any."""

    segment: File
    deletions: File | None = None

    @property
    def files(self) -> list[File]:
        """The one or two files."""
        return [self.segment, *([self.deletions] if self.deletions else [])]


@dataclass(frozen=True)
class Manifest:
    """The analyzer that made the terms, and the segments in document order."""

    analyzer: Analyzer = field(default_factory=Analyzer)
    segments: tuple[SegmentFiles, ...] = ()

    @property
    def files(self) -> list[File]:
        """All files that the index consists of, besides the manifest."""
        return [file for segment in self.segments for file in segment.files]

    def write(self, folder: Path) -> None:
        """Replace the folder's manifest: from this moment on the index is the new one."""
        content = {"format": FORMAT, "version": VERSION, **dataclasses.asdict(self)}
        write_json(folder / MANIFEST, {**content, "crc32": _crc32_of(content)})


def read_manifest(folder: Path) -> Manifest:
    """The folder's manifest; a missing, foreign or damaged one is refused."""
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise OffscriptError(
            f"{folder} holds no index", next="build one with: offscript index DOCUMENTS --out DIR"
        ) from error
    except (OSError, ValueError) as error:
        raise _damaged(path) from error
    if not isinstance(content, dict) or content.pop("crc32", None) != _crc32_of(content):
        raise _damaged(path)
    if (content.pop("format"), content.pop("version")) != (FORMAT, VERSION):
        raise OffscriptError(f"{path} is of another version of offscript", next=REBUILD)
    return Manifest(
        Analyzer(**content["analyzer"]),
        tuple(
            SegmentFiles(*(_file(entry[name]) for name in ("segment", "deletions"))) for entry in content["segments"]
        ),
    )


def check_file(folder: Path, file: File, *, contents: bool) -> Path:
    """The path of a file of the index whose size and, if `contents`, checksum are as the manifest says."""
    path = folder / file.name
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise OffscriptError(f"{path} is missing", next=REBUILD) from error
    if size != file.bytes:
        raise OffscriptError(f"{path} is damaged", why=f"it has {size:,} of {file.bytes:,} bytes", next=REBUILD)
    if contents and checksum(path) != file.crc32:
        raise OffscriptError(f"{path} is damaged", why="its checksum is not the manifest's", next=REBUILD)
    return path


def checksum(path: Path) -> int:
    """CRC-32 of a file's bytes: finds every single flipped bit, at several gigabytes a second."""
    value = 0
    with path.open("rb") as stream:
        while block := stream.read(READ_BYTES):
            value = zlib.crc32(block, value)
    return value


def next_number(folder: Path) -> int:
    """A number that no file of the folder has yet."""
    numbers = [int(match[1]) for path in folder.iterdir() if (match := _NUMBERED.match(path.name))]
    return max(numbers, default=0) + 1


def remove_leftovers(folder: Path, manifest: Manifest) -> None:
    """Remove files that the manifest does not name: replaced segments, and what a killed run left behind."""
    kept = {file.name for file in manifest.files}
    for path in folder.iterdir():
        if path.name not in kept and (_NUMBERED.match(path.name) or path.name.startswith(f".{MANIFEST}.")):
            path.unlink(missing_ok=True)


def _file(entry: dict[str, Any] | None) -> Any:
    return File(**entry) if entry else None


def _crc32_of(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def _damaged(path: Path) -> OffscriptError:
    return OffscriptError(f"{path} is damaged", why="it is not the manifest that was written", next=REBUILD)
