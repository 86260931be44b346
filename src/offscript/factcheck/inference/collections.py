"""Seven collections: to calibrate verdicts, to test on one after the other, and a part of three to train on."""

import ast
import csv
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from offscript.corpora.lines import Lines
from offscript.factcheck.inference.examples import LABELS, NAMES, Example, plain_text, read_records

SUPPORTS, REFUTES, NEITHER = range(len(LABELS))
SENTENCES = 3  # of a document that is given whole
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")

Answers = tuple[tuple[int, ...], ...]
THREE: Answers = ((SUPPORTS,), (REFUTES,), (NEITHER,))
TWO: Answers = ((SUPPORTS,), (REFUTES,))
SUPPORTED_OR_NOT: Answers = ((SUPPORTS,), (REFUTES, NEITHER))


class Collection(NamedTuple):
    """Parts of a collection that share no claim, and which labels its answers stand for.

    `fitting` calibrates verdicts, `testing` tests them, and `teaching`, which some collections have, trains the
    inference model. Verdicts are not fitted on claims that the model has learnt: it is too sure of those.

    Where a collection knows claims as supported or refuted alone, the third label is not among its answers; where it
    only says whether a claim is supported, what does not support it is one answer.
    """

    name: str
    answers: Answers
    licence: str
    fitting: list[Example]
    testing: list[Example]
    teaching: Sequence[Example] = ()


def read_collections(folder: Path, names: Iterable[str] | None = None) -> list[Collection]:
    """The collections under a data folder, all seven unless some are named."""
    return [READERS[name](folder) for name in (READERS if names is None else names)]


def _scifact(folder: Path) -> Collection:
    """Rationale sentences of a claim, or the sentences of the cited abstract that share most words with it."""
    folder /= "scifact"
    abstracts = {
        row["doc_id"]: [str(ast.literal_eval(text)) for text in _QUOTED.findall(row["abstract"])]
        for row in csv.DictReader(Lines(folder / "corpus_train.csv.xz"))
    }
    titles = {row["doc_id"]: row["title"] for row in csv.DictReader(Lines(folder / "corpus_train.csv.xz"))}
    parts = [_scifact_part(folder / f"claims_{part}.csv.xz", abstracts, titles) for part in ("train", "validation")]
    return _with_teaching(Collection("scifact", THREE, "CC BY 4.0; abstracts ODC-By 1.0", *parts))


def _scifact_part(path: Path, abstracts: Mapping[str, list[str]], titles: Mapping[str, str]) -> list[Example]:
    rationales: dict[tuple[str, str, int], set[int]] = {}
    for row in csv.DictReader(Lines(path)):
        label = {"SUPPORT": SUPPORTS, "CONTRADICT": REFUTES}.get(row["evidence_label"], NEITHER)
        document = row["evidence_doc_id"] or row["cited_doc_ids"].strip("[] ").split()[0]
        numbers = {int(number) for number in row["evidence_sentences"].strip("[] ").split()}
        rationales.setdefault((row["claim"], document, label), set()).update(numbers)
    return [
        _example(claim, _chosen(claim, abstracts[document], numbers), label, "scifact", titles[document])
        for (claim, document, label), numbers in rationales.items()
    ]


def _chosen(claim: str, sentences: Sequence[str], numbers: Iterable[int]) -> list[str]:
    """The numbered sentences, at most `SENTENCES`, filled up with others that share most words with the claim."""
    asked = {word.lower() for word in _WORD.findall(claim)}
    places = sorted(
        range(len(sentences)),
        key=lambda place: -len(asked & {word.lower() for word in _WORD.findall(sentences[place])}),
    )
    own = sorted(numbers, key=places.index)
    kept = [*own, *(place for place in places if place not in own)][:SENTENCES]
    return [sentences[place] for place in sorted(kept)]


def _healthver(folder: Path) -> Collection:
    names = {"Supports": SUPPORTS, "Refutes": REFUTES, "Neutral": NEITHER}
    parts = [
        [
            _example(row["claim"], [row["evidence"]], names[row["label"]], "healthver")
            for row in csv.DictReader(Lines(folder / "healthver" / f"healthver_{part}.csv.xz"))
        ]
        for part in ("dev", "test")
    ]
    return Collection("healthver", THREE, "not stated", *parts)


