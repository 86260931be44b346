"""Claims beside the texts that bear on them, with what people said: FNC-1, SciFact, or JSON lines of one's own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from offscript._specification import Specification, nearest, parse_specification
from offscript.corpora.lines import Lines, check_file, is_folder, packed
from offscript.corpora.records import (
    Identifier,
    RecordError,
    Schema,
    WholeNumbers,
    one_of,
    read_records,
    read_rows,
)
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


def split_document(text: str) -> tuple[str, ...]:
    """The sentences of a text."""
    return tuple(Document("", text=text).sentences())


def _sentences(text: object) -> tuple[str, ...]:
    if isinstance(text, str):
        return split_document(text)
    if not isinstance(text, list) or not all(isinstance(sentence, str | int | float) for sentence in text):
        raise RecordError("is neither text nor a list of sentences")
    return tuple(map(str, text))


class PairRecord(Schema):
    """A pair as a JSON record."""

    noun = "a claim with a text and a label"
    hint = 'write {"claim": "…", "text": "…" or ["…"], "label": "…"} per line'

    claim: str
    text: Annotated[tuple[str, ...], BeforeValidator(_sentences)] = Field(
        validation_alias=AliasChoices("text", "sentences", "evidence_sentence", "evidence")
    )
    label: Annotated[str, one_of(_WORDS_FOR, str.lower)]
    group: Any = None

    def pair(self) -> Pair:
        """The pair."""
        return Pair(self.claim, self.text, self.label, self.claim if self.group is None else str(self.group))


class BodyRow(Schema):
    """A row of FNC-1's bodies."""

    body: Identifier = Field(alias="Body ID")
    text: str = Field(alias="articleBody")


class StanceRow(Schema):
    """A row of FNC-1's stances."""

    headline: str = Field(alias="Headline")
    body: Identifier = Field(alias="Body ID")
    stance: Annotated[str, one_of(STANCES)] = Field(alias="Stance")


class RationaleRow(Schema):
    """A row of SciFact's claims: a rationale, or a cited abstract without one."""

    id: Identifier
    claim: str
    evidence_doc_id: str
    evidence_label: Annotated[str, AfterValidator(lambda label: _WORDS_FOR.get(label.lower(), "not enough"))]
    evidence_sentences: WholeNumbers
    cited_doc_ids: WholeNumbers


def read_pairs(text: str) -> PairSet:
    """`PATH[,split=NAME]`: the folder of FNC-1 or SciFact, or a JSON-lines file with claim, text and label."""
    place = parse_specification(text)
    path = Path(place.name)
    if unknown := place.settings.keys() - {"split"}:
        raise OffscriptError(f"no setting {min(unknown)!r} for {path}", next="write PATH or PATH,split=NAME")
    if is_folder(path):
        return _of_folder(path, place)
    check_file(path, "name one that holds claims, texts and labels", noun="file or folder")
    return _of_json_lines(path)


def sampled(pairs: Sequence[Pair], limit: int | None, seed: int) -> list[Pair]:
    """At most so many pairs, drawn at random, in their order."""
    if limit is None or limit >= len(pairs):
        return list(pairs)
    rows = np.random.default_rng(seed).permutation(len(pairs))[:limit]
    return [pairs[row] for row in sorted(rows)]


def _of_folder(path: Path, place: Specification) -> PairSet:
    kinds = {"competition_test_stances.csv": (_fnc, FNC_SPLITS), "claims_validation.csv": (_scifact, SCIFACT_SPLITS)}
    for name, (read, splits) in kinds.items():
        if packed(path / name).is_file():
            split = str(place.settings.get("split", splits[0]))
            if split not in splits:
                raise OffscriptError(f"{path} has no split {split!r}", next=nearest(split, splits))
            return PairSet(f"{path.name} {split}", STANCES if read is _fnc else EVIDENCE, tuple(read(path, split)))
    raise OffscriptError(f"{path} is not a folder of pairs", next="name FNC-1's or SciFact's folder, or a .jsonl file")


FNC_SPLITS = ("test", "train", "hold-out", "known-topics", "new-topics", "all")
"""Of the training pairs: `train` and `hold-out` are the official baseline's, whose bodies differ but whose headlines do
not; `new-topics` is about a fifth of all topics, and no claim or text of theirs is in `known-topics`, as in the test.
Pairs of a new claim with a known text are in neither: who has seen a text can tell by that alone what is unrelated."""


def _fnc(folder: Path, split: str) -> Iterator[Pair]:
    name = "competition_test" if split == "test" else "train"
    rows = read_rows(Lines(packed(folder / f"{name}_bodies.csv")), BodyRow, unique="body")
    bodies = {row.body: split_document(row.text) for row in rows}
    lines = Lines(packed(folder / f"{name}_stances.csv"))
    pairs = []
    for stance in read_rows(lines, StanceRow):
        if stance.body not in bodies:
            raise lines.fault(f"there is no body {stance.body!r}", next=f"give it in {name}_bodies.csv")
        pairs.append(Pair(stance.headline, bodies[stance.body], stance.stance, stance.body))
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
    lines = Lines(packed(folder / f"claims_{split}.csv"))
    for row in read_rows(lines, RationaleRow):
        cited = row.evidence_doc_id or "".join(map(str, row.cited_doc_ids[:1]))
        if cited not in abstracts:
            raise lines.fault(f"there is no abstract {cited!r}", next="give it in corpus_train.csv")
        sentences = abstracts[cited].sentences()
        chosen = tuple(sentences[n].strip() for n in row.evidence_sentences or [0, 1] if 0 <= n < len(sentences))
        yield Pair(row.claim, chosen, row.evidence_label, row.id)


def _of_json_lines(path: Path) -> PairSet:
    return _labelled(path, [record.pair() for record in read_records(Lines(path), PairRecord)])


def _labelled(path: Path, pairs: Sequence[Pair]) -> PairSet:
    used = {pair.label for pair in pairs}
    if not used:
        raise OffscriptError(f"{path} holds no pair", next=PairRecord.hint)
    if used <= set(STANCES):
        return PairSet(path.name, STANCES, tuple(pairs))
    if used <= set(EVIDENCE):
        return PairSet(path.name, tuple(label for label in EVIDENCE if label in used), tuple(pairs))
    raise OffscriptError(f"{path} mixes stances with evidence", next="keep documents and sentences apart")
