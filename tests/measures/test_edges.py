"""Where something begins and ends to hold: the smallest and the largest that is taken, by hand."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch

from offscript.corpora import WordVocabulary
from offscript.corpora.associations import Association, AssociationTest
from offscript.errors import OffscriptError
from offscript.measures._scores import scores_along
from offscript.measures.exposure import _deciding
from offscript.measures.exposure.gap import _agreeing, _ratio_figure, _relative_error
from offscript.measures.exposure.studentised import SMALL, Split
from offscript.measures.factuality import decomposition
from offscript.measures.measurement import Measurement
from offscript.measures.ratings.huse import NEIGHBOURS, _nearest, _score, _standardised
from offscript.measures.stereotypes import _clearest_preferences, _pair
from offscript.measures.stereotypes.sentiment import SentimentClassifier
from offscript.measures.texts import encode_texts
from offscript.measures.translation.words import Content
from offscript.measures.words import _decimals, _signed, number, p_value
from offscript.models.tabular import Tabular
from offscript.sampling.transforms.randomised import RandomMaskAll
from offscript.statistics import Estimate, Interval, clustered_proportion_interval, p_value_of
from offscript.statistics.classification import Classification, classification_scores
from offscript.statistics.estimates import normal_quantile, student_quantile
from offscript.statistics.means import _few_clusters

WORDS = WordVocabulary(["<unk>", "a", "b"], end=None)


@pytest.mark.parametrize(
    ("width", "decimals"),
    [(250.0, 0), (1.0, 1), (0.5, 2), (0.01, 3), (1e-5, 6), (1e-9, 6), (0.0, None), (math.inf, None)],
)
def test_two_digits_of_a_width_and_six_decimals_at_most(width: float, decimals: int | None) -> None:
    assert _decimals(width) == decimals


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (123456.0, "123,456"),
        (1234.0, "1,234"),
        (12.344, "12.34"),
        (-1.5, "−1.500"),
        (0.00012345, "0.000123"),
        (0.0, "0"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_four_digits_and_six_decimals_at_most(value: float, told: str) -> None:
    assert number(value) == told


@pytest.mark.parametrize(
    ("value", "decimals", "told"),
    [
        (0.5, 0, "0.5"),
        (-0.5, 0, "−0.5"),
        (0.51, 0, "1"),
        (0.04, 1, "0.04"),
        (0.048, 1, "0.05"),
        (0.06, 1, "0.1"),
        (3e-5, 2, "0.00003"),
        (3e-8, 2, "0.000000"),
        (0.0, 2, "0.00"),
    ],
)
def test_what_would_be_rounded_to_zero_has_a_digit_more(value: float, decimals: int, told: str) -> None:
    assert _signed(value, decimals) == told


@pytest.mark.parametrize(
    ("p", "told"), [(0.00099, "p < 0.001"), (0.001, "p = 0.001"), (0.031, "p = 0.031"), (1.0, "p = 1")]
)
def test_p_values_are_told_down_to_a_thousandth(p: float, told: str) -> None:
    assert p_value(p) == told


def test_two_texts_are_enough() -> None:
    assert len(encode_texts(["a", "b"], WORDS).tokens) == 2
    with pytest.raises(OffscriptError, match="found 1 sentences"):
        encode_texts(["a"], WORDS)


def test_the_nearest_others_leave_out_nobody_but_oneself() -> None:
    near = _nearest(np.array([[0.0], [1.0], [3.0], [7.0]]))
    assert near.tolist() == [[1, 2, 3], [0, 2, 3], [1, 0, 3], [2, 1, 0]]


def test_log_odds_of_words_by_hand() -> None:
    learnt = SentimentClassifier.learn([("bad bad", True), ("bad", True), ("fine", False)])
    # words and pairs: negative texts have bad (2 of 2) and bad bad (1), the positive one fine (1); three are known
    shift = math.log(1 + 3) - math.log(3 + 3)
    assert learnt.prior == pytest.approx(math.log(2))
    assert learnt.odds[("bad",)] == pytest.approx(math.log(2 + 1) - math.log(0 + 1) + shift)
    assert learnt.odds[("fine",)] == pytest.approx(math.log(0 + 1) - math.log(1 + 1) + shift)


def split(value: list[float], seed: int) -> Split:
    rng = np.random.default_rng(seed)
    linear, rest = rng.normal(0, 1, (50, 3)) * [3, 2, 0.1], rng.normal(0.05, 0.01, (50, 3))
    return Split(np.array(value), linear, rest, np.array([9.0, 4.0, 0.01]), np.ones((50, 3)), 50)


def test_a_ratio_is_of_the_averages_which_stand_last() -> None:
    model, data = split([7.0, 5.0, 3.0], 1), split([2.0, 1.0, 2.0], 2)
    spreads = []
    for side in (model, data):
        resampled = (side.linear + side.rest)[:, 2]
        spreads.append(resampled * side.standard_errors[2] / resampled.std() / side.unbiased[2])
    expected = float((spreads[0] - spreads[1]).std(ddof=1))
    assert _relative_error(model, data) == pytest.approx(expected)
    figure = _ratio_figure(model, data, 0.95)
    assert figure is not None
    value = (3.0 - model.rest[:, 2].mean()) / (2.0 - data.rest[:, 2].mean())
    assert figure.estimate.value == pytest.approx(value)
    assert figure.estimate.interval.upper == pytest.approx(value * math.exp(normal_quantile(0.975) * expected))
    assert _ratio_figure(split([7.0, 5.0, 0.0], 1), data, 0.95) is None
    assert _ratio_figure(model, split([2.0, 1.0, 0.05], 2), 0.95) is None


@pytest.mark.parametrize(("truth", "beyond"), [(0.0, 2), (1.0, 2), (2.0, 1), (-1.0, 1), (-2.0, 0)])
def test_resamples_as_far_out_as_the_sample_count(truth: float, beyond: int) -> None:
    """With errors of 1 the resamples lie -1, 0, 1 and 2 errors away, and a sample of 1 lies 1 - truth away."""
    linear = np.array([[-1.0], [0.0], [1.0], [2.0]])
    found = Split(np.ones(1), linear, np.zeros((4, 1)), np.ones(1), np.ones((4, 1)), 4)
    assert found.tail(truth) == beyond


@pytest.mark.parametrize(
    ("value", "bounds", "p_value", "cut", "expected"),
    [
        (0.5, (0.1, 0.9), 0.06, False, (0.0, 0.9)),
        (-0.5, (-0.9, -0.1), 0.06, True, (-0.9, 0.0)),
        (0.5, (0.1, 0.9), 1 - 0.95, False, (0.1, 0.9)),  # what the test just excludes
        (0.5, (-0.1, 0.9), 0.01, False, (-0.1, 0.9)),
        (0.5, (-0.1, 0.9), 0.01, True, (SMALL, 0.9)),
        (0.5, (0.1, 0.9), 0.01, True, (0.1, 0.9)),
        (-0.5, (-0.9, 0.1), 0.01, True, (-0.9, -SMALL)),
    ],
)
def test_the_interval_of_a_gap_holds_zero_where_its_test_does(
    value: float, bounds: tuple[float, float], p_value: float, cut: bool, expected: tuple[float, float]
) -> None:
    found = _agreeing(Estimate(value, 0.2, Interval(*bounds, 0.95, "test")), p_value, cut=cut)
    assert (found.interval.lower, found.interval.upper) == expected
    assert found.value == value


def test_clusters_of_one_count_as_clusters() -> None:
    wider = student_quantile(2, 0.975) / normal_quantile(0.975)
    assert _few_clusters(np.array([1.0, 0.0, 3.0, 2.0]), 0.95) == pytest.approx(wider**2 * 3 / 2)
    assert _few_clusters(np.array([1.0, 1.0]), 0.95) == 1.0
    assert _few_clusters(np.array([0.0, 5.0]), 0.95) == 1.0
    wide = clustered_proportion_interval(np.array([1.0, 0.0, 3.0]), np.array([1.0, 2.0, 4.0])).interval
    assert wide.lower < 4 / 7 < wide.upper


def test_a_sentence_of_the_longest_length_goes_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def written(model: Any, sentence: str, most: int) -> str:
        asked.append(sentence)
        return ""

    monkeypatch.setattr(decomposition, "_written", written)
    monkeypatch.setattr(decomposition, "_LONGEST", 4)
    model = Tabular(WORDS, 1, {(): [0.2, 0.4, 0.4]}, "m")
    decomposition.decompose(model, "Oslo lies in Norway.")
    decomposition.decompose(model, "Oslo lies in southern Norway.")
    assert asked == ["Oslo lies in Norway."]


@pytest.mark.parametrize(("highest", "what"), [(0.0, "geometric mean"), (0.5, "score"), (1.0, "score")])
def test_scores_of_zero_at_most_are_logarithms(highest: float, what: str) -> None:
    found = [Association(name, f"He is {name}.") for name in ("rich", "poor", "blue")]
    test = AssociationTest("1", "intrasentence", "race", "he", "He is BLANK.", *found)
    exhibit = _clearest_preferences([test], {"rich": highest, "poor": -1.0, "blue": -2.0})
    assert what in exhibit["note"]


@pytest.mark.parametrize(("score", "share"), [(0.0, 0.0), (-2.0, 0.0), (2.0, 1.0)])
def test_bars_of_scores_that_are_not_above_zero_are_empty(score: float, share: float) -> None:
    found = [Association(name, f"He is {name}.") for name in ("rich", "poor", "blue")]
    test = AssociationTest("1", "intrasentence", "race", "he", "He is BLANK.", *found)
    pair = _pair(test, {"rich": score, "poor": score}, logarithms=False)
    assert [side["share"] for side in pair["sides"]] == [share, share]


def measured(value: float, low: float, high: float, n: int) -> Measurement:
    fields: dict[str, Any] = {"question": "q", "name": "f", "seed": 1, "seconds": 0.0, "recipe": {}}
    return Measurement(value=value, standard_error=0.1, interval=Interval(low, high, 0.95, "m"), n=n, **fields)


@pytest.mark.parametrize(
    ("value", "low", "high", "needed"),
    [
        (0.01, -0.02, 0.04, 900),  # three times as far as 0: nine times the samples
        (0.01, -0.03, 0.02, 1600),  # the longer side counts
        (-0.01, -0.035, 0.015, 400),  # the margin is 0.0125 away, farther than 0
        (0.01, 0.0, 0.02, 120),  # just short of deciding: a fifth more
    ],
)
def test_samples_that_would_decide_grow_with_the_square(value: float, low: float, high: float, needed: int) -> None:
    assert _deciding(measured(value, low, high, 100)) == needed


def test_resamples_beyond_a_truth_are_those_of_the_average() -> None:
    known = split([7.0, 5.0, 0.4], 3)
    error, scores = known.standard_errors[2], known.studentised[:, 2]
    for truth in (0.0, 0.3, 0.5):
        seen = (known.unbiased[2] - truth) / error
        expected = (scores >= seen).sum() if seen > 0 else (scores <= seen).sum()
        assert known.tail(truth) == expected


def test_a_row_that_loses_every_token_keeps_one_that_may_come() -> None:
    log_probs = torch.tensor([[-math.inf, math.log(0.5), math.log(0.5)]])
    weighed = RandomMaskAll(0.99).weigh(log_probs, torch.tensor([[0.98, 0.2, 0.3]]))
    assert weighed.isneginf().tolist() == [[True, True, False]]


def test_a_mean_f1_is_one_at_most() -> None:
    gold = np.array([0] * 30 + [1] * 30)
    found = classification_scores(Classification(labels=("a", "b"), gold=gold, predicted=gold), seed=1)["macro_f1"]
    assert found.value == 1.0
    assert found.interval.upper == 1.0
    predicted = gold.copy()
    predicted[0] = 1
    near = classification_scores(Classification(labels=("a", "b"), gold=gold, predicted=predicted), seed=1)["macro_f1"]
    assert near.interval.lower < near.value < near.interval.upper <= 1.0


def test_counts_weigh_both_kinds_alike_in_huse() -> None:
    """Twelve people's items among forty: votes of the few count for more, copies of an item for as many."""
    human = np.arange(40) < 12
    near = np.array([[other for other in range(40) if other != item] for item in range(40)])
    counts = np.where(np.arange(40) % 2, 2.0, 0.0)
    weights = counts * np.where(human, 0.5 / 0.3, 0.5 / 0.7)
    wrong = []
    for item in range(40):
        left, votes = float(NEIGHBOURS), {True: 0.0, False: 0.0}
        for other in near[item]:
            taken = min(weights[other], left)
            votes[bool(human[other])] += taken
            left -= taken
        wrong.append(0.5 if votes[True] == votes[False] else float((votes[True] > votes[False]) != human[item]))
    errors = [np.average(np.array(wrong)[human == kind], weights=counts[human == kind]) for kind in (True, False)]
    assert _score(near, human, counts) == pytest.approx(sum(errors))


