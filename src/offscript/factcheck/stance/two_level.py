"""Stance in two levels: documents that hold too little of the claim are unrelated, the others are read with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck.stance.pairs import EVIDENCE, Pair
from offscript.factcheck.stance.relatedness import Relatedness, features_of_pairs
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.terms import choose_sentences

STANCE, EVIDENCE_HEAD = "stance", "evidence"


class PairJudge(Protocol):
    """Reads claims with texts; gives the probabilities of each of its heads [pairs, labels]."""

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> dict[str, FloatArray]:
        """By the head's name."""


@dataclass(frozen=True)
class Reading:
    """What is read, and how answers are weighed; all of it is chosen on training bodies.

    Documents less related than `threshold` are not read. `characters` bound the chosen sentences. `weights` multiply
    the stances' probabilities, since the model was taught as if classes were more alike in number than they are.
    """

    threshold: float
    characters: int
    weights: tuple[float, ...] = (1.0,) * len(STANCES)
    shares: tuple[float, ...] = (0.27, 0.06, 0.67)


class TwoLevelModel:
    """A `StanceModel`: relatedness first, then a judge of pairs."""

    def __init__(self, name: str, relatedness: Relatedness, judge: PairJudge, reading: Reading) -> None:
        self._name, self.relatedness, self.judge, self.reading = name, relatedness, judge, reading

    @property
    def name(self) -> str:
        return self._name

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        pairs = [Pair(claim, tuple(sentences), "", "") for sentences in documents]
        return self.of_pairs(pairs)

    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        """Stance probabilities [pairs, 4] of documents, each against its own claim."""
        features, coverage = features_of_pairs(self.relatedness.terms, pairs)
        related = np.where([bool(pair.sentences) for pair in pairs], self.relatedness.of(features), 0.0)
        answers = np.column_stack([np.outer(related, self.reading.shares), 1 - related])
        read = np.flatnonzero(related >= self.reading.threshold).tolist()
        if read:
            shown = [(pairs[row].claim, read_text(pairs[row], coverage[row], self.reading.characters)) for row in read]
            answers[read] = weighed(self.judge(shown)[STANCE], self.reading.weights)
        return answers

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        """What neither supports nor refutes discusses the claim by as much of it as the sentence holds."""
        if not sentences:
            return np.zeros((0, len(STANCES)))
        evidence = self.judge([(claim, sentence) for sentence in sentences])[EVIDENCE_HEAD]
        held = self.relatedness.terms.coverage([claim], sentences)[0]
        rest = evidence[:, EVIDENCE.index("not enough")]
        return np.column_stack([evidence[:, 0], evidence[:, 1], rest * held, rest * (1 - held)])


def read_text(pair: Pair, coverage: FloatArray, characters: int) -> str:
    """The chosen sentences of a document."""
    chosen = choose_sentences(coverage, pair.sentences, characters)
    return " ".join(pair.sentences[number] for number in chosen)


def weighed(probabilities: FloatArray, weights: Sequence[float]) -> FloatArray:
    """Probabilities times the weights of their classes, made to add up to one."""
    products = probabilities * np.asarray(weights)
    shares: FloatArray = products / products.sum(axis=1, keepdims=True)
    return shares
