"""A classification run and its scores: accuracy, F1, calibration, reliability, and paired tests between two runs.

All but calibration are functions of the confusion matrix, so one matrix is kept for each group of items that are not
independent of each other (pairs that share a body, say), and whole groups are resampled.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.differences import differences_of_draws
from offscript.statistics.estimates import Difference, Estimate, Interval, student_quantile
from offscript.statistics.means import SHARE, proportion_interval
from offscript.statistics.resampling import (
    BLOCK_ELEMENTS,
    RESAMPLES,
    estimates_of_draws,
    percentile_bounds,
    resampled,
    value_and_draws,
)

Score = Callable[[FloatArray], FloatArray]
"""From confusion matrices [rows, labels, labels] to [rows]."""

BINS = 10
CALIBRATION = "calibration_error"
_F1, _MACRO = "f1.", "macro_f1"
_LEVEL = 0.95
_FEW, _FEW_ITEMS = 30, 100  # groups, and items of several labels, that resample to too narrow an interval
_CORRELATION = 0.4  # of the errors of two labels' F1
_LEAST_CALIBRATED = 100  # items; of fewer, ten bins say next to nothing, and no interval would cover
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
    def can_be_calibrated(self) -> bool:
        """Whether a calibration error can be told: there are probabilities, of enough items."""
        return self.probabilities is not None and len(self.gold) >= _LEAST_CALIBRATED

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
    """`accuracy`, `macro_f1`, `f1.<label>`, the `extra` scores, and `calibration_error` of 100 probabilities and more.

    F1 is of the labels that occur among the right ones. All figures come from the same resamples of groups. Where items
    are independent, accuracy and F1 have closed intervals: both are functions of one share.

    Args:
        run: What was predicted and what was right.
        seed: Seed of the resamples.
        resamples: How often groups are resampled.
        extra: More scores of confusion matrices, by name; they lie between 0 and 1.

    Returns:
        Estimates by name, in this order.
    """
    scores, tables = _scores(run, extra or {}), run.by_group()
    flat, shape, sizes = tables.reshape(len(tables), -1), tables.shape[1:], tables.sum(axis=(1, 2))
    gaps = run.calibration_gaps() if run.can_be_calibrated else None

    def statistic(weights: FloatArray) -> FloatArray:
        matrices = (weights @ flat).reshape(-1, *shape)
        columns = [score(matrices) for score in scores.values()]
        if gaps is not None:  # the expected calibration error; weights of single items add up to 1 as they are
            items = 1.0 if run.groups is None else weights @ sizes
            columns.append(np.abs(weights @ gaps).sum(axis=1) / items)
        return np.column_stack(columns)

    names = [*scores] if gaps is None else [*scores, CALIBRATION]
    values, draws = value_and_draws(statistic, [len(tables)], resamples, np.random.default_rng(seed))
    method = _METHOD if run.groups is None else f"{_METHOD} by group"
    estimates = dict(zip(names, estimates_of_draws(values[0], draws, level=_LEVEL, method=method), strict=True))
    if len(tables) < _FEW:
        without = statistic((1 - np.eye(len(tables))) / (len(tables) - 1))
        pairs = zip(estimates.items(), without.T, strict=True)
        estimates = {name: _widened(estimate, column) for (name, estimate), column in pairs}
    estimates |= {name: _share_interval(run, name, estimates[name]) for name in scores}
    if gaps is not None:
        estimates[CALIBRATION] = _calibration_interval(run, estimates[CALIBRATION], draws[:, -1], seed)
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
        _MACRO: lambda tables: f1_scores(tables)[:, present].mean(axis=1),
        **extra,
    }
    for place in present.tolist():
        scores[f"{_F1}{run.labels[place]}"] = lambda tables, place=place: f1_scores(tables)[:, place]  # type: ignore[misc]
    return scores


def _widened(estimate: Estimate, without: FloatArray) -> Estimate:
    """The hull of the interval and of the jackknife's by Student's t: few groups resample to too narrow an interval."""
    n = len(without)
    reach = student_quantile(n - 1, (1 + _LEVEL) / 2) * math.sqrt((n - 1) * float(without.var()))
    lower = min(estimate.interval.lower, max(0.0, estimate.value - reach))
    upper = max(estimate.interval.upper, min(1.0, estimate.value + reach))
    method = f"wider of {estimate.interval.method} and jackknife"
    return Estimate(estimate.value, estimate.standard_error, Interval(lower, upper, _LEVEL, method))


def _share_interval(run: Classification, name: str, estimate: Estimate) -> Estimate:
    """A closed interval where a score is a function of one share of independent items, or where no resample differs.

    F1 is 2 J / (1 + J), where J is the share of a label's true positives among all items that have or get the label.
    """
    if run.groups is not None and estimate.interval.width > 0:
        return estimate
    tables, independent = run.by_group(), run.groups is None
    if name == "accuracy" and independent:
        return proportion_interval(int(run.right.sum()), len(run.gold), level=_LEVEL)
    if name.startswith(_F1):
        lower, upper = _f1_bounds(tables, run.labels.index(name.removeprefix(_F1)), independent)
        method = f"{SHARE} of TP / (TP + FP + FN)"
    elif name == _MACRO and independent and len(run.gold) < _FEW_ITEMS:
        lower, upper = _macro_bounds(tables, np.unique(run.gold))
        method = "labels' bounds added up (MOVER)"
    elif estimate.interval.width == 0:
        share = _share(estimate.value, len(tables))
        lower, upper, method = share.lower, share.upper, share.method
    else:
        return estimate
    value = estimate.value
    interval = Interval(float(min(lower, value)), float(max(upper, value)), _LEVEL, method)
    return Estimate(value, estimate.standard_error, interval)


def _f1_bounds(tables: FloatArray, place: int, independent: bool) -> tuple[float, float]:
    """Bounds of a label's F1 from its share of true positives, of items or of the groups that have or get the label."""
    involved, right = _involved(tables, place), tables[:, place, place]
    trials = float(involved.sum() if independent else (involved > 0).sum())
    share = _share(float(right.sum() / involved.sum()), trials)
    return 2 * share.lower / (1 + share.lower), 2 * share.upper / (1 + share.upper)


