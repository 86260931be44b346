"""A word with its place and its part of speech, and the names that such words make up."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

TAGS = (
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
)
"""The universal parts of speech, in the order of every array of tags."""

# Words as the treebank cuts them: 's and n't apart, hyphens apart, numbers, initials and addresses in one piece. The
# parts of addresses are bounded, so that no text is read more than a few times over.
_TOKEN = re.compile(
    r"""https?://\S+|www\.\S+|[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]{1,63}
    |(?:[A-Za-z]\.){2,}|\d+(?:[.,:]\d+)+
    |(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|etc|Inc|Co|Corp|Ltd|No|Prof|Gen|Sen|Rep|Gov)\.(?=\s)
    |[^\W_]+?(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m|S|RE|VE|LL|D|M)\b
    |[^\W_]+(?:['’][^\W_]{3,})*|\.{2,}|-{2,}|\S""",
    re.VERBOSE,
)
# What may stand within a name without being one: University of Oxford, Procter & Gamble, Coca-Cola, McDonald's.
_LINKS = frozenset({"of", "the", "&", "-", "–", "'s", "’s", "de", "la", "del", "van", "von", "der", "di", "da"})
_LONGEST_LINK = 2


class Token(NamedTuple):
    """The word at text[start:end] and its universal part of speech."""

    text: str
    tag: str
    start: int
    end: int


def spans(text: str) -> list[tuple[int, int]]:
    """Where the words and signs of a text begin and end."""
    return [match.span() for match in _TOKEN.finditer(text)]


def named_entities(text: str, tokens: Sequence[Token]) -> list[str]:
    """Names in order: runs of proper nouns, also across a link such as the `of the` in `Bank of the West`."""
    return [text[tokens[first].start : tokens[last].end] for first, last in _runs(tokens)]


def _runs(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """First and last token of every name."""
    first = last = None
    for place in range(len(tokens)):
        if not _in_name(tokens, place):
            continue
        if first is None or last is None:
            first = place
        elif not _linked(tokens[last + 1 : place]):
            yield first, last
            first = place
        last = place
    if first is not None and last is not None:
        yield first, last


def _in_name(tokens: Sequence[Token], place: int) -> bool:
    """Whether a word is a proper noun, or stands beside one, written large: the `United` of `the United States`."""
    if tokens[place].tag == "PROPN":
        return True
    beside = tokens[max(place - 1, 0) : place + 2]
    written_large = tokens[place].text[:1].isupper() and tokens[place].tag in ("ADJ", "NOUN", "VERB")
    return written_large and any(token.tag == "PROPN" for token in beside)


def _linked(between: Sequence[Token]) -> bool:
    return len(between) <= _LONGEST_LINK and all(token.text in _LINKS for token in between)
