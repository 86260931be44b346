"""Sample-only generators as language models: against distributions that are known, whatever the batch."""

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from offscript.corpora import CharacterVocabulary, WordVocabulary
from offscript.errors import OffscriptError
from offscript.models import LanguageModel, TokenSource, approximate, draws_needed, language_model, load_model
from offscript.models.generator import InternalDistribution, multinomial_counts
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.noise_lstm import NoiseLSTM, NoiseLSTMSettings
from offscript.models.storage import save
from offscript.models.tabular import Tabular, Uniform
from offscript.sampling import generate

SYMBOLS = ["a", "b", "c"]
LENGTH = 3


@pytest.fixture
def table() -> Tabular:
    """A distribution over sequences of three symbols, each history with a row of its own."""
    drawn = np.random.default_rng(1)
    following = {
        history: drawn.dirichlet(np.full(3, 0.7)).tolist()
        for length in range(LENGTH)
        for history in product(range(3), repeat=length)
    }
    return Tabular(WordVocabulary(SYMBOLS, end=None, unknown=None), LENGTH, following)


@pytest.fixture
def sequences() -> Tensor:
    return torch.tensor(list(product(range(3), repeat=LENGTH)))


class Dice(TokenSource):
    """Nothing but tokens comes out: every third history has a die of its own."""

    def __init__(self) -> None:
        self.vocabulary = WordVocabulary(SYMBOLS, end=None, unknown=None)

    @property
    def weight_hash(self) -> str:
        return "dice"

    def probabilities(self, histories: Tensor) -> Tensor:
        return torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.25, 0.5, 0.25]])[histories.sum(dim=1) % 3]

    def draw(self, histories: Tensor, n: int, keys: Tensor) -> Tensor:
        rows = zip(self.probabilities(histories), keys.tolist(), strict=True)
        return torch.stack(
            [row.multinomial(n, replacement=True, generator=torch.Generator().manual_seed(key)) for row, key in rows]
        )


def _weighted_bits(model: LanguageModel, truth: Tensor, sequences: Tensor) -> float:
    """Bits a token over all sequences, each as often as it is."""
    return float(-(truth.exp().unsqueeze(1) * model.log_likelihoods(sequences)).sum() / LENGTH / math.log(2))


def test_approximate_bits_come_down_to_the_true_ones(table: Tabular, sequences: Tensor) -> None:
    truth = table.log_likelihoods(sequences).sum(dim=1)
    exact = _weighted_bits(table, truth, sequences)
    found = [
        np.mean([_weighted_bits(approximate(table, n, seed=seed), truth, sequences) for seed in range(40)])
        for n in (10, 100, 1_000, 10_000)
    ]
    assert found[0] > found[1] > found[2] > found[3] > exact
    assert found[3] - exact < 2e-4  # (V - 1) / 2n nats, which is 1.4e-4 bits


def test_a_token_source_is_approximated_too(sequences: Tensor) -> None:
    dice = Dice()
    model = approximate(dice, 20_000)
    [scored] = model.score(sequences)
    for position in scored.positions:
        start = torch.full((len(sequences), 1), dice.vocabulary.start)
        exact = dice.probabilities(torch.cat([start, sequences[:, :position]], dim=1))
        assert torch.allclose(scored.log_probs[:, position].exp(), exact.double(), atol=0.015)


def test_draws_are_multinomial() -> None:
    probabilities = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
    counts = multinomial_counts(probabilities.log().expand(20_000, -1), 50, torch.arange(20_000)).double()
    assert torch.equal(counts.sum(dim=1), torch.full((20_000,), 50.0, dtype=torch.float64))
    error = (50 * probabilities * (1 - probabilities) / 20_000).sqrt()
    assert ((counts.mean(dim=0) - 50 * probabilities).abs() < 4 * error).all()
    covariance = 50 * (probabilities.diag() - probabilities.outer(probabilities))
    assert torch.allclose(counts.T.cov(), covariance, atol=0.5)  # four standard errors of the largest


def _models() -> dict[str, Callable[[], LanguageModel]]:
    vocabulary = CharacterVocabulary()

    def seeded(build: Callable[[], LanguageModel]) -> LanguageModel:
        with torch.random.fork_rng():
            torch.manual_seed(3)
            return build()

    return {
        "internal distribution": lambda: seeded(
            lambda: LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=4))
        ),
        "noise states": lambda: seeded(lambda: NoiseLSTM(vocabulary, NoiseLSTMSettings(hidden=8, noise=3))),
    }


@pytest.mark.parametrize("kind", list(_models()))
def test_steps_whole_sequences_and_every_batch_agree(kind: str) -> None:
    model = approximate(_models()[kind](), 300, seed=5)
    tokens = torch.randint(27, (6, 5), generator=torch.Generator().manual_seed(1))
    whole = torch.cat([scored.log_probs for scored in model.score(tokens)], dim=1)
    alone = torch.cat([scored.log_probs for scored in model.score(tokens[4:5])], dim=1)
    assert torch.equal(whole[4:5], alone)
    later = torch.cat([scored.log_probs for scored in model.score(tokens, range(2, 4))], dim=1)
    assert torch.equal(whole[:, 2:4], later)
    log_probs, state = model.start(6, tokens[:, :2])
    assert torch.allclose(log_probs, whole[:, 2])
    chosen = torch.tensor([5, 1, 1])
    log_probs, _ = model.advance(state.select(chosen), tokens[chosen, 2])
    assert torch.allclose(log_probs, whole[chosen, 3])
    assert torch.allclose(whole.exp().sum(dim=-1), torch.ones(6, 5, dtype=torch.float64))


