"""A classification run and its scores: accuracy, F1, calibration, reliability, and paired tests between two runs.

All but calibration are functions of the confusion matrix, so one matrix is kept for each group of items that are not
independent of each other (pairs that share a body, say), and whole groups are resampled.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.differences import differences_of_draws
from offscript.statistics.estimates import Difference, Estimate
from offscript.statistics.means import proportion_interval
from offscript.statistics.resampling import RESAMPLES, estimates_of_draws, resampled, value_and_draws

Score = Callable[[FloatArray], FloatArray]
"""From confusion matrices [rows, labels, labels] to [rows]."""

BINS = 10
_LEVEL = 0.95
_METHOD = "bootstrap percentile"


@dataclass(frozen=True, kw_only=True)
class Classification:
    """What was predicted and what was right, item by item, as numbers of `labels`.

    `groups` holds a number from 0 for each item, the same for items that are not independent of each other; None where
    all are. `probabilities` are those of the labels, where the predictions came with any.
    """

    labels: tuple[str, ...]
    gold: NDArray[np.int64]  # [n]
    predicted: NDArray[np.int64]  # [n]
    groups: NDArray[np.int64] | None = None  # [n]
    probabilities: FloatArray | None = None  # [n, labels]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the prediction is right [n]."""
        return np.equal(self.gold, self.predicted)

    @property
    def confidence(self) -> FloatArray:
        """Probability of what was predicted [n]."""
        if self.probabilities is None:
            raise OffscriptError("predictions without probabilities have no confidence")
        return np.asarray(self.probabilities[np.arange(len(self.gold)), self.predicted])

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Items by right and by predicted label [labels, labels]."""
        table = np.zeros((len(self.labels), len(self.labels)), dtype=np.int64)
        np.add.at(table, (self.gold, self.predicted), 1)
        return table

    def by_group(self) -> FloatArray:
        """One confusion matrix per group [groups, labels, labels]."""
        table = np.zeros((int(self._groups.max()) + 1, len(self.labels), len(self.labels)))
        np.add.at(table, (self._groups, self.gold, self.predicted), 1.0)
        return table

    def calibration_gaps(self) -> FloatArray:
        """Each group's confidence minus correctness by bin of confidence [groups, bins]."""
        gaps = np.zeros((int(self._groups.max()) + 1, BINS))
        np.add.at(gaps, (self._groups, _bins(self.confidence)), self.confidence - self.right)
        return gaps

    @property
    def _groups(self) -> NDArray[np.int64]:
        return np.arange(len(self.gold)) if self.groups is None else self.groups


@dataclass(frozen=True)
class ReliabilityBin:
    """Predictions of about the same confidence, and the share of them that are right."""

    confidence: float
    right: Estimate
    claims: int


def classification_scores(
    run: Classification, *, seed: int, resamples: int = RESAMPLES, extra: Mapping[str, Score] | None = None
) -> dict[str, Estimate]:
    """`accuracy`, `macro_f1`, `f1.<label>`, the `extra` scores, and `calibration_error` where there are probabilities.

    F1 is of the labels that occur among the right ones. All figures come from the same resamples of groups; the
    accuracy of independent items has Wilson's interval.

    Args:
        run: What was predicted and what was right.
        seed: Seed of the resamples.
        resamples: How often groups are resampled.
        extra: More scores of confusion matrices, by name.

    Returns:
        Estimates by name, in this order.
    """
    scores = _scores(run, extra or {})
    tables = run.by_group()
    flat, shape = tables.reshape(len(tables), -1), tables.shape[1:]
    gaps = None if run.probabilities is None else run.calibration_gaps()
    sizes = tables.sum(axis=(1, 2))

    def statistic(weights: FloatArray) -> FloatArray:
        matrices = (weights @ flat).reshape(-1, *shape)
        columns = [score(matrices) for score in scores.values()]
        if gaps is not None:  # the expected calibration error; weights of single items add up to 1 as they are
            items = 1.0 if run.groups is None else weights @ sizes
            columns.append(np.abs(weights @ gaps).sum(axis=1) / items)
        return np.column_stack(columns)

    names = [*scores] if gaps is None else [*scores, "calibration_error"]
    values, draws = value_and_draws(statistic, [len(tables)], resamples, np.random.default_rng(seed))
    method = _METHOD if run.groups is None else f"{_METHOD} by group"
    estimates = dict(zip(names, estimates_of_draws(values[0], draws, level=_LEVEL, method=method), strict=True))
    if run.groups is None:
        estimates["accuracy"] = proportion_interval(int(run.right.sum()), len(run.gold))
    return estimates