def _covid_fact(folder: Path) -> Collection:
    parts = []
    for part in ("dev", "test1"):
        rows = csv.reader(Lines(folder / "covid-fact" / "rte-split" / f"{part}.tsv.xz"), delimiter="\t", quoting=3)
        parts.append([
            _example(row[2], [row[1]], SUPPORTS if row[3].strip() == "entailment" else NEITHER, "covid-fact")
            for row in list(rows)[1:]
        ])  # fmt: skip
    return Collection("covid-fact", SUPPORTED_OR_NOT, "not stated", *parts)


def _fool_me_twice(folder: Path) -> Collection:
    def example(record: Mapping[str, Any]) -> Example:
        sentences = [each["text"] for each in record["gold_evidence"]]
        page = str(record["wikipedia_page"]).rsplit("/", 1)[-1].replace("_", " ")
        return _example(str(record["text"]), sentences, NAMES[str(record["label"])], "fool-me-twice", page)

    parts = [
        [example(each) for each in read_records(folder / "fool-me-twice" / f"{part}.jsonl.xz")]
        for part in ("dev", "test")
    ]
    return _with_teaching(Collection("fool-me-twice", TWO, "Apache-2.0; text CC BY-SA", *parts))


def _wice(folder: Path) -> Collection:
    def example(record: Mapping[str, Any]) -> Example:
        claim, sentences = str(record["claim"]), record["evidence"]
        shortest: list[int] = min(record["supporting_sentences"], key=len)
        label = SUPPORTS if record["label"] == "supported" else NEITHER
        return _example(claim, _chosen(claim, sentences, shortest), label, "wice")

    parts = [
        [example(each) for each in read_records(folder / "wice" / "claim" / f"{part}.jsonl.xz")]
        for part in ("dev", "test")
    ]
    return Collection("wice", SUPPORTED_OR_NOT, "ODC-By; text CC BY-SA", *parts)


def _check_covid(folder: Path) -> Collection:
    parts = [_labelled(folder / "check-covid" / f"{part}.jsonl.xz", "check-covid") for part in ("train", "dev")]
    return _with_teaching(Collection("check-covid", THREE, "MIT", *parts))


def _symmetric(folder: Path) -> Collection:
    v2 = folder / "fever-symmetric" / "symmetric_v0.2"
    parts = [_labelled(v2 / f"fever_symmetric_{part}.jsonl.xz", "fever-symmetric") for part in ("dev", "test")]
    return Collection("fever-symmetric", TWO, "CC BY-SA 3.0", *parts)


def _with_teaching(collection: Collection) -> Collection:
    """Half of the claims that verdicts were fitted on, by a hash of their words, to train on instead.

    A claim that is tested as well is in neither half: SciFact has one.
    """
    tested = {_words(each.claim) for each in collection.testing}
    others = [each for each in collection.fitting if _words(each.claim) not in tested]
    taught = [each for each in others if _is_taught(each.claim)]
    return collection._replace(fitting=[each for each in others if not _is_taught(each.claim)], teaching=taught)


def _is_taught(claim: str) -> bool:
    return hashlib.sha256(_words(claim).encode()).digest()[0] % 2 == 0


def _words(claim: str) -> str:
    return " ".join(_WORD.findall(claim.lower()))


def _labelled(path: Path, source: str) -> list[Example]:
    records = read_records(path)
    return [
        _example(str(each["claim"]), [str(each["evidence"])], NAMES[str(each["label"])], source) for each in records
    ]


def _example(claim: str, evidence: Sequence[str], label: int, source: str, title: str = "") -> Example:
    return Example(plain_text(claim), tuple(map(plain_text, evidence)), label, source, plain_text(title))


READERS: dict[str, Callable[[Path], Collection]] = {
    "scifact": _scifact,
    "healthver": _healthver,
    "covid-fact": _covid_fact,
    "fool-me-twice": _fool_me_twice,
    "wice": _wice,
    "check-covid": _check_covid,
    "fever-symmetric": _symmetric,
}
