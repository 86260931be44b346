"""The most telling sentences: those that say most clearly that the claim holds, or that it does not."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offscript.factcheck.checked import CheckedDocument, Evidence

TELLING = 5
"""FEVER looks at the first five sentences."""


def telling_sentences(
    documents: Sequence[CheckedDocument], *, most: int = TELLING, leaning: float = 0.0
) -> tuple[Evidence, ...]:
    """At most so many sentences, the most telling first; none that is more likely unrelated than telling.

    `leaning` from −1 (refuted) to 1 (supported) favours the sentences that speak for that verdict, so that what is
    shown first is what the verdict rests on.
    """
    places = [
        Evidence(number, sentence.number)
        for number, document in enumerate(documents)
        for sentence in document.sentences
    ]
    stances = np.array([sentence.stance.probabilities for document in documents for sentence in document.sentences])
    if not places:
        return ()
    strengths = _strengths(stances, leaning)
    order = np.argsort(-strengths, kind="stable")[:most]
    return tuple(places[place] for place in order if strengths[place] > 0 and not _is_unrelated(stances[place]))


def _strengths(stances: NDArray[np.float64], leaning: float) -> NDArray[np.float64]:
    """Agreement and disagreement, each weighted by how far the verdict leans its way."""
    agree, disagree = stances[:, 0], stances[:, 1]
    strengths: NDArray[np.float64] = agree * (1 + leaning) + disagree * (1 - leaning) + 0.1 * stances[:, 2]
    return strengths


def _is_unrelated(stance: NDArray[np.float64]) -> bool:
    return bool(stance[3] > 0.5)
