"""Scores of a classification run: by hand, by peers, and intervals that leave room."""

import numpy as np
import pytest
from sklearn import metrics
from statsmodels.stats.proportion import proportion_confint

from offscript.errors import OffscriptError
from offscript.statistics import (
    Classification,
    classification_differences,
    classification_scores,
    f1_scores,
    reliability,
)

LABELS = ("a", "b", "c")


def run_of(gold: list[int], predicted: list[int], **fields: object) -> Classification:
    return Classification(labels=LABELS, gold=np.array(gold), predicted=np.array(predicted), **fields)  # type: ignore[arg-type]


def random_run(n: int, seed: int, groups: int | None = None) -> Classification:
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet(np.ones(3), n)
    numbers = None if groups is None else np.arange(n) % groups
    return Classification(
        labels=LABELS,
        gold=generator.integers(0, 3, n),
        predicted=probabilities.argmax(axis=1),
        groups=numbers,
        probabilities=probabilities,
    )


def test_scores_are_scikit_learns() -> None:
    run = random_run(300, 1)
    scores = {name: score.value for name, score in classification_scores(run, seed=1, resamples=100).items()}
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(run.gold, run.predicted))
    assert scores["macro_f1"] == pytest.approx(metrics.f1_score(run.gold, run.predicted, average="macro"))
    singly = metrics.f1_score(run.gold, run.predicted, average=None)
    assert [scores[f"f1.{label}"] for label in LABELS] == pytest.approx(singly)
    assert f1_scores(run.confusion[None].astype(float))[0] == pytest.approx(singly)
    assert run.confusion.tolist() == metrics.confusion_matrix(run.gold, run.predicted).tolist()


def test_labels_that_are_never_right_have_no_score() -> None:
    scores = classification_scores(run_of([0, 0, 1, 1], [0, 2, 1, 0]), seed=1)
    assert set(scores) == {"accuracy", "macro_f1", "f1.a", "f1.b"}
    assert scores["macro_f1"].value == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_extra_scores_stand_beside_the_others() -> None:
    half = {"half": lambda tables: 0.5 * np.trace(tables, axis1=1, axis2=2) / tables.sum(axis=(1, 2))}
    run = random_run(60, 2, groups=20)
    scores = classification_scores(run, seed=1, extra=half)
    assert scores["half"].value == pytest.approx(scores["accuracy"].value / 2)
    assert scores["half"].interval.upper == pytest.approx(scores["accuracy"].interval.upper / 2)


def test_one_f1_is_the_share_of_true_positives() -> None:
    """Eight true positives of ten items that have or get the label: F1 is 2 J / (1 + J)."""
    run = run_of([0] * 9 + [1] * 11, [0] * 8 + [1] + [0] + [1] * 10)
    found = classification_scores(run, seed=1)["f1.a"]
    assert found.value == pytest.approx(2 * 8 / (2 * 8 + 1 + 1))
    lower, _ = proportion_confint(8, 10, method="wilson")
    assert found.interval.lower == pytest.approx(2 * lower / (1 + lower))


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(10), 4)])
@pytest.mark.parametrize("right", [True, False])
def test_no_score_is_beyond_doubt(groups: np.ndarray | None, right: bool) -> None:
    gold = [0, 1] * 20
    run = run_of(gold, gold if right else [1 - label for label in gold], groups=groups)
    for name, score in classification_scores(run, seed=1).items():
        assert score.value == (1.0 if right else 0.0), name
        assert score.interval.width > 0.05, name
        assert score.value in score.interval


def test_whole_groups_that_are_right_or_wrong_count_as_one_item_each() -> None:
    groups = np.repeat(np.arange(20), 25)
    predicted = np.where(np.repeat(np.arange(20) < 10, 25), 0, 1)
    together = Classification(labels=LABELS, gold=np.zeros(500, dtype=np.int64), predicted=predicted, groups=groups)
    apart = Classification(labels=LABELS, gold=np.zeros(500, dtype=np.int64), predicted=predicted)
    wide, narrow = (classification_scores(run, seed=1)["accuracy"].interval for run in (together, apart))
    assert wide.width > 4 * narrow.width
    assert "by group" in wide.method


def test_calibration_by_hand_and_reliability() -> None:
    confidence = np.array([0.95, 0.55, 0.75, 0.65] * 25)
    probabilities = np.column_stack([confidence, 1 - confidence, np.zeros(100)])
    run = run_of([0, 0, 0, 1] * 25, [0] * 100, probabilities=probabilities)
    assert run.confidence.tolist() == confidence.tolist()
    error = classification_scores(run, seed=1)["calibration_error"]
    assert error.value == pytest.approx((0.05 + 0.45 + 0.25 + 0.65) / 4)
    assert error.interval.lower > 0.0
    bins = reliability(run)
    assert [each.confidence for each in bins] == pytest.approx([0.55, 0.65, 0.75, 0.95])
    assert [each.right.value for each in bins] == [1, 0, 1, 1]
    assert [each.claims for each in bins] == [25] * 4


def test_fewer_than_a_hundred_items_have_no_calibration_error() -> None:
    """Its interval held the truth in all of 600 samples of 20: it was from 0 to next to 1."""
    confidence = np.linspace(0.4, 0.99, 100)
    probabilities = np.column_stack([confidence, 1 - confidence, np.zeros(100)])
    for n in (99, 100):
        run = run_of([0, 1, 0] * 33 + [0] * (n - 99), [0] * n, probabilities=probabilities[:n])
        assert ("calibration_error" in classification_scores(run, seed=1, resamples=100)) is (n == 100)


def test_a_calibrated_model_may_have_no_calibration_error() -> None:
    """Sampling alone makes the error positive: the interval must reach 0, and must not for an overconfident model."""
    held, excluded, truth = 0, 0, 0.15
    for trial in range(100):
        generator = np.random.default_rng([3, trial])
        confidence = generator.uniform(0.4, 1, 200)
        probabilities = np.column_stack([confidence, 1 - confidence, np.zeros(200)])
        for shift in (0.0, truth):
            gold = np.where(generator.random(200) < confidence - shift, 0, 1)
            run = run_of(gold.tolist(), [0] * 200, probabilities=probabilities)
            interval = classification_scores(run, seed=1, resamples=200)["calibration_error"].interval
            if shift:
                excluded += interval.lower > 0
            else:
                held += interval.lower == 0
    assert held >= 93
    assert excluded >= 90


def test_differences_need_the_same_items_and_see_what_two_intervals_would_not() -> None:
    gold = [0, 1, 2] * 40
    best, worse = run_of(gold, gold), run_of(gold, [0, 0, 2] * 40)
    found = classification_differences(worse, best, seed=1)
    assert found["accuracy"].value == pytest.approx(-1 / 3)
    assert found["accuracy"].p_value == 1 / 1001
    assert found["accuracy"].interval.method == "paired bootstrap percentile"
    same = classification_differences(best, best, seed=1)["accuracy"]
    assert (same.value, same.p_value) == (0.0, 1.0)
    with pytest.raises(OffscriptError, match="different pairs"):
        classification_differences(best, run_of(gold[::-1], gold), seed=1)


def test_predictions_alone_have_no_confidence() -> None:
    run = run_of([0, 1], [0, 1])
    assert "calibration_error" not in classification_scores(run, seed=1)
    with pytest.raises(OffscriptError, match="without probabilities"):
        reliability(run)
