"""The most telling sentences: those that say most clearly that the claim holds, or that it does not."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offscript.factcheck.checked import CheckedDocument, Evidence
from offscript.factcheck.stance.stance import Stance

TELLING = 5
"""FEVER looks at the first five sentences."""

UNRELATED = 0.5
DISCUSSED = 0.1


def telling_sentences(
    documents: Sequence[CheckedDocument],
    weights: NDArray[np.float64],
    *,
    leaning: float = 0.0,
    most: int = TELLING,
) -> tuple[Evidence, ...]:
    """At most so many sentences, the most telling first; none that is more likely unrelated than not.

    `weights` [documents] say how much each document's word counts. `leaning` from −1 (refuted) to 1 (supported) favours
    the sentences that speak for that verdict, so that what is shown first is what the verdict rests on.
    """
    places = [
        (number, sentence)
        for number, document in enumerate(documents)
        for sentence in document.sentences
        if sentence.stance.unrelated <= UNRELATED
    ]
    strengths = np.array([weights[number] * _strength(sentence.stance, leaning) for number, sentence in places])
    order = np.argsort(-strengths, kind="stable")[:most]
    return tuple(Evidence(places[place][0], places[place][1].number) for place in order if strengths[place] > 0)


def _strength(stance: Stance, leaning: float) -> float:
    """Agreement and disagreement, each by how far the verdict leans its way; discussion for want of both."""
    return stance.agree * (1 + leaning) + stance.disagree * (1 - leaning) + DISCUSSED * stance.discuss
