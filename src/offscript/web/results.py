"""A check as the pages show it: the verdict, the evidence, and the documents by the kind of their source."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from offscript.factcheck.checked import Check, CheckedDocument, CheckedSentence, Verdict
from offscript.factcheck.documents.document import Document
from offscript.factcheck.sources import Kind
from offscript.factcheck.stance.stance import STANCES, Stance
from offscript.web.drawings import Part, divide

SHADES = 4
UNSHADED = "unrelated"
VERDICT_WORDS = {Verdict.supported: "Supported", Verdict.refuted: "Refuted", Verdict.unknown: "Not enough information"}
VERDICT_CLASSES = {Verdict.supported: "agree", Verdict.refuted: "disagree", Verdict.unknown: "unknown"}
KIND_WORDS = {
    Kind.wikipedia: "Wikipedia",
    Kind.high: "High factuality",
    Kind.mixed: "Mixed factuality",
    Kind.low: "Low factuality",
    Kind.unrated: "Unrated sources",
}
TEASER = 240


class Passage(NamedTuple):
    """A sentence with its stance; `shade` is 0 for none to `SHADES`, and `cut` counts characters not shown."""

    number: int
    text: str
    cut: int
    stance: str
    percent: int
    shade: int


def to_passage(sentence: CheckedSentence, longest: int) -> Passage:
    """A sentence ready to be shown."""
    stance = sentence.stance.label
    probability = max(sentence.stance.probabilities)
    text, cut = shorten(sentence.text, longest)
    return Passage(sentence.number, text, cut, stance, round(100 * probability), _shade(stance, probability))


def tellingness(stance: Stance) -> float:
    """How much a sentence says: taking a side counts in full, mere discussion by half."""
    return max(stance.agree, stance.disagree) + stance.discuss / 2


def shorten(text: str, longest: int) -> tuple[str, int]:
    """Whole characters only: at most so many of them, in valid Unicode, and how many were left out."""
    shown = text[:longest].encode("utf-8", "replace").decode("utf-8")
    cut = len(text) - longest
    return (shown, 0) if cut <= 0 else (f"{shown}…", cut)


def _shade(stance: str, probability: float) -> int:
    """Even steps from a fourth, the least that the most probable of four can have, to certainty."""
    if stance == UNSHADED:
        return 0
    return min(SHADES, 1 + int((probability - 0.25) / 0.75 * SHADES))


class Quote(NamedTuple):
    """A sentence of evidence, and where it stands."""

    passage: Passage
    title: str
    link: str


class Entry(NamedTuple):
    """A document in the list of its kind."""

    title: str
    origin: str
    date: str
    link: str
    stance: str
    bar: list[Part]
    teaser: Passage | None


class Group(NamedTuple):
    """The documents of one kind of source, and their averaged stance."""

    kind: str
    title: str
    stance: str
    bar: list[Part]
    entries: list[Entry]


class Results(NamedTuple):
    """All that the page of a check shows."""

    claim: str
    verdict: str
    verdict_class: str
    confidence: int
    chances: list[Part]
    query: str
    evidence: list[Quote]
    groups: list[Group]
    documents: int
    seconds: float


def show_results(check: Check) -> Results:
    """The whole page of a check."""
    chances = {VERDICT_CLASSES[verdict]: check.probabilities.get(verdict, 0.0) for verdict in Verdict}
    groups = [_group(kind, check) for kind in Kind if any(entry.kind is kind for entry in check.documents)]
    return Results(
        claim=check.claim,
        verdict=VERDICT_WORDS[check.verdict],
        verdict_class=VERDICT_CLASSES[check.verdict],
        confidence=round(100 * check.confidence),
        chances=divide(chances),
        query=" ".join(check.query),
        evidence=_quotes(check),
        groups=groups,
        documents=len(check.documents),
        seconds=check.seconds,
    )


def stance_shares(stance: Stance) -> Mapping[str, float]:
    """Probabilities by the stances' names."""
    return dict(zip(STANCES, stance.probabilities, strict=True))


def document_link(claim: str, number: int, *, sentence: int | None = None, **settings: str) -> str:
    """Where the page of a document is, and on it a sentence."""
    query = urlencode({"claim": claim, "document": number, **settings})
    return f"/document?{query}" + ("" if sentence is None else f"#sentence-{sentence}")


def web_address(document: Document) -> str:
    """The document's address where it is one that a link may lead to, else nothing."""
    try:
        parts = urlsplit(document.url)
        return document.url if parts.scheme in ("http", "https") and parts.hostname else ""
    except ValueError:
        return ""


def title_of(document: Document) -> str:
    """What the document is called, in one short line."""
    return shorten(" ".join((document.title or document.id).split()), 160)[0]


def _quotes(check: Check) -> list[Quote]:
    quotes = []
    for number, place in ((evidence.document, evidence.sentence) for evidence in check.evidence):
        checked = check.documents[number]
        found = next((sentence for sentence in checked.sentences if sentence.number == place), None)
        if found is not None:
            link = document_link(check.claim, number, sentence=place)
            quotes.append(Quote(to_passage(found, TEASER * 2), title_of(checked.document), link))
    return quotes


def _group(kind: Kind, check: Check) -> Group:
    numbered = [(number, entry) for number, entry in enumerate(check.documents) if entry.kind is kind]
    averaged = check.by_kind.get(kind)
    return Group(
        kind=kind.value,
        title=KIND_WORDS[kind],
        stance=averaged.label if averaged else "",
        bar=divide(stance_shares(averaged)) if averaged else [],
        entries=[_entry(check.claim, number, entry) for number, entry in numbered],
    )


def _entry(claim: str, number: int, checked: CheckedDocument) -> Entry:
    telling = max(checked.sentences, key=lambda sentence: tellingness(sentence.stance), default=None)
    address = web_address(checked.document)
    return Entry(
        title=title_of(checked.document),
        origin=urlsplit(address).hostname or "" if address else "",
        date=shorten(checked.document.date, 32)[0],
        link=document_link(claim, number),
        stance=checked.stance.label,
        bar=divide(stance_shares(checked.stance)),
        teaser=None if telling is None else to_passage(telling, TEASER),
    )
