"""How the inference model reads what was found: sentences like the claim one by one, the best of them together."""

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck.checked import CheckedDocument, CheckedSentence, Reading
from offscript.factcheck.inference.context import in_document
from offscript.factcheck.inference.entities import about_others, named_shares
from offscript.factcheck.inference.stance import InferenceStance, shared_words
from offscript.factcheck.sources import Found
from offscript.factcheck.stance.stance import UNRELATED, Stance

TOGETHER = 3  # sentences that are read as one text
SIDE = 2  # columns of a stance that take a side: agree and disagree
NAMED = 0.5  # how much a shared name counts beside the share of all words when sentences are chosen
KEPT = 1024  # texts whose language is remembered
LIKENESS = 0.1  # how much shared words count beside what a sentence settles when the best are chosen


class InferenceReader:
    """Reads documents for a claim; what a sentence is about decides whether it can settle anything.

    A sentence is read after its document's title where it does not name that itself. The title never counts against
    it: a document may be called anything. A sentence that names others and nothing that the claim names, by itself or
    by its title, settles nothing, whatever the model says: another town's mayor is no evidence about this one's.
    """

    def __init__(
        self, stance: InferenceStance, *, language: Callable[[str], Mapping[str, float]], sentences: int
    ) -> None:
        self._stance, self._sentences = stance, sentences
        self._language = functools.lru_cache(maxsize=KEPT)(language)  # claims about one thing find the same documents

    def read(self, claim: str, found: Sequence[Found]) -> Reading:
        """The documents with a stance for every sentence that was read, and that of the best sentences as one text."""
        sentences = [each.document.sentences() for each in found]
        places = [(number, place) for number, own in enumerate(sentences) for place in range(len(own))]
        texts = [
            in_document(found[number].document.title, sentences[number][0], sentences[number][place])
            for number, place in places
        ]
        likeness = shared_words(claim, texts) + NAMED * named_shares(claim, texts)
        order = [int(each) for each in np.argsort(-likeness, kind="stable") if likeness[each] > 0]
        chosen = list({texts[each]: each for each in reversed(order)}.values())[::-1][
            : self._sentences
        ]  # each text once
        rows = self._judged(claim, [texts[each] for each in chosen])
        stances = {texts[each]: Stance(*row) for each, row in zip(chosen, rows.tolist(), strict=True)}
        by_place = {place: stances.get(text, UNRELATED) for place, text in zip(places, texts, strict=True)}
        documents = tuple(
            self._document(each, own, [by_place[number, place] for place in range(len(own))])
            for number, (each, own) in enumerate(zip(found, sentences, strict=True))
        )
        return Reading(documents, lambda: self._together(claim, texts, chosen, rows, likeness))

    def _judged(self, claim: str, texts: Sequence[str]) -> FloatArray:
        """Stances of texts [texts, 4]; those about something else take no side."""
        rows = self._stance.of_sentences(claim, texts)
        astray = about_others(claim, texts)
        rows[astray, SIDE + 1] += rows[astray, :SIDE].sum(axis=1)
        rows[astray, :SIDE] = 0.0
        return rows

    def _together(
        self, claim: str, texts: Sequence[str], chosen: Sequence[int], rows: FloatArray, likeness: FloatArray
    ) -> Stance:
        """Of the sentences that settle most, as one text in the order in which they were found."""
        if not chosen:
            return UNRELATED
        telling = rows[:, :SIDE].sum(axis=1) + LIKENESS * likeness[list(chosen)]
        best = np.argsort(-telling, kind="stable")[:TOGETHER]
        if len(best) == 1:
            return Stance(*rows[int(best[0])].tolist())
        text = " ".join(texts[place] for place in sorted(chosen[int(each)] for each in best))
        return Stance(*self._judged(claim, [text])[0].tolist())

    def _document(self, found: Found, sentences: Sequence[str], stances: Sequence[Stance]) -> CheckedDocument:
        starts = found.document.sentence_starts()
        checked = tuple(
            CheckedSentence(number, start, start + len(text), text, stance)
            for number, (start, text, stance) in enumerate(zip(starts, sentences, stances, strict=True))
        )
        return CheckedDocument(
            document=found.document,
            kind=found.kind,
            score=found.score,
            stance=max(stances, key=lambda stance: stance.agree + stance.disagree, default=UNRELATED),
            sentences=checked,
            language=self._language(found.document.text),
        )
