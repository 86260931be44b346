"""The terms of the page, explained: one file that pages and docs share."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from offscript._config import parse_yaml

_FILE = Path(__file__).parent / "glossary.yaml"


class Term(BaseModel):
    """A term, what it means, and the words that it is found by; itself where none are given.

    The documentation also shows its formula, and a picture of `docs/images`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    term: str
    about: str
    found: tuple[str, ...] = ()
    formula: str = ""
    picture: str = ""

    def occurs_in(self, text: str) -> bool:
        """Whether a text has one of its words, letter case aside."""
        return bool(_pattern(self.found or (self.term,)).search(text))


@cache
def glossary() -> tuple[Term, ...]:
    """Every term, by the alphabet."""
    entries = parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE))
    return tuple(sorted((Term(**entry) for entry in entries), key=lambda term: term.term.lower()))


def terms_in(texts: Sequence[str]) -> list[Term]:
    """The terms that occur in some texts."""
    joined = "\n".join(texts)
    return [term for term in glossary() if term.occurs_in(joined)]


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    listed = "|".join(re.escape(word) for word in words)
    return re.compile(rf"(?<![A-Za-z0-9-])(?:{listed})(?![A-Za-z0-9-])", re.IGNORECASE)
