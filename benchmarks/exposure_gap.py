"""How often the interval of the gap MGD(M|M) - MGD(M|D) holds the truth, how often it is a false alarm, and its power.

python benchmarks/exposure_gap.py [--runs 200] [--sizes 5000 50000] [--samples 100 500 2000] [--out FILE]

Model and data are LSTMs whose next token comes from a mixture of topics, P(y | h) = Σ_z A(h, z) B(z, y). The state
gathers the topics of what was read, so that a text stays with its topics and a model that leans to one of them drifts
ever further on its own histories. With few topics nothing of size n x V is held, and the true deviations over any
partition follow from the average of A over 100,000 sequences. The pairs: `own draws` (model and data are the same),
`misfit` (wrong words, right topics), and `weak` and `strong drift`. Runs that FILE already holds are not made again.
"""

import argparse
import json
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from offscript.measures._figures import Figure
from offscript.measures.distances import distances
from offscript.measures.exposure.gap import Partition, Tables, gap_figures, windows_of

TOPICS, PREFIX, LENGTH = 24, 10, 30
PAIRS = ("own draws", "misfit", "weak drift", "strong drift")
DRIFT = {"weak drift": 1.2, "strong drift": 2.4}
DISTANCES = ("js",)
BLOCK = 50
Key = tuple[str, int, int, int]
TRUTH, AT_ONCE = 100_000, 20_000


@dataclass(frozen=True)
class TopicLstm:
    """An LSTM over tokens whose state has one cell per topic."""

    cell: nn.LSTMCell
    lean: Tensor  # [Z], what is added to the logits of the topics
    words: Tensor  # B, [Z, V]
    ends: Tensor  # cumulative sums of B over topics and words, [Z V]: each topic takes a length of 1

    def topics(self, state: tuple[Tensor, Tensor]) -> Tensor:
        """A, [rows, Z]."""
        return (6 * state[0] + self.lean).softmax(dim=1)

    def draw(self, topics: Tensor, generator: torch.Generator) -> Tensor:
        """A token per row, [rows]."""
        chosen = torch.multinomial(topics, 1, generator=generator).squeeze(1)
        place = chosen + torch.rand(len(topics), generator=generator, dtype=torch.float64)
        return torch.searchsorted(self.ends, place).clamp_(max=self.words.numel() - 1) % self.words.shape[1]


def pair_of(name: str, size: int) -> tuple[TopicLstm, TopicLstm, Tensor]:
    """Model, data, and the embeddings of the tokens [V, Z], which both read."""
    generator = torch.Generator().manual_seed(size)
    zipf = 1 / (torch.arange(size) + 2.7)
    likely = zipf * torch.exp(2 * torch.randn(TOPICS, size, generator=generator)).double()
    noise = torch.exp(0.4 * torch.randn(likely.shape, generator=generator)).double()
    words = likely / likely.sum(dim=1, keepdim=True)
    embeddings = (words / words.sum(dim=0)).float().T * TOPICS - 1  # how much each topic gains by a token
    cell = nn.LSTMCell(TOPICS, TOPICS)
    with torch.no_grad():
        for weight in cell.parameters():
            weight.copy_(0.03 * torch.randn(weight.shape, generator=generator))
        cell.weight_ih[2 * TOPICS : 3 * TOPICS] += 0.3 * torch.eye(TOPICS)
        cell.bias_ih[TOPICS : 2 * TOPICS] += 2.0  # forget little
    changed = likely * noise if name == "misfit" else likely
    lean = torch.zeros(TOPICS)
    lean[0] = DRIFT.get(name, 0.0)
    model, data = (
        TopicLstm(cell, each, of_words, of_words.flatten().cumsum(dim=0))
        for each, of_words in ((lean, changed / changed.sum(dim=1, keepdim=True)), (torch.zeros(TOPICS), words))
    )
    return model, data, embeddings


@dataclass(frozen=True)
class Sequences:
    """Text and the model's continuation of its anchor, with what is predicted after it: [rows, lengths, Z]."""

    text: Tensor  # [rows, LENGTH]
    own: Tensor  # [rows, LENGTH]
    after_own: Tensor
    after_text: Tensor
    real: Tensor  # what the data predicts after the text


@torch.inference_mode()
def sequences(pair: tuple[TopicLstm, TopicLstm, Tensor], rows: int, seed: int) -> Sequences:
    """Draw texts, then continuations."""
    model, data, embeddings = pair
    generator = torch.Generator().manual_seed(seed)
    zero = torch.zeros(rows, TOPICS)
    state, text, anchor, after_text, real = (zero, zero), [], (zero, zero), [], []
    for place in range(LENGTH):
        if place == PREFIX:
            anchor = state
        if place > PREFIX:
            after_text.append(model.topics(state))
            real.append(data.topics(state))
        text.append(data.draw(data.topics(state), generator))
        state = data.cell(embeddings[text[-1]], state)
    state, own, after_own = anchor, text[:PREFIX], []
    for place in range(PREFIX, LENGTH):
        topics = model.topics(state)
        if place > PREFIX:
            after_own.append(topics)
        own.append(model.draw(topics, generator))
        state = model.cell(embeddings[own[-1]], state)
    return Sequences(*(torch.stack(parts, dim=1) for parts in (text, own, after_own, after_text, real)))


