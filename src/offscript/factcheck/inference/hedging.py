"""Sentences that leave open what they say, or deny it: `may`, `allegedly`, `reports that … are false`."""

import re

from offscript.factcheck.stance.tokens import STOP_WORDS

STEM = 6  # letters by which words are compared
_WORD = re.compile(r"\w+")
ALIKE = 0.6  # the share of the claim's words that a sentence has to hold
_HEDGED = re.compile(
    r"\b(?:may|might|perhaps|possibly|allegedly|reportedly|supposedly|rumou?r(?:s|ed)?|unclear|disputed|unconfirmed|"
    r"undecided|uncertain|whether|speculat\w+|suspect(?:s|ed)? that|believes? that|hints? that|(?:would|could) have|"
    r"(?:is|are|was|were) (?:thought|believed|said|expected|likely|alleged|supposed|accused|suspected|estimated) "
    r"(?:to|of)|den(?:y|ies|ied) (?:that|having|any|\w+ing)|rul(?:e|es|ed|ing) out|would (?:like|prefer) to|"
    r"(?:look|seem|appear)(?:s|ed)? (?:set|likely) to|[Ll]egend has it|according to legend|"
    r"(?:is|are|was|were|been) (?:charged with|attributed to|(?:invited|asked|urged) to)|"
    r"(?:is|are|was|were) considering|"
    r"(?:plan|hop|intend|aim|want|expect|propos|threaten|promis|consider|tr)(?:s|es|ned|ed|ning|ing|ies|ied|ying)? "
    r"(?:to|that|whether)|not (?:been |yet )?(?:confirmed|shown|proven|known)|no evidence)\b"
)
_WEAKLY = re.compile(
    r"\b(?:could|should|probably|presumably|unless|provided that|in talks|"
    r"(?:believe|claim|fear|hope|hint|argue|allege|suspect)(?:s|ed|d)? (?:that|the)|"
    r"[Aa]ccording to (?:an?|one|unnamed|anonymous)|"
    r"(?:is|are|was|were) (?:scheduled|poised) to|(?:is|are|was|were) (?:due|about|going) to be)\b"
    r"|(?:^|: )If\b|[a-z], if\b"
)
"""Words that often leave something else open than what a claim says: `if you missed the link`."""
_CONDITIONAL = re.compile(r"\b(?:if|when|can|could|would|should|probably)\b", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:reports?|claims?|rumou?rs?|stories|allegations?|suggestions?|posts?) that\b.*"
    r"\b(?:is|are|was|were|proved|turned out to be) (?:false|untrue|wrong|incorrect|unfounded|baseless|fabricated|"
    r"an? (?:hoax|lie|myth|invention))\b"
    r"|\b(?:it is|it's|it was) (?:false|untrue|not true|incorrect|an? (?:hoax|lie|myth)) that\b"
    r"|\ban? (?:myth|hoax|lie) that\b",
    re.IGNORECASE,
)


_OF_KNOWLEDGE = re.compile(r"\b(?:un)?(?:certain|clear|known|sure|decided)\b|\bknows?\b", re.IGNORECASE)
_FUTURE = re.compile(r"\b(?:will|shall|going to|next (?:week|month|year|season))\b")
_PASSIVE = re.compile(r"\bbe \w+ed\b")
_PAST = re.compile(r"\b(?:has|have|had|was|were|did)\b|\w{3}ed\b")


def is_hedged(text: str) -> bool:
    """Whether a text leaves open what it says: `may`, `allegedly`, `it is unclear whether`, `planned to`."""
    return bool(_HEDGED.search(text))


def leaves_open(claim: str, sentence: str, share: float) -> bool:
    """Whether a sentence leaves open what a claim says as a fact.

    Args:
        claim: What is said.
        sentence: The text that it is compared with.
        share: The share of the claim's words that the sentence holds; it has to be all of them where a word hedges but
            weakly, or something is still to come.
    """
    if share < ALIKE or is_hedged(claim) or _OF_KNOWLEDGE.search(claim):
        return False
    weak = share == 1.0 and not _CONDITIONAL.search(claim) and _hedges_weakly(claim, sentence)
    return weak or is_hedged(sentence) or (share == 1.0 and _still_to_come(claim, sentence))


def _still_to_come(claim: str, sentence: str) -> bool:
    """Whether a claim says that something has happened, and a sentence that it will."""
    done = _PAST.search(claim) and not _FUTURE.search(claim)
    return bool(done and _FUTURE.search(sentence) and not _PAST.search(_PASSIVE.sub("", sentence)))


def _hedges_weakly(claim: str, sentence: str) -> bool:
    """Whether a weak hedge stands before some word of the claim: `known for its fish, and could seat 300` does not."""
    hedge = _WEAKLY.search(sentence)
    if hedge is None:
        return False
    before = sentence[: hedge.start()].lower()
    words = (word for word in _WORD.findall(claim.lower()) if word not in STOP_WORDS)
    return any(word[:STEM] not in before for word in words)


def is_denied(text: str) -> bool:
    """Whether a text says of a statement that it is false: `Reports that the actor has died are false`."""
    return bool(_DENIED.search(text))
