"""How often the interval of the gap MGD(M|M) - MGD(M|D) holds the truth, how often it is a false alarm, and its power.

python benchmarks/exposure_gap.py [--runs 200] [--sizes 5000 50000] [--samples 100 500 2000] [--out FILE]

Model and data are LSTMs whose next token comes from a mixture of topics, P(y | h) = Σ_z A(h, z) B(z, y). The state
gathers the topics of what was read, so that a text stays with its topics and a model that leans to one of them drifts
ever further on its own histories. With few topics nothing of size n x V is held, and the true deviations over any
partition follow from the average of A over 100,000 sequences. The pairs: `own draws` (model and data are the same),
`misfit` (wrong words, right topics), and `weak` and `strong drift`. Runs that FILE already holds are not made again.
Within a row of the table runs are independent; rows of one run share their texts. `--table` writes the counts of FILE
to benchmarks/exposure_gap.json and the table made of them into docs/conclusions.md.
"""

import argparse
import json
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from offscript.measures._figures import Figure
from offscript.measures.distances import distances
from offscript.measures.exposure.gap import Partition, Tables, gap_figures, windows_of
from offscript.statistics import proportion_interval

TOPICS, PREFIX, LENGTH = 24, 10, 30
PAIRS = ("own draws", "misfit", "weak drift", "strong drift")
DRIFT = {"weak drift": 1.2, "strong drift": 2.4}
DISTANCES = ("js",)
BLOCK = 50
Key = tuple[str, int, int, int]
TRUTH, AT_ONCE = 100_000, 20_000
PAIR_WORDS = {"misfit": "right topics, wrong words"} | {name: name for name in PAIRS if name != "misfit"}
KEPT, DOCS = Path(__file__).with_suffix(".json"), Path(__file__).parents[1] / "docs" / "conclusions.md"
BEGIN, END = "<!-- the table of exposure_gap.json begins -->", "<!-- the table ends -->"


@dataclass(frozen=True)
class TopicLstm:
    """An LSTM over tokens whose state has one cell per topic."""

    cell: nn.LSTMCell
    lean: Tensor  # [Z], what is added to the logits of the topics
    words: Tensor  # B, [Z, V]
    ends: Tensor  # cumulative sums of B over topics and words, [Z V]: each topic takes a length of 1

    def topics(self, outputs: Tensor) -> Tensor:
        """A, [..., Z], from what the cell gave."""
        return (6 * outputs + self.lean).softmax(dim=-1)

    def draw(self, topics: Tensor, generator: torch.Generator) -> Tensor:
        """A token per row, [rows]."""
        which, where = torch.rand(2, len(topics), generator=generator, dtype=torch.float64)
        chosen = (topics.cumsum(dim=1)[:, :-1] < which[:, None]).sum(dim=1)
        place = chosen + where
        return torch.searchsorted(self.ends, place).clamp_(max=self.words.numel() - 1) % self.words.shape[1]


Pair = tuple[TopicLstm, TopicLstm, Tensor]  # model, data, embeddings
Averages = tuple[Tensor, Tensor, Tensor]


def pair_of(name: str, size: int) -> Pair:
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
class Texts:
    """What the data drew: its tokens, the outputs of the cell after the anchor, and the state at the anchor's end."""

    tokens: Tensor  # [rows, LENGTH]
    outputs: Tensor  # [rows, lengths, Z]
    anchor: tuple[Tensor, Tensor]  # [rows, Z] each

    def first(self, rows: int) -> "Texts":
        """Some of them: a measurement of few sentences reads the first of many."""
        return Texts(self.tokens[:rows], self.outputs[:rows], (self.anchor[0][:rows], self.anchor[1][:rows]))


@torch.inference_mode()
def texts(data: TopicLstm, embeddings: Tensor, rows: int, seed: int) -> Texts:
    """The data of all pairs is the same, so that they share its texts."""
    generator = torch.Generator().manual_seed(seed)
    zero = torch.zeros(rows, TOPICS)
    state, tokens, anchor, outputs = (zero, zero), [], (zero, zero), []
    for place in range(LENGTH):
        if place == PREFIX:
            anchor = state
        if place > PREFIX:
            outputs.append(state[0])
        tokens.append(data.draw(data.topics(state[0]), generator))
        state = data.cell(embeddings[tokens[-1]], state)
    return Texts(torch.stack(tokens, dim=1), torch.stack(outputs, dim=1), anchor)


