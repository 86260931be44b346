"""How well a stance model judges: FNC-1's weighted accuracy, accuracy, F1, calibration; paired tests between models.

Everything but calibration is a function of the confusion matrix, so one matrix is kept for each group of pairs (those
that share a body, or a claim), and groups are resampled.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.factcheck.stance.judging import by_claim, stances_of_pairs
from offscript.factcheck.stance.pairs import EVIDENCE, PairSet, rows_of
from offscript.factcheck.stance.scores import FNC_POINTS, f1_scores, fnc_scores
from offscript.factcheck.stance.stance import STANCES, StanceModel
from offscript.measures.measurement import Measurement, environment
from offscript.statistics import RESAMPLES, Difference, Interval, bootstrap, resampling

QUESTION = "stance"
_BINS = 10
_METHOD = "bootstrap percentile by group"


@dataclass(frozen=True)
class Judged:
    """What was said and what was right, pair by pair, as numbers of `labels`; probabilities where there are any."""

    labels: tuple[str, ...]
    gold: NDArray[np.int64]  # [pairs]
    predicted: NDArray[np.int64]  # [pairs]
    groups: NDArray[np.int64]  # [pairs], numbered from 0
    probabilities: FloatArray | None = None  # [pairs, labels]

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Pairs by right label and by what was said [labels, labels]."""
        table = np.zeros((len(self.labels), len(self.labels)), dtype=np.int64)
        np.add.at(table, (self.gold, self.predicted), 1)
        return table

    @property
    def points(self) -> tuple[float, float]:
        """FNC-1's points, and the most there could be."""
        return float((self.confusion * FNC_POINTS).sum()), float(FNC_POINTS.diagonal()[self.gold].sum())

    def by_group(self) -> FloatArray:
        """A confusion matrix a group [groups, labels, labels]."""
        table = np.zeros((self.groups.max() + 1, len(self.labels), len(self.labels)))
        np.add.at(table, (self.groups, self.gold, self.predicted), 1.0)
        return table


def judge(model: StanceModel, pairs: PairSet, *, claim_alone: bool = False) -> Judged:
    """Ask the model about every pair; `claim_alone` shows it an empty text instead."""
    shown = [replace(pair, sentences=("",)) for pair in pairs.pairs] if claim_alone else pairs.pairs
    if pairs.of_documents:
        return judged(pairs, stances_of_pairs(model, shown))
    stances = np.zeros((len(shown), len(STANCES)))
    for claim, numbers in by_claim(shown).items():
        stances[numbers] = model.of_sentences(claim, [" ".join(shown[number].sentences) for number in numbers])
    return judged(pairs, as_labels(stances, pairs.labels))


def as_labels(stances: FloatArray, labels: Sequence[str]) -> FloatArray:
    """Stances [pairs, 4] as probabilities of a set's labels: of sentences, what does not tell is not enough."""
    if tuple(labels) == STANCES:
        return stances
    told = {"supported": stances[:, 0], "refuted": stances[:, 1], "not enough": stances[:, 2:].sum(axis=1)}
    kept = np.column_stack([told[label] for label in EVIDENCE if label in labels]) + 1e-12
    shares: FloatArray = kept / kept.sum(axis=1, keepdims=True)
    return shares


def judged(pairs: PairSet, probabilities: FloatArray) -> Judged:
    """Probabilities [pairs, labels] of a set beside what was right; the most probable label is what was said."""
    return Judged(pairs.labels, *_gold(pairs, probabilities.argmax(axis=1)), probabilities)


def read_predictions(path: Path, pairs: PairSet) -> Judged:
    """A submission in FNC-1's layout (Headline, Body ID, Stance) for the pairs of its test set, in any order."""
    said = {(row["Headline"], row["Body ID"]): row["Stance"] for row in rows_of(path)}
    try:
        numbers = [pairs.labels.index(said[pair.claim, pair.group]) for pair in pairs.pairs]
    except (KeyError, ValueError) as fault:
        raise OffscriptError(
            f"{path} does not fit {pairs.name}", why=f"no stance for {fault}", next="give one row for each pair"
        ) from fault
    return Judged(pairs.labels, *_gold(pairs, np.array(numbers)))


