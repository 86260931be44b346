"""Auxiliary tasks (chapter 3.2.3): entailment, paraphrase, questions, sentiment, evidence; and when each is learnt."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from offscript._specification import nearest
from offscript.corpora.lines import Lines, archived_texts, packed
from offscript.corpora.prose import decode_brackets
from offscript.corpora.records import (
    S,
    Schema,
    one_of,
    read_json_list,
    read_json_value,
    read_records,
    read_rows,
    table_rows,
)
from offscript.errors import OffscriptError
from offscript.factcheck.stance.pairs import EVIDENCE, read_pairs

Example = tuple[str, str | None, int]
"""Claim, text (None for a single sentence) and the number of the label."""

_MNLI_BEGIN, _MNLI_MIDDLE = 'For the statement, "', '", does the hypothesis "'
_MNLI_END = '" represent entailment, '
_REVIEWS = re.compile(r"aclImdb/train/(pos|neg)/\d+_\d+\.txt")
_PERSPECTIVES = ("SUPPORT", "UNDERMINE")
_Entailed = Annotated[int, one_of({"entailment": 0, "not_entailment": 1})]


class QuestionRow(Schema):
    """A row of MNLI, posed as a question."""

    question: str = Field(alias="Question")
    answer: Annotated[int, one_of({"entailment": 0, "contradiction": 1, "neutral": 2})] = Field(alias="Answer")


class SampleRow(Schema):
    """A row of FEVER's training sample."""

    claim: str
    sentence: str
    label: Annotated[int, one_of({"SUPPORTS": 0, "REFUTES": 1})]


class TrainingRecord(Schema):
    """A claim of FEVER's whole training set."""

    claim: str
    label: Annotated[int, one_of({"SUPPORTS": 0, "REFUTES": 1, "NOT ENOUGH INFO": 2})]
    evidence: list[str]


class EntailmentRow(Schema):
    """A row of RTE."""

    sentence1: str
    sentence2: str
    label: _Entailed


class AnswerRow(Schema):
    """A row of QNLI."""

    question: str
    sentence: str
    label: _Entailed


class SentimentRow(Schema):
    """A row of SST-2."""

    sentence: str
    label: Annotated[int, one_of({"0": 0, "1": 1})]


class Perspective(Schema):
    """A wording in PERSPECTRUM's pool."""

    number: int = Field(alias="pId")
    text: str


class Cluster(Schema):
    """Wordings of one perspective on a claim."""

    stance_label_3: str
    pids: list[int] = Field(min_length=1)


class PerspectrumClaim(Schema):
    """A claim of PERSPECTRUM with the perspectives on it."""

    number: int = Field(alias="cId")
    text: str
    perspectives: list[Cluster]


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
    lines = Lines(packed(folder / "aux-nli/snli-train-sample/train.csv"))
    for row in table_rows(lines, delimiter="\t", quoted=False):
        if len(row) != 4 or row[0] not in ("1", "2", "3"):
            raise lines.fault("not a label, a number, a premise and a hypothesis", next="begin with 1, 2 or 3")
        yield row[3], row[2], 3 - int(row[0])


def _mnli(folder: Path) -> Iterator[Example]:
    for row in read_rows(Lines(packed(folder / "aux-nli/mnli-sample/mnli_train.csv")), QuestionRow):
        statement, divided, _ = row.question.rpartition(_MNLI_END)
        premise, parted, hypothesis = statement.removeprefix(_MNLI_BEGIN).rpartition(_MNLI_MIDDLE)
        if divided and parted and statement.startswith(_MNLI_BEGIN):
            yield hypothesis, premise, row.answer