@torch.inference_mode()
def continued(model: TopicLstm, embeddings: Tensor, text: Texts, seed: int) -> tuple[Tensor, Tensor]:
    """The model's continuations of the anchors [rows, LENGTH], and the topics that it predicts [rows, lengths, Z]."""
    generator = torch.Generator().manual_seed(seed)
    state, tokens, predicted = text.anchor, [], []
    for place in range(PREFIX, LENGTH):
        topics = model.topics(state[0])
        if place > PREFIX:
            predicted.append(topics)
        tokens.append(model.draw(topics, generator))
        state = model.cell(embeddings[tokens[-1]], state)
    return torch.cat([text.tokens[:, :PREFIX], torch.stack(tokens, dim=1)], dim=1), torch.stack(predicted, dim=1)


def run(pair: Pair, text: Texts, own: Tensor, after_own: Tensor, seed: int) -> tuple[dict[str, Figure], Partition]:
    """One measurement of the gap, as `measure exposure` makes it from a corpus."""
    samples, windows = len(own), windows_of(LENGTH - PREFIX - 1)
    partition = Partition.of(text.tokens[:, :PREFIX], len(pair[2]), samples * len(windows[0]))
    tables = Tables(samples, windows, len(partition))
    words = partition.of_probabilities(pair[0].words)  # [Z, C]
    every, columns = slice(0, samples), slice(0, LENGTH - PREFIX - 1)
    kinds = (
        (tables.own, tables.drawn, own, after_own),
        (tables.given, tables.text, text.tokens, pair[0].topics(text.outputs)),
    )
    for sums, counts, tokens, predicted in kinds:
        tables.add(sums, every, columns, predicted.double() @ words)
        tables.count(counts, partition.classes[tokens[:, PREFIX + 1 :]])
    return gap_figures(tables, DISTANCES, seed=seed, resamples=500), partition


