"""Prose: article bodies become sentences that look like those of the news corpora."""

import re
import unicodedata
from collections.abc import Iterator


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# A full stop after these never ends a sentence: a name or a number follows.
TITLES = _words(
    """adm brig capt cmdr col cpl dr fr gen gov hon insp lt maj messrs mr mrs ms pres prof rep reps rev sen sens sgt st
    supt vs jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e ft mt al"""
)
# After these it does only when the next word is one that mostly begins sentences.
AMBIGUOUS = _words("a.m p.m inc co corp ltd jr sr etc no ave blvd rd dept est ph.d")
OPENERS = _words(
    """a after all although an and as at because before both but by despite during for from he her here his how however
    i if in it its last many meanwhile most my no now on one only our she since so some still that the their then there
    these they this those though to two under until we what when where which while who why with yet you"""
)
INITIALS = re.compile(r"(?:[a-z]\.)+[a-z]")
# A sentence ends at . ! ? … (with closing quotes or brackets) before white space and what may open the next one,
# at an ideographic full stop, or at an empty line. A single line break is mere wrapping. The pattern begins with all
# first characters together, because `re` can then skip to the next of them at full speed; it matches a run of stops
# from its first one only, because `re` would otherwise try a run of n stops n times.
_BOUNDARY = re.compile(
    r"""[.!?…。！？\n](?:(?<=[.!?…])(?<![.!?…]{2})[.!?…]*["'”’»)\]]*\s+(?=["'“‘«(\[]*[A-Z0-9À-ÖØ-ÞΑ-ΩА-Я])"""
    r"""|(?<=[。！？])[。！？]*["'”’」』）]*\s*|(?<=\n)[^\S\n]*\n\s*)"""
)
_OPENING = "\"'“‘«(["
_NEXT_WORD = re.compile(r"""["'“‘«(\[]*([\w.]+)""")
_LONGEST_WORD = 12
_NUMBER = re.compile(r"\d+\.")
BRACKET_CODES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
}
"""How the Penn Treebank, and FEVER's Wikipedia pages after it, write brackets and quotation marks."""
_BRACKET_CODE = re.compile("|".join(map(re.escape, BRACKET_CODES)))
# Up to an ASCII character, which composes with nothing before it.
_PIECE = re.compile(r".{1,1024}[^\x00-\x7f]{0,1024}", re.DOTALL)
SYMBOL = re.compile(r"\.{2,}|-{2,}|[^\w\s]")
PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´′", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–−", "-"),
        **dict.fromkeys("—―", "--"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\ufe0f", ""),
        "…": "...",
    }
)


def sentence_starts(text: str) -> tuple[int, ...]:
    """Positions where the sentences of a text begin, so that a sentence can be shown in its place.

    Args:
        text: Running text; a single line break in it is white space, an empty line ends a sentence.

    Returns:
        The positions in order; none for a blank text.
    """
    first = len(text) - len(text.lstrip())
    if first == len(text):
        return ()
    starts = [first]
    for boundary in _BOUNDARY.finditer(text, first):
        if boundary.end() < len(text) and not _is_abbreviation(text, boundary):
            starts.append(boundary.end())
    return tuple(starts)


def split_sentences(text: str) -> list[str]:
    """Sentences of running text by rule: a line break ends one; so does `.`, `!` or `?` before a capital or a digit.

    Titles (`Mr.`), initials (`J. Smith`), common abbreviations (`U.S.`) and the number of a line (`1.`) do not.

    Args:
        text: Running text.

    Returns:
        The sentences; typographic quotes and dashes are plain ones, runs of blanks one blank.
    """
    return [
        sentence
        for line in text.translate(PLAIN).splitlines()
        if line.strip()
        for sentence in _split_line(" ".join(line.split()))
    ]


def separate_punctuation(text: str) -> str:
    """Words and punctuation divided by single blanks, as the EMNLP news files are: `don ' t`, `2 . 5`, `, "`.

    Runs of dots become `...`, runs of hyphens `--`; doing it twice changes nothing.

    Args:
        text: Text as people write it.

    Returns:
        The text with single blanks between words and punctuation.
    """
    plain = _composed(text).translate(PLAIN)
    return " ".join(SYMBOL.sub(_apart, plain).split())


def decode_brackets(text: str) -> str:
    """Replace the Penn Treebank's codes for brackets and quotation marks, as in FEVER, by the characters."""
    return _BRACKET_CODE.sub(lambda code: BRACKET_CODES[code[0]], text)


def _split_line(line: str) -> Iterator[str]:
    start = 0
    for end in (*sentence_starts(line)[1:], len(line)):
        sentence = line[start:end].rstrip()
        if end == len(line) or not _NUMBER.fullmatch(sentence):
            yield sentence
            start = end


def _is_abbreviation(text: str, boundary: re.Match[str]) -> bool:
    """Whether the boundary is the full stop of `Mr. Smith`, `J. Smith`, `U.S. Army` or `Corp. in`."""
    if boundary[0].rstrip() != ".":
        return False
    stop = boundary.start()
    word = text[max(0, stop - _LONGEST_WORD) : stop].replace("\n", " ").rpartition(" ")[2].lstrip(_OPENING).lower()
    if word in TITLES or (len(word) == 1 and word.isalpha() and word != "i"):
        return True
    if word not in AMBIGUOUS and not INITIALS.fullmatch(word):
        return False
    opener = _NEXT_WORD.match(text, boundary.end())
    return opener is None or opener[1].lower() not in OPENERS


def _composed(text: str) -> str:
    """Normal form C. Pieces bound the time, which is quadratic in the length of a run of combining marks."""
    return "".join(unicodedata.normalize("NFC", piece) for piece in _PIECE.findall(text))


def _apart(symbol: re.Match[str]) -> str:
    text = symbol[0]
    if unicodedata.category(text[0]).startswith("M"):
        return text
    return f" {text if len(text) == 1 else text[0] * (3 if text[0] == '.' else 2)} "