def run(pair: tuple[TopicLstm, TopicLstm, Tensor], samples: int, seed: int) -> tuple[dict[str, Figure], Partition]:
    """One measurement of the gap, as `measure exposure` makes it from a corpus."""
    drawn = sequences(pair, samples, 1000 * seed + samples % 997)
    windows = windows_of(LENGTH - PREFIX - 1)
    partition = Partition.of(drawn.text[:, :PREFIX], len(pair[2]), samples * len(windows[0]))
    tables = Tables(samples, windows, len(partition))
    words = partition.of_probabilities(pair[0].words)  # [Z, C]
    every, columns = slice(0, samples), slice(0, LENGTH - PREFIX - 1)
    kinds = (
        (tables.own, tables.drawn, drawn.own, drawn.after_own),
        (tables.given, tables.text, drawn.text, drawn.after_text),
    )
    for sums, counts, tokens, predicted in kinds:
        tables.add(sums, every, columns, predicted.double() @ words)
        tables.count(counts, partition.classes[tokens[:, PREFIX + 1 :]])
    return gap_figures(tables, DISTANCES, seed=seed, resamples=500), partition


def average_topics(pair: tuple[TopicLstm, TopicLstm, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """The averages of A after own histories, after text, and the data's after text: [lengths, Z] each."""
    sums = torch.zeros(3, LENGTH - PREFIX - 1, TOPICS, dtype=torch.float64)
    for number in range(TRUTH // AT_ONCE):
        drawn = sequences(pair, AT_ONCE, -1 - number)
        sums += torch.stack([part.double().mean(dim=0) for part in (drawn.after_own, drawn.after_text, drawn.real)])
    own, text, real = sums / (TRUTH // AT_ONCE)
    return own, text, real


@cache
def known_pair(name: str, size: int) -> tuple[tuple[TopicLstm, TopicLstm, Tensor], tuple[Tensor, Tensor, Tensor]]:
    """A pair and its averages."""
    pair = pair_of(name, size)
    return pair, average_topics(pair)


def truth(
    pair: tuple[TopicLstm, TopicLstm, Tensor], averages: tuple[Tensor, Tensor, Tensor], partition: Partition
) -> dict[str, float]:
    """The gap over a partition."""
    by_model, by_data = (partition.of_probabilities(each.words) for each in pair[:2])
    own, text, real = (part @ words for part, words in zip(averages, (by_model, by_model, by_data), strict=True))
    gaps: dict[str, list[float]] = {name: [] for name in DISTANCES}
    for window in windows_of(LENGTH - PREFIX - 1):
        after_own, after_text, target = (
            part[window.start : window.stop].mean(dim=0).log() for part in (own, text, real)
        )
        on_model, on_data = distances(after_own, target, DISTANCES), distances(after_text, target, DISTANCES)
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


def one(
    pair: tuple[TopicLstm, TopicLstm, Tensor], averages: tuple[Tensor, Tensor, Tensor], samples: int, seed: int
) -> dict[str, float]:
    """The figures of one run beside the truth."""
    figures, partition = run(pair, samples, seed)
    real, row = truth(pair, averages, partition), {"classes": float(len(partition))}
    for name in DISTANCES:
        gap = figures[f"mgd_gap.{name}"].estimate
        row |= {f"{name}.truth": real[name], f"{name}.value": gap.value}
        row |= {f"{name}.lower": gap.interval.lower, f"{name}.upper": gap.interval.upper}
        row[f"{name}.p"] = figures[f"mgd_gap_p.{name}"].estimate.value
    return row


def main() -> None:
    """Run in blocks of seeds, and print the table after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5000, 50000])
    parser.add_argument("--samples", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument("--out", type=Path, default=Path("exposure_gap.jsonl"))
    arguments = parser.parse_args()
    lines = arguments.out.read_text(encoding="utf-8").splitlines() if arguments.out.exists() else []
    known: dict[Key, dict[str, float]] = {tuple(entry["key"]): entry["row"] for entry in map(json.loads, lines)}
    began = time.monotonic()
    for first in range(0, arguments.runs, BLOCK):
        seeds = range(first, min(first + BLOCK, arguments.runs))
        for size in arguments.sizes:
            for name in PAIRS:
                _run_missing(name, size, arguments.samples, seeds, known, arguments.out)
        _print_table(known, time.monotonic() - began)


def _run_missing(
    name: str, size: int, samples: list[int], seeds: range, known: dict[Key, dict[str, float]], out: Path
) -> None:
    missing = [(n, seed) for n in samples for seed in seeds if (name, size, n, seed) not in known]
    if not missing:
        return
    pair, averages = known_pair(name, size)
    for n, seed in missing:
        known[name, size, n, seed] = one(pair, averages, n, seed)
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": (name, size, n, seed), "row": known[name, size, n, seed]}) + "\n")


def _print_table(known: dict[Key, dict[str, float]], seconds: float) -> None:
    print(f"\nafter {seconds:.0f} s")
    print("pair               V      n  runs  classes  d   true gap      mean     width coverage   found")
    cells: dict[tuple[str, int, int], list[dict[str, float]]] = {}
    for (name, size, samples, _), row in known.items():
        cells.setdefault((name, size, samples), []).append(row)
    for (name, size, samples), rows in sorted(cells.items(), key=lambda cell: (cell[0][1], PAIRS.index(cell[0][0]))):
        classes = np.mean([row["classes"] for row in rows])
        for distance in DISTANCES:
            label = f"{name:13s} {size:6d} {samples:6d} {len(rows):5d} {classes:8.1f}  {distance}"
            print(f"{label} {summary(rows, distance)}", flush=True)


if __name__ == "__main__":
    main()