def classification_differences(
    first: Classification,
    second: Classification,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    extra: Mapping[str, Score] | None = None,
) -> dict[str, Difference]:
    """First minus second run on the same items, for every score of the confusion matrix; both share their resamples.

    Args:
        first: One run.
        second: Another run on the same items.
        seed: Seed of the resamples.
        resamples: How often groups are resampled.
        extra: More scores of confusion matrices, by name.

    Returns:
        Differences by the name of the score.
    """
    if first.labels != second.labels or not np.array_equal(first.gold, second.gold):
        raise OffscriptError("the two models judged different pairs", next="judge the same data with both")
    both = np.stack([first.by_group(), second.by_group()], axis=1)  # [groups, 2, labels, labels]
    flat, shape = both.reshape(len(both), -1), both.shape[2:]
    scores = _scores(first, extra or {})

    def differences(weights: FloatArray) -> FloatArray:
        tables = (weights @ flat).reshape(-1, 2, *shape)
        return np.column_stack([score(tables[:, 0]) - score(tables[:, 1]) for score in scores.values()])

    values = differences(np.full((1, len(both)), 1 / len(both)))[0]
    draws = resampled(differences, [len(both)], resamples, np.random.default_rng(seed))
    method = _METHOD if first.groups is None else f"{_METHOD} by group"
    return dict(zip(scores, differences_of_draws(values, draws, level=_LEVEL, method=f"paired {method}"), strict=True))


def reliability(run: Classification) -> list[ReliabilityBin]:
    """How often predictions of about the same confidence are right, in ten bins; empty ones are left out.

    Args:
        run: A classification with probabilities.

    Returns:
        The bins, from the least confident.
    """
    confidence, bins = run.confidence, _bins(run.confidence)
    return [
        ReliabilityBin(
            float(confidence[inside].mean()),
            proportion_interval(int(run.right[inside].sum()), int(inside.sum())),
            int(inside.sum()),
        )
        for inside in (bins == number for number in range(BINS))
        if inside.any()
    ]


def f1_scores(tables: FloatArray) -> FloatArray:
    """F1 of each label [rows, labels] from confusion matrices [rows, labels, labels]; 0 where nothing is right.

    Args:
        tables: Counts or weights by right label (second axis) and by predicted label (third axis).

    Returns:
        One row of F1 scores per matrix.
    """
    right = np.diagonal(tables, axis1=1, axis2=2)
    total = tables.sum(axis=1) + tables.sum(axis=2)
    scores: FloatArray = 2 * right / np.maximum(total, 1e-12)
    return scores


def _scores(run: Classification, extra: Mapping[str, Score]) -> dict[str, Score]:
    present = np.unique(run.gold)
    scores: dict[str, Score] = {
        "accuracy": lambda tables: np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2)),
        "macro_f1": lambda tables: f1_scores(tables)[:, present].mean(axis=1),
        **extra,
    }
    for place in present.tolist():
        scores[f"f1.{run.labels[place]}"] = lambda tables, place=place: f1_scores(tables)[:, place]  # type: ignore[misc]
    return scores


def _bins(confidence: FloatArray) -> NDArray[np.int64]:
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
