"""Text files, plain or compressed, line by line: every file that offscript reads as text is opened here.

Memory does not grow with the file. A pipe or device, a compressed file that unpacks to far more than text does, a
line without an end and bytes that are not text each give one error that names the file and the line.
"""

import bz2
import contextlib
import io
import lzma
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from offscript.errors import OffscriptError, missing_package

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
# text8, 100 MB on one line, must fit.
MAX_LINE_BYTES = 1 << 27
# Text shrinks to a third or a tenth, tables of labels to a hundredth; bombs to a thousandth and less.
MAX_RATIO = 250
FREE_OF_RATIO = 1 << 26
# English Wikipedia unpacks to 100 GB.
MAX_UNPACKED = 1 << 38
UNPACKED_SETTING = "OFFSCRIPT_MAX_UNPACKED"
_SIZE = re.compile(r"(\d{1,15})([KMGT]?)B?", re.IGNORECASE)
_XZ_MEMORY = 1 << 29
_BLOCK = 1 << 16
# A zstd block of 4 bytes may stand for 128 KiB, so small reads bound what one of them can unpack to.
_ZSTD_BLOCK = 256
_BYTE_ORDER_MARK = "\ufeff"
_OTHER_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


class Lines:
    """The decoded lines of a file with their line ends.

    Args:
        path: The file; the suffixes .gz, .xz, .bz2 and .zst mean that it is compressed.
        max_line_bytes: The longest line that is accepted, its end not counted.

    Attributes:
        number: The number of the line last read, from 1, so that errors can name it.
    """

    def __init__(self, path: Path | str, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.path, self.number = Path(path), 0
        self.max_line_bytes = max_line_bytes

    def __iter__(self) -> Iterator[str]:
        self.number = 0
        with open_bytes(self.path) as stream:
            while raw := self._next_raw(stream):
                self.number += 1
                yield self._decoded(raw)

    def whole(self) -> str:
        """The text of the file, which may be as long as the longest line."""
        lines, length = [], 0
        for line in self:
            lines.append(line)
            length += len(line)
            if length > self.max_line_bytes:
                raise self.fault(f"the file is longer than {self.max_line_bytes:,} characters", next="split it")
        return "".join(lines)

    def fault(self, what: str, *, why: str = "", next: str = "") -> OffscriptError:
        """The error that says what is wrong at the line last read."""
        return OffscriptError(f"{self.place}: {what}", why=why, next=next)

    @property
    def place(self) -> str:
        """File and line last read."""
        return f"{self.path}, line {self.number}"

    def _next_raw(self, stream: BinaryIO) -> bytes:
        try:
            raw = stream.readline(self.max_line_bytes + 1)
        except OSError as error:
            raise OffscriptError(
                f"{self.path}, after line {self.number}: cannot be read on",
                why=str(error) or type(error).__name__,
                next="fetch or compress the file again",
            ) from error
        if len(raw) > self.max_line_bytes and not raw.endswith(b"\n"):
            self.number += 1
            raise self.fault(
                f"longer than {self.max_line_bytes:,} bytes",
                next="put one sentence on a line, or raise max_line_bytes",
            )
        return raw

    def _decoded(self, raw: bytes) -> str:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fault(
                f"byte {error.start + 1} is not UTF-8", why=error.reason, next="convert the file with iconv -t utf-8"
            ) from error
        if "\0" in text:
            place = raw.index(b"\0") + 1
            raise self.fault(f"byte {place} is 0", why="text has no such character", next="give a UTF-8 text file")
        return text.removeprefix(_BYTE_ORDER_MARK) if self.number == 1 else text


def packed(path: Path) -> Path:
    """The file, or where there is none the xz file that stands for it."""
    with contextlib.suppress(OSError, ValueError):  # a name that no file can have
        other = path.with_name(f"{path.name}.xz")
        if not path.exists() and other.is_file():
            return other
    return path


def kind_of(path: Path) -> str:
    """The suffix in lower case that says what a file holds, compression aside."""
    return Path(path.stem if path.suffix.lower() in COMPRESSIONS else path.name).suffix.lower()


def is_folder(path: Path) -> bool:
    """Whether a path names a folder; one that cannot be the name of anything does not."""
    try:
        return path.is_dir()
    except OSError:
        return False


def check_file(path: Path, hint: str = "check the name", noun: str = "file") -> Path:
    """The path, if it names a file that can be read to its end; pipes and devices have none."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError as error:
        raise OffscriptError(f"no such {noun}: {path}", next=hint) from error
    except (OSError, ValueError) as error:
        raise OffscriptError(f"{path} cannot be opened", why=getattr(error, "strerror", "") or str(error)) from error
    if kind == stat.S_IFDIR:
        raise OffscriptError(f"{path} is a folder", next="name a file in it")
    if kind != stat.S_IFREG:
        raise OffscriptError(f"{path} is {_OTHER_KINDS.get(kind, 'not a file')}", next="write it to a file first")
    return path


def open_bytes(path: Path) -> BinaryIO:
    """A buffered stream of the bytes of a file, unpacked; whatever is wrong with the packed data is an OSError."""
    check_file(path)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise OffscriptError(f"{path} cannot be opened", why=error.strerror or str(error)) from error
    suffix = path.suffix.lower()
    if suffix not in COMPRESSIONS:
        return stream
    unpacker = {".gz": _Gzip, ".xz": _new_xz, ".bz2": bz2.BZ2Decompressor, ".zst": _Zstd}[suffix]
    block = _ZSTD_BLOCK if suffix == ".zst" else _BLOCK
    return cast(BinaryIO, io.BufferedReader(_Unpacked(path, stream, unpacker, block), _BLOCK))


def archived_texts(path: Path, names: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The texts of a tar archive, plain or compressed, whose whole names match, in its order; nothing is unpacked.

    Args:
        path: The archive.
        names: Of the members to read.

    Yields:
        Name and text of each.
    """
    with open_bytes(path) as stream:
        try:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    if not member.isfile() or not names.fullmatch(member.name):
                        continue
                    if member.size > MAX_LINE_BYTES:
                        raise OffscriptError(f"{path}: {member.name} is longer than {MAX_LINE_BYTES:,} bytes")
                    inside = archive.extractfile(member)
                    yield member.name, "" if inside is None else inside.read().decode("utf-8")
        except (tarfile.TarError, OSError, UnicodeDecodeError) as error:
            raise OffscriptError(f"{path} cannot be read", why=str(error), next="fetch the archive again") from error


class _Unpacker(Protocol):
    """One frame of compressed data, as the decompressors of `bz2` and `lzma` are."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Unpacked(io.RawIOBase):
    """The bytes of frames that follow one another; ends too early with an OSError, too much with an OffscriptError."""

    def __init__(self, path: Path, stream: BinaryIO, new: Callable[[], _Unpacker], block: int) -> None:
        self._path, self._stream, self._new, self._block = path, stream, new, block
        self._unpacker, self._rest = new(), memoryview(b"")
        self._read, self._unpacked = 0, 0
        self._most, self._ratio = _limits()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            try:
                block = self._next_block(len(buffer))
            except (zlib.error, lzma.LZMAError, EOFError) as error:
                raise OSError(str(error)) from error
            if block is None:
                return 0
            self._rest = memoryview(block)
            self._unpacked += len(block)
            self._check_size()
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        self._stream.close()
        super().close()

    def _next_block(self, size: int) -> bytes | None:
        """Some unpacked bytes, maybe none yet; None after the last frame."""
        if self._unpacker.eof:
            packed = self._unpacker.unused_data.lstrip(b"\0")
            while not packed:
                if not (read := self._more()):
                    return None
                packed = read.lstrip(b"\0")
            self._unpacker = self._new()
        else:
            packed = self._more() if self._unpacker.needs_input else b""
            if not packed and self._unpacker.needs_input:
                raise EOFError("the compressed data ends too early")
        return self._unpacker.decompress(packed, size)

    def _more(self) -> bytes:
        packed = self._stream.read(self._block)
        self._read += len(packed)
        return packed

    def _check_size(self) -> None:
        bomb = self._unpacked > FREE_OF_RATIO and self._unpacked > self._ratio * self._read
        if bomb or self._unpacked > self._most:
            limit = f"{self._ratio:g} times its size" if bomb else f"{self._most:,} bytes"
            raise OffscriptError(
                f"{self._path} unpacks to more than {limit}",
                why="it would fill the memory or the time of whoever reads it",
                next=f"set {UNPACKED_SETTING} to the bytes that it may unpack to, such as 500G",
            )


def _limits() -> tuple[int, float]:
    """How many bytes a file may unpack to, and how many times its size."""
    written = os.environ.get(UNPACKED_SETTING, "").strip()
    if not written:
        return MAX_UNPACKED, MAX_RATIO
    size = _SIZE.fullmatch(written)
    if size is None:
        raise OffscriptError(f"{UNPACKED_SETTING} is {written!r}", next="give a number of bytes, such as 500G")
    return int(size[1]) << 10 * " KMGT".index(size[2].upper() or " "), float("inf")


class _Gzip:
    """A frame of gzip data."""

    def __init__(self) -> None:
        self._inner, self.needs_input = zlib.decompressobj(wbits=31), True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        unpacked = self._inner.decompress(self._inner.unconsumed_tail + data, max_length)
        self.needs_input = len(unpacked) < max_length
        return unpacked


def _new_xz() -> _Unpacker:
    return lzma.LZMADecompressor(memlimit=_XZ_MEMORY)


class _Zstd:
    """A frame of zstd data. zstandard's own reader takes a cut-off file for a whole one; this one does not."""

    needs_input = True

    def __init__(self) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise missing_package("a .zst file", "zstandard", extra="zstd") from error
        self._inner, self._error = zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        try:
            return bytes(self._inner.decompress(data))
        except self._error as error:
            raise OSError(str(error)) from error
