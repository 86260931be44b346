"""Rules beside the encoder, where words alone settle what it gets wrong: turned roles, other numbers, mere hearsay.

Each rule was tried on the fitting parts of the collections and on inference sets. They speak up for few pairs there,
one in several hundred, and are bound to short or closely similar texts; made-up pairs show what they are good for.
"""

import math
import re
from collections.abc import Sequence

from offscript._types import FloatArray
from offscript.factcheck.inference.chronology import span_fits, years_order
from offscript.factcheck.inference.hedging import is_denied, is_hedged, leaves_open
from offscript.factcheck.inference.numbers import (
    ORDINALS,
    UNIT_WORDS,
    Quantity,
    amounts_differ,
    compared,
    converted,
    quantities,
    says_more,
)
from offscript.factcheck.inference.opposites import opposed
from offscript.factcheck.inference.relations import SAME, STEM, TURNED, direction, is_negated, relations
from offscript.factcheck.inference.slots import slots_differ
from offscript.factcheck.stance.tokens import STOP_WORDS

AGREE, DISAGREE, NEITHER = range(3)
ALIKE = 0.7  # the share of the claim's words, without numbers and comparisons, that a sentence has to hold
SURE = 0.9  # the share of what supports or leaves open that another value in the same place turns into refutation
FRAME = 4  # words that a claim and a sentence have to begin with alike
_FRAMING = frozenset(["is", "are", "was", "were", "in", "on", "by", "borders"])
_CONTINENT = re.compile(r"\b(?:Africa|Antarctica|Asia|Europe|(?:North|South) America|Oceania)\W*$")
LONGEST = 80  # words of a sentence that rules are applied to; a longer one is a list, and tagging it would take seconds
SHORT = 20  # words of a sentence up to which a hedge or another number is taken to be about what the claim says
_WORD = re.compile(r"\w+")
_SPAN = re.compile(r"\b(?:until|since|till)\b")  # bounds of a span: a year within it says nothing about its end
_LOOSE = (
    frozenset(
        [
            "more",
            "fewer",
            "less",
            "least",
            "most",
            "over",
            "under",
            "about",
            "around",
            "before",
            "after",
            "since",
            "until",
            "than",
            "at",
            "exactly",
            "million",
            "billion",
            "thousand",
            "hundred",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "between",
            "up",
            "century",
        ]
    )
    | frozenset(ORDINALS)
    | UNIT_WORDS
)


def corrected(claim: str, sentences: Sequence[str], probabilities: FloatArray, shares: FloatArray) -> FloatArray:
    """The encoder's probabilities after the rules.

    Args:
        claim: What is said.
        sentences: What was read for it.
        probabilities: Of support, refutation and neither for each sentence [sentences, 3].
        shares: The share of the claim's words that each sentence holds [sentences].

    Returns:
        Probabilities [sentences, 3]; applying the rules again changes nothing.
    """
    found = probabilities.copy()
    for place, sentence in enumerate(sentences):
        if len(sentence.split()) > LONGEST:
            continue
        side = _side(claim, sentence) if found[place, NEITHER] < 1.0 else None
        if side is not None:
            high, low = max(found[place, :2]), min(found[place, :2])
            found[place, [side, 1 - side]] = high, low
        if found[place, DISAGREE] < SURE and (slots_differ(claim, sentence) or _denied(claim, sentence, shares[place])):
            found[place, [AGREE, NEITHER]] *= (1 - SURE) / found[place, [AGREE, NEITHER]].sum()
            found[place, DISAGREE] = SURE
        if shares[place] >= ALIKE and len(sentence.split()) <= SHORT and says_more(claim, sentence):
            found[place, DISAGREE] += found[place, AGREE]
            found[place, AGREE] = 0.0
        if _other_value(claim, sentence):
            sides = [AGREE, DISAGREE] if _other_kind(claim, sentence) else [AGREE]
            found[place, NEITHER] += found[place, sides].sum()
            found[place, sides] = 0.0
        if len(sentence.split()) <= SHORT and leaves_open(claim, sentence, float(shares[place])):
            found[place, NEITHER] += found[place, AGREE]
            found[place, AGREE] = 0.0
    return found


def _other_value(claim: str, sentence: str) -> bool:
    """Whether both begin alike up to a verb, and end in words of which they share none.

    `The capital of Malta is recommended` has nothing from `The capital of Malta is Valletta` but its question.
    """
    asked, given = (_WORD.findall(text.lower()) for text in (claim, sentence))
    same = next((place for place, pair in enumerate(zip(asked, given, strict=False)) if pair[0] != pair[1]), 0)
    if (
        compared(claim, sentence)[0] == 1.0
        or same < FRAME
        or not any(word in _FRAMING for word in asked[same - 2 : same])
    ):
        return False
    ends = [{word[:STEM] for word in words[same:] if word not in STOP_WORDS} for words in (asked, given)]
    return all(ends) and not ends[0] & ends[1]


def _denied(claim: str, sentence: str, share: float) -> bool:
    """Whether a sentence says of the claim that it is false."""
    return share >= ALIKE and len(sentence.split()) <= SHORT and is_denied(sentence) and not is_denied(claim)


def _other_kind(claim: str, sentence: str) -> bool:
    """Whether two values after the same words can both be so, since they are of different kinds.

    That a country lies in North America says nothing about the Caribbean, and how many people live there nothing about
    their nature, or what share of them does something.
    """
    wider = bool(_CONTINENT.search(sentence)) and not _CONTINENT.search(claim)
    counted = bool(quantities(sentence)) and (not quantities(claim) or ("%" in claim) != ("%" in sentence))
    return wider or counted


def _side(claim: str, sentence: str) -> int | None:
    """The side that relations or numbers settle between support and refutation; nothing where they do not."""
    way = direction(claim, sentence)
    if way == TURNED:
        return DISAGREE
    short = len(sentence.split()) <= SHORT
    if short and not is_negated(claim):
        for fit in (years_order(claim, sentence), span_fits(claim, sentence), converted(claim, sentence)):
            if fit is not None:
                return AGREE if fit else DISAGREE
    contrary = opposed(claim, sentence) if way != SAME and short else None
    if contrary is not None:
        return DISAGREE if contrary else AGREE
    share = _shared_rest(claim, sentence)
    if share < ALIKE:
        return None
    fits, differs = compared(claim, sentence)
    if differs == 1.0 or amounts_differ(claim, sentence):
        return DISAGREE if short else None
    bounded = fits == 1.0 and not _SPAN.search(claim) and any(_is_bound(each) for each in quantities(claim))
    sure = share == 1.0 and not differs and not is_hedged(sentence)
    return AGREE if sure and (way == SAME or bounded) else None


def _is_bound(quantity: Quantity) -> bool:
    return math.isinf(quantity.low) or math.isinf(quantity.high)


def _shared_rest(claim: str, sentence: str) -> float:
    """The share of the claim's words in a sentence, leaving out numbers, comparisons and related verbs."""
    related = {word for relation in relations(claim) for word in relation.words}
    words = [word for word in _WORD.findall(claim.lower()) if word not in STOP_WORDS and word not in _LOOSE]
    kept = [word for word in words if not word[0].isdigit() and word not in related]
    text = sentence.lower()
    return sum(word[:STEM] in text for word in kept) / len(kept) if kept else 1.0
