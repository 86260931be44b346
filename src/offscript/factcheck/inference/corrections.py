"""Rules beside the encoder, where words alone settle what it gets wrong: turned roles, other numbers, mere hearsay.

Each rule was tried on sentences read for FEVER's development claims and on the fitting parts of the collections. The
one on turned roles never spoke up there, so it does no harm but is shown by made-up pairs alone; the others are bound
to short or closely similar texts.
"""

import math
import re
from collections.abc import Sequence

from offscript._types import FloatArray
from offscript.factcheck.inference.numbers import ORDINALS, UNIT_WORDS, Quantity, amounts_differ, compared, quantities
from offscript.factcheck.inference.relations import SAME, STEM, TURNED, direction, relations
from offscript.factcheck.inference.slots import slots_differ
from offscript.factcheck.stance.tokens import STOP_WORDS

AGREE, DISAGREE, NEITHER = range(3)
ALIKE = 0.7  # the share of the claim's words, without numbers and comparisons, that a sentence has to hold
SURE = 0.9  # the share of what supports or leaves open that another value in the same place turns into refutation
FRAME = 4  # words that a claim and a sentence have to begin with alike
_FRAMING = frozenset(["is", "are", "was", "were", "in", "on", "by", "borders"])
_CONTINENT = re.compile(r"\b(?:Africa|Antarctica|Asia|Europe|(?:North|South) America|Oceania)\W*$")
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
_HEDGED = re.compile(
    r"\b(?:may|might|perhaps|possibly|allegedly|reportedly|supposedly|rumou?r(?:s|ed)?|unclear|disputed|unconfirmed|"
    r"undecided|uncertain|whether|speculat\w+|suspect(?:s|ed)? that|believes? that|hints? that|(?:would|could) have|"
    r"(?:is|are|was|were) (?:thought|believed|said|expected|likely|alleged|supposed|accused|suspected) "
    r"(?:to|of)|"
    r"(?:plan|hop|intend|aim|want|expect|propos|threaten|promis|consider|tr)(?:s|es|ned|ed|ning|ing|ies|ied|ying)? "
    r"(?:to|that|whether)|not (?:been |yet )?(?:confirmed|shown|proven|known)|no evidence)\b"
)


def is_hedged(text: str) -> bool:
    """Whether a text leaves open what it says: `may`, `allegedly`, `it is unclear whether`, `planned to`."""
    return bool(_HEDGED.search(text))


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
    open_claim = is_hedged(claim)
    for place, sentence in enumerate(sentences):
        side = _side(claim, sentence) if found[place, NEITHER] < 1.0 else None
        if side is not None:
            high, low = max(found[place, :2]), min(found[place, :2])
            found[place, [side, 1 - side]] = high, low
        if found[place, DISAGREE] < SURE and slots_differ(claim, sentence):
            found[place, [AGREE, NEITHER]] *= (1 - SURE) / found[place, [AGREE, NEITHER]].sum()
            found[place, DISAGREE] = SURE
        if _other_value(claim, sentence):
            sides = [AGREE, DISAGREE] if _other_kind(claim, sentence) else [AGREE]
            found[place, NEITHER] += found[place, sides].sum()
            found[place, sides] = 0.0
        if not open_claim and shares[place] >= ALIKE - 0.1 and len(sentence.split()) <= SHORT and is_hedged(sentence):
            found[place, NEITHER] += found[place, AGREE]
            found[place, AGREE] = 0.0
    return found


def _other_value(claim: str, sentence: str) -> bool:
    """Whether both begin alike up to a verb, and end in words of which they share none.

    `The capital of Malta is recommended` has nothing from `The capital of Malta is Valletta` but its question.
    """
    asked, given = (_WORD.findall(text.lower()) for text in (claim, sentence))
    same = next((place for place, pair in enumerate(zip(asked, given, strict=False)) if pair[0] != pair[1]), 0)
    if same < FRAME or not any(word in _FRAMING for word in asked[same - 2 : same]):
        return False
    ends = [{word[:STEM] for word in words[same:] if word not in STOP_WORDS} for words in (asked, given)]
    return all(ends) and not ends[0] & ends[1]


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
    share = _shared_rest(claim, sentence)
    if share < ALIKE:
        return None
    fits, differs = compared(claim, sentence)
    if differs == 1.0 or amounts_differ(claim, sentence):
        return DISAGREE if len(sentence.split()) <= SHORT else None
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
