"""Strings that name a thing with settings: `nucleus,p=0.9`, `hf/gpt2@main,dtype=float32`, `m.gguf,chat="Hi, you"`."""

import difflib
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from offscript.errors import OffscriptError

Setting = bool | int | float | str
# What a damaged file holds may be long, and the search for what is near takes its length squared.
LONGEST_NAME, MOST_NAMES = 100, 1000
_QUOTED, _COMMA = re.compile(r'="([^"]*)"'), "\0"
_PIECE = re.compile(r'(?:="[^"]*"|[^,\s])+')


@dataclass(frozen=True)
class Specification:
    """A name and its settings, in the order given."""

    name: str
    settings: dict[str, Setting]

    def __str__(self) -> str:
        return ",".join([self.name, *(f"{key}={quoted(value)}" for key, value in self.settings.items())])


def parse_specification(text: str) -> Specification:
    """Split `name,key=value,…`; numbers and true/false are converted, the rest stays text.

    A value in double quotes may hold commas.
    """
    hidden = _QUOTED.sub(lambda found: "=" + found[1].replace(",", _COMMA), text)
    name, *pairs = [part.strip().replace(_COMMA, ",") for part in hidden.split(",")]
    if not name:
        raise OffscriptError(f"no name in {text!r}", next="write NAME or NAME,key=value,…")
    settings: dict[str, Setting] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise OffscriptError(f"{pair!r} in {text!r} is not key=value", next=f"write {name},key=value")
        if key.strip() in settings:
            raise OffscriptError(f"{key.strip()!r} is given twice in {text!r}", next="give it once")
        settings[key.strip()] = _converted(value.strip())
    return Specification(name, settings)


def split_specifications(*texts: str) -> list[str]:
    """Split `tv,js` or `nucleus,p=0.9,top-k,k=40` at commas and blanks, outside double quotes.

    A setting always has `=` and a name never has: a piece with `=` belongs to the name before it, and any other piece
    begins a new name. The pieces of one text never belong to a name of another.
    """
    names: list[str] = []
    for text in texts:
        own: list[str] = []
        for piece in _PIECE.findall(text):
            if "=" in piece and own:
                own[-1] += f",{piece}"
            else:
                own.append(piece)
        names += own
    return names


def quoted(value: Setting) -> str:
    """A value as it is written in a specification."""
    return f'"{value}"' if "," in str(value) else str(value)


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for a misspelt word: `did you mean 'x'?`, else the list of what is known."""
    names = sorted(name for name in itertools.islice(known, MOST_NAMES) if len(name) <= LONGEST_NAME)
    close = difflib.get_close_matches(word[:LONGEST_NAME], names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"


def _converted(value: str) -> Setting:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    for convert in (int, float):
        try:
            return convert(value)
        except ValueError:
            continue
    return value
