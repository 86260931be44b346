"""Claims that somebody judged: offscript's own layout, FEVER's and SciFact's."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainValidator, model_validator

from offscript.corpora.lines import Lines, kind_of
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

LABELS = {
    **{verdict.value: verdict for verdict in Verdict},
    **dict.fromkeys(("SUPPORTS", "SUPPORT", "TRUE"), Verdict.supported),
    **dict.fromkeys(("REFUTES", "CONTRADICT", "FALSE"), Verdict.refuted),
    **dict.fromkeys(("NOT_ENOUGH_INFO", "NEI", ""), Verdict.unknown),
}

Place = tuple[str, int | None]
"""A document's id and the number of a sentence in it; None for any of its sentences."""
EvidenceSet = frozenset[Place]


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
