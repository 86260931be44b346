"""How often the interval of the gap MGD(M|M) - MGD(M|D) holds the truth, how often it is a false alarm, and its power.

python benchmarks/exposure_gap.py [--runs 200] [--sizes 5000 50000] [--samples 100 500 2000] [--out FILE]

Model and data are bigram models through a few hidden classes, P(y | x) = Σ_z A(x, z) B(z, y), so that the true
deviations over any partition are known exactly for any vocabulary, and nothing of size V x V is held. The pairs:
`own draws` (model and data are the same), `misfit` (wrong words, right classes), `weak drift` and `strong drift` (the
model leans to one class, which its own histories compound). Runs that FILE already holds are not made again.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from offscript.measures._figures import Figure
from offscript.measures.distances import distances
from offscript.measures.exposure.gap import Partition, Tables, gap_figures, windows_of

Floats = NDArray[np.float64]
CLASSES, PREFIX, LENGTH = 8, 10, 30
PAIRS = ("own draws", "misfit", "weak drift", "strong drift")
DRIFT = {"weak drift": 1.0, "strong drift": 4.0}
DISTANCES = ("js", "tv")


@dataclass(frozen=True)
class Bigram:
    """P(y | x) = Σ_z A(x, z) B(z, y)."""

    classes: Floats  # A, [V, Z]
    words: Floats  # B, [Z, V]

    def draw(self, first: NDArray[np.int64], steps: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Tokens [rows, 1 + steps] that begin with the first ones."""
        ends, tokens = np.cumsum(self.words, axis=1), [first]
        for _ in range(steps):
            chosen = (np.cumsum(self.classes[tokens[-1]], axis=1) < generator.random((len(first), 1))).sum(axis=1)
            chosen, place = np.minimum(chosen, CLASSES - 1), generator.random(len(first))
            after = np.empty_like(first)
            for number in range(CLASSES):
                taken = chosen == number
                after[taken] = np.searchsorted(ends[number], place[taken] * ends[number, -1])
            tokens.append(np.minimum(after, self.words.shape[1] - 1))
        return np.stack(tokens, axis=1)

    def step(self, tokens: Floats) -> Floats:
        """The distribution [V] of the token after one of such a distribution."""
        return np.asarray((tokens @ self.classes) @ self.words)

    def stationary(self) -> Floats:
        """The distribution that a step leaves alone."""
        between = self.words @ self.classes  # [Z, Z]
        weights = np.full(CLASSES, 1 / CLASSES)
        for _ in range(200):
            weights = weights @ between
        return np.asarray(weights @ self.words)


def pair_of(name: str, size: int) -> tuple[Bigram, Bigram]:
    """Model and data."""
    generator = np.random.default_rng(size)
    logits = 1.5 * generator.normal(size=(size, CLASSES))
    zipf = 1 / (np.arange(size) + 2.7)
    words = zipf * np.exp(2 * generator.normal(size=(CLASSES, size)))
    noise = np.exp(0.4 * generator.normal(size=words.shape))
    data = Bigram(_rows(np.exp(logits)), _rows(words))
    if name == "misfit":
        return Bigram(data.classes, _rows(words * noise)), data
    lean = np.zeros(CLASSES)
    lean[0] = DRIFT.get(name, 0.0)
    return Bigram(_rows(np.exp(logits + lean)), data.words), data


def _rows(table: Floats) -> Floats:
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def run(model: Bigram, data: Bigram, start: Floats, samples: int, seed: int) -> tuple[dict[str, Figure], Partition]:
    """One measurement of the gap, as `measure exposure` makes it from a corpus."""
    generator = np.random.default_rng((seed, samples))
    first = generator.choice(len(start), size=samples, p=start)
    text = data.draw(first, LENGTH - 1, generator)
    own = np.concatenate([text[:, : PREFIX - 1], model.draw(text[:, PREFIX - 1], LENGTH - PREFIX, generator)], axis=1)
    windows = windows_of(LENGTH - PREFIX - 1)
    partition = Partition.of(torch.from_numpy(text[:, :PREFIX]), len(start), samples * len(windows[0]))
    tables = Tables(samples, windows, len(partition))
    words = partition.of_probabilities(torch.from_numpy(model.words)).numpy()  # [Z, C]
    every, columns = slice(0, samples), slice(0, LENGTH - PREFIX - 1)
    for sums, counts, tokens in ((tables.own, tables.drawn, own), (tables.given, tables.text, text)):
        predicted = model.classes[tokens[:, PREFIX:-1]] @ words
        tables.add(sums, every, columns, torch.from_numpy(predicted))
        tables.count(counts, partition.classes[torch.from_numpy(tokens[:, PREFIX + 1 :])])
    return gap_figures(tables, DISTANCES, seed=seed, resamples=500), partition


