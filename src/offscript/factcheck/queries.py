"""From a claim to a query, and to shorter ones while nothing is found (section 2.2.1)."""

from collections.abc import Iterator
from typing import NamedTuple

from offscript.factcheck.sources import Found, Provider
from offscript.factcheck.tagging import Tagger, default_tagger
from offscript.factcheck.tagging.tagger import spans

FEWEST, MOST = 5, 10
SEARCHED_TAGS = frozenset({"VERB", "NOUN", "PROPN", "ADJ"})
FILLING = ("NUM", "ADV", "INTJ", "X", "SYM", "AUX", "PRON", "ADP", "DET", "PART", "SCONJ", "CCONJ", "PUNCT")
"""What makes up the number where a claim has too few telling words, the most telling part of speech first."""


class Search(NamedTuple):
    """What was found, and the words that found it: the query itself or what relaxation left of it."""

    found: list[Found]
    query: tuple[str, ...]


def query_of(claim: str, tagger: Tagger | None = None) -> tuple[str, ...]:
    """The 5 to 10 words of a claim to search by: its names, then its verbs, nouns and adjectives, in order.

    Names stand first because relaxation drops the last words. A claim with fewer than 5 such words gives others too,
    numbers before adverbs before the rest; one with fewer than 5 words gives all of them. No word comes twice.
    """
    tagger = tagger or default_tagger()
    [words] = tagger.tag([claim])
    names = [name[start:end] for name in tagger.entities(claim) for start, end in spans(name)]
    telling = _distinct([*names, *(token.text for token in words if token.tag in SEARCHED_TAGS)])
    if len(telling) >= FEWEST:
        return telling[:MOST]
    rest = sorted((token for token in words if token.tag in FILLING), key=lambda token: FILLING.index(token.tag))
    return _distinct([*telling, *(token.text for token in rest)])[:FEWEST]


def relaxed(query: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The query, then the query without its last word, and so on down to its first word."""
    return (query[:size] for size in range(len(query), 0, -1))


def search(provider: Provider, query: tuple[str, ...], k: int) -> Search:
    """The k best documents for the longest form of the query that finds any."""
    for shorter in relaxed(query):
        if found := provider.find(" ".join(shorter), k):
            return Search(found, shorter)
    return Search([], ())


def _distinct(words: list[str]) -> tuple[str, ...]:
    """Each word once, whatever its case, as it is first written; signs are no words."""
    found: dict[str, str] = {}
    for word in words:
        if any(character.isalnum() for character in word):
            found.setdefault(word.lower(), word)
    return tuple(found.values())