def _fever(folder: Path) -> Iterator[Example]:
    """Claims with their evidence, and every fourth claim with a sentence from elsewhere besides."""
    lines = Lines(packed(folder / "fever/train-sample/train_balanced_10000_samples.csv"))
    rows = list(read_rows(lines, SampleRow))
    sentences = [decode_brackets(row.sentence) for row in rows]
    for number, row in enumerate(rows):
        yield row.claim, sentences[number], row.label
        if number % 4 == 0:
            yield row.claim, sentences[(number + len(rows) // 2) % len(rows)], 2


def _fever_train(folder: Path) -> Iterator[Example]:
    """As many claims of each label with their evidence; claims that nothing decides get another claim's at random.

    Those are the NOT ENOUGH INFO pairs "by random sampling" of the FEVER paper and of Table 2.2.
    """
    records = list(read_records(Lines(packed(folder / "fever-train/train.jsonl")), TrainingRecord))
    by_label = [[record for record in records if record.label == label] for label in range(len(EVIDENCE))]
    texts = [_joined(record.evidence) for record in records if record.evidence]
    random, size = np.random.default_rng(1), min(map(len, by_label))
    for label, own in enumerate(by_label):
        for place in random.permutation(len(own))[:size]:
            known = own[place].evidence
            yield own[place].claim, _joined(known) if known else texts[random.integers(len(texts))], label


def _joined(sentences: Sequence[str]) -> str:
    return decode_brackets(" ".join(sentences))


def _scifact(folder: Path) -> Iterator[Example]:
    for pair in read_pairs(f"{folder / 'scifact'},split=train").pairs:
        yield pair.claim, " ".join(pair.sentences), EVIDENCE.index(pair.label)


def _rte(folder: Path) -> Iterator[Example]:
    for row in _tabbed(folder / "aux-nli/rte-glue/train.tsv", EntailmentRow):
        yield row.sentence2, row.sentence1, row.label


def _qnli(folder: Path) -> Iterator[Example]:
    for row in _tabbed(folder / "aux-nli/qnli/dev.tsv", AnswerRow):
        yield row.question, row.sentence, row.label


def _sst(folder: Path) -> Iterator[Example]:
    for row in _tabbed(folder / "aux-sentiment/sst-2/train.tsv", SentimentRow):
        yield row.sentence.strip(), None, row.label


def _imdb(folder: Path) -> Iterator[Example]:
    """Reviews of the training part, read from the archive without unpacking it."""
    for name, text in archived_texts(folder / "aux-sentiment/imdb-subset/aclImdb-ids-0-2499.tar.xz", _REVIEWS):
        yield text.replace("<br />", " "), None, int("/pos/" in name)


def _perspectives(folder: Path) -> Iterator[tuple[str, list[tuple[int, list[str]]]]]:
    """Claims of the training part with their clusters of perspectives: (0 supports, 1 undermines; wordings)."""
    place = folder / "perspectrum"
    wordings = read_json_list(packed(place / "perspective_pool_v1.0.json"), Perspective)
    pool = {wording.number: wording.text for wording in wordings}
    split = read_json_value(packed(place / "dataset_split_v1.0.json"))
    path = packed(place / "perspectrum_with_answers_v1.0.json")
    for claim in read_json_list(path, PerspectrumClaim):
        if not isinstance(split, dict) or str(claim.number) not in split:
            raise OffscriptError(f"{path}: no part for claim {claim.number}", next="name it in dataset_split_v1.0.json")
        clusters = [cluster for cluster in claim.perspectives if cluster.stance_label_3 in _PERSPECTIVES]
        if unknown := {pid for cluster in clusters for pid in cluster.pids} - pool.keys():
            raise OffscriptError(f"{path}: no perspective {min(unknown)}", next="give it in perspective_pool_v1.0.json")
        if split[str(claim.number)] == "train":
            stances = [_PERSPECTIVES.index(cluster.stance_label_3) for cluster in clusters]
            texts = [[pool[pid] for pid in cluster.pids] for cluster in clusters]
            yield claim.text, list(zip(stances, texts, strict=True))


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


def _tabbed(path: Path, schema: type[S]) -> Iterator[S]:
    """Rows of a table whose values stand between tabs, in which a quotation mark is just a character."""
    return read_rows(Lines(packed(path)), schema, delimiter="\t", quoted=False)


_ENTAILED = ("entailment", "no entailment")
_READERS: dict[str, tuple[str, tuple[str, ...], Callable[[Path], Iterator[Example]]]] = {
    "snli": ("evidence", EVIDENCE, _snli),
    "mnli": ("evidence", EVIDENCE, _mnli),
    "fever": ("evidence", EVIDENCE, _fever),
    "fever-train": ("evidence", EVIDENCE, _fever_train),
    "scifact": ("evidence", EVIDENCE, _scifact),
    "rte": ("rte", _ENTAILED, _rte),
    "qnli": ("qnli", ("answer", "no answer"), _qnli),
    "sst": ("sst", ("negative", "positive"), _sst),
    "imdb": ("imdb", ("negative", "positive"), _imdb),
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
