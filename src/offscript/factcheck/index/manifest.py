"""The manifest: which segment files make up the index, and how to tell that they are whole."""

import dataclasses
import json
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offscript._files import write_json
from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer

MANIFEST = "manifest.json"
FORMAT = "offscript-index"
VERSION = 1
BLOCK_BYTES = 1 << 24
REBUILD = "build the index again from its documents"
_NUMBERED = re.compile(r"\.?(?:segment|deletions)-(\d+)\b")


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
        while block := stream.read(BLOCK_BYTES):
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
