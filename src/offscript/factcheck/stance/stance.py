"""The four stances, and what a model that judges them looks like."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

STANCES = ("agree", "disagree", "discuss", "unrelated")
"""In the order of every array of stance probabilities."""


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


class StanceModel(Protocol):
    """Judges texts against a claim. Implementations batch; callers give all texts of a claim at once."""

    @property
    def name(self) -> str:
        """What results are filed under."""

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Stance probabilities of whole documents, each given as its sentences."""  # [documents, 4]

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> NDArray[np.float64]:
        """Stance probabilities of single sentences: agree supports the claim, disagree refutes it."""  # [sentences, 4]
