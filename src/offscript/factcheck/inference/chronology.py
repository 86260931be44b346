"""Orders and spans of time by the years that a sentence gives: Haydn was born in 1732, Mozart in 1756.

So Haydn was born before Mozart; and who was born in 1732 and died in 1809 died at the age of 77.
"""

import re

from offscript.factcheck.inference.numbers import quantities

_SPAN = re.compile(
    r"\b(?:(?P<age>at the age of|at age|aged)|for|lasted|spent)\s+(?P<length>[\w-]+)(?P<years> years?\b)?"
)
_FROM_TO = re.compile(r"\b(?:from|between|born|began|started|founded|opened)\b.*\b(?:to|until|and|died|ended|closed)\b")
_ORDERED = re.compile(
    r"\b(?P<sign>before|earlier than|older than|preceded|predates|after|later than|younger than|newer than)\b", re.I
)
_FIRST = frozenset(["before", "earlier than", "older than", "preceded", "predates"])
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_NAME = re.compile(r"[A-Z][\w’'-]+")
_NOT_NAMES = frozenset(["The", "A", "An", "In", "It", "He", "She", "They", "This", "That"])


def years_order(claim: str, sentence: str) -> bool | None:
    """Whether the years of a sentence bear out the order in time that a claim states of two names.

    Args:
        claim: What is said, such as `Haydn was born before Mozart`.
        sentence: The text that it is compared with.

    Returns:
        Whether they do; nothing where the claim states no such order, or the sentence does not give each name a year.
    """
    order = _ORDERED.search(claim)
    if order is None or _YEAR.search(claim) or not _same_event(claim[: order.start()], order["sign"].lower(), sentence):
        return None
    earlier, later = _names(claim[: order.start()]), _names(claim[order.end() :])
    if order["sign"].lower() not in _FIRST:
        earlier, later = later, earlier
    if not earlier or not later or earlier & later:
        return None
    first, second = _year_of(earlier, later, sentence), _year_of(later, earlier, sentence)
    return None if first is None or second is None or first == second else first < second


def _same_event(before: str, sign: str, sentence: str) -> bool:
    """Whether the word before `before` or `after`, such as `born`, is in the sentence too; `older than` needs none."""
    return sign not in ("before", "after") or before.split()[-1:] == [] or before.split()[-1] in sentence.split()


def _names(text: str) -> frozenset[str]:
    return frozenset(word for word in _NAME.findall(text) if word not in _NOT_NAMES)


def _year_of(names: frozenset[str], others: frozenset[str], sentence: str) -> int | None:
    """The one year between a name and the next of the others; nothing where it is not clear."""
    places = [match.end() for match in _NAME.finditer(sentence) if match[0] in names]
    if not places:
        return None
    ends = [match.start() for match in _NAME.finditer(sentence, places[-1]) if match[0] in others]
    years = _YEAR.findall(sentence[places[-1] : min(ends, default=len(sentence))])
    return int(years[0]) if len(years) == 1 else None


def span_fits(claim: str, sentence: str) -> bool | None:
    """Whether an age or a number of years that a claim states is what lies between the two years of a sentence.

    Args:
        claim: What is said, such as `The king reigned for ten years`.
        sentence: The text that it is compared with.

    Returns:
        Whether it is, give or take the year that a birthday makes; nothing where either says no such thing.
    """
    asked, years = _SPAN.search(claim), [int(year) for year in _YEAR.findall(sentence)]
    if asked is None or not (asked["age"] or asked["years"]) or len(years) != 2 or not _FROM_TO.search(sentence):
        return None
    stated = quantities(asked["length"])
    if len(stated) != 1 or _YEAR.search(claim):
        return None
    length = years[1] - years[0]
    return length - bool(asked["age"]) <= stated[0].value <= length
