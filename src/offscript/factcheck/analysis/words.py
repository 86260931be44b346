"""Words in lower case as numbers of a lexicon, cut by UAX #29 with the additions of Lucene's StandardTokenizer.

Rules cited as WB4, WB6 … are those of https://www.unicode.org/reports/tr29/#Word_Boundary_Rules.
"""

import functools
from collections.abc import Sequence
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import compiled
from offscript.factcheck.analysis.lexicon import LexiconBuilder

OTHER, LETTER, HEBREW, NUMERIC, KATAKANA, JOINER = 0, 1, 2, 3, 4, 5
MID_LETTER, MID_NUMBER, MID_EITHER, SINGLE_QUOTE, DOUBLE_QUOTE = 6, 7, 8, 9, 10
EXTEND, HAN, HIRAGANA, COMPLEX, EMOJI, REGIONAL = 11, 12, 13, 14, 15, 16
CLASS_NAMES = {
    "ALetter": LETTER,
    "Hebrew_Letter": HEBREW,
    "Numeric": NUMERIC,
    "Katakana": KATAKANA,
    "ExtendNumLet": JOINER,
    "MidLetter": MID_LETTER,
    "MidNum": MID_NUMBER,
    "MidNumLet": MID_EITHER,
    "Single_Quote": SINGLE_QUOTE,
    "Double_Quote": DOUBLE_QUOTE,
    "Extend": EXTEND,
    "Han": HAN,
    "Hiragana": HIRAGANA,
    "Complex_Context": COMPLEX,
    "Emoji": EMOJI,
    "Regional_Indicator": REGIONAL,
}
CODE_POINTS = 0x110000
CASED_BELOW = 0x20000
ZERO_WIDTH_JOINER = 0x200D
MAX_WORD_LENGTH = 255  # Lucene's default: longer words are cut into pieces
MAX_UTF8_BYTES = 4


@functools.cache
def word_break_classes() -> NDArray[np.uint8]:
    """The word-break class of every code point."""
    classes = np.zeros(CODE_POINTS, dtype=np.uint8)
    table = resources.files(__package__).joinpath("word_break.txt").read_text(encoding="utf-8")
    for line in table.splitlines():
        if line.startswith("#"):
            continue
        points, name = line.split()
        first, _, last = points.partition("..")
        classes[int(first, 16) : int(last or first, 16) + 1] = CLASS_NAMES[name]
    classes.flags.writeable = False
    return classes


@functools.cache
def lower_case() -> NDArray[np.uint32]:
    """The lower case of every code point, one for one as Java's Character.toLowerCase has it (İ becomes i)."""
    lower = np.arange(CODE_POINTS, dtype=np.uint32)
    lower[:CASED_BELOW] = [ord(chr(point).lower()[0]) for point in range(CASED_BELOW)]
    lower.flags.writeable = False
    return lower


@compiled
def next_word(codes: NDArray[np.uint32], position: int, end: int, classes: NDArray[np.uint8]) -> tuple[int, int]:
    """Start and end of the first word at or after `position`; both are `end` when there is none."""
    while position < end:
        kind = classes[codes[position]]
        stop = position + 1
        spoken = kind >= HAN
        if kind == HAN or kind == HIRAGANA:
            stop = _after_extends(codes, stop, end, classes)
        elif kind == COMPLEX:
            stop = _after_run(codes, position, end, classes, COMPLEX)
        elif kind == EMOJI:
            stop = _after_emoji(codes, position, end, classes)
        elif kind == REGIONAL:
            stop, spoken = _after_flag(codes, position, end, classes)
        elif LETTER <= kind <= JOINER:
            stop, spoken = _after_letters_and_digits(codes, position, end, classes)
        if spoken:
            return position, min(stop, position + MAX_WORD_LENGTH)
        position = stop
    return end, end


@compiled
def _after_extends(codes: NDArray[np.uint32], position: int, end: int, classes: NDArray[np.uint8]) -> int:
    """WB4: marks, format characters and joiners belong to the character before them."""
    while position < end and classes[codes[position]] == EXTEND:
        position += 1
    return position


@compiled
def _after_run(codes: NDArray[np.uint32], position: int, end: int, classes: NDArray[np.uint8], kind: int) -> int:
    while position < end and classes[codes[position]] == kind:
        position = _after_extends(codes, position + 1, end, classes)
    return position


@compiled
def _after_emoji(codes: NDArray[np.uint32], position: int, end: int, classes: NDArray[np.uint8]) -> int:
    """WB3c: emoji that a zero-width joiner ties together are one."""
    position = _after_extends(codes, position + 1, end, classes)
    while position < end and classes[codes[position]] == EMOJI and codes[position - 1] == ZERO_WIDTH_JOINER:
        position = _after_extends(codes, position + 1, end, classes)
    return position


@compiled
def _after_flag(codes: NDArray[np.uint32], position: int, end: int, classes: NDArray[np.uint8]) -> tuple[int, bool]:
    """WB15, WB16: regional indicators go in pairs; the second value is False for one that stands alone."""
    position = _after_extends(codes, position + 1, end, classes)
    paired = position < end and classes[codes[position]] == REGIONAL
    if paired:
        position = _after_extends(codes, position + 1, end, classes)
    return position, paired


@compiled
def _after_letters_and_digits(
    codes: NDArray[np.uint32], position: int, end: int, classes: NDArray[np.uint8]
) -> tuple[int, bool]:
    """WB5 to WB13b from a letter, digit, katakana or joiner on; the second value is False when all are joiners."""
    kind = classes[codes[position]]
    spoken = kind != JOINER
    position += 1
    while position < end:
        follower = classes[codes[position]]
        if follower == EXTEND:
            position += 1
        elif follower == kind or _join(kind, follower):
            kind = follower
            spoken = spoken or kind != JOINER
            position += 1
        else:
            beyond = _after_extends(codes, position + 1, end, classes)
            if beyond < end and _bridge(kind, follower, classes[codes[beyond]]):
                kind = classes[codes[beyond]]
                position = beyond + 1
            elif kind == HEBREW and follower == SINGLE_QUOTE:  # WB7a
                return beyond, spoken
            else:
                break
    return position, spoken


@compiled
def _join(kind: int, follower: int) -> bool:
    """WB5, WB8, WB9, WB10, WB13, WB13a, WB13b: no boundary between these two."""
    if kind == JOINER or follower == JOINER:
        return LETTER <= kind <= JOINER and LETTER <= follower <= JOINER
    if kind == KATAKANA or follower == KATAKANA:
        return kind == follower
    return kind <= NUMERIC and LETTER <= follower <= NUMERIC


@compiled
def _bridge(kind: int, middle: int, beyond: int) -> bool:
    """WB6, WB7, WB7b, WB7c, WB11, WB12: `middle` ties what stands on its two sides."""
    shared = middle == MID_EITHER or middle == SINGLE_QUOTE
    if kind == NUMERIC:
        return beyond == NUMERIC and (shared or middle == MID_NUMBER)
    letters = (kind == LETTER or kind == HEBREW) and (beyond == LETTER or beyond == HEBREW)
    if letters and (shared or middle == MID_LETTER):
        return True
    return kind == HEBREW and middle == DOUBLE_QUOTE and beyond == HEBREW


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