def truth(model: Bigram, data: Bigram, start: Floats, partition: Partition) -> dict[str, float]:
    """The gap over a partition, without sampling: the anchors end in a token of the stationary distribution."""
    lengths, own, marginals = LENGTH - PREFIX - 1, start, []
    given, text = model.step(start), data.step(start)
    for _ in range(lengths):
        own = model.step(own)
        marginals.append(np.stack([model.step(own), given, text]))
    classes = partition.of_probabilities(torch.from_numpy(np.stack(marginals)))  # [lengths, 3, C]
    gaps: dict[str, list[float]] = {name: [] for name in DISTANCES}
    for window in windows_of(lengths):
        after_own, after_text, real = classes[window.start : window.stop].mean(dim=0).log()
        on_model, on_data = distances(after_own, real, DISTANCES), distances(after_text, real, DISTANCES)
        for name in DISTANCES:
            gaps[name].append(float(on_model[name] - on_data[name]))
    return {name: float(np.mean(values)) for name, values in gaps.items()}


def summary(rows: list[dict[str, float]], name: str) -> str:
    """Coverage, the share that is found, and the middle width, of one distance."""
    covered = np.mean([row[f"{name}.lower"] <= row[f"{name}.truth"] <= row[f"{name}.upper"] for row in rows])
    found = np.mean([row[f"{name}.p"] < 0.05 and row[f"{name}.lower"] > 0 for row in rows])
    width = np.median([row[f"{name}.upper"] - row[f"{name}.lower"] for row in rows])
    real, mean = np.mean([row[f"{name}.truth"] for row in rows]), np.mean([row[f"{name}.value"] for row in rows])
    return f"{real:9.5f} {mean:9.5f} {width:9.5f} {covered:8.1%} {found:7.1%}"


def one(model: Bigram, data: Bigram, start: Floats, samples: int, seed: int) -> dict[str, float]:
    """The figures of one run beside the truth."""
    figures, partition = run(model, data, start, samples, seed)
    real, row = truth(model, data, start, partition), {"classes": float(len(partition))}
    for name in DISTANCES:
        gap = figures[f"mgd_gap.{name}"].estimate
        row |= {f"{name}.truth": real[name], f"{name}.value": gap.value}
        row |= {f"{name}.lower": gap.interval.lower, f"{name}.upper": gap.interval.upper}
        row[f"{name}.p"] = figures[f"mgd_gap_p.{name}"].estimate.value
    return row


def main() -> None:
    """Print one line per pair, size of the vocabulary, number of samples and distance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5000, 50000])
    parser.add_argument("--samples", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument("--out", type=Path, default=Path("exposure_gap.jsonl"))
    arguments = parser.parse_args()
    lines = arguments.out.read_text(encoding="utf-8").splitlines() if arguments.out.exists() else []
    known = {tuple(entry["key"]): entry["row"] for entry in map(json.loads, lines)}
    print("pair               V      n  classes  d   true gap      mean     width coverage   found   seconds")
    for size in arguments.sizes:
        for name in PAIRS:
            model, data = pair_of(name, size)
            start = data.stationary()
            for samples in arguments.samples:
                began, rows = time.monotonic(), []
                for seed in range(arguments.runs):
                    key = (name, size, samples, seed)
                    if key not in known:
                        known[key] = one(model, data, start, samples, seed)
                        with arguments.out.open("a", encoding="utf-8") as file:
                            file.write(json.dumps({"key": key, "row": known[key]}) + "\n")
                    rows.append(known[key])
                classes = np.mean([row["classes"] for row in rows])
                for distance in DISTANCES:
                    label = f"{name:13s} {size:6d} {samples:6d} {classes:8.1f}  {distance}"
                    print(f"{label} {summary(rows, distance)} {time.monotonic() - began:9.1f}", flush=True)


if __name__ == "__main__":
    main()
