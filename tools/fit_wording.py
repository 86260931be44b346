"""Fit what says whether a text is worded like a sentence, and measure it on sets that it never saw.

    python tools/fit_wording.py --data DATA

Orders of parts of speech and of letters in claims and in sentences of a treebank; the thresholds are what 0.3 % of
other claims of the same sets lie below. Writes `assets/wording/orders.json` with the figures: how many claims of other
sets are taken for no sentence, and how many made-up texts are (words drawn at random, the words of claims shuffled,
random letters, signs and bytes).
"""

import argparse
import itertools
import random
import string
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from fit_worthiness import rows, treebank

from offscript._files import write_json
from offscript._types import FloatArray
from offscript.factcheck.inference.wording import (
    ASSET,
    FEWEST,
    LETTERS,
    STATES,
    is_sentence,
    letter_steps,
    mean_score,
    tag_steps,
    tags_of,
)
from offscript.factcheck.tagging import default_tagger

MOST = 2500  # sentences of one set
MADE = 300  # texts of a made-up kind
SHARE = 0.003  # of claims that may be taken for no sentence
PRIOR = 5.0  # how many observations what is expected without the earliest state counts for
LICENCES = {
    "creak": "MIT",
    "fool-me-twice": "Apache-2.0",
    "fever-train": "CC BY-SA 3.0",
    "ud-english-ewt": "CC BY-SA 4.0",
}
EVERYDAY = Path(__file__).parents[1] / "tests" / "factcheck" / "inference" / "everyday.jsonl"


def tagged(texts: Sequence[str]) -> list[list[str]]:
    """The tags of texts that are long enough to be judged."""
    found = [tags_of(tokens) for tokens in default_tagger().tag(list(texts))]
    return [tags for tags in found if len(tags) >= FEWEST]


def counted(steps: Iterable[tuple[str, ...]], states: Sequence[str], size: int) -> FloatArray:
    """How often each step occurs; [states, …] for `size` states in a row."""
    numbers = {state: place for place, state in enumerate(states)}
    counts = np.zeros((len(states),) * size)
    for step in steps:
        counts[tuple(numbers[each] for each in step)] += 1
    return counts


def smoothed(counts: FloatArray, shorter: FloatArray) -> FloatArray:
    """Probabilities of the last state given those before, drawn towards those given one state less."""
    found: FloatArray = (counts + PRIOR * shorter) / (counts.sum(axis=-1, keepdims=True) + PRIOR)
    return found


def tag_scores(paths: Sequence[Sequence[str]]) -> FloatArray:
    """log P(tag | two before) − log P(tag), [states³]."""
    triples = counted((step for tags in paths for step in tag_steps(tags)), STATES, 3)
    alone = (triples.sum(axis=(0, 1)) + 0.5) / (triples.sum() + 0.5 * len(STATES))
    given_two = smoothed(triples, smoothed(triples.sum(axis=0), alone))
    found: FloatArray = (np.log(given_two) - np.log(alone)).round(2)
    return found


def letter_scores(texts: Sequence[str]) -> FloatArray:
    """log P(letter | letter before), [letters²]."""
    pairs = counted((step for text in texts for step in letter_steps(text)), LETTERS, 2)
    return np.log(smoothed(pairs, np.full(len(LETTERS), 1 / len(LETTERS)))).round(2)


def made_up(claims: Sequence[str], draw: random.Random) -> dict[str, list[str]]:
    """Texts that state nothing, by kind."""
    words = [word for claim in claims for word in claim.rstrip(".").split()]
    kinds: dict[str, Callable[[int], str]] = {
        "words at random": lambda _: " ".join(draw.choices(words, k=draw.randint(6, 12))),
        "shuffled claims": lambda number: " ".join(draw.sample(own := claims[number].rstrip(".").split(), len(own))),
        "letters": lambda _: " ".join(
            "".join(draw.choices(string.ascii_lowercase, k=draw.randint(2, 9))) for _ in range(draw.randint(5, 9))
        ),
        "signs": lambda _: "".join(draw.choices(string.printable[:94], k=draw.randint(20, 60))),
        "bytes": lambda _: draw.randbytes(draw.randint(20, 60)).decode("utf-8", "replace"),
    }
    return {name: [make(number) for number in range(MADE)] for name, make in kinds.items()}


def main() -> None:
    """Fit, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data, draw = parser.parse_args().data, random.Random(1)
    sets = {
        "creak": rows(data / "creak" / "train.jsonl.xz", "claim"),
        "fool-me-twice": rows(data / "fool-me-twice" / "dev.jsonl.xz", "text"),
        "fever-train": rows(data / "fever-train" / "train.jsonl.xz", "claim"),
        "ud-english-ewt": treebank(data / "ud-english-ewt" / "train.conllu.xz", ("newsgroup", "weblog")),
    }
    sampled = {name: draw.sample(texts, min(2 * MOST, len(texts))) for name, texts in sets.items()}
    tags = tag_scores([path for texts in sampled.values() for path in tagged(texts[::2])])
    letters = letter_scores([text for texts in sampled.values() for text in texts[::2]])
    by_tags = dict(zip(itertools.product(STATES, repeat=3), tags.ravel().tolist(), strict=True))
    by_letters = dict(zip(itertools.product(LETTERS, repeat=2), letters.ravel().tolist(), strict=True))
    others = [text for name, texts in sampled.items() if name != "ud-english-ewt" for text in texts[1::2]]
    orders = [mean_score(tag_steps(path), by_tags) for path in tagged(others)]
    spellings = [mean_score(letter_steps(text), by_letters) for text in others]
    written = {
        "licences": LICENCES,
        "least_tags": float(np.quantile(orders, SHARE).round(3)),
        "least_letters": float(np.quantile(spellings, SHARE / 3).round(3)),
        "letters": letters.ravel().tolist(),
        "tags": tags.ravel().tolist(),
    }
    ASSET.parent.mkdir(exist_ok=True)
    write_json(ASSET, written)
    unseen = {
        "check-covid": rows(data / "check-covid" / "train.jsonl.xz", "claim"),
        "fever": draw.sample(rows(data / "fever" / "paper_dev.jsonl.xz", "claim"), 1500),
        "everyday": rows(EVERYDAY, "claim"),
    }
    taken = {
        name: round(float(np.mean([not is_sentence(text) for text in texts])), 4)
        for name, texts in {**unseen, **made_up(unseen["fever"], draw)}.items()
    }
    write_json(ASSET, {**written, "taken_for_no_sentence": taken})
    print(written["least_tags"], written["least_letters"], taken)
    for text in [text for texts in unseen.values() for text in texts if not is_sentence(text)][:30]:
        print("  ", text)


if __name__ == "__main__":
    main()
