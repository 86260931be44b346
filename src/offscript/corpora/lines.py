"""Lines of a plain or compressed file, one at a time, in memory that does not grow."""

import gzip
import io
import json
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, cast

from offscript.errors import OffscriptError, missing_package

COMPRESSIONS = (".gz", ".xz", ".zst")
# text8, 100 MB on one line, must fit.
MAX_LINE_BYTES = 1 << 27
BYTE_ORDER_MARK = "\ufeff"
# A zstd block of 4 bytes may stand for 128 KiB, so small reads bound what one of them can unpack to.
ZSTD_READ = 256


class Lines:
    """The decoded lines of a file, line ends kept. `number` is the line last read, so that errors can name it."""

    def __init__(self, path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.path, self.number = path, 0
        self._longest = max_line_bytes

    def __iter__(self) -> Iterator[str]:
        with _opened(self.path) as stream:
            while raw := self._next_raw(stream):
                self.number += 1
                yield self._decoded(raw)

    def records(self) -> Iterator[dict[str, Any]]:
        """What the lines hold, a JSON object each; blank ones are left out."""
        for line in self:
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise self.fault("not valid JSON", why=str(error), next="write one JSON object a line") from error
            if not isinstance(record, dict):
                raise self.fault(f"not a JSON object but {type(record).__name__}", next="write one JSON object a line")
            yield record

    def fault(self, what: str, *, why: str = "", next: str = "") -> OffscriptError:
        """The error that says what is wrong at the line last read."""
        return OffscriptError(f"{self.place}: {what}", why=why, next=next)

    @property
    def place(self) -> str:
        """File and line last read."""
        return f"{self.path}, line {self.number}"

    def _next_raw(self, stream: BinaryIO) -> bytes:
        try:
            raw = stream.readline(self._longest + 1)
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise OffscriptError(
                f"{self.path}, after line {self.number}: cannot be read on",
                why=str(error) or type(error).__name__,
                next="fetch or compress the file again",
            ) from error
        if len(raw) > self._longest and not raw.endswith(b"\n"):
            self.number += 1
            raise self.fault(
                f"longer than {self._longest:,} bytes",
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
        return text.removeprefix(BYTE_ORDER_MARK) if self.number == 1 else text


def _opened(path: Path) -> BinaryIO:
    """A buffered stream of the file's unpacked bytes."""
    try:
        match path.suffix.lower():
            case ".gz":
                return cast(BinaryIO, io.BufferedReader(cast(Any, gzip.open(path, "rb"))))
            case ".xz":
                return cast(BinaryIO, lzma.open(path, "rb"))
            case ".zst":
                return cast(BinaryIO, io.BufferedReader(_ZstdStream(path, _zstandard(path))))
            case _:
                return path.open("rb")
    except OSError as error:
        raise OffscriptError(f"{path} cannot be opened", why=error.strerror or str(error)) from error


def _zstandard(path: Path) -> ModuleType:
    try:
        import zstandard
    except ImportError as error:
        raise missing_package(str(path), "zstandard", extra="zstd") from error
    module: ModuleType = zstandard
    return module


class _ZstdStream(io.RawIOBase):
    """Unpacked bytes of a .zst file. zstandard's own reader takes a cut-off file for a whole one; this one does not."""

    def __init__(self, path: Path, zstandard: ModuleType) -> None:
        self._file = path.open("rb")
        self._error = zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new_frame()
        self._inside_frame = False
        self._unpacked = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unpacked:
            packed = self._frame.unused_data or self._file.read(ZSTD_READ)
            if not packed:
                if self._inside_frame:
                    raise EOFError("the compressed data ends too early")
                return 0
            self._unpack(packed)
        size = min(len(buffer), len(self._unpacked))
        buffer[:size] = self._unpacked[:size]
        self._unpacked = self._unpacked[size:]
        return size

    def close(self) -> None:
        self._file.close()
        super().close()

    def _unpack(self, packed: bytes) -> None:
        if self._frame.eof:
            self._frame = self._new_frame()
        try:
            self._unpacked = memoryview(self._frame.decompress(packed))
        except self._error as error:
            raise OSError(str(error)) from error
        self._inside_frame = not self._frame.eof
