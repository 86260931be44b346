"""Claims that somebody judged: offscript's own layout, SciFact's, and FEVER's with its evidence texts to search."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, PlainValidator, model_validator

from offscript.corpora.lines import Lines, kind_of
from offscript.corpora.prose import decode_brackets
from offscript.corpora.records import (
    Identifier,
    RecordError,
    Schema,
    WholeNumbers,
    one_of,
    read_records,
    read_rows,
    whole_number,
)
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict
from offscript.factcheck.documents.document import Document

LABELS = {
    **{verdict.value: verdict for verdict in Verdict},
    **dict.fromkeys(("SUPPORTS", "SUPPORT", "TRUE"), Verdict.supported),
    **dict.fromkeys(("REFUTES", "CONTRADICT", "FALSE"), Verdict.refuted),
    **dict.fromkeys(("NOT_ENOUGH_INFO", "NEI", ""), Verdict.unknown),
}

Place = tuple[str, int | None]
"""A document's id and the number of a sentence in it; None for any of its sentences."""
EvidenceSet = frozenset[Place]
PARTS = ("dev", "test")


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict; each set of `evidence` is enough by itself to come to it."""

    id: str
    claim: str
    label: Verdict
    evidence: tuple[EvidenceSet, ...] = ()


def _evidence_sets(written: object) -> tuple[EvidenceSet, ...]:
    if isinstance(written, dict):
        return tuple(_rationale(document, entry) for document, entries in written.items() for entry in _list(entries))
    return tuple(filter(None, map(_evidence_set, _list(written or []))))


def _rationale(document: str, entry: object) -> EvidenceSet:
    if not isinstance(entry, dict) or "sentences" not in entry:
        raise RecordError("holds a rationale without sentences")
    return frozenset((document, whole_number(number)) for number in _list(entry["sentences"]))


def _evidence_set(written: object) -> EvidenceSet:
    """One set; FEVER's places without a page, those of claims that nothing decides, are left out."""
    if isinstance(written, str | int):
        return frozenset([(str(written), None)])
    places = _list(written)
    if len(places) == 2 and not isinstance(places[0], list):
        places = [places]
    return frozenset(place for place in map(_place, places) if place is not None)


def _place(written: object) -> Place | None:
    if not isinstance(written, list) or len(written) not in (2, 4):
        raise RecordError("holds a place that is not [document, sentence]")
    page, number = written[-2:]
    if page is None:
        return None
    if not isinstance(page, str | int):
        raise RecordError("holds a document that is neither text nor a number")
    return str(page), None if number is None else whole_number(number)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise RecordError(f"is, or holds, {type(value).__name__} where a list belongs")
    return value


class ClaimRecord(Schema):
    """A claim as a JSON record; SciFact's has its label with its evidence."""

    noun = "a judged claim"
    hint = 'write {"id": …, "claim": "…", "label": "SUPPORTED", "evidence": […]} per line'

    id: Identifier
    claim: str
    label: Annotated[Verdict, one_of(LABELS, str.upper)]
    evidence: Annotated[tuple[EvidenceSet, ...], PlainValidator(_evidence_sets)] = ()

    @model_validator(mode="before")
    @classmethod
    def _label_of_evidence(cls, record: dict[str, Any]) -> dict[str, Any]:
        evidence = record.get("evidence")
        if not isinstance(evidence, dict) or record.get("label"):
            return record
        entries = [entry for entries in evidence.values() if isinstance(entries, list) for entry in entries]
        labels = [entry.get("label", "") for entry in entries if isinstance(entry, dict)]
        return {**record, "label": labels[0] if labels else ""}


class ClaimRow(Schema):
    """A row of SciFact's claims as CSV: a rationale of a claim, which may have several."""

    id: Identifier
    claim: str
    evidence_doc_id: str
    evidence_label: Annotated[Verdict, one_of(LABELS, str.upper)]
    evidence_sentences: WholeNumbers


def read_claims(path: Path | str) -> list[JudgedClaim]:
    """Claims of a file: JSON records one per line, or SciFact as CSV.

    A record is `{"id", "claim", "label", "evidence"}`. Evidence is a list of sets, a set a list of `[document,
    sentence]`; a bare document stands for a set of any of its sentences. FEVER's sets of `[annotation, evidence, page,
    sentence]` are read as they are, and so is SciFact's `{document: [{"sentences", "label"}]}`.

    Args:
        path: The file, plain or compressed.

    Returns:
        The claims, at least one.
    """
    lines = Lines(path)
    claims = list(_from_rows(lines) if kind_of(lines.path) == ".csv" else _from_records(lines))
    if not claims:
        raise OffscriptError(f"{path} holds no claim", next=ClaimRecord.hint)
    return claims


