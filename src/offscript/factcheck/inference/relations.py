"""Who does what to whom, what comes before what: whether a sentence says the same of two things, or the reverse.

Small encoders go by the words and hardly by their order: "the dog bit the man" reads like "the man bit the dog". Where
claim and sentence share a verb, a comparison or an order in time, the sides that their words stand on settle that.
"""

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from offscript.factcheck.tagging import Token, default_tagger

SAME, TURNED, UNKNOWN = 1, -1, 0
STEM = 6  # letters by which words are compared
_IRREGULAR = {
    form: base
    for base, forms in {
        "beat": "beaten beats", "bite": "bit bitten", "buy": "bought", "catch": "caught", "choose": "chose chosen",
        "draw": "drew drawn", "drive": "drove driven", "eat": "ate eaten", "feed": "fed", "find": "found",
        "forgive": "forgave forgiven", "hear": "heard", "hold": "held", "hurt": "hurts", "know": "knew known",
        "lead": "led", "leave": "left", "lend": "lent", "lose": "lost", "make": "made", "outsell": "outsold",
        "overtake": "overtook",
        "overthrow": "overthrew overthrown", "pay": "paid", "raise": "raised", "see": "saw seen", "seek": "sought",
        "sell": "sold", "send": "sent", "shoot": "shot", "steal": "stole stolen", "strike": "struck", "sue": "sued",
        "take": "took taken", "teach": "taught", "tell": "told", "understand": "understood", "win": "won",
        "write": "wrote written", "build": "built", "fight": "fought", "give": "gave given", "bring": "brought",
    }.items()
    for form in forms.split()
}  # fmt: skip
_MUTUAL = frozenset(
    [
        "marry",
        "meet",
        "play",
        "fight",
        "border",
        "resemble",
        "date",
        "divorce",
        "merge",
        "collaborate",
        "differ",
        "work",
        "star",
        "include",
        "includ",
        "have",
        "be",
        "do",
        "contain",
        "form",
        "appear",
        "perform",
        "begin",
        "start",
        "end",
        "call",
        "name",
        "know",
        "base",
        "locat",
    ]
)
"""Verbs that say the same either way, or too little."""
_INVERSE = {
    "follow": ("precede", -1), "succee": ("precede", -1), "preced": ("precede", 1), "defeat": ("beat", 1),
    "hir": ("employ", 1),
}  # fmt: skip
_CONVERSE = {
    ("borrow", "from"): ("lend to", -1), ("buy", "from"): ("sell to", -1), ("import", "from"): ("export to", -1),
    ("receiv", "from"): ("giv to", -1), ("inheri", "from"): ("leav to", -1),
}  # fmt: skip
"""Verbs with the word that names the other party, and the verb that says the same from there."""
_TRANSFERS = frozenset(word for (verb, _), (other, _) in _CONVERSE.items() for word in (verb, other.split()[0]))
_WITH_PARTICLE = {("los", "to"): ("beat", -1), ("work", "for"): ("employ", -1), ("win", "against"): ("beat", 1)}
_NOUNS = {
    noun: (kind, sign)
    for kind, sides in {
        "parent": ("parent mother father", "child daughter son"),
        "grandparent": ("grandparent grandmother grandfather", "grandchild granddaughter grandson"),
        "aunt": ("aunt uncle", "niece nephew"),
        "teacher": ("teacher tutor mentor", "pupil student protégé disciple"),
        "employ": ("employer boss", "employee"),
        "precede": ("predecessor", "successor"),
        "owner": ("owner", "subsidiary"),
        "landlord": ("landlord", "tenant"),
        "creditor": ("creditor", "debtor"),
        "author": ("author", ""),
        "founder": ("founder", ""),
        "capital": ("capital", ""),
        "murderer": ("murderer killer", "victim"),
    }.items()
    for sign, nouns in zip((1, -1), sides, strict=True)
    for noun in nouns.split()
}
"""Nouns that relate two, `the mother of`, and those that say the same from the other side."""
_COMPARED = (
    ("large larger big bigger great greater", "small smaller little"), ("old older early earlier", "young younger"),
    ("tall taller high higher", "short shorter low lower"), ("long longer", "short shorter"),
    ("heavy heavier", "light lighter"), ("fast faster quick quicker", "slow slower"), ("rich richer", "poor poorer"),
    ("warm warmer hot hotter", "cold colder cool cooler"), ("good better", "bad worse"), ("strong stronger", "weaker"),
    ("deep deeper", "shallow shallower"), ("cheap cheaper", "dear dearer"), ("more", "less fewer"),
    ("near nearer close closer", "far farther further"), ("safe safer", "dangerous"),
    ("hard harder", "soft softer easier"),
    ("wet wetter", "dry drier"), ("popular", "unpopular"), ("wide wider broad broader", "narrow narrower"),
)  # fmt: skip
_COMPARATIVES = {
    word: (number, sign)
    for number, sides in enumerate(_COMPARED)
    for sign, words in zip((1, -1), sides, strict=True)
    for word in words.split()
    if word.endswith("er") or word in ("more", "less", "better", "worse")
}
_ORDER = {"before": 1, "after": -1, "until": 1, "since": -1}
_LINKS = frozenset({"from", "to"})
_MEASURES = frozenset(
    [
        "day",
        "days",
        "week",
        "weeks",
        "month",
        "months",
        "year",
        "years",
        "decade",
        "decades",
        "hour",
        "hours",
        "much",
        "far",
        "still",
        "even",
    ]
)
_BE = frozenset(["is", "are", "was", "were", "be", "been", "being", "got"])
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|nobody|nor|neither|without|hardly|unlike|fail\w*|refus\w*)\b|n['’]t", re.I
)
_OBJECT = frozenset({"DET", "PROPN", "NOUN", "ADJ", "NUM", "PRON"})  # what a verb in the active voice goes on with
NEAR = 8  # words on either side that are looked at
_CONTENT = frozenset({"NOUN", "PROPN", "NUM", "X", "ADJ", "ADV"})


