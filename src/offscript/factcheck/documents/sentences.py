"""Where the sentences of a text begin: positions, so that evidence can be shown in its place."""

import re

from offscript.corpora.prose import AMBIGUOUS, INITIALS, OPENERS, TITLES

# A sentence ends at . ! ? … (with closing quotes or brackets) before white space and what may open the next one,
# at an ideographic full stop, or at an empty line. A single line break is mere wrapping. The pattern begins with all
# first characters together, because `re` can then skip to the next of them at full speed.
_BOUNDARY = re.compile(
    r"""[.!?…。！？\n](?:(?<=[.!?…])[.!?…]*["'”’»)\]]*\s+(?=["'“‘«(\[]*[A-Z0-9À-ÖØ-ÞΑ-ΩА-Я])"""
    r"""|(?<=[。！？])[。！？]*["'”’」』）]*\s*|(?<=\n)[^\S\n]*\n\s*)"""
)
_OPENING = "\"'“‘«(["
_NEXT_WORD = re.compile(r"""["'“‘«(\[]*([\w.]+)""")
_LONGEST_WORD = 12


def sentence_starts(text: str) -> tuple[int, ...]:
    """Positions where the sentences of a text begin; none for a blank text."""
    first = len(text) - len(text.lstrip())
    if first == len(text):
        return ()
    starts = [first]
    for boundary in _BOUNDARY.finditer(text, first):
        if boundary.end() < len(text) and not _is_abbreviation(text, boundary):
            starts.append(boundary.end())
    return tuple(starts)


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
