"""A check as the pages show it: the verdict, the evidence, and the documents by the kind of their source."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from offscript.factcheck.checked import Check, CheckedDocument, CheckedSentence, Evidence, Verdict
from offscript.factcheck.documents.document import Document
from offscript.factcheck.sources import Kind
from offscript.factcheck.stance.stance import STANCES, Stance
from offscript.factcheck.texts.english import NOT_ENGLISH
from offscript.factcheck.verdict import VerdictModel
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
NOT_JUDGED = {"question": "a question", "command": "a command", "opinion": "an opinion"}
COLLECTION_WORDS = {
    "fever": "FEVER",
    "scifact": "SciFact",
    "fool-me-twice": "FoolMeTwice",
    "wice": "WiCE",
    "check-covid": "Check-COVID",
    "fever-symmetric": "FEVER symmetric",
    "almanac": "the almanac",
    "outside": "claims outside the almanac",
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
    """A sentence of evidence, where it stands, and whether the verdict rests on it."""

    passage: Passage
    title: str
    link: str
    deciding: bool


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
    counts: str
    entries: list[Entry]


class Results(NamedTuple):
    """All that the page of a check shows."""

    claim: str
    verdict: str
    verdict_class: str
    reason: str
    confidence: int
    calibrated_on: str
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
        reason=_reason(check),
        confidence=round(100 * check.confidence),
        calibrated_on=", ".join(COLLECTION_WORDS.get(name, name) for name in check.calibrated_on),
        chances=divide(chances),
        query=" ".join(check.query),
        evidence=_quotes(check),
        groups=groups,
        documents=len(check.documents),
        seconds=check.seconds,
    )


def show_calibration(checker: object) -> dict[str, Any]:
    """How often verdicts of each confidence were right, as far as the checker knows; larger points for more claims."""
    verdicts = getattr(checker, "verdicts", None)
    if not isinstance(verdicts, VerdictModel):
        return {"curve": [], "names": ""}
    curve = verdicts.reliability()
    most = max((point["count"] for point in curve), default=1)
    names = ", ".join(COLLECTION_WORDS.get(name, name) for name in verdicts.calibrated_on)
    return {
        "curve": [{**point, "radius": round(1 + 3 * (point["count"] / most) ** 0.5, 2)} for point in curve],
        "names": names,
    }


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
        deciding = check.deciding == Evidence(number, place)
        if found is not None and (check.deciding is None or deciding or found.stance.label != UNSHADED):
            link = document_link(check.claim, number, sentence=place)
            quotes.append(Quote(to_passage(found, TEASER * 2), title_of(checked.document), link, deciding))
    return quotes


def _reason(check: Check) -> str:
    """Why there is no verdict; nothing where there is one."""
    if check.not_judged == NOT_ENGLISH:
        return "Not English: not checked. The checker reads English alone."
    if check.not_judged:
        kind = NOT_JUDGED.get(check.not_judged, check.not_judged)
        return f"Not judged: this is {kind}, and only a statement can be checked."
    if check.verdict is not Verdict.unknown:
        return ""
    return "Undecided: the evidence does not settle it." if check.documents else "Nothing was found about it."


def _counts(stances: Sequence[str]) -> str:
    """How many documents hold a sentence that speaks for the claim or against it."""
    words = {"agree": "for it", "disagree": "against it"}
    told = [f"{stances.count(name)} {words[name]}" for name in words if name in stances]
    open_ = sum(name not in words for name in stances)
    return ", ".join([*told, *([f"{open_} settling nothing"] if open_ else [])])


def _group(kind: Kind, check: Check) -> Group:
    numbered = [(number, entry) for number, entry in enumerate(check.documents) if entry.kind is kind]
    averaged = check.by_kind.get(kind)
    return Group(
        kind=kind.value,
        title=KIND_WORDS[kind],
        stance=averaged.label if averaged else "",
        bar=divide(stance_shares(averaged)) if averaged else [],
        counts="" if averaged else _counts([entry.stance.label for _, entry in numbered]),
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
