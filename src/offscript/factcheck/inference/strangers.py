"""Claims beside evidence that speaks of something else: it settles nothing, whatever the claim sounds like."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from offscript.factcheck.inference.examples import LABELS, Example
from offscript.factcheck.stance.tokens import STOP_WORDS

NEITHER = LABELS.index("neither")
PREFIX = 5  # letters by which words are compared
CANDIDATES = 40  # texts of which the likest is taken
FEW = 0.34  # of a claim's words, where it names nothing that would tell what it is about
KINDS = ("any", "like", "same subject")
CHANCES = (0.3, 0.35, 0.35)
_SUBJECT = re.compile(r"(?:The |A |An )?((?:[A-Z0-9][\w.'’&-]*)(?: (?:of |the |and |de )?[A-Z0-9][\w.'’&-]*)*)")
_WORD = re.compile(r"\w+")


class _Claim(NamedTuple):
    """A claim's subject where it begins with a name, the words of that, and its other telling words."""

    subject: str
    named: frozenset[str]
    words: frozenset[str]


def strangers(examples: Sequence[Example], count: int, *, seed: int) -> Iterator[Example]:
    """About `count` claims with the evidence of other examples, all labelled neither.

    A model that only sees claims beside evidence about them learns to tell false claims by their wording, and calls
    them refuted by anything. So claims of all labels stand here beside a text of their own set: any, the one of many
    that shares most words with the claim, or one about the same subject with which the claim shares no other word.
    What names the claim's subject, or most words of a claim without one, may settle it and is not taken.

    Args:
        examples: Of one set.
        count: How many are tried; some find no text.
        seed: Decides all draws.

    Yields:
        The examples, whose source is that of their claim with `+stranger`.
    """
    random = np.random.default_rng(seed)
    texts = [" ".join(each.evidence) for each in examples]
    about: dict[str, list[str]] = defaultdict(list)
    for each, text in zip(examples, texts, strict=True):
        if subject := _read(each.claim).subject:
            about[subject].append(text)
    for place in random.integers(len(examples), size=count):
        example, claim = examples[place], _read(examples[place].claim)
        kind = KINDS[int(random.choice(len(KINDS), p=CHANCES))]
        if kind == "same subject":
            own = about.get(claim.subject, [])
            tried = [own[each] for each in random.integers(len(own), size=min(len(own), CANDIDATES))] if own else []
            fitting = [text for text in tried if not claim.words & _words(text)]
        else:
            size = CANDIDATES if kind == "like" else 3
            tried = [texts[each] for each in random.integers(len(texts), size=size)]
            fitting = [text for text in tried if _is_stranger(claim, text)]
        if fitting := [text for text in fitting if text != texts[place]]:
            text = max(fitting, key=lambda each: len((claim.words | claim.named) & _words(each)))
            yield Example(example.claim, (text,), NEITHER, f"{example.source}+stranger")


def _read(claim: str) -> _Claim:
    found = _SUBJECT.match(claim)
    subject = found[1] if found and found[1].lower() not in STOP_WORDS else ""
    named = _words(subject)
    return _Claim(subject if named else "", named, _words(claim) - named)


def _is_stranger(claim: _Claim, text: str) -> bool:
    """Whether a text is about something else."""
    words = _words(text)
    if claim.subject and _names_inside(claim.subject):
        return not claim.named <= words
    every = claim.words | claim.named
    return len(every & words) <= FEW * len(every)


def _names_inside(subject: str) -> bool:
    """Whether a subject is a name beyond doubt: of several words, or with more than small letters after its first."""
    return " " in subject or not subject[1:].islower()


def _words(text: str) -> frozenset[str]:
    """The first letters of a text's telling words."""
    return frozenset(word[:PREFIX] for word in _WORD.findall(text.lower()) if word not in STOP_WORDS and len(word) > 2)
