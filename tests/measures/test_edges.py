"""Where something begins and ends to hold: the smallest and the largest that is taken, by hand."""

import math

import numpy as np
import pytest

from offscript.corpora import WordVocabulary
from offscript.corpora.associations import Association, AssociationTest
from offscript.errors import OffscriptError
from offscript.measures.exposure.gap import _ratio_figure, _relative_error
from offscript.measures.exposure.studentised import Split
from offscript.measures.factuality import decomposition
from offscript.measures.ratings.huse import _nearest
from offscript.measures.stereotypes import _clearest_preferences
from offscript.measures.stereotypes.sentiment import SentimentClassifier
from offscript.measures.texts import encode_texts
from offscript.measures.words import _decimals
from offscript.models.tabular import Tabular
from offscript.statistics import clustered_proportion_interval
from offscript.statistics.estimates import normal_quantile, student_quantile
from offscript.statistics.means import _few_clusters

WORDS = WordVocabulary(["<unk>", "a", "b"], end=None)


@pytest.mark.parametrize(
    ("width", "decimals"),
    [(250.0, 0), (1.0, 1), (0.5, 2), (0.01, 3), (1e-5, 6), (1e-9, 6), (0.0, None), (math.inf, None)],
)
def test_two_digits_of_a_width_and_six_decimals_at_most(width: float, decimals: int | None) -> None:
    assert _decimals(width) == decimals


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


def test_clusters_of_one_count_as_clusters() -> None:
    wider = student_quantile(2, 0.975) / normal_quantile(0.975)
    assert _few_clusters(np.array([1.0, 0.0, 3.0, 2.0]), 0.95) == pytest.approx(wider**2 * 3 / 2)
    assert _few_clusters(np.array([1.0, 1.0]), 0.95) == 1.0
    assert _few_clusters(np.array([0.0, 5.0]), 0.95) == 1.0
    wide = clustered_proportion_interval(np.array([1.0, 0.0, 3.0]), np.array([1.0, 2.0, 4.0])).interval
    assert wide.lower < 4 / 7 < wide.upper


def test_a_sentence_of_the_longest_length_goes_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(decomposition, "_written", lambda model, sentence, most: asked.append(sentence) or "")
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
