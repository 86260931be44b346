"""Claims that somebody judged: offscript's own layout, FEVER's and SciFact's."""

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offscript.corpora.lines import Lines
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict

LABELS = {
    **{verdict.value: verdict for verdict in Verdict},
    **dict.fromkeys(("SUPPORTS", "SUPPORT", "TRUE"), Verdict.supported),
    **dict.fromkeys(("REFUTES", "CONTRADICT", "FALSE"), Verdict.refuted),
    **dict.fromkeys(("NOT_ENOUGH_INFO", "NEI", ""), Verdict.unknown),
}
SCIFACT_COLUMNS = ("id", "claim", "evidence_doc_id", "evidence_label", "evidence_sentences")

Place = tuple[str, int | None]
"""A document's id and the number of a sentence in it; None for any of its sentences."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with its verdict; each set of `evidence` is enough by itself to come to it."""

    id: str
    claim: str
    label: Verdict
    evidence: tuple[frozenset[Place], ...] = ()


def read_claims(path: Path | str) -> list[JudgedClaim]:
    """Claims of a file: JSON records one a line, or SciFact as CSV.

    A record is `{"id", "claim", "label", "evidence"}`. Evidence is a list of sets, a set a list of `[document,
    sentence]`; a bare document stands for a set of any of its sentences. FEVER's sets of `[annotation, evidence, page,
    sentence]` are read as they are, and so is SciFact's `{document: [{"sentences", "label"}]}`.
    """
    path = Path(path)
    lines = Lines(path)
    claims = list(_from_csv(lines) if ".csv" in path.suffixes else _from_records(lines))
    if not claims:
        raise OffscriptError(f"{path} holds no claim", next='write {"id", "claim", "label", "evidence"} a line')
    return claims


def _from_records(lines: Lines) -> Iterator[JudgedClaim]:
    for line in lines:
        if not line.strip():
            continue
        try:
            yield _claim(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            hint = 'write {"id": …, "claim": "…", "label": "SUPPORTED", "evidence": […]} a line'
            raise lines.fault("not a judged claim", why=repr(error), next=hint) from error


def _claim(record: dict[str, Any]) -> JudgedClaim:
    evidence = record.get("evidence", [])
    if not isinstance(record["claim"], str):
        raise TypeError("the claim is not text")
    if isinstance(evidence, dict):
        sets, labels = _scifact_sets(evidence)
        label = record.get("label") or (labels[0] if labels else "")
    else:
        sets, label = tuple(filter(None, map(_evidence_set, evidence or []))), record["label"]
    return JudgedClaim(str(record["id"]), record["claim"], LABELS[str(label).upper()], sets)


def _scifact_sets(evidence: dict[str, list[dict[str, Any]]]) -> tuple[tuple[frozenset[Place], ...], list[str]]:
    rationales = [(document, entry) for document, entries in evidence.items() for entry in entries]
    sets = tuple(frozenset((document, int(number)) for number in entry["sentences"]) for document, entry in rationales)
    return sets, [entry["label"] for _, entry in rationales]


def _evidence_set(written: Any) -> frozenset[Place]:
    """One set; FEVER's places without a page, those of claims that nothing decides, are left out."""
    if isinstance(written, str | int):
        return frozenset([(str(written), None)])
    if len(written) == 2 and not isinstance(written[0], list):
        written = [written]
    places = [place[-2:] if len(place) == 4 else place for place in written]
    return frozenset(
        (str(page), None if number is None else int(number)) for page, number in places if page is not None
    )


def _from_csv(lines: Lines) -> Iterator[JudgedClaim]:
    """SciFact's claims as CSV: a row a rationale, so that a claim may have several."""
    rows = csv.DictReader(lines)
    if missing := set(SCIFACT_COLUMNS) - set(rows.fieldnames or ()):
        raise lines.fault(f"no column {sorted(missing)[0]!r}", next=f"begin with {','.join(SCIFACT_COLUMNS)}")
    by_id: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_id.setdefault(row["id"], []).append(row)
    for id, same in by_id.items():
        label = LABELS.get(same[0]["evidence_label"].upper())
        if label is None:
            raise lines.fault(
                f"claim {id} is labelled {same[0]['evidence_label']!r}", next="write SUPPORT or CONTRADICT"
            )
        sets = tuple(_printed_set(row) for row in same if row["evidence_doc_id"])
        yield JudgedClaim(id, same[0]["claim"], label, sets)


def _printed_set(row: dict[str, str]) -> frozenset[Place]:
    numbers: Sequence[str] = row["evidence_sentences"].strip("[] ").replace(",", " ").split()
    return frozenset((row["evidence_doc_id"], int(number)) for number in numbers)
