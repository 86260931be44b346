"""Sentences are told from what is none by the order of their parts of speech."""

import json
import math
import random
from pathlib import Path

import pytest

from offscript.factcheck.inference.wording import (
    ASSET,
    EDGE,
    FEWEST,
    LETTERS,
    is_sentence,
    letter_steps,
    mean_score,
    tag_steps,
    tags_of,
)
from offscript.factcheck.tagging import Token

EVERYDAY = [
    json.loads(line)["claim"]
    for line in (Path(__file__).parent / "everyday.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_probabilities_of_the_letters_after_each_letter_add_up_to_one() -> None:
    scores = json.loads(ASSET.read_text(encoding="utf-8"))["letters"]
    size = len(LETTERS)
    assert len(scores) == size**2
    for start in range(0, size**2, size):
        row = scores[start : start + size]
        assert math.fsum(map(math.exp, row)) == pytest.approx(1.0, abs=0.03)  # rounded to two places


def test_steps_and_their_mean() -> None:
    steps = tag_steps(["NOUN", "VERB"])
    assert steps == [(EDGE, EDGE, "NOUN"), (EDGE, "NOUN", "VERB"), ("NOUN", "VERB", EDGE)]
    assert mean_score(steps, dict(zip(steps, (-1.0, -2.0, -6.0), strict=True))) == -3.0
    assert letter_steps("Ab É") == [("^", "a"), ("a", "b"), ("b", "$"), ("^", "?"), ("?", "$")]
    assert letter_steps("Xqz is") == [("^", "i"), ("i", "s"), ("s", "$")]


def test_what_closes_a_sentence_does_not_count() -> None:
    tokens = [Token("Rome", "PROPN", 0, 4), Token(".", "PUNCT", 4, 5), Token("!", "PUNCT", 5, 6)]
    assert tags_of(tokens) == ["PROPN"]


def test_everyday_claims_are_sentences_and_their_words_in_no_order_mostly_not() -> None:
    assert sum(map(is_sentence, EVERYDAY)) >= 0.99 * len(EVERYDAY)
    draw = random.Random(7)
    long = [claim.rstrip(".").split() for claim in EVERYDAY if len(claim.split()) >= FEWEST + 2]
    shuffled = [" ".join(draw.sample(words, len(words))) for words in long]
    assert sum(map(is_sentence, shuffled)) <= 0.7 * len(shuffled)