def _macro_bounds(tables: FloatArray, places: NDArray[np.int64]) -> tuple[float, float]:
    """Bounds of the mean of labels' F1 from their own, added up as errors that correlate by .4.

    An item that one label loses another gets: taken as independent they would cover .85, as one error .997. Between two
    and four labels and 10 to 90 items, .4 covers .93 to .975.
    """
    scores = f1_scores(tables.sum(axis=0, keepdims=True))[0, places]
    bounds = np.array([_f1_bounds(tables, place, True) for place in places.tolist()])
    reaches = np.abs(bounds - scores[:, None])  # [labels, 2]
    alone, together = (reaches**2).sum(axis=0), reaches.sum(axis=0) ** 2
    down, up = np.sqrt((1 - _CORRELATION) * alone + _CORRELATION * together) / len(places)
    return max(0.0, float(scores.mean() - down)), min(1.0, float(scores.mean() + up))


def _involved(tables: FloatArray, place: int) -> FloatArray:
    """How many items of each group have or get the label [groups]."""
    return np.asarray(tables[:, place].sum(axis=1) + tables[:, :, place].sum(axis=1) - tables[:, place, place])


def _share(value: float, trials: float) -> Interval:
    """The interval of a share of so many trials, or of groups that agree."""
    return proportion_interval(round(value * trials), round(trials), level=_LEVEL).interval


def _calibration_interval(run: Classification, estimate: Estimate, draws: FloatArray, seed: int) -> Estimate:
    """The bootstrap's interval without what resampling adds, for chance makes a sum of absolute values larger.

    The lower end is mirrored at the value: sampling has added to that once, and resampling twice. The upper end loses
    what resampling has added on average. It begins at 0 where perfect calibration would bring as large an error in 1 of
    20 samples. At 100 items that covers .93 to .97 for errors of 0 to .3.
    """
    value = estimate.value
    highest, added = float(percentile_bounds(draws, _LEVEL)[1]), max(0.0, float(draws.mean()) - value)
    lower, upper = max(0.0, 2 * value - highest), highest - added
    if value <= float(np.quantile(_calibrated(run, seed), _LEVEL)):
        lower = 0.0
    method = f"{_METHOD}, bias taken off, or from 0"
    return Estimate(value, estimate.standard_error, Interval(min(lower, value), max(upper, value), _LEVEL, method))


def _calibrated(run: Classification, seed: int) -> FloatArray:
    """Calibration errors [resamples] of predictions with these confidences that are right as often as they say."""
    confidence, generator, errors = run.confidence, np.random.default_rng([seed, 1]), []
    inside = (_bins(confidence)[:, None] == np.arange(BINS)).astype(np.float64)  # [n, bins]
    block = max(1, BLOCK_ELEMENTS // len(confidence))
    for first in range(0, RESAMPLES, block):
        right = generator.random((min(block, RESAMPLES - first), len(confidence))) < confidence
        errors.append(np.abs((confidence - right) @ inside).sum(axis=1) / len(confidence))
    return np.concatenate(errors)


def _bins(confidence: FloatArray) -> NDArray[np.int64]:
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
