"""What checking a claim brings to light: a verdict, and the documents and sentences that it rests on."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any

from offscript.factcheck.documents.document import Document
from offscript.factcheck.sources import Kind
from offscript.factcheck.stance.stance import UNRELATED, Stance


class Verdict(str, Enum):
    """FEVER's three answers."""

    supported = "SUPPORTED"
    refuted = "REFUTED"
    unknown = "NOT ENOUGH INFO"


@dataclass(frozen=True)
class CheckedSentence:
    """A sentence by its number in its document, with its place in the document's text."""

    number: int
    start: int
    end: int
    text: str
    stance: Stance


@dataclass(frozen=True)
class CheckedDocument:
    """A document with its stance as a whole, sentence by sentence, and the scores of its language (eq. 2.2)."""

    document: Document
    kind: Kind
    score: float
    stance: Stance
    sentences: tuple[CheckedSentence, ...]
    language: Mapping[str, float]


@dataclass(frozen=True)
class Reading:
    """The documents that were read for a claim, and the stance of their best sentences read as one text.

    Only a verdict that no single sentence settles asks for that text, so it is read when it is asked for.
    """

    documents: tuple[CheckedDocument, ...]
    read_together: Callable[[], Stance] | None = field(default=None, compare=False, repr=False)

    @functools.cached_property
    def together(self) -> Stance:
        """Of the best sentences as one text."""
        return UNRELATED if self.read_together is None else self.read_together()


@dataclass(frozen=True)
class Evidence:
    """A telling sentence of the document with that number in the check."""

    document: int
    sentence: int


@dataclass(frozen=True)
class Check:
    """A claim's whole way; `probabilities` are of the verdicts, calibrated, and `confidence` is that of `verdict`.

    `not_judged` says what the text is if it is no claim that could be true or false: a question, a command, an opinion,
    several sentences or no sentence; or that it is not English. `deciding` is the sentence that a verdict other than
    NOT ENOUGH INFO rests on most, and `calibrated_on` names the collections on which `confidence` was made a
    probability.
    """

    claim: str
    query: tuple[str, ...]
    verdict: Verdict
    confidence: float
    probabilities: Mapping[Verdict, float]
    documents: tuple[CheckedDocument, ...]
    evidence: tuple[Evidence, ...]
    by_kind: Mapping[Kind, Stance]
    seconds: float
    not_judged: str = ""
    deciding: Evidence | None = None
    calibrated_on: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As the API and `--json` give it."""
        told: dict[str, Any] = _plain(self)
        return told


_NAMES: dict[type[Any], tuple[str, ...]] = {}


def _names_of(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a kind of record, found once; none for anything else."""
    if kind not in _NAMES:
        _NAMES[kind] = tuple(each.name for each in fields(kind)) if is_dataclass(kind) else ()
    return _NAMES[kind]


def _plain(value: Any) -> Any:
    """As `dataclasses.asdict`, without copies of what never changes: a check has a thousand such values."""
    kind = type(value)
    if kind is str or kind is float or kind is int or value is None:
        return value
    if names := _names_of(kind):
        return {name: _plain(getattr(value, name)) for name in names}
    if kind is tuple or kind is list:
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return value


def unread(claim: str, reason: str) -> Check:
    """The answer to a text for which nothing is looked up: undecided, and why."""
    probabilities = {Verdict.supported: 0.0, Verdict.refuted: 0.0, Verdict.unknown: 1.0}
    return Check(claim, (), Verdict.unknown, 1.0, probabilities, (), (), {}, 0.0, not_judged=reason)
