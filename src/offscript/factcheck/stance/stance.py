"""The four stances, what a model that judges them looks like, and FNC-1's score."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from offscript._types import FloatArray

STANCES = ("agree", "disagree", "discuss", "unrelated")
"""In the order of every array of stance probabilities."""

FNC_POINTS = np.array([[1, 0.25, 0.25, 0], [0.25, 1, 0.25, 0], [0.25, 0.25, 1, 0], [0, 0, 0, 0.25]])
"""Points [right, said] in the order of `STANCES`: a related pair's right stance earns 1, another related one ¼."""


@dataclass(frozen=True)
class Stance:
    """Probabilities of the four stances; they add up to one."""

    agree: float
    disagree: float
    discuss: float
    unrelated: float

    @property
    def label(self) -> str:
        """The most probable stance, the first of several."""
        return STANCES[int(np.argmax(self.probabilities))]

    @property
    def probabilities(self) -> tuple[float, float, float, float]:
        """In the order of `STANCES`."""
        return (self.agree, self.disagree, self.discuss, self.unrelated)


UNRELATED = Stance(0.0, 0.0, 0.0, 1.0)


class StanceModel(Protocol):
    """Judges texts against a claim. Implementations batch; callers give all texts of a claim at once."""

    @property
    def name(self) -> str:
        """What results are filed under."""

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        """Stance probabilities of whole documents, each given as its sentences."""  # [documents, 4]

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        """Stance probabilities of single sentences: agree supports the claim, disagree refutes it."""  # [sentences, 4]


def fnc_scores(tables: FloatArray) -> FloatArray:
    """FNC-1's points over the most there could be [rows], from confusion matrices [rows, 4, 4]."""
    points: FloatArray = (tables * FNC_POINTS).sum(axis=(1, 2)) / (tables.sum(axis=2) @ FNC_POINTS.diagonal())
    return points
