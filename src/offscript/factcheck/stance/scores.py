"""FNC-1's weighted accuracy, and the class weights under which it and F1 are best."""

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.factcheck.stance.stance import STANCES
from offscript.statistics import f1_scores

FNC_POINTS = np.array([[1, 0.25, 0.25, 0], [0.25, 1, 0.25, 0], [0.25, 0.25, 1, 0], [0, 0, 0, 0.25]])
"""Points [right, said] in the order of `STANCES`: a related pair's right stance earns 1, another related one ¼."""

_STEPS = np.exp(np.linspace(-1.5, 1.5, 13))


def fnc_scores(tables: FloatArray) -> FloatArray:
    """FNC-1's points over the most there could be [rows], from confusion matrices [rows, 4, 4]."""
    points: FloatArray = (tables * FNC_POINTS).sum(axis=(1, 2)) / (tables.sum(axis=2) @ FNC_POINTS.diagonal())
    return points


def best_weights(
    probabilities: FloatArray, gold: NDArray[np.int64], shares: FloatArray | None = None, *, rounds: int = 3
) -> tuple[float, ...]:
    """Weights of the stances under which macro-F1 and FNC-1's score add up to most, class by class in turns.

    Pairs count as if stances had the given shares [4], their own by default.
    """
    own = np.bincount(gold, minlength=len(STANCES)).clip(min=1) / len(gold)
    counts = (np.ones(len(STANCES)) if shares is None else shares / own)[gold]
    weights = np.ones(len(STANCES))
    for _ in range(rounds):
        for place in range(len(STANCES)):
            candidates = np.tile(weights, (len(_STEPS), 1))
            candidates[:, place] *= _STEPS
            weights = max(candidates, key=lambda each: _worth(probabilities * each, gold, counts))
    return tuple((weights / weights.mean()).tolist())


def _worth(scores: FloatArray, gold: NDArray[np.int64], counts: FloatArray) -> float:
    table = np.zeros((1, len(STANCES), len(STANCES)))
    np.add.at(table[0], (gold, scores.argmax(axis=1)), counts)
    return float(f1_scores(table).mean() + fnc_scores(table)[0])