class Relation(NamedTuple):
    """What stands on the two sides of `words` that relate them; `kind` has their direction taken out."""

    kind: str
    first: frozenset[str]
    second: frozenset[str]
    words: tuple[str, ...]


def direction(claim: str, sentence: str) -> int:
    """Whether a sentence relates what a claim relates in the same direction.

    Args:
        claim: What is said.
        sentence: The text that it is compared with.

    Returns:
        `SAME`, `TURNED` if the two sides have changed places, or `UNKNOWN` where no relation is shared, the sides are
        not the same things, or either text holds a negation.
    """
    if is_negated(claim) or is_negated(sentence):
        return UNKNOWN
    found = {
        _sides(asked, given) for asked in relations(claim) for given in relations(sentence) if _comparable(asked, given)
    } - {UNKNOWN}
    return found.pop() if len(found) == 1 else UNKNOWN


def is_negated(text: str) -> bool:
    """Whether a text holds a negation."""
    return bool(_NEGATION.search(text))


@functools.lru_cache(maxsize=1 << 10)
def relations(text: str) -> tuple[Relation, ...]:
    """The relations of a text: verbs between two things, comparisons with `than`, and orders in time."""
    tokens = default_tagger().tag([text])[0]
    words = [token.text.lower() for token in tokens]
    found = []
    for place in range(len(tokens)):
        pivot = _pivot(tokens, words, place)
        if pivot is None:
            continue
        kind, sign, end = pivot
        first, second = _content(tokens[max(place - NEAR, 0) : place][::-1]), _content(tokens[end : end + NEAR])
        others = [(kind, sign, second)]
        for word in _LINKS & set(words[end : end + NEAR]):  # who sold it to whom
            after = words.index(word, end) + 1
            own, turn = _CONVERSE.get((kind, word), (f"{kind} {word}", 1))
            others.append((own, sign * turn, _content(tokens[after : after + NEAR])))
        for own, way, other in others:
            if first and other:
                sides = (first, other) if way > 0 else (other, first)
                found.append(Relation(own, *sides, tuple(words[place:end])))
    return tuple(found)


def _pivot(tokens: Sequence[Token], words: Sequence[str], place: int) -> tuple[str, int, int] | None:
    """Kind, direction and end of the relation that a word makes, if it makes one."""
    word = words[place]
    if word in _ORDER:
        return "order", _ORDER[word], place + 1
    if word in _COMPARATIVES and "than" in words[place + 1 : place + 4]:
        number, sign = _COMPARATIVES[word]
        than = words.index("than", place + 1)
        return f"than {number} {' '.join(words[place + 1 : than])}", sign, than + 1
    if word in _NOUNS and words[place + 1 : place + 2] == ["of"]:
        return *_NOUNS[word], place + 2
    stem = verb_stem(word)
    following_word = words[place + 1] if place + 1 < len(words) else ""
    if (stem, following_word) in _WITH_PARTICLE:
        return *_WITH_PARTICLE[stem, following_word], place + 2
    transfer = stem in _TRANSFERS and not _LINKS.isdisjoint(words[place + 2 : place + NEAR])
    if (tokens[place].tag != "VERB" and not transfer) or stem in _MUTUAL:  # taggers take `exports` for a noun
        return None
    kind, sign = _INVERSE.get(stem[:STEM], (stem, 1))
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    if "by" in words[place + 1 : place + 3]:
        return kind, -sign, words.index("by", place + 1) + 1
    passive = any(each in _BE for each in words[max(place - 3, 0) : place])
    return None if passive or following is None or following.tag not in _OBJECT else (kind, sign, place + 1)


def verb_stem(word: str) -> str:
    """A verb without its ending: `chases`, `chased` and `chasing` are the same."""
    word = _IRREGULAR.get(word, word)
    for ending in ("ing", "ied", "ies", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending) + ("y" if ending in ("ied", "ies") else "")
            break
    return word.removesuffix("e")[:STEM]


def _content(tokens: Sequence[Token]) -> frozenset[str]:
    """The words of the thing that is named first, from a word that relates it on."""
    found: list[str] = []
    for token in tokens:
        if token.tag in _CONTENT and token.text[0].isalnum() and token.text.lower() not in _MEASURES:
            found.append(token.text.lower()[:STEM])
        elif found and token.tag not in ("DET", "PART"):
            break
    return frozenset(found)


def _comparable(asked: Relation, given: Relation) -> bool:
    """Whether two relations are of one kind; `mother` and `father` are, but the one does not say the other."""
    one, other = asked.words[0], given.words[0]
    differ = one != other and one in _NOUNS and _NOUNS[one] == _NOUNS.get(other)
    return asked.kind == given.kind and not differ


def _sides(asked: Relation, given: Relation) -> int:
    """How the sides of two relations of the same kind meet."""
    common = (asked.first & given.first) | (asked.second & given.second)  # `owes the farmer money`
    crossed = bool(asked.first & given.second - common), bool(asked.second & given.first - common)
    if all(crossed):
        return TURNED
    straight = bool(asked.first & given.first), bool(asked.second & given.second)
    return SAME if all(straight) and not any(crossed) else UNKNOWN
