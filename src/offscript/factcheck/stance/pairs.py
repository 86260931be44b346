"""Claims beside the texts that bear on them, with what people said: FNC-1, SciFact, or JSON lines of one's own."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from offscript._specification import Specification, nearest, parse_specification
from offscript.corpora.lines import Lines
from offscript.errors import OffscriptError
from offscript.factcheck.documents.collections import read_scifact_csv
from offscript.factcheck.documents.document import Document
from offscript.factcheck.stance.stance import STANCES

EVIDENCE = ("supported", "refuted", "not enough")
"""What a single sentence says about a claim."""

_WORDS_FOR = {
    **{label: label for label in (*STANCES, *EVIDENCE)},
    **dict.fromkeys(("supports", "support", "entailment"), "supported"),
    **dict.fromkeys(("refutes", "contradict", "contradiction"), "refuted"),
    **dict.fromkeys(("not enough info", "not_enough_info", "neutral"), "not enough"),
}


@dataclass(frozen=True)
class Pair:
    """A claim and a text by sentences; pairs of one `group` share a text or a claim: they are resampled as one."""

    claim: str
    sentences: tuple[str, ...]
    label: str
    group: str


@dataclass(frozen=True)
class PairSet:
    """Pairs, and the labels to choose from: `STANCES` of documents, or those of `EVIDENCE` that the set knows."""

    name: str
    labels: tuple[str, ...]
    pairs: tuple[Pair, ...]

    @property
    def of_documents(self) -> bool:
        """Whether the texts are whole documents."""
        return self.labels == STANCES


def read_pairs(text: str) -> PairSet:
    """`PATH[,split=NAME]`: the folder of FNC-1 or SciFact, or a JSON-lines file with claim, text and label."""
    place = parse_specification(text)
    path = Path(place.name)
    if unknown := place.settings.keys() - {"split"}:
        raise OffscriptError(f"no setting {min(unknown)!r} for {path}", next="write PATH or PATH,split=NAME")
    if path.is_dir():
        return _of_folder(path, place)
    if not path.is_file():
        raise OffscriptError(f"no such file or folder: {path}", next="name one that holds claims, texts and labels")
    return _of_json_lines(path)


def split_document(text: str) -> tuple[str, ...]:
    """The sentences of a text."""
    return tuple(Document("", text=text).sentences())


def sampled(pairs: Sequence[Pair], limit: int | None, seed: int) -> list[Pair]:
    """At most so many pairs, drawn at random, in their order."""
    if limit is None or limit >= len(pairs):
        return list(pairs)
    rows = np.random.default_rng(seed).permutation(len(pairs))[:limit]
    return [pairs[row] for row in sorted(rows)]


def packed(path: Path) -> Path:
    """The file, or the compressed one that stands for it."""
    return path if path.is_file() else path.with_name(f"{path.name}.xz")


def rows_of(path: Path, dialect: type[csv.Dialect] = csv.excel) -> list[dict[str, str]]:
    """The rows of a CSV file under their column names; quoted values may span lines."""
    lines = Lines(packed(path))
    try:
        return list(csv.DictReader(io.StringIO("".join(lines), newline=""), dialect=dialect))
    except csv.Error as error:
        raise lines.fault("not valid CSV", why=str(error)) from error


class UnquotedTabs(csv.excel_tab):
    """Values between tabs, in which a quotation mark is just a character."""

    quoting = csv.QUOTE_NONE


def _of_folder(path: Path, place: Specification) -> PairSet:
    kinds = {"competition_test_stances.csv": (_fnc, FNC_SPLITS), "claims_validation.csv": (_scifact, SCIFACT_SPLITS)}
    for name, (read, splits) in kinds.items():
        if packed(path / name).is_file():
            split = str(place.settings.get("split", splits[0]))
            if split not in splits:
                raise OffscriptError(f"{path} has no split {split!r}", next=nearest(split, splits))
            return PairSet(f"{path.name} {split}", STANCES if read is _fnc else EVIDENCE, tuple(read(path, split)))
    raise OffscriptError(f"{path} is no folder of pairs", next="name FNC-1's or SciFact's folder, or a .jsonl file")


FNC_SPLITS = ("test", "train", "hold-out", "known-topics", "new-topics", "all")
"""Of the training pairs: `train` and `hold-out` are the official baseline's, whose bodies differ but whose headlines do
not; `new-topics` is about a fifth of all topics, and no claim or text of theirs is in `known-topics`, as in the test.
Pairs of a new claim with a known text are in neither: who has seen a text can tell by that alone what is unrelated."""


def _fnc(folder: Path, split: str) -> Iterator[Pair]:
    name = "competition_test" if split == "test" else "train"
    rows = rows_of(folder / f"{name}_bodies.csv")
    bodies = {row["Body ID"]: split_document(row["articleBody"]) for row in rows}
    pairs = [
        Pair(row["Headline"], bodies[row["Body ID"]], row["Stance"], row["Body ID"])
        for row in rows_of(folder / f"{name}_stances.csv")
    ]
    match split:
        case "train" | "hold-out":
            ids = "training_ids.txt" if split == "train" else "hold_out_ids.txt"
            kept = set("".join(Lines(packed(folder / ids))).split())
            yield from (pair for pair in pairs if pair.group in kept)
        case "known-topics":
            new = new_topics(pairs)
            yield from (pair for pair in pairs if new.isdisjoint((pair.claim, pair.sentences)))
        case "new-topics":
            new = new_topics(pairs)
            yield from (pair for pair in pairs if new.issuperset((pair.claim, pair.sentences)))
        case _:
            yield from pairs


Thing = str | tuple[str, ...]
"""A claim, or a text by sentences."""


def new_topics(pairs: Sequence[Pair], *, share: float = 0.2, seed: int = 1) -> set[Thing]:
    """The claims and texts of some topics, drawn at random, that hold at most a share of the pairs of any stance.

    A topic is what related pairs join, directly or by way of others.
    """
    related = [pair for pair in pairs if pair.label != "unrelated"]
    things: Iterator[Thing] = chain.from_iterable((pair.claim, pair.sentences) for pair in related)
    numbers = {thing: number for number, thing in enumerate(dict.fromkeys(things))}
    ends = np.array(
        [[numbers[pair.claim] for pair in related], [numbers[pair.sentences] for pair in related]], dtype=np.int64
    )
    joined = sparse.coo_array((np.ones(len(related)), ends), shape=(len(numbers), len(numbers)))
    count, topics = connected_components(joined, directed=False)
    stances = np.zeros((count, len(STANCES)))
    np.add.at(stances, (topics[ends[0]], [STANCES.index(pair.label) for pair in related]), 1)
    new, taken = set(), np.zeros(len(STANCES))
    for topic in np.random.default_rng(seed).permutation(count):
        if (taken + stances[topic] <= share * stances.sum(axis=0)).all():
            new.add(topic)
            taken += stances[topic]
    return {thing for thing, number in numbers.items() if topics[number] in new}


SCIFACT_SPLITS = ("validation", "train")


def _scifact(folder: Path, split: str) -> Iterator[Pair]:
    """Each claim with each rationale, and with the first sentences of a cited abstract that has none."""
    corpus = Lines(packed(folder / "corpus_train.csv"))
    abstracts = {document.id: document for document in read_scifact_csv(corpus)}
    for row in rows_of(folder / f"claims_{split}.csv"):
        label = {"SUPPORT": "supported", "CONTRADICT": "refuted"}.get(row["evidence_label"], "not enough")
        cited = row["evidence_doc_id"] or row["cited_doc_ids"].strip("[]").split()[0]
        sentences = abstracts[cited].sentences()
        numbers = [int(number) for number in row["evidence_sentences"].strip("[]").split()] or [0, 1]
        chosen = tuple(sentences[number].strip() for number in numbers if number < len(sentences))
        yield Pair(row["claim"], chosen, label, row["id"])


def _of_json_lines(path: Path) -> PairSet:
    lines, pairs = Lines(path), []
    for line in lines:
        if not line.strip():
            continue
        try:
            pairs.append(_pair(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            why, how = repr(error), '{"claim": "…", "text": "…" or ["…"], "label": "…"}'
            raise lines.fault("not a claim with a text and a label", why=why, next=f"write {how} a line") from error
    return _labelled(path, pairs)


def _pair(record: dict[str, object]) -> Pair:
    claim = record["claim"]
    text = next((record[key] for key in ("text", "sentences", "evidence_sentence", "evidence") if key in record), None)
    label = _WORDS_FOR[str(record["label"]).lower()]
    if not isinstance(claim, str) or not isinstance(text, str | list):
        raise TypeError("claim and text must be text")
    sentences = split_document(text) if isinstance(text, str) else tuple(map(str, text))
    return Pair(claim, sentences, label, str(record.get("group", claim)))


def _labelled(path: Path, pairs: Sequence[Pair]) -> PairSet:
    used = {pair.label for pair in pairs}
    if not used:
        raise OffscriptError(f"{path} holds no pair", next='write {"claim": "…", "text": "…", "label": "…"} a line')
    if used <= set(STANCES):
        return PairSet(path.name, STANCES, tuple(pairs))
    if used <= set(EVIDENCE):
        return PairSet(path.name, tuple(label for label in EVIDENCE if label in used), tuple(pairs))
    raise OffscriptError(f"{path} mixes stances with evidence", next="keep documents and sentences apart")
