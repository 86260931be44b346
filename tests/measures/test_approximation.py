"""What draws tell of a trained character model, and how many the empirical rule asks for."""

import math
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from offscript.corpora import CharacterVocabulary, cut_into_pieces, read_corpus
from offscript.corpora.filters import HALVES
from offscript.errors import OffscriptError
from offscript.measures.approximation.estimation import errors_by_draws, measure_approximation
from offscript.measures.likelihood.estimation import measure_likelihood
from offscript.measures.measurement import Measurement
from offscript.measures.texts import Texts, encode_texts
from offscript.models import approximate, load_model
from offscript.models.generator import InternalDistribution
from offscript.models.noise_lstm import NoiseLSTM, NoiseLSTMSettings
from offscript.models.tabular import Uniform
from offscript.sampling import generate, texts


def _by_name(found: list[Measurement]) -> dict[str, Measurement]:
    return {entry.name: entry for entry in found}


@pytest.fixture(scope="module")
def own_text() -> Texts:
    """Text that the shipped character model drew itself: it needs no data."""
    model = load_model("offscript/text8")
    return encode_texts(texts(model, generate(model, 40, 60, seed=1)), model.vocabulary)


def test_approximate_bits_of_a_trained_model_are_near_the_true_ones(own_text: Texts) -> None:
    model = load_model("offscript/text8")
    found = _by_name(measure_approximation(model, own_text, draws=2000, seed=1, subset=10))
    assert found["bpc_gap"].value > 0
    assert found["bpc_gap"].interval.upper < 0.15
    exact = _by_name(measure_likelihood(model, own_text))["bpc"].value
    assert found["bpc"].value - exact == pytest.approx(found["bpc_gap"].value)
    assert found["bound"].value == 4_297_078


def test_the_gap_closes_from_above_on_real_text(data_folder: Path) -> None:
    model = load_model("offscript/text8")
    pieces = cut_into_pieces(read_corpus(data_folder / "text8/text8.first-6877825-bytes.xz"), 100)
    gold = encode_texts(islice(HALVES.select(pieces, "second"), 50), model.vocabulary)
    exact = _by_name(measure_likelihood(model, gold))["bpc"].value
    assert exact < 2.2
    gaps = [
        _by_name(measure_likelihood(approximate(model, n), gold))["bpc"].value - exact for n in (200, 2_000, 200_000)
    ]
    assert gaps[0] > gaps[1] > gaps[2] > 0
    assert gaps[1] < 0.15
    assert gaps[2] < 0.005


def test_share_of_tokens_never_drawn_is_reported() -> None:
    model, rows = Uniform(CharacterVocabulary()), [[token % 27 for token in range(row, row + 40)] for row in range(50)]
    gold = Texts(rows, [40] * 50, {})
    share = _by_name(measure_likelihood(approximate(model, 27), gold))["never_drawn"]
    assert share.value == pytest.approx((1 - 1 / 27) ** 27, abs=0.03)
    assert "never_drawn" not in _by_name(measure_likelihood(model, gold))
    assert share.recipe["approximation"] == {"draws": 27, "floor": 0.5, "seed": 0}


def test_a_model_with_noise_has_no_true_bits_and_so_no_gap() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = NoiseLSTM(CharacterVocabulary(), NoiseLSTMSettings(hidden=8, noise=3))
    gold = Texts([[1, 2, 3, 4, 5]] * 12, [5] * 12, {})
    found = _by_name(measure_approximation(model, gold, draws=200, seed=1, subset=5, highest=200))
    assert "bpc" in found
    assert "bpc_gap" not in found


def test_errors_fall_as_one_over_the_draws() -> None:
    """Against ‖G_{n-α} - G_n‖∞ of multinomials that numpy draws."""
    dice = InternalDistribution(Uniform(CharacterVocabulary()))
    tokens = torch.randint(27, (200, 20), generator=torch.Generator().manual_seed(1))
    errors = errors_by_draws(dice, tokens, step=40, highest=120, seed=1)
    assert errors.shape == (200, 3)
    drawn, shares = np.random.default_rng(1), np.full(27, 1 / 27)
    for place, n in enumerate((40, 80, 120)):
        before, added = drawn.multinomial(n - 10, shares, 10_000), drawn.multinomial(10, shares, 10_000)
        expected = np.abs(before / (n - 10) - (before + added) / n).max(axis=1).mean()
        assert errors[:, place].mean() == pytest.approx(expected, rel=0.05)


def test_draws_are_the_first_below_the_boundary(own_text: Texts) -> None:
    found = _by_name(measure_approximation(load_model("offscript/text8"), own_text, step=400, highest=2800, subset=20))
    curve, draws = found["error"].by_position, found["draws"]
    assert curve is not None
    place = int(draws.value) // 400
    assert curve.values[place - 1] < 1e-3
    assert all(value >= 1e-3 for value in curve.values[: place - 1])
    assert draws.interval.lower <= draws.value <= draws.interval.upper
    few = _by_name(measure_approximation(load_model("offscript/text8"), own_text, step=100, highest=200, subset=5))
    assert few["draws"].value == math.inf


def test_steps_that_are_too_small_are_refused() -> None:
    coin = InternalDistribution(Uniform(CharacterVocabulary(["0", "1"])))
    with pytest.raises(OffscriptError, match="give steps of more than 10 draws"):
        errors_by_draws(coin, torch.zeros(1, 1, dtype=torch.long), step=10, highest=20, seed=1)