def measure_stance(
    found: Judged, *, recipe: dict[str, Any], seed: int = 1, seconds: float = 0.0, resamples: int = RESAMPLES
) -> list[Measurement]:
    """`accuracy`, `macro_f1`, `f1.<label>`, of stances `fnc_score`, of probabilities `calibration_error`."""
    began, tables = time.monotonic(), found.by_group()
    flat = tables.reshape(len(tables), -1)  # [groups, labels²]
    shape = tables.shape[1:]
    settings = {**recipe, "measure": QUESTION, "labels": list(found.labels), "seed": seed, **environment()}

    def measured(name: str, statistic: Callable[[FloatArray], FloatArray], higher: bool = True) -> Measurement:
        generator = np.random.default_rng(seed)
        estimate = bootstrap(statistic, [len(tables)], generator=generator, resamples=resamples)
        spent = seconds + time.monotonic() - began
        fields = {"n": len(found.gold), "seed": seed, "seconds": spent, "recipe": settings}
        return Measurement.of(estimate, question=QUESTION, name=name, higher_is_better=higher, **fields)

    def of_tables(score: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
        return lambda weights: score((weights @ flat).reshape(-1, *shape))

    figures = [measured(name, of_tables(score)) for name, score in _scores(found.labels).items()]
    if found.probabilities is not None:
        sums = _calibration_sums(found)  # [groups, bins + 1]
        figures.append(measured("calibration_error", lambda weights: _calibration(weights @ sums), higher=False))
    return figures


def compare(first: Judged, second: Judged, *, seed: int = 1, resamples: int = RESAMPLES) -> dict[str, Difference]:
    """First minus second, by score; each resample of groups is the same for both.

    A p-value is the share of resamples whose difference lies as far from the observed one as that lies from zero.
    """
    if first.labels != second.labels or not np.array_equal(first.gold, second.gold):
        raise OffscriptError("the two models judged different pairs", next="judge the same data with both")
    both = np.stack([first.by_group(), second.by_group()], axis=1)  # [groups, 2, labels, labels]
    flat, shape = both.reshape(len(both), -1), both.shape[2:]
    scores = _scores(first.labels)

    def differences(weights: FloatArray) -> FloatArray:
        tables = (weights @ flat).reshape(-1, 2, *shape)
        return np.column_stack([score(tables[:, 0]) - score(tables[:, 1]) for score in scores.values()])

    value = differences(np.full((1, len(both)), 1 / len(both)))[0]
    draws = resampling.resampled(differences, [len(both)], resamples, np.random.default_rng(seed))
    return {name: _difference(value[place], draws[:, place]) for place, name in enumerate(scores)}


def _scores(labels: tuple[str, ...]) -> dict[str, Callable[[FloatArray], FloatArray]]:
    """Functions of confusion matrices [rows, labels, labels]."""
    scores: dict[str, Callable[[FloatArray], FloatArray]] = {
        "accuracy": lambda tables: np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2)),
        "macro_f1": lambda tables: f1_scores(tables).mean(axis=1),
    }
    if labels == STANCES:
        scores["fnc_score"] = fnc_scores
    for place, label in enumerate(labels):
        scores[f"f1.{label}"] = lambda tables, place=place: f1_scores(tables)[:, place]  # type: ignore[misc]
    return scores


def _calibration_sums(found: Judged) -> FloatArray:
    """Each group's confidence minus correctness by bin of confidence, and its number of pairs [groups, bins + 1]."""
    assert found.probabilities is not None
    confidence = found.probabilities.max(axis=1)
    bins = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    sums = np.zeros((found.groups.max() + 1, _BINS + 1))
    np.add.at(sums, (found.groups, bins), confidence - (found.gold == found.predicted))
    np.add.at(sums[:, _BINS], found.groups, 1.0)
    return sums


def _calibration(sums: FloatArray) -> FloatArray:
    """The expected calibration error [rows]."""
    errors: FloatArray = np.abs(sums[:, :_BINS]).sum(axis=1) / sums[:, _BINS]
    return errors


def _gold(
    pairs: PairSet, predicted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Right labels, what was said, and groups."""
    gold = np.array([pairs.labels.index(pair.label) for pair in pairs.pairs])
    _, groups = np.unique([pair.group for pair in pairs.pairs], return_inverse=True)
    return gold, predicted, groups


def _difference(value: float, draws: FloatArray) -> Difference:
    lower, upper = (float(bound) for bound in resampling.percentile_bounds(draws, 0.95))
    interval = Interval(min(lower, value), max(upper, value), 0.95, _METHOD)
    beyond = int((np.abs(draws - value) >= abs(value)).sum()) if value else len(draws)
    return Difference(float(value), float(resampling.spread(draws)), interval, (beyond + 1) / (len(draws) + 1))
