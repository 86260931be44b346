"""Whether a text is worded like a sentence at all: random bytes, letters and words in no order state nothing.

Parts of speech follow each other in few ways, and so do letters. The order of words is judged by the mean over a text
of log P(tag | two tags before) − log P(tag): words in no order gain nothing by knowing what stands before them. Letters
are judged by the mean log P(letter | letter before). What is below nearly all claims in either is no sentence
(`tools/fit_wording.py`).
"""

import functools
import itertools
import json
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from offscript.factcheck.tagging import Token, default_tagger
from offscript.factcheck.tagging.tagger import TAGS

ASSET = Path(__file__).parents[2] / "assets" / "wording" / "orders.json"
EDGE = "EDGE"  # before the first word and after the last
STATES = (*TAGS, EDGE)
LETTERS = "abcdefghijklmnopqrstuvwxyz?^$"  # `?` stands for all others, `^` and `$` for a word's beginning and end
FEWEST = 5  # words from which their order tells; a claim of fewer may be a note
LEAST_PLAIN = 0.75  # the share of letters, figures, blanks and common signs among the characters of what people write
_PLAIN = re.compile(r"[\w\s.,;:!?'’\"“”()%$€£&/°–—-]")
_WORD = re.compile(r"[^\W\d_]+")
_CLOSING = frozenset([".", "!", "?", "…"])
Pairs = dict[tuple[str, ...], float]


class Orders(NamedTuple):
    """Scores of three tags in a row and of two letters, and the lowest means that a sentence has."""

    tags: Pairs
    letters: Pairs
    least_tags: float
    least_letters: float


def is_sentence(text: str) -> bool:
    """Whether a text is worded like a sentence.

    Args:
        text: What somebody asks to have checked.

    Returns:
        False for what holds no letters or too many signs, and for words or letters in an order that sentences do not
        have.
    """
    plain = sum(map(len, _PLAIN.findall(text.replace("\ufffd", "\0"))))
    steps = letter_steps(text)
    if not steps or plain < LEAST_PLAIN * len(text):
        return False
    orders = _orders()
    if mean_score(steps, orders.letters) < orders.least_letters:
        return False
    tags = tags_of(default_tagger().tag([text])[0])
    return len(tags) < FEWEST or mean_score(tag_steps(tags), orders.tags) >= orders.least_tags


def tags_of(tokens: Sequence[Token]) -> list[str]:
    """The tags of a text without what closes it, which many people leave out."""
    while tokens and tokens[-1].text in _CLOSING:
        tokens = tokens[:-1]
    return [token.tag for token in tokens]


def tag_steps(tags: Sequence[str]) -> list[tuple[str, ...]]:
    """Each tag after the two before it, the edges counted as tags."""
    path = [EDGE, EDGE, *tags, EDGE]
    return list(zip(path, path[1:], path[2:], strict=False))


def letter_steps(text: str) -> list[tuple[str, ...]]:
    """Each letter of a text's words after the one before it; names count only where there is nothing else."""
    words = _WORD.findall(text)
    spelt = [word for word in words if word.islower() and len(word) > 1] or [word.lower() for word in words]
    paths = (["^", *(each if each in LETTERS else "?" for each in word), "$"] for word in spelt)
    return [step for path in paths for step in itertools.pairwise(path)]


def mean_score(steps: Sequence[tuple[str, ...]], scores: Pairs) -> float:
    """The mean score of steps."""
    return math.fsum(scores[step] for step in steps) / len(steps)


@functools.cache
def _orders() -> Orders:
    written = json.loads(ASSET.read_text(encoding="utf-8"))
    tags = _named(itertools.product(STATES, repeat=3), written["tags"])
    letters = _named(itertools.product(LETTERS, repeat=2), written["letters"])
    return Orders(tags, letters, written["least_tags"], written["least_letters"])


def _named(steps: Iterable[tuple[str, ...]], scores: Sequence[float]) -> Pairs:
    return dict(zip(steps, scores, strict=True))