@pytest.mark.parametrize("kind", list(_models()))
def test_chunks_are_those_of_other_models(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "FEWEST_AT_ONCE", 1)
    monkeypatch.setattr(language_model, "SCORE_BUDGET", 4 * 27 * 2)
    tokens = torch.zeros(4, 7, dtype=torch.long)
    model, other = _models()[kind](), Uniform(CharacterVocabulary())
    for asked in (None, range(1, 6)):
        cut = [scored.positions for scored in other.score(tokens, asked)]
        assert len(cut) > 2
        assert [scored.positions for scored in model.score(tokens, asked)] == cut
        assert [scored.positions for scored in approximate(model, 9).score(tokens, asked)] == cut


@pytest.mark.parametrize("kind", list(_models()))
def test_seed_and_floor_decide(kind: str) -> None:
    model, tokens = _models()[kind](), torch.zeros(1, 6, dtype=torch.long)
    base, again = approximate(model, 50, seed=1), approximate(model, 50, seed=1)
    assert base.weight_hash == again.weight_hash
    assert torch.equal(base.log_likelihoods(tokens), again.log_likelihoods(tokens))
    others = [approximate(model, 50, seed=2), approximate(model, 50, seed=1, floor=0.1), approximate(model, 51, seed=1)]
    assert len({base.weight_hash, *(other.weight_hash for other in others)}) == 4
    assert not torch.equal(others[0].start(1)[0], base.start(1)[0])


def test_a_token_that_is_never_drawn_has_the_floor_and_no_more() -> None:
    certain = Tabular(WordVocabulary(SYMBOLS, end=None, unknown=None), 1, {(): [1.0, 0.0, 0.0]})
    model = approximate(certain, 10)
    [drawn, never, _] = model.start(1)[0][0].tolist()
    assert drawn == pytest.approx(math.log(10.5 / 11.5))
    assert never == pytest.approx(math.log(0.5 / 11.5)) == model.never_drawn
    bare = approximate(certain, 10, floor=0.0)
    assert bare.start(1)[0][0].tolist() == [0.0, -math.inf, -math.inf]
    assert bare.never_drawn == -math.inf


def test_uniform_is_log2_of_27() -> None:
    tokens = torch.randint(27, (20, 50), generator=torch.Generator().manual_seed(1))
    exact = load_model("uniform,vocabulary=text8")
    assert float(-exact.log_likelihoods(tokens).mean() / math.log(2)) == pytest.approx(math.log2(27))
    near = load_model("uniform,approximate=2000")
    assert float(-near.log_likelihoods(tokens).mean() / math.log(2)) == pytest.approx(4.755, abs=0.02)


def test_hoeffding_bound_gives_the_papers_numbers() -> None:
    assert round(draws_needed(27, within=1e-3, risk=1e-2), -5) == 4_300_000
    assert round(draws_needed(50_000, within=1e-3, risk=1e-2), -5) == 8_100_000


@given(size=st.integers(1, 10**6), within=st.floats(1e-3, 0.5), risk=st.floats(1e-6, 0.99))
def test_hoeffding_bound_is_the_least_that_holds(size: int, within: float, risk: float) -> None:
    n = draws_needed(size, within=within, risk=risk)
    assert 2 * size * math.exp(-2 * n * within**2) < risk * (1 + 1e-9)
    assert 2 * size * math.exp(-2 * (n - 1) * within**2) >= risk * (1 - 1e-9)


@pytest.mark.parametrize(("size", "within", "risk"), [(0, 0.1, 0.1), (2, 0.0, 0.1), (2, 0.1, 0.0), (2, 0.1, 1.0)])
def test_senseless_bounds_are_refused(size: int, within: float, risk: float) -> None:
    with pytest.raises(OffscriptError, match="give a symbol or more"):
        draws_needed(size, within=within, risk=risk)


@pytest.mark.parametrize("settings", ["approximate=0", "approximate=10,floor=-1", "approximate=10,seed=-1"])
def test_senseless_approximations_are_refused(settings: str) -> None:
    with pytest.raises(OffscriptError, match="an approximation by"):
        load_model(f"uniform,{settings}")


@pytest.mark.parametrize(
    "settings", ["approximate=many", "approximate=1.5", "approximate=true", "approximate=9,seed=x"]
)
def test_settings_that_are_no_numbers_are_refused(settings: str) -> None:
    with pytest.raises(OffscriptError, match="give a number"):
        load_model(f"uniform,{settings}")


def test_any_model_string_can_be_approximated(tmp_path: Path) -> None:
    for number, build in enumerate(_models().values()):
        save(build(), tmp_path / str(number))  # type: ignore[arg-type]
        model = load_model(f"{tmp_path / str(number)},approximate=30,seed=2,floor=0.25")
        same = approximate(load_model(str(tmp_path / str(number))), 30, seed=2, floor=0.25)
        assert model.weight_hash == same.weight_hash
        assert model.name.endswith(",approximate=30")
        assert generate(model, 4, 6, seed=1).tokens.shape == (4, 6)


def test_memory_stays_that_of_the_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many draws: no tensor has an axis for them."""
    model = InternalDistribution(Uniform(CharacterVocabulary()))
    [(positions, counts)] = model.count_all(torch.zeros(2, 3, dtype=torch.long), range(3), 10**9, 1)
    assert positions == range(3)
    assert counts.shape == (2, 3, 27)
    assert counts.sum(dim=-1).unique().tolist() == [10**9]
