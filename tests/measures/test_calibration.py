"""Confidence against accuracy, and entropy along a model's own text."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from offscript._types import FloatArray
from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.calibration import Calibration
from offscript.measures.calibration.estimation import (
    BINS,
    Reading,
    _by_bin,
    _reliability,
    measure_calibration,
    read_along,
    tenths,
)
from offscript.models.language_model import HistoryModel
from offscript.sampling import generate

SIZE = 6


class Tempered(HistoryModel):
    """The next token depends on the last one; a temperature below 1 makes the model surer than its data."""

    def __init__(self, temperature: float = 1.0, *, end: int | None = None) -> None:
        words = [f"w{number}" for number in range(SIZE)]
        if end is not None:
            words[end] = "</s>"
        self.vocabulary = WordVocabulary(words, end=None if end is None else "</s>", unknown=None)
        self.name = f"tempered {temperature:g}"
        scores = torch.randn(SIZE + 1, SIZE, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        self.table = (1.5 * scores / temperature).log_softmax(dim=1)

    def predict(self, histories: Tensor) -> Tensor:
        last = histories[:, -1] if histories.shape[1] else torch.full((len(histories),), SIZE)
        return self.table[last]


def test_figures_are_those_of_a_plain_loop() -> None:
    model = Tempered(0.7)
    data = generate(Tempered(), 40, 8, seed=3).tokens
    found = {each.name: each for each in measure_calibration(model, data, prefix=2, seed=1, batch_size=7)}
    confidence, right, entropy = [], [], []
    for row in data.tolist():
        for place in range(2, 8):
            chances = model.table[row[place - 1]].exp()
            confidence.append(float(chances.max()))
            right.append(int(chances.argmax()) == row[place])
            entropy.append(-float((chances * chances.log()).sum()))
    assert found["right"].value == pytest.approx(np.mean(right), abs=1e-12)
    assert found["confidence"].value == pytest.approx(np.mean(confidence), abs=1e-12)
    assert found["overconfidence"].value == pytest.approx(np.mean(confidence) - np.mean(right), abs=1e-12)
    assert found["entropy.data"].value == pytest.approx(np.mean(entropy), abs=1e-12)
    curve = found["right"].by_position
    assert curve is not None
    bins = tenths(np.array(confidence))
    assert len(curve.values) == bins.max() + 1
    for number, value in enumerate(curve.values):
        assert value == pytest.approx(np.array(right)[bins == number].mean(), abs=1e-12)


@given(arrays(float, st.integers(1, 60), elements=st.one_of(st.floats(0, 1), st.just(np.nan))))
def test_tenths_keep_the_order_and_leave_no_bin_empty(confidence: FloatArray) -> None:
    assume(not np.isnan(confidence).all())
    bins = tenths(confidence)
    assert ((bins == -1) == np.isnan(confidence)).all()
    assert set(range(bins.max() + 1)) <= set(bins.tolist())
    assert bins.max() < BINS
    order = np.argsort(confidence[bins >= 0], kind="stable")
    assert (np.diff(bins[bins >= 0][order]) >= 0).all()


def test_nothing_is_read_after_the_end() -> None:
    model = Tempered(end=0)
    tokens = torch.tensor([[1, 2, 0, 0, 0], [1, 2, 3, 4, 5]])
    reading = read_along(model, tokens, 1, batch_size=2)
    assert reading.real.tolist() == [[True, True, False, False], [True, True, True, True]]


def test_a_calibrated_model_raises_few_alarms_and_its_intervals_hold_zero() -> None:
    model, asked = Tempered(), Calibration()
    alarms, inside, runs = {"overconfidence": 0, "entropy_drift": 0}, 0, 200
    for seed in range(runs):
        data = generate(model, 60, 10, seed=1000 + seed).tokens
        found = {each.name: each for each in measure_calibration(model, data, prefix=2, seed=seed)}
        for name, p_value in asked.tests(found).items():
            alarms[name] += p_value < 0.05
        interval = found["calibration_error"].interval
        inside += interval.lower <= 0 <= interval.upper
    assert all(count <= 19 for count in alarms.values()), alarms  # 5 %, and three standard errors
    assert inside >= 181


def test_intervals_cover_the_truth_of_a_model_that_is_too_sure() -> None:
    model, data_model = Tempered(0.6), Tempered()
    large = generate(data_model, 20_000, 10, seed=5).tokens
    truth = {each.name: each.value for each in measure_calibration(model, large, prefix=2, seed=1)}
    covered = dict.fromkeys(("overconfidence", "calibration_error", "entropy_drift"), 0)
    for seed in range(100):
        data = generate(data_model, 80, 10, seed=100 + seed).tokens
        for each in measure_calibration(model, data, prefix=2, seed=seed):
            if each.name in covered:
                covered[each.name] += each.interval.lower <= truth[each.name] <= each.interval.upper
    assert all(count >= 88 for count in covered.values()), covered


@pytest.mark.parametrize(("temperature", "words"), [(0.5, "overconfident"), (2.0, "underconfident")])
def test_the_sentence_says_in_which_direction(temperature: float, words: str) -> None:
    asked = Calibration()
    data = generate(Tempered(), 400, 12, seed=2).tokens
    found = {each.name: each for each in measure_calibration(Tempered(temperature), data, prefix=2, seed=1)}
    finding = asked.conclude(found, asked.tests(found))
    assert finding is not None
    assert words in finding.headline
    assert finding.status == "found"
    assert len(asked.charts(list(found.values()))) == 2


def test_few_sequences_leave_it_open_and_many_settle_it() -> None:
    asked = Calibration()
    for rows, status in ((20, "cannot tell"), (4000, "fine")):
        data = generate(Tempered(), rows, 12, seed=4).tokens
        found = {each.name: each for each in measure_calibration(Tempered(), data, prefix=2, seed=1)}
        finding = asked.conclude(found, asked.tests(found))
        assert finding is not None
        assert finding.status == status


@pytest.mark.parametrize("prefix", [0, 12, 99])
def test_a_prefix_that_leaves_nothing_is_refused(prefix: int) -> None:
    data = generate(Tempered(), 4, 12, seed=4).tokens
    with pytest.raises(OffscriptError, match="shorter --prefix"):
        measure_calibration(Tempered(), data, prefix=prefix, seed=1)


def test_sequences_that_end_within_the_prefix_are_left_out() -> None:
    model = Tempered(end=0)
    data = generate(model, 200, 8, seed=4).tokens
    goes_on = int(((data[:, :2] != 0).all(dim=1)).sum())
    assert goes_on < 200
    assert {each.n for each in measure_calibration(model, data, prefix=2, seed=1)} == {goes_on}


def test_eight_sequences_are_the_fewest_and_tenths_of_few_sequences_are_left_open() -> None:
    data = generate(Tempered(), 8, 12, seed=4).tokens
    found = {each.name: each for each in measure_calibration(Tempered(), data, prefix=2, seed=1)}
    curve = found["right"].by_position
    assert curve is not None
    assert all(low <= value <= high for value, low, high in zip(curve.values, curve.lower, curve.upper, strict=True))
    with pytest.raises(OffscriptError, match="cannot measure 7 sequence"):
        measure_calibration(Tempered(), data[:7], prefix=2, seed=1)


@pytest.mark.parametrize("sequences", [1, 3, 4])
def test_a_tenth_that_few_sequences_have_may_be_anything(sequences: int) -> None:
    table, bins = np.zeros((6, 4)), np.zeros((6, 4), dtype=np.int64)
    bins[:sequences, 0] = 1
    table[:sequences, 0] = np.resize([0.5, 0.6], sequences)
    curve = _by_bin(table, bins)
    assert curve.values[1] == pytest.approx(table[:sequences, 0].mean())
    assert ((curve.lower[1], curve.upper[1]) == (0.0, 1.0)) is (sequences < 4)


def test_shares_and_confidence_end_at_one_and_accuracy_without_exception_leaves_room_for_one() -> None:
    confidence, wrong_once, always = (np.ones((8, 2)) for _ in range(3))
    confidence[0, 0], wrong_once[0, 0] = 0.2, 0.0
    figures = _reliability(Reading(confidence, wrong_once, np.zeros((8, 2))))
    for name, value in (("right", 15 / 16), ("confidence", 15.2 / 16)):
        assert figures[name].estimate.value == pytest.approx(value)
        assert figures[name].estimate.interval.upper == 1.0
    right = _reliability(Reading(confidence, always, np.zeros((8, 2))))["right"].estimate
    assert (right.value, right.interval.method) == (1.0, "modified Wilson")
    assert _by_bin(confidence, np.zeros((8, 2), dtype=np.int64)).upper == (1.0,)