def average_topics(pair: Pair) -> Averages:
    """The averages of A after own histories, after text, and the data's after text: [lengths, Z] each."""
    model, data, embeddings = pair
    sums = torch.zeros(3, LENGTH - PREFIX - 1, TOPICS, dtype=torch.float64)
    for number in range(TRUTH // AT_ONCE):
        text = texts(data, embeddings, AT_ONCE, -1 - number)
        parts = (
            continued(model, embeddings, text, -1001 - number)[1],
            *(side.topics(text.outputs) for side in pair[:2]),
        )
        sums += torch.stack([part.double().mean(dim=0) for part in parts])
    own, after_text, real = sums / (TRUTH // AT_ONCE)
    same = model.lean.equal(data.lean) and model.words.equal(data.words)
    return (real, real, real) if same else (own, after_text, real)  # a model against its own draws has a gap of 0


@cache
def known_pair(name: str, size: int) -> tuple[Pair, Averages]:
    """A pair and its averages."""
    pair = pair_of(name, size)
    return pair, average_topics(pair)


def truth(pair: Pair, averages: Averages, partition: Partition) -> dict[str, float]:
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


def measured(pair: Pair, averages: Averages, text: Texts, drawn: tuple[Tensor, Tensor], seed: int) -> dict[str, float]:
    """The figures of one run beside the truth."""
    figures, partition = run(pair, text, *drawn, seed)
    real, row = truth(pair, averages, partition), {"classes": float(len(partition))}
    for name in DISTANCES:
        gap = figures[f"mgd_gap.{name}"].estimate
        row |= {f"{name}.truth": real[name], f"{name}.value": gap.value}
        row |= {f"{name}.lower": gap.interval.lower, f"{name}.upper": gap.interval.upper}
        row[f"{name}.p"] = figures[f"mgd_gap_p.{name}"].estimate.value
    return row


def one(pair: Pair, averages: Averages, samples: int, seed: int) -> dict[str, float]:
    """A run of its own."""
    text = texts(pair[1], pair[2], samples, 2 * seed)
    return measured(pair, averages, text, continued(pair[0], pair[2], text, 2 * seed + 1), seed)


def main() -> None:
    """Run seed by seed, and print the table now and then."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5000, 50000])
    parser.add_argument("--samples", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument("--out", type=Path, default=Path("exposure_gap.jsonl"))
    parser.add_argument("--table", action="store_true", help="write docs/conclusions.md's table from FILE and stop")
    arguments = parser.parse_args()
    lines = arguments.out.read_text(encoding="utf-8").splitlines() if arguments.out.exists() else []
    known: dict[Key, dict[str, float]] = {tuple(entry["key"]): entry["row"] for entry in map(json.loads, lines)}
    if arguments.table:
        write_table(known)
        return
    began = time.monotonic()
    for first in range(0, arguments.runs, BLOCK):
        seeds = range(first, min(first + BLOCK, arguments.runs))
        for size in arguments.sizes:
            for seed in seeds:
                _run_missing(size, arguments.samples, seed, known, arguments.out)
        _print_table(known, time.monotonic() - began)


def _run_missing(size: int, samples: list[int], seed: int, known: dict[Key, dict[str, float]], out: Path) -> None:
    """All pairs and numbers of sentences of one seed; few sentences are the first of many."""
    missing = {name: [n for n in samples if (name, size, n, seed) not in known] for name in PAIRS}
    if not any(missing.values()):
        return
    _, data, embeddings = known_pair(PAIRS[0], size)[0]
    text = texts(data, embeddings, max(samples), 2 * seed)
    for name, sizes in missing.items():
        pair, averages = known_pair(name, size)
        own, after_own = continued(pair[0], embeddings, text, 2 * seed + 1)
        for n in sizes:
            row = measured(pair, averages, text.first(n), (own[:n], after_own[:n]), seed)
            known[name, size, n, seed] = row
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": (name, size, n, seed), "row": row}) + "\n")


def counted(known: dict[Key, dict[str, float]]) -> list[dict[str, float | str]]:
    """What the table is made of: a row per cell."""
    cells: dict[tuple[str, int, int], list[dict[str, float]]] = {}
    for (name, size, samples, _), row in known.items():
        cells.setdefault((name, size, samples), []).append(row)
    order = sorted(cells, key=lambda cell: (cell[1], PAIRS.index(cell[0]), cell[2]))
    return [{"pair": name, "size": size, "samples": n, **_counts(cells[name, size, n])} for name, size, n in order]


def _counts(rows: list[dict[str, float]]) -> dict[str, float]:
    covered = [row["js.lower"] <= row["js.truth"] <= row["js.upper"] for row in rows]
    found = [row["js.p"] < 0.05 and row["js.lower"] > 0 for row in rows]
    real, width = (
        np.mean([row["js.truth"] for row in rows]),
        np.median([row["js.upper"] - row["js.lower"] for row in rows]),
    )
    tallies = {"runs": len(rows), "covered": sum(covered), "found": sum(found)}
    return {**tallies, "truth": round(float(real), 6), "width": round(float(width), 6)}


def table_of(cells: list[dict[str, Any]]) -> str:
    """The table of docs/conclusions.md; cells outside 93 to 97 % are marked, twice where chance does not explain it."""
    lines = [
        "| pair | V | sentences | runs | true gap | middle width | covered | 95 % of that share | found |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for cell in cells:
        share, found = cell["covered"] / cell["runs"], cell["found"] / cell["runs"]
        around = proportion_interval(cell["covered"], cell["runs"]).interval
        mark = _mark(share, around.lower, around.upper)
        known = f"{around.lower:.1%} – {around.upper:.1%}"
        sizes = f"{PAIR_WORDS[cell['pair']]} | {cell['size']:,} | {cell['samples']:,} | {cell['runs']}"
        lines.append(
            f"| {sizes} | {cell['truth']:.5f} | {cell['width']:.5f} | {share:.1%}{mark} | {known} | {found:.1%} |"
        )
    return "\n".join(lines)


def _mark(share: float, lower: float, upper: float) -> str:
    """An arrow for a share outside 93 to 97 %, two for one whose whole interval lies outside."""
    if 0.93 <= share <= 0.97:
        return ""
    return " " + ("▲" if share > 0.97 else "▼") * (2 if lower > 0.97 or upper < 0.93 else 1)


def write_table(known: dict[Key, dict[str, float]]) -> None:
    """The counts to a file of a few kilobytes, and the table between its marks in the docs."""
    cells = counted(known)
    KEPT.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    before, _, rest = DOCS.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    DOCS.write_text(f"{before}{BEGIN}\n\n{table_of(cells)}\n\n{END}{after}", encoding="utf-8")


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
