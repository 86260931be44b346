"""A kind of input: an example, what reads it, and the files beside it."""

import bz2
import gzip
import json
import lzma
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import zstandard

from offscript.errors import OffscriptError

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
}
LONGEST_MESSAGE = 4000


class Kind(NamedTuple):
    """A kind of file: its name below a folder, an example, and what reads it.

    Attributes:
        name: The file that is damaged.
        example: What it holds; empty where `others` has it.
        read: Gets the file, or with `whole_folder` the folder.
        others: The files beside it.
        whole_folder: What `read` gets.
        format: How the example is put together, for mutations that know of it; the file's suffix where empty.
        words: What mutations may put in.
        repair: Makes checksums fit the damaged file, so that what they protect is looked at as well.
        leaves_files: Whether `read` writes to the folder, which is then made anew.
    """

    name: str
    example: str | bytes
    read: Callable[[Path], object]
    others: Mapping[str, str | bytes] = MappingProxyType({})
    whole_folder: bool = False
    format: str = ""
    words: tuple[str, ...] = ()
    repair: Callable[[Path], None] | None = None
    leaves_files: bool = False

    @property
    def content(self) -> bytes:
        """The example as bytes, unpacked."""
        return as_bytes(self.example or self.others[self.name])

    @property
    def structure(self) -> str:
        """The name of the structure that mutations may know."""
        return self.format or Path(self.name.removesuffix(".xz")).suffix.lstrip(".")

    def folder(self, root: Path) -> Path:
        """A fresh folder with the files beside the one that is damaged."""
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        for name, content in self.others.items():
            write(root / name, as_bytes(content))
        return root

    def read_damaged(self, root: Path, content: bytes) -> None:
        """Write the content to its place in the folder, and read it."""
        path = write(root / self.name, content)
        if self.repair is not None:
            self.repair(root)
        self.read(root if self.whole_folder else path)

    def outcome(self, root: Path, content: bytes) -> str:
        """The line that refuses the content; empty where it is read. Whatever else is raised is a fault."""
        return check_line(lambda: self.read_damaged(root, content))


def check_line(read: Callable[[], object]) -> str:
    """The error of a reader, which must be one line that can be printed; empty where there is none."""
    try:
        read()
    except OffscriptError as error:
        line = str(error)
        if "\n" in line or len(line) > LONGEST_MESSAGE:
            raise AssertionError(f"a message of {len(line)} characters, {line.count(chr(10))} line ends") from error
        line.encode()
        return line
    return ""


def as_bytes(content: str | bytes) -> bytes:
    """Text as UTF-8."""
    return content.encode() if isinstance(content, str) else content


def write(path: Path, content: bytes) -> Path:
    """Write a file, packed as its suffix says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(PACK.get(path.suffix, bytes)(content))
    return path


def records(*values: object) -> str:
    """JSON lines."""
    return "".join(json.dumps(value) + "\n" for value in values)


def every(read: Callable[[Any], Iterable[object]]) -> Callable[[Path], object]:
    """A reader that takes all that another one gives."""
    return lambda path: list(read(path))


def of_text(read: Callable[[str], object]) -> Callable[[Path], object]:
    """A parser of strings as a reader of files."""
    return lambda path: read(path.read_bytes().decode("utf-8", "surrogateescape"))


def slug(name: str) -> str:
    """A kind's name as a folder's."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
