"""Small cases of questions, worked out by hand: first and last places, ties, and what has no partner."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from offscript.corpora.ratings import Ratings
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict, unread
from offscript.measures import sampling as advice
from offscript.measures.calibration.estimation import measure_calibration
from offscript.measures.divergence.estimation import measure_divergence
from offscript.measures.exposure.anchored import _Reader
from offscript.measures.exposure.gap import Partition, _gap_figure, windows_of
from offscript.measures.factuality.long import LongText, text_figures
from offscript.measures.measurement import Measurement
from offscript.measures.places.estimation import Trace
from offscript.measures.places.exhibits import TokenTexts, _summary, scale
from offscript.measures.ratings.estimation import convergence_by_items
from offscript.models.registry import load_model
from offscript.sampling.generation import Generated, _require_sensible, _server_settings
from offscript.sampling.transforms import parse_transform
from offscript.statistics import Estimate, Interval


def _figure(name: str, value: float, lower: float, upper: float, *, n: int = 10, **recipe: Any) -> Measurement:
    estimate = Estimate(value, (upper - lower) / 4, Interval(lower, upper, 0.95, "test"))
    shared = {"question": "sampling", "seed": 1, "seconds": 0.0, "higher_is_better": None}
    return Measurement.of(estimate, name=name, n=n, recipe=recipe, **shared)


def _resampled(tail: int, resamples: int, lower: float = 0.5) -> Any:
    """Stands for a resampled gap of 1 that may be up to 1.5; so many resamples lie beyond 0."""
    estimate = Estimate(1.0, 0.25, Interval(lower, 1.5, 0.95, "test"))
    return SimpleNamespace(
        tail=lambda truth: tail,
        linear=np.zeros((resamples, 2)),
        figure=lambda level, limits: SimpleNamespace(estimate=estimate, by_length=None),
    )


def _deviation(errors: float) -> Any:
    """Stands for MGD(M|D), so many standard errors above 0."""
    return SimpleNamespace(unbiased=np.array([9.0, errors]), standard_errors=np.array([0.1, 1.0]))


@pytest.mark.parametrize(
    ("beyond", "resamples", "above", "exchanges", "expected"),
    [
        (0, 1, 2, 10, 1 / 2),  # 1/2 against 5/11
        (0, 100, 2, 499, 5 / 500),  # 1/101 against 5/500
        (3, 99, 0, 99, 7 / 100),
    ],
)
def test_the_larger_of_two_p_values_counts(
    beyond: int, resamples: int, above: int, exchanges: int, expected: float
) -> None:
    nulls = np.array([2.0] * above + [0.0] * (exchanges - above))
    figures = _gap_figure("js", _resampled(beyond, resamples), _deviation(1.1), (1.0, nulls), 0.95, 1.0)
    assert figures["mgd_gap_p.js"].estimate.value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("above", "p_value", "lower"),
    [
        (0, 1 / 100, 1e-12),  # the exchange excludes 0, whatever resampling says
        (1, 3 / 100, 1e-12),
        (3, 7 / 100, -0.5),
    ],
)
def test_the_exact_test_decides_where_model_and_data_may_be_the_same(above: int, p_value: float, lower: float) -> None:
    nulls = np.array([2.0] * above + [0.0] * (99 - above))
    figures = _gap_figure("js", _resampled(40, 99, lower=-0.5), _deviation(0.9), (1.0, nulls), 0.95, 1.0)
    assert figures["mgd_gap_p.js"].estimate.value == pytest.approx(p_value)
    assert figures["mgd_gap.js"].estimate.interval.lower == lower
    assert figures["mgd_gap.js"].estimate.interval.upper == 1.5


def test_sides_that_do_not_agree_decide_nothing() -> None:
    figures = _gap_figure("js", _resampled(40, 99, lower=0.5), _deviation(0.0), (-1.0, np.zeros(99)), 0.95, 1.0)
    assert figures["mgd_gap_p.js"].estimate.value == 1.0
    assert figures["mgd_gap.js"].estimate.interval.lower == 0.0


def test_classes_come_from_both_continuations_where_nothing_else_is_known() -> None:
    model = load_model("offscript/news-student")
    generator = torch.Generator().manual_seed(1)
    own, text = (torch.randint(0, 40, (30, 4), generator=generator) for _ in range(2))
    found = _Reader.of(model, own, text, torch.zeros((0, 4), dtype=torch.long), anchor=0).partition
    tokens = torch.cat([own[:, 1:].flatten(), text[:, 1:].flatten()])
    expected = Partition.of(tokens, model.vocabulary.size, 30 * len(windows_of(3)[0]))
    assert torch.equal(found.classes, expected.classes)
    assert torch.equal(found.singles, expected.singles)


def test_a_prefix_of_one_token_is_enough_and_one_of_all_is_not() -> None:
    model = load_model("offscript/news-student")
    data = torch.randint(1, 40, (20, 3), generator=torch.Generator().manual_seed(1))
    assert {each.name for each in measure_calibration(model, data, prefix=1, seed=1)} >= {"right", "confidence"}
    for prefix in (0, 3):
        with pytest.raises(OffscriptError, match=f"cannot continue {prefix} tokens of sequences of 3"):
            measure_calibration(model, data, prefix=prefix, seed=1)


def test_a_share_of_equal_tokens_is_one_at_most() -> None:
    other = np.zeros((12, 5))
    other[0, 0] = 1.0
    found = Trace(Generated(torch.zeros((12, 5)), torch.full((12,), 5)), other, other, other, other)
    named: Any = SimpleNamespace(name="m", weight_hash="0")
    texts: Any = SimpleNamespace(digest="0", recipe={})
    figures = {each.name: each for each in measure_divergence(named, named, texts, found, seed=1)}
    same = figures["same_top"]
    assert same.value == pytest.approx(59 / 60)
    assert same.interval.upper == 1.0


def test_surprise_beyond_the_entropy_is_summed_up() -> None:
    surprise, entropy = np.array([[1.0, 4.0, 2.0]]), np.array([[0.5, 1.0, 3.0]])
    sequences = Generated(torch.zeros((1, 3)), torch.tensor([3]))
    assert Trace(sequences, None, surprise, entropy).running.tolist() == [[0.5, 3.5, 2.5]]
    assert Trace(sequences, entropy, surprise, entropy).running.tolist() == [[0.5, 1.5, 4.5]]


def test_a_map_in_words_has_ten_rows_and_a_colour_without_values_is_full_at_one() -> None:
    rows = _summary(np.arange(40.0).reshape(2, 20), 37.0)
    assert [row["tokens"] for row in rows] == [f"{first} to {first + 1}" for first in range(1, 20, 2)]
    assert [row["mean"] for row in rows] == [10.5 + 2 * place for place in range(10)]
    assert [row["bad"] for row in rows] == [0.0] * 9 + [0.5]
    assert scale(np.zeros(5)) == 1.0
    assert scale(np.full(3, np.nan)) == 1.0


def test_what_is_summed_up_is_named() -> None:
    model = load_model("offscript/news-student")
    values = np.ones((1, 2))
    own = Trace(Generated(torch.zeros((1, 2), dtype=torch.long), torch.tensor([2])), values, values, values)
    assert TokenTexts(model, None, own).running == "surprise beyond what the model expected, summed up"
    assert TokenTexts(model, model, own).running == "running regret"
    assert TokenTexts(model, model, own, running="mine").running == "mine"


def _text(sampler: str, row: int) -> LongText:
    check = unread(f"claim {row}", "")
    object.__setattr__(check, "verdict", Verdict.supported)
    return LongText(sampler, row, "Somewhere", "text", (check,), 1)


def test_texts_without_a_partner_are_left_out_of_the_change() -> None:
    texts = [*(_text("cool", row) for row in range(6)), *(_text("hot", row) for row in range(2, 9))]
    shared = {"question": "factuality", "seed": 1, "seconds": 0.0, "recipe": {}}
    figures = {entry.name: entry for entry in text_figures(["cool", "hot"], texts, shared)}
    assert figures["change.texts.f1_at_k"].n == 4


def test_a_mean_is_shown_from_two_items_to_all() -> None:
    items = np.array([f"i{number:02}" for number in range(40) for _ in range(2)])
    raters, values, unknown = np.array(["a", "b"] * 40), np.arange(80.0) % 5, np.full(80, np.nan)
    ratings = Ratings(items, raters, np.full(80, "s"), values, unknown, unknown)
    assert [row["items"] for row in convergence_by_items(ratings, seed=1)] == list(range(2, 41, 2))


def _kinds(sampler: str, quality: float, behind: tuple[float, float, float] | None = None) -> dict[str, Measurement]:
    kinds = {"corpus_bleu": _figure("corpus_bleu", quality, quality - 0.1, quality + 0.1, sampler=sampler)}
    if behind is not None:
        kinds["behind_best"] = _figure("behind_best", *behind, n=100, sampler=sampler)
    return kinds


def test_prefixes_needed_grow_with_the_square() -> None:
    best, rival = _kinds("top-k,k=5", 0.5), _kinds("nucleus,p=0.9", 0.4, (0.1, -0.1, 0.3))
    # a standard error of .1, so that the bound is 2 of them away and 80 % power .84 more: 100 * 2.84 squared
    assert "about 810 would separate them" in advice._prefixes_needed(best, best, [rival])
    assert "about 810 would separate them" in advice._prefixes_needed(best, rival, [])


def test_of_equally_simple_settings_the_better_comes_first() -> None:
    settings = [_kinds("top-k,k=5", 0.3), _kinds("top-k,k=10", 0.5), _kinds("ancestral", 0.1)]
    ordered = sorted(settings, key=advice._simplicity)
    assert [kinds["corpus_bleu"].value for kinds in ordered] == [0.1, 0.5, 0.3]


def test_what_a_server_is_asked_for() -> None:
    model: Any = SimpleNamespace(name="server")
    assert _server_settings(model, None) == {}
    assert _server_settings(model, parse_transform("nucleus,p=0.7")) == {"top_p": 0.7}
    assert _server_settings(model, parse_transform("greedy")) == {"temperature": 0.0}
    with pytest.raises(OffscriptError, match="cannot be drawn from with"):
        _server_settings(model, parse_transform("typical,p=0.5"))


def test_two_billion_tokens_are_the_most() -> None:
    model: Any = SimpleNamespace(name="model")
    _require_sensible(model, 1 << 11, 1 << 20, None)
    with pytest.raises(OffscriptError, match="do not fit in memory"):
        _require_sensible(model, (1 << 11) + 1, 1 << 20, None)
