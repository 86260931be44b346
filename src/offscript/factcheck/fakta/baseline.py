"""The baseline of Table 2.2, line 1: one classifier reads the claim beside the best sentences that were found at once.

As in the FEVER paper (Thorne et al. 2018): five documents, of those the five sentences most like the claim by TF-IDF.
"""

import time
from collections.abc import Sequence

import numpy as np

from offscript.factcheck.checked import Check, CheckedDocument, Evidence, Verdict
from offscript.factcheck.checking import checked_sentences
from offscript.factcheck.sources import Found, Provider
from offscript.factcheck.stance.stance import UNRELATED, Stance, StanceModel
from offscript.factcheck.verdict import stance_by_kind

DOCUMENTS, SENTENCES = 5, 5
Place = tuple[int, int]
"""The number of a document and of a sentence in it."""


class SentenceBaseline:
    """Checks claims by one stance of the best sentences together: agree, disagree, or not enough information.

    Args:
        providers: What finds documents.
        stance: Reads the claim and the sentences as one document.
        compelled: Whether it has to decide between true and false.
    """

    def __init__(self, providers: Sequence[Provider], stance: StanceModel, *, compelled: bool = False) -> None:
        self.providers, self.stance, self._compelled = tuple(providers), stance, compelled

    def check(self, claim: str) -> Check:
        """Check one claim.

        Args:
            claim: A sentence that can be true or false.

        Returns:
            The most probable verdict with the sentences that were read.
        """
        begun = time.perf_counter()
        found = [each for provider in self.providers for each in provider.find(claim, DOCUMENTS)][:DOCUMENTS]
        sentences = [each.document.sentences() for each in found]
        chosen = _most_alike(claim, sentences)
        stance = self._stance(claim, [sentences[document][number] for document, number in chosen])
        documents = tuple(_read(each, own, stance) for each, own in zip(found, sentences, strict=True))
        probabilities = self._probabilities(stance)
        verdict = max(probabilities, key=lambda each: probabilities[each])
        return Check(
            claim=claim,
            query=tuple(claim.split()),
            verdict=verdict,
            confidence=probabilities[verdict],
            probabilities=probabilities,
            documents=documents,
            evidence=tuple(Evidence(document, number) for document, number in chosen),
            by_kind=stance_by_kind(documents),
            seconds=time.perf_counter() - begun,
        )

    def _stance(self, claim: str, sentences: Sequence[str]) -> Stance:
        return Stance(*self.stance.of_documents(claim, [sentences])[0].tolist()) if sentences else UNRELATED

    def _probabilities(self, stance: Stance) -> dict[Verdict, float]:
        unknown = 0.0 if self._compelled else stance.discuss + stance.unrelated
        total = stance.agree + stance.disagree + unknown or 1.0
        shares = (stance.agree / total, stance.disagree / total, unknown / total)
        return dict(zip(Verdict, shares, strict=True))


def _most_alike(claim: str, sentences: Sequence[Sequence[str]]) -> list[Place]:
    """The places of the sentences with the highest cosine of TF-IDF vectors, best first."""
    from offscript.factcheck.stance.teaching.baselines import Words

    places = [(document, number) for document, own in enumerate(sentences) for number in range(len(own))]
    texts = [sentences[document][number] for document, number in places]
    if not texts:
        return []
    words = Words.fitted(texts, size=len(texts) * 100)
    cosines = words.cosines([claim], texts, np.array([(0, number) for number in range(len(texts))]))
    return [places[place] for place in np.argsort(-cosines, kind="stable")[:SENTENCES]]


def _read(found: Found, sentences: Sequence[str], stance: Stance) -> CheckedDocument:
    parts = checked_sentences(found.document, sentences, [stance] * len(sentences))
    return CheckedDocument(found.document, found.kind, found.score, stance, parts, {})
