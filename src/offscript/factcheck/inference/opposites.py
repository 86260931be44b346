"""Opposites: words that cannot both be said of one thing, such as `rose` and `fell`."""

import functools
import re
from collections.abc import Mapping
from pathlib import Path

from offscript.factcheck.inference.relations import is_negated
from offscript.factcheck.stance.tokens import STOP_WORDS

STEM = 6  # letters by which words are compared
_WORD = re.compile(r"[^\W_]+")
_CHANGING = frozenset(
    ["brother", "sister", "father", "mother", "husband", "wife", "son", "daughter", "king", "queen", "actor", "actress"]
)
"""Words whose opposite says something else of somebody else: who has a brother may have a sister."""


_DENYING = ("un", "dis")


@functools.cache
def opposites() -> Mapping[str, tuple[str, ...]]:
    """Words with their opposites, in both directions."""
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).with_name("opposites.txt")).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            one, other = line.split()
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return {word: tuple(others) for word, others in found.items()}


def opposed(claim: str, sentence: str) -> bool | None:
    """Whether a sentence has a claim's words but for one, and in its place an opposite.

    Args:
        claim: What is said.
        sentence: The text that it is compared with.

    Returns:
        True for `Prices rose in May` and `In May prices fell`, False where the opposite is itself denied, `did not
        fall`; nothing where there is none, or something else is denied. Words are compared by their first letters.
    """
    words = [word for word in _WORD.findall(claim.lower()) if word != "not"]
    asked = [word for word in words if word not in STOP_WORDS or word in opposites()]
    given = frozenset(_WORD.findall(sentence.lower()))
    stems = frozenset(word[:STEM] for word in given)
    missing = [word for word in asked if word[:STEM] not in stems]
    if len(missing) != 1 or len(asked) == 1 or missing[0] in _CHANGING:
        return None
    found = sorted(given & (_opposites_of(missing[0]) - frozenset(asked)))
    if not found:
        return None
    denials = [(is_negated(text), _denies(word, text)) for word, text in ((missing[0], claim), (found[0], sentence))]
    if not any(negated for negated, _ in denials):
        return True
    return False if sorted(denials) == [(False, False), (True, True)] else None


def _denies(word: str, text: str) -> bool:
    """Whether a negation stands before a word, with at most one between them."""
    return re.search(rf"(?:\b(?:not|never|no)|n['’]t)\s+(?:\w+\s+)?{word}\b", text.lower()) is not None


def _opposites_of(word: str) -> set[str]:
    """Those of the list, and the word with or without a prefix that denies it: `locked`, `unlocked`."""
    bare = {word.removeprefix(prefix) for prefix in _DENYING} - {word}
    return {*opposites().get(word, ()), *(prefix + word for prefix in _DENYING), *bare}
