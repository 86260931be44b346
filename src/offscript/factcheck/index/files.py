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
Layout = dict[str, np.dtype[Any]]
DTYPES: dict[str, np.dtype[Any]] = {
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "U32": np.dtype(np.uint32),
    "F32": np.dtype(np.float32),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "BOOL": np.dtype(np.bool_),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
_LEXICON = {"slots": "I32", "hashes": "U32", "offsets": "I64", "pool": "U8"}
_SEGMENT = {
    **{f"terms.{name}": dtype for name, dtype in _LEXICON.items()},
    **{f"ids.{name}": dtype for name, dtype in _LEXICON.items()},
    "postings.starts": "I64",
    "postings.documents": "I32",
    "postings.frequencies": "I32",
    "stored.offsets": "I64",
    "stored.values": "U8",
    "sentences.offsets": "I64",
    "sentences.values": "I32",
    "total_frequencies": "I64",
    "lengths": "I32",
}
SEGMENT: Layout = {name: DTYPES[dtype] for name, dtype in _SEGMENT.items()}
DELETIONS: Layout = {
    "deleted": DTYPES["BOOL"],
    "document_frequencies": DTYPES["I64"],
    "total_frequencies": DTYPES["I64"],
}
LENGTH_BYTES = 8  # a file begins with the length of its header
ALIGNMENT = 8
MANIFEST = "manifest.json"
FORMAT = "offscript-index"
VERSION = 1
SUFFIX = ".safetensors"
REGISTER_SUFFIX = ".jsonl"
READ_BYTES = 1 << 24
REBUILD = "build the index again from its documents"
FOREIGN = "it is not the manifest that was written"
_NUMBERED = re.compile(r"\.?(?:segment|deletions|files)-(\d+)\b")


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


def map_arrays(path: Path, layout: Layout) -> Arrays:
    """The arrays of a file in that layout, read-only and mapped: pages come from disk when they are touched."""
    try:
        with path.open("rb") as stream:
            mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        return _all_mapped(mapping, layout)
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError) as error:
        raise damaged(path, "its header does not describe it") from error


def _all_mapped(mapping: mmap.mmap, layout: Layout) -> Arrays:
    begin = LENGTH_BYTES + int.from_bytes(mapping[:LENGTH_BYTES], "little")
    if begin > len(mapping):
        raise ValueError(f"a header of {begin} bytes")
    entries = json.loads(mapping[LENGTH_BYTES:begin])
    arrays = {name: _mapped(mapping, begin, **entry) for name, entry in entries.items()}
    if {name: array.dtype for name, array in arrays.items()} != layout:
        raise ValueError("arrays of another layout")
    return arrays


def _mapped(mapping: mmap.mmap, begin: int, *, dtype: str, shape: list[int], data_offsets: list[int]) -> NDArray[Any]:
    """One array of a file; a ValueError or TypeError where the file does not hold it."""
    kind, (length,), (start, end) = DTYPES[dtype], shape, data_offsets
    if not 0 <= start <= end <= len(mapping) - begin or end - start != length * kind.itemsize or start % kind.itemsize:
        raise ValueError(f"{length} values from {start} to {end}")
    return np.ndarray(length, kind, mapping, begin + start)


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
    """The analyzer that made the terms, the segments in document order, and the register of the files read."""

    analyzer: Analyzer = field(default_factory=Analyzer)
    segments: tuple[SegmentFiles, ...] = ()
    register: File | None = None

    @property
    def files(self) -> list[File]:
        """All files that the index consists of, besides the manifest."""
        register = [self.register] if self.register else []
        return [*(file for segment in self.segments for file in segment.files), *register]

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
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, FOREIGN) from error
    if not isinstance(content, dict) or content.pop("crc32", None) != _crc32_of(content):
        raise damaged(path, FOREIGN)
    if (content.pop("format", None), content.pop("version", None)) != (FORMAT, VERSION):
        raise OffscriptError(f"{path} is of another version of offscript", next=REBUILD)
    try:
        return Manifest(
            Analyzer(**content["analyzer"]),
            tuple(
                SegmentFiles(_file(entry["segment"]), _file(entry["deletions"]) if entry["deletions"] else None)
                for entry in content["segments"]
            ),
            _file(content["register"], REGISTER_SUFFIX) if content.get("register") else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(path, FOREIGN) from error


def check_file(folder: Path, file: File, *, contents: bool) -> Path:
    """The path of a file of the index whose size and, if `contents`, checksum are as the manifest says."""
    path = folder / file.name
    try:
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise OffscriptError(f"{path} is missing", next=REBUILD) from error
    if size != file.bytes:
        raise damaged(path, f"it has {size:,} of {file.bytes:,} bytes")
    if contents and checksum(path) != file.crc32:
        raise damaged(path, "its checksum is not the manifest's")
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


def _file(entry: dict[str, Any], suffix: str = SUFFIX) -> File:
    """A file by its entry; names that lead out of the folder are none of ours."""
    file = File(**entry)
    if not _NUMBERED.fullmatch(file.name.removesuffix(suffix)):
        raise ValueError(file.name)
    return file


def _crc32_of(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())


def damaged(path: Path, why: str) -> OffscriptError:
    """The error for a file that cannot be what was written."""
    return OffscriptError(f"{path} is damaged", why=why, next=REBUILD)
