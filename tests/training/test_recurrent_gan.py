"""The recurrent GAN: its penalty, its curriculum, its help, and that it learns."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from offscript.corpora.vocabularies import WordVocabulary
from offscript.learning import Fleet, OptimiserSettings
from offscript.models.noise_lstm import NoiseLSTM, NoiseLSTMSettings
from offscript.training.algorithm import Step, TokenBatch
from offscript.training.recurrent_gan import RecurrentGAN, RecurrentGANSettings, curriculum_length, distance_and_penalty


class Slope(nn.Module):
    """A critic whose gradient is known."""

    def __init__(self, slope: float) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(slope))

    def forward(self, sequences: Tensor) -> Tensor:
        return self.slope * sequences[:, 0, 0]


def test_the_penalty_is_the_squared_distance_of_the_slope_from_one() -> None:
    critic = Slope(3.0)
    real, emitted, share = torch.rand(4, 2, 3), torch.rand(4, 2, 3), torch.rand(4, 1, 1)
    distance, penalty = distance_and_penalty(critic, real, emitted, share)
    assert float(distance.detach()) == pytest.approx(3.0 * float((real - emitted)[:, 0, 0].mean()), abs=1e-6)
    assert float(penalty.detach()) == pytest.approx(4.0)
    penalty.backward()
    assert critic.slope.grad is not None
    assert float(critic.slope.grad) == pytest.approx(4.0)


def test_the_curriculum_gives_every_length_an_equal_share() -> None:
    lengths = [curriculum_length(4, Step(number, 40, (1,))) for number in range(40)]
    assert lengths == sorted(lengths)
    assert [lengths.count(length) for length in range(1, 5)] == [10, 10, 10, 10]


def _model() -> NoiseLSTM:
    vocabulary = WordVocabulary(["a", "b", "c"], end=None, unknown=None)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return NoiseLSTM(vocabulary, NoiseLSTMSettings(hidden=8, embedding=4, noise=2, states=16))


def _prepared(model: NoiseLSTM, **settings: Any) -> RecurrentGAN:
    algorithm = RecurrentGAN(RecurrentGANSettings(critic_learning_rate=0.01, **settings))
    with torch.random.fork_rng():
        torch.manual_seed(2)
        algorithm.prepare(model, OptimiserSettings(), Fleet("cpu"))
    return algorithm


def test_help_gives_all_tokens_but_the_last() -> None:
    model, tokens = _model(), torch.tensor([[0, 1, 2], [2, 2, 1]])
    helped = _prepared(model)._emitted(model, tokens, (1,))
    assert torch.equal(helped[:, :2].argmax(dim=-1), tokens[:, :2])
    assert torch.equal(helped[:, :2].amax(dim=-1), torch.ones(2, 2))
    assert bool((helped[:, 2] < 1).all())
    alone = _prepared(model, helped=False)._emitted(model, tokens, (1,))
    assert bool((alone < 1).all())
    assert torch.allclose(alone.sum(dim=-1), torch.ones(2, 3))


def test_it_learns_which_token_is_common() -> None:
    model = _model()
    algorithm, tokens = _prepared(model, critic_steps=3), torch.full((32, 1), 2)
    batch = TokenBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    for number in range(40):
        optimiser.zero_grad()
        (algorithm.loss(model, batch, Step(number, 40, (1, number))).total / 32).backward()
        optimiser.step()
    assert float(model.log_likelihoods(tokens[:1]).exp()) > 0.8
