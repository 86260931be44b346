"""Slots: claim and sentence say the same but for one value, and both values cannot be so.

`The epidemic cost the lives of 830 people` and `The epidemic killed 380 people` differ in one number of one thing,
`bright yellow` and `dark purple` in a colour, `came out in 2015` and `was released in 2011` in the year of one event. A
small encoder reads such pairs as having little to do with each other when the words around the value differ too.
"""

import re
from collections.abc import Mapping

from offscript.factcheck.inference.entities import names_of
from offscript.factcheck.inference.numbers import Quantity, counted, differ_beyond_rounding, quantities
from offscript.factcheck.stance.tokens import STOP_WORDS

STEM = 6  # letters by which words are compared
ALIKE = 0.65  # the share of the claim's words and numbers, without the value, that a sentence has to hold
LONGEST = 30  # words of a sentence in which a value is taken to be that of the claim's thing
_WORD = re.compile(r"[^\W_]+")
_SHADES = frozenset(["bright", "dark", "light", "pale", "deep"])
VALUES: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "colour": "black white red green blue yellow orange purple violet brown grey gray pink",
        "month": "January February March April May June July August September October November December",
        "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "direction": "north south east west northern southern eastern western",
        "material": "granite marble wood wooden brick concrete steel iron bronze copper glass sandstone limestone",
        "people": "American Argentine Australian Austrian Belgian Brazilian British Bulgarian Canadian Chilean Chinese "
        "Croatian Cuban Czech Danish Dutch Egyptian English Estonian Ethiopian Finnish French German Greek Hungarian "
        "Icelandic Indian Indonesian Iranian Iraqi Irish Israeli Italian Japanese Kenyan Korean Latvian Lithuanian "
        "Mexican Moroccan Nigerian Norwegian Pakistani Peruvian Polish Portuguese Romanian Russian Scottish Serbian "
        "Slovak Spanish Swedish Swiss Thai Turkish Ukrainian Vietnamese Welsh",
    }.items()
}
"""Kinds of values of which a thing has one; names of months and peoples with their capital, directions without."""
_EVENTS = {
    "begin": r"founded|established|set up|created|started",
    "release": r"released|published|came out|appeared|first performed|premiered|premiere",
    "build": r"built|constructed|erected|completed|finished",
    "open": r"opened|inaugurated",
    "birth": r"born",
    "death": r"died|killed",
    "sale": r"bought|acquired|sold|purchased|taken over",
    "signing": r"signed",
    "ruin": r"destroyed|demolished|burned down|burnt down|torn down",
}
_EVENT = {name: re.compile(rf"\b(?:{words})\b") for name, words in _EVENTS.items()}
_PRONOUN = re.compile(r"(?:[^,]{1,30}, |In \d{4} )?(?:It|He|She|They|it|he|she|they)\b[^,]{0,25}$")


def slots_differ(claim: str, sentence: str) -> bool:
    """Whether a sentence has another value in the place of one of the claim's.

    Args:
        claim: What is said.
        sentence: The text that it is compared with, one sentence with what it is about.

    Returns:
        True where an amount of the same things, a value of a kind of which a thing has one, or the year of the same
        event differs, and the rest is the same.
    """
    if len(sentence.split()) > LONGEST:
        return False
    return _amount_differs(claim, sentence) or _value_differs(claim, sentence) or _year_differs(claim, sentence)


def _amount_differs(claim: str, sentence: str) -> bool:
    asked, given = counted(claim), counted(sentence)
    for own, things in asked:
        if own.year:
            continue
        same = [other for other, others in given if not other.year and _of_one_kind(own, things, other, others)]
        if len(same) != 1 or not differ_beyond_rounding(own, same[0]):
            continue
        return _years_fit(claim, sentence) and _shared(claim, sentence) >= ALIKE
    return False


def _of_one_kind(own: Quantity, things: frozenset[str], other: Quantity, others: frozenset[str]) -> bool:
    if own.dimension or other.dimension:
        return own.dimension == other.dimension
    return bool(things & others)


def _years_fit(claim: str, sentence: str) -> bool:
    """Whether the years of the claim are those of the sentence, as far as that has any."""
    asked, given = ([each for each in quantities(text) if each.year] for text in (claim, sentence))
    return not asked or not given or all(any(not differ_beyond_rounding(one, two) for two in given) for one in asked)


def _value_differs(claim: str, sentence: str) -> bool:
    asked, given = (frozenset(_WORD.findall(text)) for text in (claim, sentence))
    for values in VALUES.values():
        own, other = asked & values, given & values
        if len(own) == len(other) == 1 and own != other and _years_fit(claim, sentence):
            left_out = frozenset(word.lower() for word in own | _SHADES)
            return _shared(claim, sentence, left_out) > ALIKE
    return False


def _year_differs(claim: str, sentence: str) -> bool:
    years, others = ([each for each in quantities(text) if each.year] for text in (claim, sentence))
    if len(years) != 1 or len(others) != 1 or not differ_beyond_rounding(years[0], others[0]):
        return False
    for event in _EVENT.values():
        own, other = event.search(claim), event.search(sentence)
        if own and other:
            return _one_subject(claim[: own.start()], sentence[: other.start()])
    return False


def _one_subject(asked: str, given: str) -> bool:
    """Whether what stands before an event names the same things, or is a pronoun after the title that names them."""
    names = names_of(f"{asked} .")
    title, colon, subject = given.rpartition(": ")
    meant = title.lower() if colon and _PRONOUN.match(subject) else subject.lower()
    return bool(names) and all(name in meant for name in names)


def _shared(claim: str, sentence: str, left_out: frozenset[str] = frozenset()) -> float:
    """The share of the claim's telling words in a sentence; numbers that both have count, others do not."""
    words = [word for word in _WORD.findall(claim.lower()) if word not in STOP_WORDS and word not in left_out]
    text = sentence.lower()
    kept = [word for word in words if not word[0].isdigit() or word in text]
    return sum(word[:STEM] in text for word in kept) / len(kept) if kept else 0.0
