"""Fit the weights that say which sentences are worth checking, and measure them on sets that they never saw.

    python tools/fit_worthiness.py --data DATA

No set here has sentences that people judged check-worthy. Claims of fact-checking sets stand for what is, and
questions, arguments and reviews for what is not. Writes `assets/worthiness/weights.json` with the figures and licences.
"""

import argparse
import functools
import io
import itertools
import json
import zipfile
from pathlib import Path

import numpy as np

from offscript._files import write_json
from offscript._types import FloatArray
from offscript.corpora.lines import Lines
from offscript.factcheck._logistic import Logistic, fit_logistic
from offscript.factcheck.texts.worthiness import ASSET, FEATURES, LABELS, THRESHOLD, features_of, is_worth_checking

MOST = 1500  # sentences of one set
LICENCES = {
    "creak": "MIT",
    "fool-me-twice": "Apache-2.0",
    "wice": "ODC-By; Wikipedia text CC BY-SA",
    "strategyqa": "MIT",
    "perspectrum": "CC BY-SA 4.0",
    "ud-english-ewt": "CC BY-SA 4.0",
}


def rows(path: Path, field: str) -> list[str]:
    """One field of JSON lines."""
    return [json.loads(line)[field] for line in Lines(path) if line.strip()]


def treebank(path: Path, genres: tuple[str, ...]) -> list[str]:
    """Sentences of a treebank by genre."""
    lines = [line.strip() for line in Lines(path) if line.startswith(("# sent_id", "# text ="))]
    named = zip(lines[::2], lines[1::2], strict=True)
    return [text.partition("= ")[2] for id, text in named if id.partition("= ")[2].startswith(genres)]


def arguments(data: Path) -> list[str]:
    """Perspectrum's arguments."""
    pool = json.loads(Lines(data / "perspectrum" / "perspective_pool_v1.0.json.xz").whole())
    return [each["text"] for each in pool]


def subjectivity(data: Path, name: str) -> list[str]:
    """Sentences of film plots or of film reviews."""
    with zipfile.ZipFile(data / "aux-sentiment" / "pang-lee" / "subjectivity.zip") as package:
        text = io.TextIOWrapper(package.open(f"subjectivity/{name}.tok.gt9.5000"), encoding="latin-1").read()
    return text.splitlines()


def sampled(sentences: list[str], seed: int = 0) -> list[str]:
    """Some sentences of a set, the same ones every time."""
    order = np.random.default_rng(seed).permutation(len(sentences))[:MOST]
    return [sentences[place] for place in order]


@functools.cache
def features(sentence: str) -> tuple[float, ...]:
    """Features of a sentence, which nine fits share."""
    return tuple(features_of(sentence))


def table_of(sentences: list[str]) -> FloatArray:
    """Features of sentences; [sentences, features]."""
    return np.array([features(each) for each in sentences])


def fit(claims: dict[str, list[str]], others: dict[str, list[str]]) -> Logistic:
    """Weights for which every set of a side counts the same."""
    sets = [*((each, 1) for each in claims.values()), *((each, 0) for each in others.values())]
    table = np.concatenate([table_of(sentences) for sentences, _ in sets])
    answers = np.concatenate([np.full(len(sentences), label) for sentences, label in sets])
    sides = {1: len(claims), 0: len(others)}
    mass = np.concatenate([np.full(len(each), 1000.0 / len(each) / sides[label]) for each, label in sets])
    return fit_logistic(table, answers, LABELS, FEATURES, row_weights=mass)


def figures(model: Logistic, claims: list[str], others: list[str]) -> dict[str, float]:
    """F1, precision and recall of what would be checked."""
    sentences = [*claims, *others]
    probabilities = model.probabilities(table_of(sentences))[:, 1]
    chosen = np.array([is_worth_checking(text, p) for text, p in zip(sentences, probabilities, strict=True)])
    truth = np.arange(len(sentences)) < len(claims)
    hits = float((chosen & truth).sum())
    precision, recall = hits / max(chosen.sum(), 1), hits / truth.sum()
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return {"f1": round(f1, 3), "precision": round(precision, 3), "recall": round(recall, 3), "n": len(sentences)}


def main() -> None:
    """Fit, measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    claims = {
        "creak": sampled(rows(data / "creak" / "train.jsonl.xz", "claim")),
        "fool-me-twice": sampled(rows(data / "fool-me-twice" / "dev.jsonl.xz", "text")),
        "wice": sampled(rows(data / "wice" / "claim" / "dev.jsonl.xz", "claim")),
    }
    others = {
        "strategyqa": sampled(rows(data / "strategyqa" / "train.jsonl.xz", "claim")),
        "perspectrum": sampled(arguments(data)),
        "ud-english-ewt": sampled(treebank(data / "ud-english-ewt" / "train.conllu.xz", ("reviews", "email"))),
    }
    left_out = {}
    for claim, other in itertools.product(claims, others):
        rest = fit(
            {name: each for name, each in claims.items() if name != claim},
            {name: each for name, each in others.items() if name != other},
        )
        left_out[f"{claim} / {other}"] = figures(rest, claims[claim][:500], others[other][:500])
        print(claim, other, left_out[f"{claim} / {other}"], flush=True)
    model = fit(claims, others)
    covid = rows(data / "check-covid" / "dev.jsonl.xz", "claim")
    reviews = treebank(data / "ud-english-ewt" / "test.conllu.xz", ("reviews",))
    held_out = {
        "Check-COVID claims / EWT test reviews": figures(model, sampled(covid), sampled(reviews)),
        "film plots / film reviews (Pang and Lee, subjectivity)": figures(
            model, sampled(subjectivity(data, "plot"))[:750], sampled(subjectivity(data, "quote"))[:750]
        ),
    }
    print(json.dumps(held_out, indent=2))
    card = {"threshold": THRESHOLD, "licences": LICENCES, "held_out": held_out, "left_out_in_turn": left_out}
    write_json(ASSET, {**model.to_json(), "card": card})


if __name__ == "__main__":
    main()
