"""What the documents say that a name is: a town, a company, a woman; so that `the town` and `she` find their names."""

import functools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from offscript.factcheck.documents.document import Document
from offscript.factcheck.sources.local import LocalIndex

FOUND = 5  # documents that are looked at for a name
SHORT = 3  # letters from which on a word of a title tells something
_DEFINED = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of the)\s+([^,.;:()]{2,90})")
_AFTER_NOUN = re.compile(
    r"\b(?:of|in|on|at|for|from|with|by|to|that|which|who|whose|and|based|born|founded|built|"
    r"known|located|held|made|used|near|is|serving|standing|running|situated)\b"
)
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")
_WORD = re.compile(r"[\w'’-]+")
_BEGINS = re.compile(r"(?:^|[.!?]\s+)(?:(?:In|On|At|From|After|Before|By|During) [^,.]{1,60}, )?(\w+)")
_PRONOUNS = {"he": "he", "his": "he", "she": "she", "her": "she"}


class Described(NamedTuple):
    """The whole name that a document gives, the noun that says what it is, and `he` or `she` for a person."""

    name: str
    noun: str
    pronoun: str


Describe = Callable[[str], Described | None]
"""What is known of a name; nothing where no document is about it."""


def descriptions(providers: Sequence[object]) -> Describe:
    """What the documents of the indexes among some providers say that a name is; each name is looked up once.

    Args:
        providers: Of a checker; search engines are not asked.

    Returns:
        The look-up.
    """
    indexes = [provider for provider in providers if isinstance(provider, LocalIndex)]

    @functools.cache
    def describe(name: str) -> Described | None:
        found = [each.document for index in indexes for each in index.find(name, FOUND)]
        document = titled(name, found)
        return None if document is None else described(document)

    return describe


def within(describe: Describe, sentences: Sequence[str]) -> Describe:
    """The same look-up for one text: a longer title counts only if its other words stand in the text too.

    Of a large collection some title has `company` in it; that of the company that a text speaks of has its name there.

    Args:
        describe: What is known of a name.
        sentences: Of the text.

    Returns:
        The look-up for names in that text.
    """
    words = frozenset(word for sentence in sentences for word in _words(sentence))

    def known(name: str) -> Described | None:
        found = describe(name)
        if found is None:
            return None
        others = set(_words(found.name)) - set(_words(name))
        return found if all(word in words or len(word) < SHORT for word in others) else None

    return known


def titled(name: str, documents: Sequence[Document]) -> Document | None:
    """The document whose title is the name, or the only one whose title holds its words."""
    wanted = _words(name)
    titles = [_words(_BRACKETS.sub("", document.title)) for document in documents]
    if wanted in titles:
        return documents[titles.index(wanted)]
    partly = [
        document for document, title in zip(documents, titles, strict=True) if wanted and set(wanted) <= set(title)
    ]
    return partly[0] if len(partly) == 1 else None


def described(document: Document) -> Described:
    """What the first sentence says that the title is, and the pronoun that most of its sentences begin with."""
    sentences = document.sentences()
    found = _DEFINED.search(sentences[0]) if sentences else None
    phrase = _WORD.findall(_AFTER_NOUN.split(found[1], maxsplit=1)[0]) if found else []
    begins = [_PRONOUNS[word.lower()] for word in _BEGINS.findall(document.text) if word.lower() in _PRONOUNS]
    pronoun = max(sorted(set(begins)), key=begins.count) if begins else ""
    name = _BRACKETS.sub("", document.title)
    noun = (
        phrase[-1] if phrase else (_words(name.partition(" of ")[0]) or [""])[-1]
    )  # `Lantern Festival`, `Flood of 1931`
    return Described(name, noun.lower(), pronoun)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
