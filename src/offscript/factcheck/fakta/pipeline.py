"""FAKTA's pipeline (Figure 2-1): query, retrieval by kind of source, re-ranking, stance, language, aggregation."""

import time
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType

import numpy as np

from offscript.factcheck.analysis.words import whole_characters
from offscript.factcheck.checked import Check, CheckedDocument, CheckedSentence, Verdict, unread
from offscript.factcheck.checking import BEGINNING, CLAIM_CHARACTERS, Language, Query, checked_sentences
from offscript.factcheck.fakta.aggregation import Aggregate, Rule, aggregate, shipped_rule
from offscript.factcheck.fakta.retrieval import Retrieved, find_by_kind
from offscript.factcheck.language import language_scores
from offscript.factcheck.queries import query_of
from offscript.factcheck.sources import Found, Kind, Provider
from offscript.factcheck.stance.registry import stance_model
from offscript.factcheck.stance.stance import UNRELATED, Stance, StanceModel
from offscript.factcheck.texts.english import NOT_ENGLISH, is_english
from offscript.factcheck.verdict import evidence_of_verdict, stance_by_kind

STANCE = "offscript/fakta"
DOCUMENTS = 3
"""K. On FEVER's development claims 1 is right a little more often (.53, .51, .50 for 1, 3 and 5), but is no average."""


class Fakta:
    """Checks claims as FAKTA does. Several threads may use one.

    Args:
        providers: What finds documents: a `LocalIndex`, a search engine, or anything with `find(query, k)`.
        stance: How a text stands to a claim; the two-level hierarchy `offscript/fakta` without it.
        rule: Makes a verdict of averaged stances and the best retrieval score; the shipped one without it.
        query: Makes search words of a claim (section 2.2.1).
        language: Scores a document's words (eq. 2.2).
        documents: K, the documents that are read of each kind of source.
        kinds: The kinds of sources that are asked, each by itself.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        stance: StanceModel | None = None,
        rule: Rule | None = None,
        query: Query = query_of,
        language: Language = language_scores,
        documents: int = DOCUMENTS,
        kinds: Sequence[Kind] = tuple(Kind),
    ) -> None:
        self.providers = tuple(providers)
        self.stance = stance or stance_model(STANCE)
        self.rule = rule or shipped_rule()
        self._query, self._language = query, language
        self._documents, self._kinds = documents, tuple(kinds)

    def check(self, claim: str) -> Check:
        """Check one claim.

        Args:
            claim: A sentence that can be true or false; whatever the text, there is an answer.

        Returns:
            The verdict with its confidence, the documents by kind of source, and the sentences that tell most.
        """
        begun = time.perf_counter()
        text = whole_characters(claim).replace("\0", " ").strip()[:CLAIM_CHARACTERS]
        if not is_english(text):
            return unread(text, NOT_ENGLISH)
        query = tuple(self._query(text))
        found = find_by_kind(self.providers, text, query, self._documents, kinds=self._kinds)
        documents = self._read(text, found)
        weighed = aggregate(documents, found.best)
        verdict = self.rule.decide(weighed)
        probabilities = self.rule.probabilities(weighed, verdict)
        evidence, deciding = evidence_of_verdict(
            documents, np.ones(len(documents)), verdict, leaning=_leaning(verdict, weighed)
        )
        return Check(
            claim=text,
            query=query,
            verdict=verdict,
            confidence=probabilities[verdict],
            probabilities=probabilities,
            documents=documents,
            evidence=evidence,
            by_kind=stance_by_kind(documents),
            seconds=time.perf_counter() - begun,
            deciding=deciding,
        )

    def weigh(self, claim: str) -> Aggregate:
        """What the rule decides by, without sentences and language: to fit a rule to many claims."""
        found = find_by_kind(self.providers, claim, tuple(self._query(claim)), self._documents, kinds=self._kinds)
        listed = [each for own in found.documents.values() for each in own]
        stances = self._stances(claim, [each.document.sentences() for each in listed])
        return aggregate([_judged(each, stance) for each, stance in zip(listed, stances, strict=True)], found.best)

    def _read(self, claim: str, found: Retrieved) -> tuple[CheckedDocument, ...]:
        """Every document with its stance, and that of each of its sentences up to a bound (section 2.2.3)."""
        listed = [each for own in found.documents.values() for each in own]
        sentences = [each.document.sentences() for each in listed]
        stances = self._stances(claim, sentences)
        beginnings = [sentence for own in sentences for sentence in own[:BEGINNING]]
        rationales = iter(self.stance.of_sentences(claim, beginnings) if beginnings else np.zeros((0, 4)))
        documents = []
        for each, own, stance in zip(listed, sentences, stances, strict=True):
            judged = [Stance(*row.tolist()) for row in islice(rationales, min(len(own), BEGINNING))]
            rest = [UNRELATED] * (len(own) - len(judged))
            parts = checked_sentences(each.document, own, [*judged, *rest])
            documents.append(_judged(each, stance, parts, self._language(each.document.text)))
        return tuple(documents)

    def _stances(self, claim: str, sentences: Sequence[Sequence[str]]) -> list[Stance]:
        """Of whole documents."""
        if not sentences:
            return []
        rows = self.stance.of_documents(claim, [own[:BEGINNING] for own in sentences])
        return [Stance(*row) for row in rows.tolist()]


def _judged(
    found: Found,
    stance: Stance,
    sentences: tuple[CheckedSentence, ...] = (),
    language: Mapping[str, float] = MappingProxyType({}),
) -> CheckedDocument:
    return CheckedDocument(found.document, found.kind, found.score, stance, sentences, language)


def _leaning(verdict: Verdict, found: Aggregate) -> float:
    """From −1 (refuted) to 1 (supported): sentences that speak for the verdict come first."""
    if verdict is Verdict.unknown:
        return 0.0
    total = found.stance.agree + found.stance.disagree
    return (found.stance.agree - found.stance.disagree) / total if total else 0.0
