"""The words, names and numbers of a sentence, so that two sentences can be laid side by side."""

import functools
import itertools
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from offscript.factcheck.analysis.analyzer import stem_function

LONGEST = 2_000  # characters of a sentence that are looked at: no honest sentence is longer
APPROXIMATE = 0.005
YEARS = range(1000, 2101)

Kind = Literal["word", "name", "number"]


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# What verbs such as `lies in` or `shares a border with` add is said by the rest of their sentence.
STOP_WORDS = _words(
    """a an and are as at be been being both but by did do does during for from had has have he her hers him his i in
    into is it its itself me my of on or our she so some such than that the their them then there these they this those
    to too was we were what when where which while who whom whose will with would you your also about s th lie lies
    located situated share shares"""
)
NEGATIONS = _words(
    """not no never none nobody nothing neither nor cannot without fails failed unable incapable refuse refused deny
    denied incorrect false untrue wrong"""
)
EXCLUSIVES = _words("only just solely exclusively entirely merely always every all")
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_NUMBER_WORDS = {
    "zero": 0, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+(?:['’][^\W\d_]+)?")
_NOT = re.compile(r"n['’]t$")


@dataclass(frozen=True)
class Token:
    """A word in the form that it is compared in; `value` is a number's."""

    kind: Kind
    key: str
    value: float = 0.0

    @property
    def is_year(self) -> bool:
        """Whether the number is written as a year is."""
        return self.kind == "number" and self.key.isdecimal() and int(self.key) in YEARS


@dataclass(frozen=True)
class Tokens:
    """What a sentence says, without its function words, and whether it denies or excludes."""

    content: tuple[Token, ...]
    negated: bool
    exclusive: bool

    @functools.cached_property
    def keys(self) -> frozenset[str]:
        """The words and names, and numbers as written."""
        return frozenset(token.key for token in self.content)

    @functools.cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Neighbours among the content words."""
        return frozenset((one.key, other.key) for one, other in itertools.pairwise(self.content))

    @functools.cached_property
    def numbers(self) -> tuple[Token, ...]:
        """The numbers."""
        return tuple(token for token in self.content if token.kind == "number")


@functools.lru_cache(maxsize=1 << 12)
def tokens_of(sentence: str) -> Tokens:
    """The tokens of a sentence."""
    found: list[Token] = []
    negated = exclusive = False
    for place, match in enumerate(_TOKEN.finditer(sentence[:LONGEST])):
        written = match[0]
        lower = written.lower()
        negated = negated or lower in NEGATIONS or _NOT.search(lower) is not None
        exclusive = exclusive or lower in EXCLUSIVES
        if found and found[-1].kind == "number" and lower in _SCALES:
            value = found[-1].value * _SCALES[lower]
            found[-1] = Token("number", f"{value:.0f}", value)
        elif (token := _token(written, lower, first=place == 0)) is not None:
            found.append(token)
    return Tokens(tuple(found), negated, exclusive)


def same_number(one: Token, other: Token) -> bool:
    """Years must be equal, other numbers as good as equal."""
    if one.is_year and other.is_year:
        return one.value == other.value
    return abs(one.value - other.value) <= APPROXIMATE * max(abs(one.value), abs(other.value))


def _token(written: str, lower: str, *, first: bool) -> Token | None:
    if written[0].isdigit():
        plain = written.replace(",", "").rstrip(".")
        return Token("number", plain, _value(plain))
    if lower in _NUMBER_WORDS:
        value = _NUMBER_WORDS[lower]
        return Token("number", str(value), float(value))
    if lower in STOP_WORDS or lower in NEGATIONS or (len(lower) > 2 and _NOT.search(lower)):
        return None
    name = written[0].isupper() and not (first and lower in EXCLUSIVES)
    return Token("name" if name else "word", stem(lower))


def _value(digits: str) -> float:
    """Of decimal digits in any script; others that Unicode calls digits (such as ²) count for nothing."""
    try:
        return float(digits)
    except ValueError:
        return 0.0


@functools.lru_cache(maxsize=1 << 16)
def stem(lower: str) -> str:
    """A word without accents, possessive and ending."""
    plain = unicodedata.normalize("NFKD", lower.replace("’", "'").removesuffix("'s"))
    return stem_function("english")("".join(sign for sign in plain if not unicodedata.combining(sign)))
