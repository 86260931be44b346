"""Numbers side by side: does a sentence have what a claim says, `more than 100` for 240, 1999 for `before 2005`?

Units are compared too: 100 miles are 161 kilometres, and 5 kilograms say nothing about 5 kilometres. So are
quantifiers: `all` is more than a sentence about `some` has shown.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_VALUES = {
    **{word: float(value) for value, word in enumerate(_WORDS.split())},
    **{word: 10.0 * (value + 3) for value, word in enumerate(_TENS.split())},
}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_NUMBER = re.compile(
    r"(?P<digits>(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.,])\d+(?:\.\d+)?)|\b(?P<word>"
    + "|".join(_VALUES)
    + r")\b",
    re.IGNORECASE,
)
_SCALE = re.compile(r"\s+(" + "|".join(_SCALES) + r")\b", re.IGNORECASE)
_ABOVE = re.compile(
    r"(?:more|greater|higher|larger|bigger|older|longer|taller|heavier) than$|(?:over|above|exceed(?:ed|s|ing)?)$|"
    r"after$|since$",
    re.I,
)
_BELOW = re.compile(r"(?:fewer|less|lower|smaller|younger|shorter|lighter) than$|(?:under|below)$|before$|until$", re.I)
_LEAST, _MOST = re.compile(r"at least$|no fewer than$", re.I), re.compile(r"at most$|up to$|no more than$", re.I)
_ABOUT = re.compile(r"(?:about|around|approximately|roughly|nearly|almost|some|circa|c\.)$", re.I)
_UNITS: dict[str, tuple[str, float]] = {
    "%": ("share", 1.0), "percent": ("share", 1.0), "per cent": ("share", 1.0),
    "mm": ("length", 0.001), "cm": ("length", 0.01), "metres": ("length", 1.0), "meters": ("length", 1.0),
    "km": ("length", 1000.0), "kilometres": ("length", 1000.0), "kilometers": ("length", 1000.0),
    "feet": ("length", 0.3048), "miles": ("length", 1609.344), "inches": ("length", 0.0254),
    "square kilometres": ("area", 1.0), "square kilometers": ("area", 1.0), "square miles": ("area", 2.58999),
    "kg": ("mass", 1.0), "kilograms": ("mass", 1.0), "grams": ("mass", 0.001), "tonnes": ("mass", 1000.0),
    "pounds": ("mass", 0.453592), "dollars": ("dollars", 1.0), "euros": ("euros", 1.0),
    "degrees": ("degrees", 1.0), "years": ("time", 365.25), "days": ("time", 1.0), "months": ("time", 30.44),
    "weeks": ("time", 7.0), "hours": ("time", 1 / 24), "minutes": ("time", 1 / 1440), "seconds": ("time", 1 / 86400),
    "m": ("length", 1.0), "metre": ("length", 1.0), "kilometre": ("length", 1000.0), "mile": ("length", 1609.344),
    "ft": ("length", 0.3048), "lb": ("mass", 0.453592), "tons": ("mass", 1000.0),
    "year": ("time", 365.25), "month": ("time", 30.44), "week": ("time", 7.0), "day": ("time", 1.0),
    "hour": ("time", 1 / 24), "minute": ("time", 1 / 1440),
}  # fmt: skip
UNIT_WORDS = frozenset(word for unit in _UNITS for word in unit.split())
_UNIT = re.compile(r"\s*(" + "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True)) + r")(?![\w])", re.I)
_CONVERTED = 0.03  # by how much a converted amount may be rounded
_LEVELS = (
    (re.compile(r"\b(?:no|none|nobody|never|nothing)\b", re.I), 0),
    (re.compile(r"\b(?:not all|not every|some|a few|several|partly|sometimes|occasionally)\b", re.I), 1),
    (re.compile(r"\b(?:most|majority|usually|often|many)\b", re.I), 2),
    (re.compile(r"\b(?:all|every|each|always|everyone|everybody|entirely)\b", re.I), 3),
)
ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
    "twenty-first",
]
_CENTURY = re.compile(
    r"\b(?:(?P<figure>[12]?\d)(?:st|nd|rd|th)|(?P<word>" + "|".join(ORDINALS) + r"))[ -]centur(?:y|ies)\b", re.I
)
YEARS = (1000, 2100)
_BEFORE = 40  # characters before a number that may bound it; all of them would take quadratic time
_DECADE = re.compile(r"['’]?s\b")
_MARGIN = 0.1
STEM = 6  # letters by which words are compared
_LINKING_WORDS = """of in on at to from by and or per a an the were was is are had has with for than more"""
_LINKING = frozenset(_LINKING_WORDS.split())
_SHORT = 1000  # characters of a sentence


class Quantity(NamedTuple):
    """A number with what is said of it: anything from `low` to `high` fits. `year` tells years from amounts.

    `dimension` is what a unit after it measures; the number is then in the base unit of that.
    """

    value: float
    low: float
    high: float
    year: bool
    dimension: str = ""
    unit: str = ""


def quantities(text: str) -> list[Quantity]:
    """The numbers of a text, in figures or in words up to ninety, with `million` and the like."""
    return [quantity for quantity, _ in _placed(text)]


def counted(text: str) -> list[tuple[Quantity, frozenset[str]]]:
    """The numbers of a text, each with the words after it, cut to their first letters: what is counted."""
    return [(quantity, _things(text[end:])) for quantity, end in _placed(text)]


def _things(after: str) -> frozenset[str]:
    words = re.match(r"(?:\s+[a-z-]+){0,2}", after)
    return frozenset(word[:STEM] for word in (words[0].split() if words else ()) if word not in _LINKING)


def _placed(text: str) -> Sequence[tuple[Quantity, int]]:
    """The numbers of a text, each with where it ends; a claim is read beside every sentence, so short ones are kept."""
    return _kept(text) if len(text) <= _SHORT else _read(text)


@lru_cache(maxsize=1024)
def _kept(text: str) -> tuple[tuple[Quantity, int], ...]:
    return tuple(_read(text))


def _read(text: str) -> list[tuple[Quantity, int]]:
    found = [(_century(match), match.end()) for match in _CENTURY.finditer(text)]
    for match in _NUMBER.finditer(_CENTURY.sub(lambda own: " " * len(own[0]), text)):
        digits = match["digits"]
        value = float(digits.replace(",", "")) if digits else _VALUES[match["word"].lower()]
        scale = _SCALE.match(text, match.end())
        year = bool(digits) and len(digits) == 4 and not scale and YEARS[0] <= value <= YEARS[1]
        unit = None if year else _UNIT.match(text, scale.end() if scale else match.end())
        word = unit[1].lower() if unit else ""
        dimension, factor = _UNITS.get(word, ("", 1.0))
        value *= (_SCALES[scale[1].lower()] if scale else 1.0) * factor
        low, high = _bounds(text[max(0, match.start() - _BEFORE) : match.start()].rstrip(), value)
        if year and _DECADE.match(text, match.end()):
            high = value + (99 if digits and digits.endswith("00") else 9)
        found.append((Quantity(value, low, high, year, dimension, word), (unit or scale or match).end()))
    return found


def _century(match: re.Match[str]) -> Quantity:
    """The years of `19th century` or `nineteenth century`."""
    number = int(match["figure"]) if match["figure"] else ORDINALS.index(match["word"].lower()) + 1
    return Quantity(100.0 * number - 50, 100.0 * (number - 1), 100.0 * number - 1, year=True)


def compared(claim: str, sentence: str) -> tuple[float, float]:
    """The share of the claim's numbers that the sentence has, and of those in whose place it has others.

    Args:
        claim: What is said.
        sentence: The text that it is compared with.

    Returns:
        Two shares from 0 to 1; both are 0 for a claim without numbers.
    """
    asked, given = quantities(claim), quantities(sentence)
    if not asked:
        return 0.0, 0.0
    same = [[other for other in given if _comparable(each, other)] for each in asked]
    fits = [any(_fits(each, other) for other in others) for each, others in zip(asked, same, strict=True)]
    differs = [bool(others) and not fit for others, fit in zip(same, fits, strict=True)]
    return sum(fits) / len(asked), sum(differs) / len(asked)


def amounts_differ(claim: str, sentence: str) -> bool:
    """Whether each has one amount of a kind, and these differ: `for seven months in 2014`, `for seven weeks in 2014`.

    Other numbers do not count: that the year is right says nothing about how long something took.
    """
    for asked in (each for each in quantities(claim) if each.dimension):
        own = [each for each in quantities(claim) if each.dimension == asked.dimension]
        given = [each for each in quantities(sentence) if each.dimension == asked.dimension]
        if len(own) == len(given) == 1 and not _fits(asked, given[0]):
            return True
    return False


def converted(claim: str, sentence: str) -> bool | None:
    """Whether an amount of a claim is that of a sentence in another unit or another writing.

    Args:
        claim: What is said, such as `The lake is 12 miles long`.
        sentence: The text that it is compared with.

    Returns:
        Whether `19 kilometres` are the same; nothing unless each has one amount, in different units of one dimension.
    """
    asked, given = quantities(claim), quantities(sentence)
    if len(asked) != 1 or len(given) != 1 or not asked[0].dimension or asked[0].dimension != given[0].dimension:
        return None
    one, other = (_UNITS[each.unit][1] for each in (asked[0], given[0]))
    return None if one == other else _fits(asked[0], given[0])


def differ_beyond_rounding(asked: Quantity, given: Quantity) -> bool:
    """Whether two numbers differ, and the asked one is not the given one rounded: two million for 1.9 million."""
    if _fits(asked, given) or _fits(given, asked):
        return False
    whole, places = int(asked.value), 0
    while whole and whole % 10 == 0:
        whole, places = whole // 10, places + 1
    rounded = places >= 3 and round(given.value / 10**places) * 10**places == asked.value
    return not rounded


def quantifiers_differ(claim: str, sentence: str) -> bool:
    """Whether a claim says more, by `all`, `most`, `some` or `no`, than a sentence that has such a word, too."""
    asked, given = _level(claim), _level(sentence)
    return asked is not None and given is not None and (asked > given or (asked == 0) != (given == 0))


def says_more(claim: str, sentence: str) -> bool:
    """Whether a claim says of all what a sentence says of most or some."""
    asked, given = _level(claim), _level(sentence)
    return asked == len(_LEVELS) - 1 and given in (1, 2)


def _level(text: str) -> int | None:
    return next((level for pattern, level in _LEVELS if pattern.search(text)), None)


def _comparable(asked: Quantity, given: Quantity) -> bool:
    """Years with years, and amounts unless their units measure different things."""
    same = not asked.dimension or not given.dimension or asked.dimension == given.dimension
    return asked.year == given.year and same


def _fits(asked: Quantity, given: Quantity) -> bool:
    margin = _CONVERTED * abs(given.value) if asked.unit and given.unit and asked.unit != given.unit else 0.0
    within = asked.low <= given.low and given.high <= asked.high  # `over 100` of `over 120`
    return within or asked.low - margin <= given.value <= asked.high + margin


def _bounds(before: str, value: float) -> tuple[float, float]:
    """From the words before a number."""
    beyond = math.nextafter(value, math.inf), math.nextafter(value, -math.inf)
    if _LEAST.search(before):
        return value, math.inf
    if _MOST.search(before):
        return -math.inf, value
    if _ABOVE.search(before):
        return beyond[0], math.inf
    if _BELOW.search(before):
        return -math.inf, beyond[1]
    margin = abs(value) * _MARGIN if _ABOUT.search(before) else 0.0
    return value - margin, value + margin
