"""How well a stance model judges: FNC-1's weighted accuracy, accuracy, F1, calibration; paired tests between models."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.corpora.lines import Lines, packed
from offscript.corpora.records import read_rows
from offscript.errors import OffscriptError
from offscript.factcheck.stance.pairs import EVIDENCE, PairSet, StanceRow
from offscript.factcheck.stance.registry import by_claim, stances_of_pairs
from offscript.factcheck.stance.stance import FNC_POINTS, STANCES, StanceModel, fnc_scores
from offscript.measures.measurement import Measurement, environment
from offscript.statistics import (
    RESAMPLES,
    Classification,
    Difference,
    Score,
    classification_differences,
    classification_scores,
)

QUESTION = "stance"


@dataclass(frozen=True, kw_only=True)
class StanceRun(Classification):
    """The stances of pairs of claim and text; pairs that share a body, or a claim, are a group."""

    @property
    def points(self) -> tuple[float, float]:
        """FNC-1's points, and the most there could be."""
        return float((self.confusion * FNC_POINTS).sum()), float(FNC_POINTS.diagonal()[self.gold].sum())


def classify_pairs(model: StanceModel, pairs: PairSet, *, claim_alone: bool = False) -> StanceRun:
    """Ask the model about every pair; `claim_alone` shows it an empty text instead."""
    shown = [replace(pair, sentences=("",)) for pair in pairs.pairs] if claim_alone else pairs.pairs
    if pairs.of_documents:
        return run_of(pairs, stances_of_pairs(model, shown))
    stances = np.zeros((len(shown), len(STANCES)))
    for claim, numbers in by_claim(shown).items():
        stances[numbers] = model.of_sentences(claim, [" ".join(shown[number].sentences) for number in numbers])
    return run_of(pairs, as_labels(stances, pairs.labels))


def as_labels(stances: FloatArray, labels: Sequence[str]) -> FloatArray:
    """Stances [pairs, 4] as probabilities of a set's labels: of sentences, what does not tell is not enough."""
    if tuple(labels) == STANCES:
        return stances
    told = {"supported": stances[:, 0], "refuted": stances[:, 1], "not enough": stances[:, 2:].sum(axis=1)}
    kept = np.column_stack([told[label] for label in EVIDENCE if label in labels]) + 1e-12
    shares: FloatArray = kept / kept.sum(axis=1, keepdims=True)
    return shares


def run_of(pairs: PairSet, probabilities: FloatArray) -> StanceRun:
    """Probabilities [pairs, labels] of a set beside what was right; the most probable label is what was said."""
    return _run(pairs, probabilities.argmax(axis=1), probabilities)


def read_predictions(path: Path, pairs: PairSet) -> StanceRun:
    """A submission in FNC-1's layout (Headline, Body ID, Stance) for the pairs of its test set, in any order."""
    stances = {(row.headline, row.body): row.stance for row in read_rows(Lines(packed(path)), StanceRow)}
    try:
        numbers = [pairs.labels.index(stances[pair.claim, pair.group]) for pair in pairs.pairs]
    except (KeyError, ValueError) as fault:
        raise OffscriptError(
            f"{path} does not fit {pairs.name}", why=f"no stance for {fault}", next="give one row for each pair"
        ) from fault
    return _run(pairs, np.array(numbers))


def measure_stance(
    run: StanceRun, *, recipe: dict[str, Any], seed: int = 1, seconds: float = 0.0, resamples: int = RESAMPLES
) -> list[Measurement]:
    """`accuracy`, `macro_f1`, `f1.<label>`, of stances `fnc_score`, of probabilities `calibration_error`."""
    began = time.monotonic()
    scores = classification_scores(run, seed=seed, resamples=resamples, extra=_extra(run))
    settings = {**recipe, "measure": QUESTION, "labels": list(run.labels), "seed": seed, **environment()}
    spent = seconds + time.monotonic() - began
    fields: dict[str, Any] = {"n": len(run.gold), "seed": seed, "seconds": spent, "recipe": settings}
    return [
        Measurement.of(score, question=QUESTION, name=name, higher_is_better=name != "calibration_error", **fields)
        for name, score in scores.items()
    ]


def compare(first: StanceRun, second: StanceRun, *, seed: int = 1, resamples: int = RESAMPLES) -> dict[str, Difference]:
    """First minus second, by score; each resample of groups is the same for both."""
    return classification_differences(first, second, seed=seed, resamples=resamples, extra=_extra(first))


def _extra(run: StanceRun) -> dict[str, Score]:
    return {"fnc_score": fnc_scores} if run.labels == STANCES else {}


def _run(pairs: PairSet, predicted: NDArray[np.int64], probabilities: FloatArray | None = None) -> StanceRun:
    _, groups = np.unique([pair.group for pair in pairs.pairs], return_inverse=True)
    return StanceRun(
        labels=pairs.labels,
        gold=np.array([pairs.labels.index(pair.label) for pair in pairs.pairs]),
        predicted=predicted,
        groups=groups,
        probabilities=probabilities,
    )
