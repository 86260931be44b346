"""Surfaces: the words of texts in lower case, as numbers of a lexicon."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import compiled
from offscript.factcheck.analysis.lexicon import LexiconBuilder
from offscript.factcheck.analysis.words import lower_case, next_word, word_break_classes

MAX_UTF8_BYTES = 4


def number_surfaces(texts: Sequence[str], builder: LexiconBuilder) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The surfaces of all texts one after the other as numbers of `builder`, and how many each text has."""
    codes, ends = _code_points(texts)
    joined = np.empty(MAX_UTF8_BYTES * len(codes), dtype=np.uint8)
    offsets = np.zeros(len(codes) + 1, dtype=np.int64)
    counts = np.empty(len(texts), dtype=np.int64)
    total = _write_words(codes, ends, word_break_classes(), lower_case(), joined, offsets, counts)
    offsets = offsets[: total + 1]
    return builder.insert_joined(joined[: offsets[-1]], offsets), counts


def whole_characters(text: str) -> str:
    """The text with every half of a surrogate pair replaced by U+FFFD, which is no letter."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _code_points(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The code points of all texts in one array, and where each text ends in it."""
    try:
        encoded = "".join(texts).encode("utf-32-le")
    except UnicodeEncodeError:
        return _code_points([whole_characters(text) for text in texts])
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    return np.frombuffer(encoded, dtype=np.uint32), ends


@compiled
def _write_words(
    codes: NDArray[np.uint32],
    ends: NDArray[np.int64],
    classes: NDArray[np.uint8],
    lower: NDArray[np.uint32],
    joined: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Write the words of all texts in lower case one after the other; returns how many there are."""
    total, position = 0, 0
    for text in range(len(ends)):
        before, end = total, ends[text]
        start, stop = next_word(codes, position, end, classes)
        while start < stop:
            offsets[total + 1] = _write_utf8(codes, start, stop, lower, joined, offsets[total])
            total += 1
            start, stop = next_word(codes, stop, end, classes)
        counts[text], position = total - before, end
    return total


@compiled
def _write_utf8(
    codes: NDArray[np.uint32],
    start: int,
    stop: int,
    lower: NDArray[np.uint32],
    joined: NDArray[np.uint8],
    length: int,
) -> int:
    """Write codes[start:stop] in lower case as UTF-8 at `length` and return where it ends."""
    for index in range(start, stop):
        code = lower[codes[index]]
        if code < 0x80:
            joined[length] = code
            length += 1
        elif code < 0x800:
            joined[length] = 0xC0 | (code >> 6)
            joined[length + 1] = 0x80 | (code & 0x3F)
            length += 2
        elif code < 0x10000:
            joined[length] = 0xE0 | (code >> 12)
            joined[length + 1] = 0x80 | ((code >> 6) & 0x3F)
            joined[length + 2] = 0x80 | (code & 0x3F)
            length += 3
        else:
            joined[length] = 0xF0 | (code >> 18)
            joined[length + 1] = 0x80 | ((code >> 12) & 0x3F)
            joined[length + 2] = 0x80 | ((code >> 6) & 0x3F)
            joined[length + 3] = 0x80 | (code & 0x3F)
            length += 4
    return length