def test_features_that_do_not_vary_are_zero() -> None:
    assert _standardised(np.array([2.0, 2.0])).tolist() == [0.0, 0.0]
    assert _standardised(np.array([1.0, 5.0])).tolist() == [-1.0, 1.0]


def test_two_values_have_one_degree_of_freedom() -> None:
    figure = Estimate(0.1, 1.0, Interval(-9.9, 10.1, 0.95, "t"))
    distance = 0.1 / 10 * scipy.stats.t.ppf(0.975, 1)
    assert p_value_of(figure, 2) == pytest.approx(2 * scipy.stats.t.sf(distance, 1))
    assert p_value_of(Estimate(50.0, 1.0, Interval(49.0, 51.0, 0.95, "t")), 2) == 0.5


def test_a_word_of_two_references_of_a_few_is_common() -> None:
    texts = ["red boats", "red cars", "green trains"]
    assert Content.of(texts, texts).wanted == [{"boats"}, {"cars"}, {"green", "trains"}]


def test_rows_of_a_part_keep_their_numbers() -> None:
    asked: list[list[int]] = []

    class Numbered(Tabular):
        def of_rows(self, rows: torch.Tensor) -> "Numbered":
            asked.append(rows.tolist())
            return self

    model = Numbered(WORDS, 2, {(): [0.2, 0.4, 0.4], **{(token,): [0.2, 0.4, 0.4] for token in range(3)}}, "m")
    told: list[int] = []
    list(
        scores_along(
            (model,), torch.ones((5, 2), dtype=torch.long), range(2), batch_size=2, progress=told.append, first_row=7
        )
    )
    assert asked == [[7, 8], [9, 10], [11]]
    assert told == [2, 2, 1]
