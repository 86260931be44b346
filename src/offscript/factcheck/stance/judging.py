"""Many pairs at once: whole models read each document once for all claims, others go claim by claim."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.stance import STANCES, StanceModel


@runtime_checkable
class PairsModel(Protocol):
    """A stance model that takes documents each with a claim of its own."""

    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        """Stance probabilities [pairs, 4]."""


def stances_of_pairs(model: StanceModel, pairs: Sequence[Pair]) -> FloatArray:
    """Stance probabilities [pairs, 4] of documents, each against its own claim."""
    if isinstance(model, PairsModel):
        return model.of_pairs(pairs)
    stances = np.zeros((len(pairs), len(STANCES)))
    for claim, numbers in by_claim(pairs).items():
        stances[numbers] = model.of_documents(claim, [pairs[number].sentences for number in numbers])
    return stances


def by_claim(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """The places of each claim's pairs."""
    places: dict[str, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        places[pair.claim].append(number)
    return places
