"""Several stance models that vote with equal weight: the mean of their probabilities."""

from collections.abc import Sequence

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck.stance.judging import stances_of_pairs
from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.stance import StanceModel

JOINT = "+"


class Committee:
    """A `StanceModel` made of others."""

    def __init__(self, members: Sequence[StanceModel]) -> None:
        self._members = tuple(members)

    @property
    def name(self) -> str:
        return JOINT.join(member.name for member in self._members)

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        return _mean([member.of_documents(claim, documents) for member in self._members])

    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        """Stance probabilities [pairs, 4] of documents, each against its own claim."""
        return _mean([stances_of_pairs(member, pairs) for member in self._members])

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        return _mean([member.of_sentences(claim, sentences) for member in self._members])


def _mean(votes: Sequence[FloatArray]) -> FloatArray:
    mean: FloatArray = np.mean(votes, axis=0)
    return mean
