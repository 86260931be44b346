"""Bytes become text: byte order marks, UTF-8, and else the encoding that fits best."""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from offscript.corpora.lines import MAX_LINE_BYTES, Lines, open_bytes
from offscript.errors import OffscriptError, missing_package

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\r\f\x1b"})
_LOOKED_AT = 1 << 18  # bytes that decide on the encoding
_MOST_CONTROLS = 0.01  # of the bytes; random ones have a tenth
_LATIN = frozenset(
    """cp1250 cp1252 cp1254 cp1257 cp1258 cp437 cp850 cp852 cp858 hp_roman8 iso8859_1 iso8859_2 iso8859_3 iso8859_4
    iso8859_9 iso8859_10 iso8859_13 iso8859_14 iso8859_15 iso8859_16 latin_1 mac_iceland mac_latin2 mac_roman
    mac_turkish""".split()  # noqa: SIM905 (a list of so many would fill the page)
)
_SIGN_IN_WORD = re.compile(r"[^\W\d_][\x80-\x91\x95-\xbf÷×][^\W\d_]")


def read_bytes(path: Path, most: int = MAX_LINE_BYTES) -> bytes:
    """The bytes of a file, unpacked; one that is empty or has more than `most` is refused before it is read."""
    try:
        size = path.stat().st_size
        with open_bytes(path) as stream:
            content = b"" if size > most else stream.read(most + 1)
    except OSError as error:
        raise OffscriptError(f"{path} cannot be read", why=error.strerror or str(error)) from error
    if size > most or len(content) > most:
        raise OffscriptError(f"{path} is longer than {most:,} bytes", next="split it")
    if not content.strip():
        raise OffscriptError(f"{path} is empty")
    return content


def first_bytes(path: Path, most: int) -> bytes:
    """The first bytes of a file, unpacked."""
    try:
        with open_bytes(path) as stream:
            return stream.read(most)
    except OSError as error:
        raise OffscriptError(f"{path} cannot be read", why=error.strerror or str(error)) from error


def decode(content: bytes, path: Path) -> str:
    """The text of bytes; what no encoding explains is refused under the file's name."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _decoded(content, encoding, path).removeprefix("\ufeff")
    start = content[:_LOOKED_AT]
    if len(start) - len(start.translate(None, _CONTROLS)) > _MOST_CONTROLS * len(start):
        raise OffscriptError(f"{path} is not text", why="it holds binary data")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = _decoded(content, _detected(start, path), path)
    return text.replace("\0", " ")


def _detected(start: bytes, path: Path) -> str:
    """The encoding that fits best; Western Windows (1252) goes before other Latin ones, which look alike."""
    try:
        import charset_normalizer
    except ImportError as error:
        what = f"{path} is not UTF-8, and finding its encoding"
        raise missing_package(what, "charset-normalizer", extra="documents") from error
    best = charset_normalizer.from_bytes(start).best()
    if best is None or (best.encoding in _LATIN and _reads_well(start)):
        return "cp1252"
    return best.encoding


def _reads_well(start: bytes) -> bool:
    """Whether the bytes read as Western Windows give words without signs in them."""
    try:
        return _SIGN_IN_WORD.search(start.decode("cp1252")) is None
    except UnicodeDecodeError:
        return False


def _decoded(content: bytes, encoding: str, path: Path) -> str:
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise OffscriptError(
            f"{path} is not text in any known encoding",
            why=f"{encoding} fits best and does not fit",
            next="convert it to UTF-8",
        ) from error


class TextLines(Lines):
    """The lines of a file whose text is in memory, whatever its encoding was."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(path)
        self._text = text

    def __iter__(self) -> Iterator[str]:
        self.number = 0
        for line in self._text.splitlines(keepends=True):
            self.number += 1
            yield line
