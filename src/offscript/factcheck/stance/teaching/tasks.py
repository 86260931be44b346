"""Auxiliary tasks (chapter 3.2.3): entailment, paraphrase, questions, sentiment, evidence; and when each is learnt."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._specification import nearest
from offscript.corpora.lines import Lines
from offscript.corpora.prose import decode_brackets
from offscript.errors import OffscriptError
from offscript.factcheck.stance.pairs import EVIDENCE, UnquotedTabs, packed, read_pairs, rows_of

Example = tuple[str, str | None, int]
"""Claim, text (None for a single sentence) and the number of the label."""

_MNLI = re.compile(r'For the statement, "(.*)", does the hypothesis "(.*)" represent entailment, .*', re.DOTALL)


@dataclass(frozen=True)
class Task:
    """Examples and their labels; tasks of one `head` share the output layer."""

    name: str
    head: str
    labels: tuple[str, ...]
    examples: Sequence[Example]

    @property
    def single(self) -> bool:
        """Whether the examples are single sentences."""
        return self.examples[0][1] is None

    def class_weights(self, power: float) -> NDArray[np.float32]:
        """Frequencies of the labels to the minus `power`, with mean 1 over the examples."""
        labels = np.array([label for _, _, label in self.examples])
        shares = np.bincount(labels, minlength=len(self.labels)).clip(min=1) / len(labels)
        weights = shares**-power
        return np.asarray(weights / (weights * shares).sum(), dtype=np.float32)


def read_task(name: str, folder: Path, *, limit: int | None = None, seed: int = 1) -> Task:
    """A task's training examples below the data folder; with a `limit` a random part of them."""
    if name not in _READERS:
        raise OffscriptError(f"there is no task {name!r}", next=nearest(name, _READERS))
    head, labels, read = _READERS[name]
    examples = list(read(folder))
    order = np.random.default_rng([seed, *name.encode()]).permutation(len(examples))[:limit]
    return Task(name, head, labels, [examples[number] for number in order])


def _snli(folder: Path) -> Iterator[Example]:
    for line in Lines(packed(folder / "aux-nli/snli-train-sample/train.csv")):
        label, _, premise, hypothesis = line.rstrip("\n").split("\t")
        yield hypothesis, premise, (2, 1, 0)[int(label) - 1]


def _mnli(folder: Path) -> Iterator[Example]:
    numbers = {"entailment": 0, "contradiction": 1, "neutral": 2}
    for row in rows_of(folder / "aux-nli/mnli-sample/mnli_train.csv"):
        found = _MNLI.fullmatch(row["Question"])
        if found is not None:
            yield found[2], found[1], numbers[row["Answer"]]


def _fever(folder: Path) -> Iterator[Example]:
    """Claims with their evidence, and every fourth claim with a sentence from elsewhere besides."""
    rows = rows_of(folder / "fever/train-sample/train_balanced_10000_samples.csv")
    sentences = [decode_brackets(row["sentence"]) for row in rows]
    for number, row in enumerate(rows):
        yield row["claim"], sentences[number], ("SUPPORTS", "REFUTES").index(row["label"])
        if number % 4 == 0:
            yield row["claim"], sentences[(number + len(rows) // 2) % len(rows)], 2


def _scifact(folder: Path) -> Iterator[Example]:
    for pair in read_pairs(f"{folder / 'scifact'},split=train").pairs:
        yield pair.claim, " ".join(pair.sentences), EVIDENCE.index(pair.label)


def _rte(folder: Path) -> Iterator[Example]:
    for row in rows_of(folder / "aux-nli/rte-glue/train.tsv", UnquotedTabs):
        yield row["sentence2"], row["sentence1"], int(row["label"] == "not_entailment")


def _qnli(folder: Path) -> Iterator[Example]:
    for row in rows_of(folder / "aux-nli/qnli/dev.tsv", UnquotedTabs):
        yield row["question"], row["sentence"], int(row["label"] == "not_entailment")


def _sst(folder: Path) -> Iterator[Example]:
    for row in rows_of(folder / "aux-sentiment/sst-2/train.tsv", UnquotedTabs):
        yield row["sentence"].strip(), None, int(row["label"])


def _perspectives(folder: Path) -> Iterator[tuple[str, list[tuple[int, list[str]]]]]:
    """Claims of the training part with their clusters of perspectives: (0 supports, 1 undermines; wordings)."""
    place = folder / "perspectrum"
    pool = {entry["pId"]: entry["text"] for entry in _json(place / "perspective_pool_v1.0.json")}
    split = _json(place / "dataset_split_v1.0.json")
    for claim in _json(place / "perspectrum_with_answers_v1.0.json"):
        if split[str(claim["cId"])] == "train":
            kinds = ("SUPPORT", "UNDERMINE")
            clusters = [each for each in claim["perspectives"] if each["stance_label_3"] in kinds]
            yield (
                claim["text"],
                [(kinds.index(each["stance_label_3"]), [pool[pid] for pid in each["pids"]]) for each in clusters],
            )


def _perspectrum(folder: Path) -> Iterator[Example]:
    for claim, clusters in _perspectives(folder):
        for stance, wordings in clusters:
            for wording in wordings:
                yield claim, wording, stance


def _paraphrases(folder: Path) -> Iterator[Example]:
    """Wordings of one perspective, and of two perspectives on the same claim."""
    for _, clusters in _perspectives(folder):
        for number, (_, wordings) in enumerate(clusters):
            for first, second in pairwise(wordings):
                yield first, second, 0
                yield first, clusters[number - 1][1][0], int(len(clusters) > 1)


def _json(path: Path) -> Any:
    return json.loads("".join(Lines(packed(path))))


_ENTAILED = ("entailment", "no entailment")
_READERS: dict[str, tuple[str, tuple[str, ...], Callable[[Path], Iterator[Example]]]] = {
    "snli": ("evidence", EVIDENCE, _snli),
    "mnli": ("evidence", EVIDENCE, _mnli),
    "fever": ("evidence", EVIDENCE, _fever),
    "scifact": ("evidence", EVIDENCE, _scifact),
    "rte": ("rte", _ENTAILED, _rte),
    "qnli": ("qnli", ("answer", "no answer"), _qnli),
    "sst": ("sst", ("negative", "positive"), _sst),
    "perspectrum": ("perspectrum", ("supports", "undermines"), _perspectrum),
    "paraphrases": ("paraphrases", ("same", "other"), _paraphrases),
}
TASKS = tuple(_READERS)

ROUNDS = 10
Batch = tuple[str, NDArray[np.int64]]
"""A task's name and the numbers of its examples."""


def epoch_batches(lengths: Mapping[str, Sequence[int]], size: int, *, seed: int, epoch: int) -> list[Batch]:
    """Ten rounds over the tasks in random order, a tenth of each a round (chapter 3.2.4); batches of like lengths."""
    generator = np.random.default_rng([seed, epoch])
    tenths = {name: np.array_split(generator.permutation(len(own)), ROUNDS) for name, own in lengths.items()}
    batches: list[Batch] = []
    for number in range(ROUNDS):
        for name in generator.permutation(list(lengths)):
            batches += [(str(name), rows) for rows in _batched(tenths[name][number], lengths[name], size, generator)]
    return batches


def _batched(
    rows: NDArray[np.int64], lengths: Sequence[int], size: int, generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Rows sorted by length and cut into batches, which come in random order."""
    ordered = rows[np.argsort([lengths[row] for row in rows], kind="stable")]
    batches = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return [batches[place] for place in generator.permutation(len(batches))]
