"""Scores of a classification run: by hand, by peers, and intervals that leave room."""

import math

import numpy as np
import pytest
from scipy.stats import binom, t
from sklearn import metrics
from statsmodels.stats.proportion import proportion_confint

from offscript.errors import OffscriptError
from offscript.statistics import (
    Classification,
    classification_differences,
    classification_scores,
    f1_scores,
    proportion_interval,
    reliability,
)
from offscript.statistics.resampling import resampling_counts

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
    assert held >= 88  # 95 %, and three standard errors
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


def test_the_three_tables_of_a_run_by_hand() -> None:
    probabilities = np.array([[0.95, 0.05, 0.0], [0.31, 0.6, 0.09], [0.39, 0.61, 0.0], [0.0, 0.0, 1.0]])
    run = run_of([0, 0, 1, 2], [0, 1, 1, 2], groups=np.array([0, 1, 0, 1]), probabilities=probabilities)
    assert run.confusion.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert run.by_group().tolist() == [[[1, 0, 0], [0, 1, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 1]]]
    assert run.right.tolist() == [True, False, True, True]
    expected = np.zeros((2, 10))
    expected[0, 9], expected[1, 6], expected[0, 6], expected[1, 9] = -0.05, 0.6, 0.61 - 1, 0.0
    assert run.calibration_gaps() == pytest.approx(expected)
    alone = run_of([0, 0, 1, 2], [0, 1, 1, 2], probabilities=probabilities)
    assert alone.by_group().shape == (4, 3, 3)
    assert not alone.can_be_calibrated


def test_calibration_by_group_weighs_groups_by_their_items() -> None:
    confidence = np.tile([0.9, 0.7], 60)
    probabilities = np.column_stack([confidence, 1 - confidence, np.zeros(120)])
    gold = ([0, 1] * 30) + ([0, 0] * 30)
    groups = np.repeat(np.arange(40), [1, 5] * 20)
    run = run_of(gold, [0] * 120, probabilities=probabilities, groups=groups)
    # Of confidence .9 all are right; of .7 the second half.
    assert classification_scores(run, seed=1)["calibration_error"].value == pytest.approx((0.1 + 0.2) / 2)


@pytest.mark.parametrize("groups", [10, 29, 30])
def test_few_groups_take_in_the_jackknifes_interval(groups: int) -> None:
    numbers = np.repeat(np.arange(groups), 3)
    generator = np.random.default_rng(groups)
    gold, predicted = generator.integers(0, 2, (2, 3 * groups))
    run = run_of(gold.tolist(), predicted.tolist(), groups=numbers)
    found = classification_scores(run, seed=1, resamples=199)["accuracy"]
    right = (gold == predicted).astype(float)
    weights = resampling_counts(groups, 199, np.random.default_rng(1)) / groups
    draws = np.sort(weights @ right.reshape(groups, 3).mean(axis=1))
    lower, upper = draws[4], draws[194]
    if groups < 30:
        without = np.array([right[numbers != group].mean() for group in range(groups)])
        reach = t.ppf(0.975, groups - 1) * math.sqrt((groups - 1) * without.var())
        lower, upper = min(lower, right.mean() - reach), max(upper, right.mean() + reach)
        assert found.interval.method == "wider of bootstrap percentile by group and jackknife"
    assert [found.interval.lower, found.interval.upper] == pytest.approx([lower, upper])


def test_the_jackknifes_interval_of_a_score_stays_within_0_and_1() -> None:
    groups = np.repeat(np.arange(4), 5)
    mostly = run_of([0] * 20, [0] * 19 + [1], groups=groups)
    hardly = run_of([0] * 20, [1] * 19 + [0], groups=groups)
    assert classification_scores(mostly, seed=1)["accuracy"].interval.upper == 1.0
    assert classification_scores(mostly, seed=1)["accuracy"].interval.lower < 0.85
    assert classification_scores(hardly, seed=1)["accuracy"].interval.lower == 0.0
    assert classification_scores(hardly, seed=1)["accuracy"].interval.upper > 0.15


