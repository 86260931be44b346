"""How often two models that do not differ are said to differ, by whole audits through the real comparison.

python benchmarks/copies.py [--audits 100] [--only copies mirrors seeds]

- copies: `audit MODEL --against COPY`; the same texts and random numbers, so every difference should be 0
- mirrors: a model and the same with two tokens exchanged, against an oracle that is its own mirror image: item by item
  they differ, but every figure has one true value in both, so only chance can make one differ
- seeds: one model, audited twice with other random numbers, and the two audits compared (`offscript compare`)

An audit is a false alarm if any of its figures is called different. tests/audits/test_against.py holds the rates down.
"""

import argparse
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from offscript.audits.against import run_against
from offscript.audits.audit import plan_audit, run_audit
from offscript.audits.comparison import Comparison, compare_runs, read_runs
from offscript.corpora import WordVocabulary
from offscript.measures.subject import Subject
from offscript.models.tabular import Tabular

WORDS, LENGTH, LIMIT = ["a", "b", "<end>"], 4, 60
ASKED = ("likelihood", "regret", "divergence")
DRAWN = ("likelihood", "regret", "exposure", "diversity")

Table = dict[tuple[int, ...], list[float]]


def table(rng: np.random.Generator) -> Table:
    """Any next-token distributions that do not end before the last token."""
    histories = (tuple(each) for size in range(LENGTH) for each in itertools.product((0, 1), repeat=size))
    return {history: [share := float(rng.beta(3, 3)), 1 - share, 0.0] for history in histories}


def mirrored(of: Table) -> Table:
    """The same with a and b exchanged, in histories and in what follows."""
    return {tuple(1 - token for token in history): [other, one, end] for history, (one, other, end) in of.items()}


def symmetric(of: Table) -> Table:
    """A table that is its own mirror image."""
    image = mirrored(of)
    return {history: [(x + y) / 2 for x, y in zip(of[history], image[history], strict=True)] for history in of}


def tabular(of: Table, name: str) -> Tabular:
    """The table as a model."""
    return Tabular(WordVocabulary(WORDS, end="<end>", unknown=None), LENGTH, of, name)


def against(one: Table, other: Table, oracle: Table, seed: int, out: Path) -> Comparison:
    """What `audit --against` says of two tables."""
    models = tabular(one, "one"), tabular(other, "other")
    subject = Subject(models[0], tabular(oracle, "oracle"), against=models[1], seed=seed, length=LENGTH, limit=LIMIT)
    return run_against(subject, plan_audit(subject, ASKED), out).comparison


def copies(rng: np.random.Generator, seed: int, out: Path) -> Comparison:
    """A model and its copy."""
    one = table(rng)
    return against(one, one, symmetric(table(rng)), seed, out)


def mirrors(rng: np.random.Generator, seed: int, out: Path) -> Comparison:
    """A model and its mirror image."""
    one = table(rng)
    return against(one, mirrored(one), symmetric(table(rng)), seed, out)


def seeds(rng: np.random.Generator, seed: int, out: Path) -> Comparison:
    """A model audited twice."""
    model, oracle = tabular(table(rng), "one"), tabular(table(rng), "oracle")
    results = []
    for turn in range(2):
        subject = Subject(model, oracle, seed=2 * seed + turn, length=LENGTH, limit=LIMIT)
        results.append(run_audit(subject, plan_audit(subject, DRAWN), out / str(turn)).results)
    return compare_runs(read_runs(results), seed=seed)


CASES: dict[str, Callable[[np.random.Generator, int, Path], Comparison]] = {
    "copies": copies,
    "mirrors": mirrors,
    "seeds": seeds,
}


def comparisons(name: str, audits: int, out: Path) -> list[Comparison]:
    """The comparisons of so many pairs of audits.

    Args:
        name: One of `CASES`.
        audits: How many.
        out: The folder that audits are written to.
    """
    rng = np.random.default_rng(5)
    return [CASES[name](rng, seed, out / f"{name}{seed}") for seed in range(audits)]


def main() -> None:
    """Print one line per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    arguments = parser.parse_args()
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as out:
            made = comparisons(name, arguments.audits, Path(out))
        false = sum(bool(each.real) for each in made)
        figures = len(made[0].contrasts)
        print(f"{name:<8} {false:3} of {len(made)} audits call one of {figures} figures different (goal ≤ 5 %)")


if __name__ == "__main__":
    main()