def _from_records(lines: Lines) -> Iterator[JudgedClaim]:
    for record in read_records(lines, ClaimRecord, unique="id"):
        yield JudgedClaim(record.id, record.claim, record.label, record.evidence)


def _from_rows(lines: Lines) -> Iterator[JudgedClaim]:
    by_id: dict[str, list[ClaimRow]] = {}
    for row in read_rows(lines, ClaimRow):
        by_id.setdefault(row.id, []).append(row)
    for id, rows in by_id.items():
        documents = [(row.evidence_doc_id, row.evidence_sentences) for row in rows if row.evidence_doc_id]
        sets = tuple(frozenset((document, number) for number in numbers) for document, numbers in documents)
        yield JudgedClaim(id, rows[0].claim, rows[0].evidence_label, sets)


@dataclass(frozen=True)
class FeverPassages:
    """The distinct evidence texts as documents, and the claims of the paper's two halves."""

    documents: list[Document]
    claims: dict[str, list[JudgedClaim]]  # by part


def _named_page(place: list[Any]) -> list[Any]:
    if len(place) != 4 or not isinstance(place[2], str | None):
        raise ValueError("is not [annotation, evidence, page, sentence]")
    return place


class FeverClaim(Schema):
    """A claim of paper_dev.jsonl or paper_test.jsonl."""

    noun = "a claim of FEVER"
    hint = 'write {"id": …, "claim": "…", "label": "SUPPORTS", "evidence": [[[…, …, "page", 0]]]} per line'

    id: Identifier
    claim: str
    label: Annotated[Verdict, one_of(LABELS)]
    evidence: list[list[Annotated[list[Any], AfterValidator(_named_page)]]]


def read_fever_passages(folder: Path | str, *, titled: bool = False) -> FeverPassages:
    """From a folder with `paper_dev.jsonl.xz`, `paper_test.jsonl.xz` and `gold-evidence-dev/dev.raw.input{0,1}.xz`.

    The evidence texts are those of the claims of both halves, so each half is searched among the other's evidence too.
    A claim's evidence is its text as a whole: sentence numbers of Wikipedia pages do not apply to it. `titled` gives
    every text the title of the page that most of it comes from.
    """
    folder = Path(folder)
    texts, claims = (_lines(folder / "gold-evidence-dev" / f"dev.raw.input{number}.xz") for number in (0, 1))
    if len(texts) != len(claims):
        raise OffscriptError(f"{folder} has {len(texts)} evidence texts for {len(claims)} claims")
    ids = {text: f"passage-{number}" for number, text in enumerate(dict.fromkeys(texts))}
    evidence = {_unquoted(claim): ids[text] for claim, text in zip(claims, texts, strict=True)}
    titles = _titles(folder, evidence) if titled else {}
    documents = [Document(id, titles.get(id, ""), decode_brackets(text)) for text, id in ids.items()]
    return FeverPassages(documents, {part: _claims(folder / f"paper_{part}.jsonl.xz", evidence) for part in PARTS})


def _claims(path: Path, evidence: dict[str, str]) -> list[JudgedClaim]:
    claims = []
    for record in read_records(Lines(path), FeverClaim, unique="id"):
        passage = None if record.label == Verdict.unknown else evidence.get(record.claim)
        sets = (frozenset([(passage, None)]),) if passage is not None else ()
        claims.append(JudgedClaim(record.id, record.claim, record.label, sets))
    return claims


def _titles(folder: Path, evidence: dict[str, str]) -> dict[str, str]:
    """For every passage the page that the evidence of its claims names most often."""
    pages: dict[str, Counter[str]] = {}
    for part in PARTS:
        for record in read_records(Lines(folder / f"paper_{part}.jsonl.xz"), FeverClaim):
            if passage := evidence.get(record.claim):
                named = [place[2] for places in record.evidence for place in places if place[2]]
                pages.setdefault(passage, Counter()).update(named)
    return {
        passage: decode_brackets(named.most_common(1)[0][0].replace("_", " ").replace("-COLON-", ":"))
        for passage, named in pages.items()
        if named
    }


def _lines(path: Path) -> list[str]:
    return [line.rstrip("\n") for line in Lines(path)]


def _unquoted(claim: str) -> str:
    """Without the CSV quoting that some claims kept."""
    return claim[1:-1].replace('""', '"') if claim.startswith('"') and claim.endswith('"') else claim
