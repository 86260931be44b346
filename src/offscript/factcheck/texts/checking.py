"""A whole text checked: its sentences, the claims that they make, a verdict for each, and how many are which."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from offscript.factcheck.batch import evidence_of
from offscript.factcheck.checked import Check, Verdict
from offscript.factcheck.checking import Checker
from offscript.factcheck.documents.document import Document
from offscript.factcheck.pipelines import ClaimChecker
from offscript.factcheck.texts.clauses import without_comment
from offscript.factcheck.texts.english import NOT_ENGLISH, is_english
from offscript.factcheck.texts.naming import Describe, descriptions
from offscript.factcheck.texts.splitting import split_claims
from offscript.factcheck.texts.standing import stand_alone
from offscript.factcheck.texts.worthiness import is_worth_checking, worthiness
from offscript.statistics.means import mean_interval

NO_CLAIM = "no claim"
Decompose = Callable[[str], Sequence[str]]
"""Splits a sentence that stands alone into claims."""


@dataclass(frozen=True)
class TextClaim:
    """A claim of a sentence, as it was checked: on its own, with names in the place of pronouns."""

    claim: str
    check: Check

    def to_json(self) -> dict[str, Any]:
        """The verdict and the evidence."""
        return {
            "claim": self.claim,
            "verdict": self.check.verdict.value,
            "confidence": round(self.check.confidence, 4),
            "evidence": evidence_of(self.check),
        }


@dataclass(frozen=True)
class TextSentence:
    """A sentence at text[start:end], the claims that it makes, or why it was not checked."""

    start: int
    end: int
    text: str
    worthiness: float
    claims: tuple[TextClaim, ...] = ()
    not_checked: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """Of the sentence: refuted if a claim of it is, supported if all are; None where nothing was checked."""
        verdicts = [claim.check.verdict for claim in self.claims]
        if not verdicts:
            return None
        if Verdict.refuted in verdicts:
            return Verdict.refuted
        return Verdict.supported if set(verdicts) == {Verdict.supported} else Verdict.unknown


@dataclass(frozen=True)
class Total:
    """How many of the checked claims got a verdict, and their share with Wilson's 95 % interval."""

    verdict: Verdict
    count: int
    share: float
    lower: float
    upper: float


@dataclass(frozen=True)
class CheckedText:
    """A text with its sentences; `not_checked` says why none of them was checked."""

    title: str
    text: str
    sentences: tuple[TextSentence, ...]
    not_checked: str = ""

    @property
    def claims(self) -> list[TextClaim]:
        """All claims in order."""
        return [claim for sentence in self.sentences for claim in sentence.claims]

    def totals(self) -> list[Total]:
        """For each verdict its count and share; none where nothing was checked."""
        verdicts = [claim.check.verdict for claim in self.claims]
        totals = []
        for verdict in Verdict if verdicts else ():
            share = mean_interval([float(each is verdict) for each in verdicts])
            totals.append(
                Total(verdict, verdicts.count(verdict), share.value, share.interval.lower, share.interval.upper)
            )
        return totals

    def to_json(self) -> dict[str, Any]:
        """As `--json` and the file beside the page give it."""
        return {
            "title": self.title,
            "not_checked": self.not_checked,
            "claims": len(self.claims),
            "totals": {
                total.verdict.value: {
                    "count": total.count,
                    "share": total.share,
                    "interval": [total.lower, total.upper],
                }
                for total in self.totals()
            },
            "sentences": [
                {
                    "start": sentence.start,
                    "end": sentence.end,
                    "text": sentence.text,
                    "worthiness": round(sentence.worthiness, 4),
                    "not_checked": sentence.not_checked,
                    "verdict": sentence.verdict.value if sentence.verdict else None,
                    "claims": [claim.to_json() for claim in sentence.claims],
                }
                for sentence in self.sentences
            ],
        }


@dataclass(frozen=True)
class FoundClaims:
    """A sentence of a text and the claims in it, before they are checked."""

    start: int
    text: str
    worthiness: float
    claims: tuple[str, ...]
    not_checked: str


def find_claims(
    document: Document, *, decompose: Decompose | None = None, describe: Describe | None = None
) -> list[FoundClaims]:
    """The sentences of a text with the claims that they make.

    Args:
        document: The text; its title is no sentence of it.
        decompose: Splits a sentence into claims; rules for conjunctions by default.
        describe: What is known of the names in it.

    Returns:
        Every sentence in order. A sentence that states nothing, or is not English, has no claims and says why.
    """
    places = [
        (start, text)
        for start, text in zip(document.sentence_starts(), document.sentences(), strict=True)
        if text.strip()
    ]
    texts = [text for _, text in places]
    flat = [without_comment(" ".join(text.split())) for text in texts]
    resolved, scores = stand_alone(flat, title=document.title, describe=describe), worthiness(flat)
    found, split = [], decompose or split_claims
    for (start, text), alone, score in zip(places, resolved, scores.tolist(), strict=True):
        reason = _reason(alone, score)
        claims = () if reason else tuple(split(alone))
        found.append(FoundClaims(start, text, score, claims, reason))
    return found


def _reason(sentence: str, score: float) -> str:
    """Why a sentence is not checked; empty where it is."""
    if not is_english(sentence):
        return NOT_ENGLISH
    heading = sentence[-1:] not in ".!?…\"'”’)" and len(sentence.split()) < 12
    return NO_CLAIM if heading or not is_worth_checking(sentence, score) else ""


def check_text(
    checker: ClaimChecker,
    document: Document,
    *,
    decompose: Decompose | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> CheckedText:
    """Check every claim of a text.

    Args:
        checker: What checks a claim.
        document: The text, such as `read_documents` gives it.
        decompose: Splits a sentence into claims; rules for conjunctions by default.
        progress: Told how many claims are done, and of how many.

    Returns:
        The text with its sentences, claims and verdicts. A text that is not English is not checked.
    """
    if not is_english(document.text):
        return CheckedText(document.title, document.text, (), NOT_ENGLISH)
    providers = checker.providers if isinstance(checker, Checker) else ()
    found = find_claims(document, decompose=decompose, describe=descriptions(providers))
    total, done = sum(len(each.claims) for each in found), 0
    sentences = []
    for each in found:
        claims = []
        for claim in each.claims:
            claims.append(TextClaim(claim, checker.check(claim)))
            done += 1
            if progress:
                progress(done, total)
        end = each.start + len(each.text)
        sentences.append(TextSentence(each.start, end, each.text, each.worthiness, tuple(claims), each.not_checked))
    return CheckedText(document.title, document.text, tuple(sentences))


def between(text: str, sentences: Sequence[TextSentence]) -> list[str]:
    """What stands before each sentence, and after the last: white space and line ends."""
    places = [0, *(sentence.end for sentence in sentences)]
    starts = [*(sentence.start for sentence in sentences), len(text)]
    return [text[end:start] for end, start in zip(places, starts, strict=True)]
