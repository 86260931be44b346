"""FEVER's development claims with their gold evidence texts as a collection to search: no Wikipedia dump is needed."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from offscript.corpora.lines import Lines
from offscript.corpora.prose import decode_brackets
from offscript.corpora.records import Identifier, Schema, one_of, read_records
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict
from offscript.factcheck.claims import LABELS, JudgedClaim
from offscript.factcheck.documents.document import Document

PARTS = ("dev", "test")


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
        raise OffscriptError(f"{folder}: {len(texts)} evidence texts for {len(claims)} claims")
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
        passage: decode_brackets(named.most_common(1)[0][0].replace("_", " "))
        for passage, named in pages.items()
        if named
    }


def _lines(path: Path) -> list[str]:
    return [line.rstrip("\n") for line in Lines(path)]


def _unquoted(claim: str) -> str:
    """Without the CSV quoting that some claims kept."""
    return claim[1:-1].replace('""', '"') if claim.startswith('"') and claim.endswith('"') else claim
