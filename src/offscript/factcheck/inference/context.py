"""A sentence as it is meant in its document: `The line was opened in 1872` is said of the line of the title."""

import functools
import re

from offscript.factcheck.inference.fever import titled

LONGEST_TITLE = 6  # words; a longer one is a headline and names nothing
_ASIDE = re.compile(r"\s*[(,:–—].*$")
_ARTICLE = re.compile(r"^the\s+", re.IGNORECASE)
_DEFINITION = re.compile(r"(?: \([^)]*\))?(?: [^.]{0,40},)? (?:is|was|are|were) (?:an?|the) ([^.,;()]+)")
_PHRASE_END = re.compile(
    r" (?:about|along|and|as|at|based|between|born|built|by|created|developed|directed|during|east|for|formed|found|"
    r"founded|from|held|in|known|located|lying|made|near|north|of|on|over|owned|played|produced|published|released|set|"
    r"situated|since|south|that|to|under|used|west|when|where|which|who|whose|with|written)\b.*$"
)
_NOT_ALONE = r"(?! of\b| [A-Z]|-)"


def in_document(title: str, opening: str, sentence: str) -> str:
    """The sentence with what it takes from its document's title.

    Where it says `the line` of a document called `Dunmore Line`, or `the club` of one that begins `Brennick Rovers is a
    football club`, the whole name is put in its place: half a name counts as none for a reader who has only this
    sentence. Otherwise the title stands before it, unless it names that itself (`titled`).

    Args:
        title: Of the document.
        opening: Its first sentence.
        sentence: One of its sentences.

    Returns:
        What the inference model reads.
    """
    for pattern, name in _names(title, opening):
        found = pattern.search(sentence)
        if found is not None and name.lower().removeprefix("the ") not in sentence.lower():
            article = f"{found[1]}he " if name.startswith("the ") else ""
            return f"{sentence[: found.start()]}{article}{name.removeprefix('the ')}{sentence[found.end() :]}"
    return titled(title, sentence)


@functools.lru_cache(maxsize=1 << 12)
def _names(title: str, opening: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """What finds `the` before a noun that means the title, and the name to put there."""
    name = _ARTICLE.sub("", _ASIDE.sub("", title).strip())
    if not name or len(name.split()) > LONGEST_TITLE:
        return ()
    found = []
    noun = name.partition(" of ")[0].split()
    shortest = 0 if " of " in name else 1  # of `Flood of 1953` the whole noun, of `Dunmore Line` all but its first word
    tails = [" ".join(noun[start:]).lower() for start in range(shortest, len(noun))]
    if tails := [tail for tail in tails if tail.replace(" ", "").replace("-", "").isalpha()]:
        found.append((_the(tails), f"the {name}"))
    if kind := _kind(name, opening):
        found.append((_the([kind]), name))
    return tuple(found)


def _kind(name: str, opening: str) -> str:
    """What the first sentence says that the title is: `club` of `Brennick Rovers is a football club from Brennick`."""
    start = opening.lower().find(name.lower())
    told = _DEFINITION.match(opening, start + len(name)) if 0 <= start <= len("The ") else None
    noun = _PHRASE_END.sub("", told[1]).split()[-1] if told else ""
    return noun if noun.isalpha() and noun.islower() else ""


def _the(nouns: list[str]) -> re.Pattern[str]:
    return re.compile(rf"\b([Tt])he (?:{'|'.join(map(re.escape, nouns))})\b{_NOT_ALONE}")
