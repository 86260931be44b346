"""Numbers side by side: does a sentence have what a claim says, `more than 100` for 240, 1999 for `before 2005`?"""

import math
import re
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
    r"(?:more|greater|higher|larger|older|longer) than$|(?:over|above|exceed(?:ed|s|ing)?)$|after$|since$", re.I
)
_BELOW = re.compile(r"(?:fewer|less|lower|smaller|younger|shorter) than$|(?:under|below)$|before$|until$", re.I)
_LEAST, _MOST = re.compile(r"at least$|no fewer than$", re.I), re.compile(r"at most$|up to$|no more than$", re.I)
_ABOUT = re.compile(r"(?:about|around|approximately|roughly|nearly|almost|some|circa|c\.)$", re.I)
YEARS = (1000, 2100)
_MARGIN = 0.1


class Quantity(NamedTuple):
    """A number with what is said of it: anything from `low` to `high` fits. `year` tells years from amounts."""

    value: float
    low: float
    high: float
    year: bool


def quantities(text: str) -> list[Quantity]:
    """The numbers of a text, in figures or in words up to ninety, with `million` and the like."""
    found = []
    for match in _NUMBER.finditer(text):
        digits = match["digits"]
        value = float(digits.replace(",", "")) if digits else _VALUES[match["word"].lower()]
        scale = _SCALE.match(text, match.end())
        year = bool(digits) and len(digits) == 4 and not scale and YEARS[0] <= value <= YEARS[1]
        value *= _SCALES[scale[1].lower()] if scale else 1.0
        found.append(Quantity(value, *_bounds(text[: match.start()].rstrip(), value), year))
    return found


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
    same = [[other for other in given if other.year == each.year] for each in asked]
    fits = [
        any(each.low <= other.value <= each.high for other in others) for each, others in zip(asked, same, strict=True)
    ]
    differs = [bool(others) and not fit for others, fit in zip(same, fits, strict=True)]
    return sum(fits) / len(asked), sum(differs) / len(asked)


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
