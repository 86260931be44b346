"""Rows of scores of classifications."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from coverage_table.cases import Case, covered
from offscript.statistics import Classification, classification_differences, classification_scores, f1_scores

JOINT = np.array([0.5, 0.3, 0.2])[:, None] * np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.2, 0.2, 0.6]])
"""How often each of three labels is right and predicted."""


def _items(rng: np.random.Generator, n: int, groups: int | None = None) -> Classification:
    """Items whose predictions follow JOINT; in groups, all of one gold label and half of the time of one prediction."""
    if groups is None:
        gold, predicted = np.divmod(rng.choice(9, n, p=JOINT.ravel()), 3)
        return Classification(labels=("a", "b", "c"), gold=gold, predicted=predicted)
    numbers = np.repeat(np.arange(groups), n // groups)
    whole, single = rng.choice(9, groups, p=JOINT.ravel()), rng.choice(9, len(numbers), p=JOINT.ravel())
    gold, predicted = np.divmod(np.where(rng.random(len(numbers)) < 0.5, whole[numbers], single), 3)
    return Classification(labels=("a", "b", "c"), gold=gold, predicted=predicted, groups=numbers)


def _score(
    rng: np.random.Generator, repeats: int, n: int = 20, groups: int | None = None, name: str = "accuracy"
) -> float:
    by_label = f1_scores(JOINT[None])[0]
    truths = {"accuracy": np.trace(JOINT), "macro_f1": by_label.mean(), "f1.a": by_label[0]}
    runs = (_items(rng, n, groups) for _ in range(repeats))
    found = [classification_scores(run, seed=1, resamples=200) for run in runs if len(np.unique(run.gold)) == 3]
    return covered([each[name].interval for each in found], float(truths[name]))


def classifications_rows() -> Iterator[Case]:
    """Accuracy, F1, calibration error and paired accuracy."""
    for name, sizes in (("accuracy", (10, 100)), ("f1.a", (10, 20, 100)), ("macro_f1", (10, 20, 50, 200))):
        for n in sizes:
            run = partial(_score, n=n, name=name)
            yield Case(f"{name} (`classification_scores`)", f"{n} items", "three labels", run, 0.25)
    for groups in (10, 40):
        for name in ("accuracy", "macro_f1"):
            run = partial(_score, n=10 * groups, groups=groups, name=name)
            yield Case(
                f"{name} by group (`classification_scores`)", f"{groups} groups of 10", "three labels", run, 0.25
            )

    for n in (100, 500):
        for shift in (0.0, 0.05, 0.15):
            run = partial(_calibration, n=n, shift=shift)
            yield Case("calibration error (`classification_scores`)", f"{n} items", f"error {shift:g}", run, 0.3)

    for n in (50, 200):
        run = partial(_paired_accuracy, n=n)
        yield Case("paired accuracy (`classification_differences`)", f"{n} items", "equal models", run, 0.25)


def _calibration(rng: np.random.Generator, repeats: int, n: int = 100, shift: float = 0.0) -> float:
    held, truth = [], shift
    for _ in range(repeats):
        confidence = rng.uniform(0.4, 1, n)
        right = rng.random(n) < confidence - shift
        probabilities = np.column_stack([confidence, 1 - confidence])
        fields = {"gold": np.where(right, 0, 1), "predicted": np.zeros(n, dtype=np.int64)}
        run = Classification(labels=("a", "b"), probabilities=probabilities, **fields)
        held.append(classification_scores(run, seed=1, resamples=200)["calibration_error"].interval)
    return covered(held, truth)


def _paired_accuracy(rng: np.random.Generator, repeats: int, n: int = 50) -> float:
    held = []
    for _ in range(repeats):
        first, second = _items(rng, n), _items(rng, n)
        second = Classification(labels=first.labels, gold=first.gold, predicted=_same_gold(rng, first.gold))
        held.append(classification_differences(first, second, seed=1, resamples=200)["accuracy"].interval)
    return covered(held, 0.0)


def _same_gold(rng: np.random.Generator, gold: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    shares = JOINT / JOINT.sum(axis=1, keepdims=True)
    return np.array([rng.choice(3, p=shares[label]) for label in gold])
