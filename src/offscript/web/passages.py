"""Sentences as the pages show them: shaded by stance, and never longer than a reader bears."""

from typing import NamedTuple

from offscript.factcheck.checked import CheckedSentence
from offscript.factcheck.stance.stance import Stance

SHADES = 4
UNSHADED = "unrelated"


class Passage(NamedTuple):
    """A sentence with its stance; `shade` is 0 for none to `SHADES`, and `cut` counts characters not shown."""

    number: int
    text: str
    cut: int
    stance: str
    percent: int
    shade: int


def to_passage(sentence: CheckedSentence, longest: int) -> Passage:
    """A sentence ready to be shown."""
    stance = sentence.stance.label
    probability = max(sentence.stance.probabilities)
    text, cut = shorten(sentence.text, longest)
    return Passage(sentence.number, text, cut, stance, round(100 * probability), _shade(stance, probability))


def tellingness(stance: Stance) -> float:
    """How much a sentence says: taking a side counts in full, mere discussion by half."""
    return max(stance.agree, stance.disagree) + stance.discuss / 2


def shorten(text: str, longest: int) -> tuple[str, int]:
    """Whole characters only: at most so many of them, in valid Unicode, and how many were left out."""
    shown = text[:longest].encode("utf-8", "replace").decode("utf-8")
    cut = len(text) - longest
    return (shown, 0) if cut <= 0 else (f"{shown}…", cut)


def _shade(stance: str, probability: float) -> int:
    """Even steps from a fourth, the least that the most probable of four can have, to certainty."""
    if stance == UNSHADED:
        return 0
    return min(SHADES, 1 + int((probability - 0.25) / 0.75 * SHADES))