def test_bounds_of_macro_f1_add_up_those_of_its_labels() -> None:
    gold, predicted = [0] * 9 + [1] * 11, [0] * 8 + [1] + [0] + [1] * 10
    for n, method in ((99, "labels' bounds added up (MOVER)"), (100, "bootstrap percentile")):
        long = run_of(([*gold] * 5)[:n], ([*predicted] * 5)[:n])
        assert classification_scores(long, seed=1, resamples=200)["macro_f1"].interval.method == method
    scores = classification_scores(run_of(gold, predicted), seed=1)
    singly = [scores["f1.a"], scores["f1.b"]]
    for side, end in ((0, "lower"), (1, "upper")):
        reaches = [abs(each.value - getattr(each.interval, end)) for each in singly]
        reach = math.sqrt(sum(r**2 for r in reaches) + 0.4 * 2 * reaches[0] * reaches[1]) / 2
        expected = scores["macro_f1"].value + (reach if side else -reach)
        assert getattr(scores["macro_f1"].interval, end) == pytest.approx(min(1.0, expected))
    upper = 2 * proportion_interval(8, 10).interval.upper / (1 + proportion_interval(8, 10).interval.upper)
    assert singly[0].interval.upper == pytest.approx(upper)
    assert singly[1].value == pytest.approx(20 / 22)


def test_groups_that_all_agree_are_trials() -> None:
    """Ten groups of four, all right: as sure as ten trials are, for F1 as many as have or get the label."""
    gold = [0, 0, 1, 1] * 5 + [0, 0, 0, 0] * 5
    scores = classification_scores(run_of(gold, gold, groups=np.repeat(np.arange(10), 4)), seed=1)
    assert scores["accuracy"].interval.lower == proportion_interval(10, 10).interval.lower
    share = proportion_interval(5, 5).interval.lower
    assert scores["f1.b"].interval.lower == pytest.approx(2 * share / (1 + share))
    assert scores["macro_f1"].interval.lower == proportion_interval(10, 10).interval.lower


def test_a_calibration_error_loses_what_chance_adds_and_begins_at_0_where_chance_would_bring_it() -> None:
    generator = np.random.default_rng(5)
    confidence = generator.uniform(0.4, 1, 400)
    probabilities = np.column_stack([confidence, 1 - confidence, np.zeros(400)])
    for shift in (0.0, 0.3):
        gold = np.where(generator.random(400) < confidence - shift, 0, 1)
        run = run_of(gold.tolist(), [0] * 400, probabilities=probabilities)
        found = classification_scores(run, seed=1, resamples=199)["calibration_error"]
        weights = resampling_counts(400, 199, np.random.default_rng(1)) / 400
        draws = np.sort(np.abs(weights @ run.calibration_gaps()).sum(axis=1))
        added = max(0.0, draws.mean() - found.value)
        assert found.interval.upper == pytest.approx(max(draws[194] - added, found.value))
        if shift:
            assert found.interval.lower == pytest.approx(2 * found.value - draws[194])
        else:
            assert found.interval.lower == 0.0


def test_chance_alone_makes_a_calibration_error_as_large_as_its_simulation_says() -> None:
    from offscript.statistics.classification import _calibrated

    confidence = np.full(100, 0.75)
    probabilities = np.column_stack([confidence, 1 - confidence, np.zeros(100)])
    errors = _calibrated(run_of([0] * 100, [0] * 100, probabilities=probabilities), 1)
    counts = np.arange(101)
    expected = (binom.pmf(counts, 100, 0.75) * np.abs(counts / 100 - 0.75)).sum()
    assert len(errors) == 1000
    assert errors.mean() == pytest.approx(expected, rel=0.08)
    assert np.isin((errors * 100).round(6) % 1, (0.0,)).all()


def test_differences_between_runs_by_hand() -> None:
    gold, groups = [0, 1, 2] * 10, np.repeat(np.arange(10), 3)
    first = run_of(gold, [0, 1, 1] * 5 + [0, 1, 2] * 5, groups=groups)
    second = run_of(gold, [0, 0, 2] * 3 + [1, 1, 2] * 7, groups=groups)
    found = classification_differences(first, second, seed=3, resamples=199)
    weights = resampling_counts(10, 199, np.random.default_rng(3)) / 10
    right = (first.right.astype(float) - second.right).reshape(10, 3).mean(axis=1)
    draws = np.sort(weights @ right)
    assert found["accuracy"].value == pytest.approx(right.mean())
    assert found["accuracy"].interval.lower == pytest.approx(min(draws[4], right.mean()))
    assert found["accuracy"].interval.upper == pytest.approx(max(draws[194], right.mean()))
    assert found["accuracy"].interval.method == "paired bootstrap percentile by group"
    for place, label in enumerate(LABELS):
        one, other = (metrics.f1_score(gold, run.predicted, average=None)[place] for run in (first, second))
        assert found[f"f1.{label}"].value == pytest.approx(one - other)
    other_labels = Classification(labels=("x", "y", "z"), gold=first.gold, predicted=first.predicted)
    with pytest.raises(OffscriptError, match="different pairs"):
        classification_differences(first, other_labels, seed=1)
