"""Quotations: is a passage in the sources word for word, altered, or not at all, and where?"""

import difflib
import itertools
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from offscript.corpora.prose import PLAIN
from offscript.factcheck.documents.document import Document
from offscript.factcheck.queries import search
from offscript.factcheck.sources import Provider
from offscript.factcheck.stance.tokens import STOP_WORDS

VERBATIM, ALTERED, NOT_FOUND = "verbatim", "altered", "not found"
FEWEST_WORDS = 4  # below which quotation marks are scare quotes and titles
LIKE = 0.6  # the share of words that an altered quotation keeps, in order
LOOKED_AT, WINDOWS = 20, 3  # documents, and passages of each, that a quotation is laid beside
LONGEST_QUERY = 32
_QUOTED = re.compile(r"“([^“”]{1,2000})”|\"([^\"]{1,2000})\"|«([^«»]{1,2000})»")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_ENDS = ".,;:!?… "


@dataclass(frozen=True)
class Quotation:
    """A quotation at text[start:end] of what quotes it, and the passage [found_start, found_end) of the document."""

    quotation: str
    start: int
    end: int
    status: str
    similarity: float = 0.0
    document: str = ""
    title: str = ""
    date: str = ""
    found: str = ""
    found_start: int = 0
    found_end: int = 0

    def to_json(self) -> dict[str, Any]:
        """As it is printed."""
        return asdict(self)


def quotations_in(text: str) -> list[tuple[int, int]]:
    """Where the quotations of a text begin and end, without their marks; those of few words are left out."""
    spans = [found.span(found.lastindex or 0) for found in _QUOTED.finditer(text)]
    return [(start, end) for start, end in spans if len(_WORD.findall(text[start:end])) >= FEWEST_WORDS]


def find_quotation(quotation: str, providers: Sequence[Provider], *, start: int = 0) -> Quotation:
    """Look for a quotation in the sources.

    Args:
        quotation: The words that are said to be somebody's.
        providers: What finds documents.
        start: Where it stands in the text that quotes it.

    Returns:
        `verbatim` if a document has it but for capitals, white space and the kind of quotes and dashes; `altered` with
        the passage that is most like it if that shares enough of its words in order; else `not found`.
    """
    end = start + len(quotation)
    words = list(dict.fromkeys(_WORD.findall(quotation)))
    query = ([word for word in words if word.lower() not in STOP_WORDS] or words)[:LONGEST_QUERY]
    best = Quotation(quotation, start, end, NOT_FOUND)
    if not query:
        return best
    for provider in providers:
        for found in search(provider, tuple(query), LOOKED_AT).found:
            compared = compare(quotation, found.document, start=start)
            if compared.status == VERBATIM:
                return compared
            best = max(best, compared, key=lambda each: each.similarity)
    return best


def compare(quotation: str, document: Document, *, start: int = 0) -> Quotation:
    """A quotation beside one document."""
    end = start + len(quotation)
    if (span := _verbatim(quotation, document.text)) is not None:
        return _quotation(quotation, start, end, VERBATIM, 1.0, document, span)
    similarity, span = _nearest(quotation, document)
    if similarity < LIKE:
        return Quotation(quotation, start, end, NOT_FOUND)
    return _quotation(quotation, start, end, ALTERED, similarity, document, span)


def _quotation(
    quotation: str, start: int, end: int, status: str, similarity: float, document: Document, span: tuple[int, int]
) -> Quotation:
    found = document.text[span[0] : span[1]]
    return Quotation(
        quotation, start, end, status, round(similarity, 3), document.id, document.title, document.date, found, *span
    )


def _plain(text: str) -> tuple[str, list[int]]:
    """Text in small letters with plain quotes and single blanks, and where each of its characters was."""
    characters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        plain = letter.translate(PLAIN).casefold()
        if plain.isspace():
            if characters and characters[-1] == " ":
                continue
            plain = " "
        for each in plain:
            characters.append(each)
            places.append(place)
    return "".join(characters), places


def _verbatim(quotation: str, text: str) -> tuple[int, int] | None:
    wanted = _plain(quotation)[0].strip(_ENDS)
    plain, places = _plain(text)
    at = plain.find(wanted) if wanted else -1
    while at >= 0:
        after = at + len(wanted)
        inside = (at and plain[at - 1].isalnum()) or (after < len(plain) and plain[after].isalnum())
        if not inside:
            return places[at], places[after - 1] + 1
        at = plain.find(wanted, at + 1)
    return None


def _nearest(quotation: str, document: Document) -> tuple[float, tuple[int, int]]:
    """How like the most similar passage is, and where it is; passages are runs of sentences with shared words."""
    wanted = [word.casefold() for word in _WORD.findall(quotation)]
    starts = (*document.sentence_starts(), len(document.text))
    length = max(1, len(quotation) // 80 + 1)  # sentences that a quotation may span
    passages = [(starts[n], starts[min(n + length, len(starts) - 1)]) for n in range(len(starts) - 1)]
    telling = set(wanted) - STOP_WORDS or set(wanted)
    shared = [sum(word in lower for word in telling) for lower in (document.text[a:b].casefold() for a, b in passages)]
    order = sorted(range(len(passages)), key=lambda n: -shared[n])[:WINDOWS]
    return max((_aligned(wanted, document.text, passages[n]) for n in order), default=(0.0, (0, 0)))


def _aligned(wanted: list[str], text: str, passage: tuple[int, int]) -> tuple[float, tuple[int, int]]:
    """The share of words that stay, in order, and the part of the passage from the first to the last of them."""
    words = list(_WORD.finditer(text, *passage))
    matcher = difflib.SequenceMatcher(None, wanted, [word[0].casefold() for word in words], autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return 0.0, (0, 0)
    first, last = max(blocks[0].b - blocks[0].a, 0), blocks[-1].b + blocks[-1].size - 1
    last = min(last + len(wanted) - (blocks[-1].a + blocks[-1].size), len(words) - 1)
    kept = sum(block.size for block in blocks)
    return kept / max(len(wanted), last - first + 1), (words[first].start(), words[last].end())


def check_quotations(text: str, providers: Sequence[Provider]) -> list[Quotation]:
    """Every quotation of a text, looked for in the sources."""
    return [find_quotation(text[start:end], providers, start=start) for start, end in quotations_in(text)]


def altered_words(quotation: Quotation) -> list[tuple[str, str]]:
    """What an altered quotation says, and what the source says in its place."""
    said, source = (_WORD.findall(text) for text in (quotation.quotation, quotation.found))
    matcher = difflib.SequenceMatcher(
        None, [w.casefold() for w in said], [w.casefold() for w in source], autojunk=False
    )
    changes = itertools.filterfalse(lambda code: code[0] == "equal", matcher.get_opcodes())
    return [(" ".join(said[a:b]), " ".join(source[c:d])) for _, a, b, c, d in changes]
