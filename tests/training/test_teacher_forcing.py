"""Teacher forcing: the loss is the data's negative log-likelihood, and padding has no part in it."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from offscript.corpora import WordVocabulary
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.training.algorithm import Step, TokenBatch
from offscript.training.likelihood import TeacherForcing

TOKENS = torch.tensor([[0, 1, 2, 1], [2, 2, 0, 0], [1, 0, 0, 0]])
LENGTHS = [4, 2, 1]
REAL = torch.arange(4) < torch.tensor(LENGTHS).unsqueeze(1)
STEP = Step(0, 1, (1,))


def _loss(model: NeuralLanguageModel, tokens: Tensor, real: Tensor) -> Tensor:
    return TeacherForcing(TeacherForcing.Settings()).loss(model, TokenBatch(tokens, real), STEP).total


@pytest.fixture(params=["lstm", "transformer"])
def model(request: pytest.FixtureRequest, network: Callable[..., NeuralLanguageModel]) -> NeuralLanguageModel:
    return network(request.param)


def test_a_model_that_knows_nothing_loses_log_v_a_token() -> None:
    model = LSTMLanguageModel(WordVocabulary(["a", "b", "c"], end=None, unknown=None), LSTMSettings(hidden=2))
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    assert float(_loss(model, TOKENS, REAL).detach()) == pytest.approx(7 * math.log(3))


def test_a_model_of_one_known_distribution() -> None:
    """With every weight but the bias at zero the model predicts softmax(bias) everywhere."""
    model = LSTMLanguageModel(WordVocabulary(["a", "b", "c"], end=None, unknown=None), LSTMSettings(hidden=2))
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    with torch.no_grad():
        model.bias.copy_(torch.tensor([0.5, 0.3, 0.2]).log())
    counted = [0, 1, 2, 1, 2, 2, 1]
    expected = -sum(math.log((0.5, 0.3, 0.2)[token]) for token in counted)
    assert float(_loss(model, TOKENS, REAL).detach()) == pytest.approx(expected)


def test_the_loss_is_the_negative_log_likelihood(model: NeuralLanguageModel) -> None:
    expected = -model.log_likelihoods(TOKENS)[REAL].sum()
    torch.testing.assert_close(_loss(model, TOKENS, REAL).detach(), expected)


def test_what_stands_in_the_padding_does_not_matter(
    model: NeuralLanguageModel, gradient: Callable[[Tensor, nn.Module], Tensor]
) -> None:
    other = torch.where(REAL, TOKENS, 2)
    losses = [_loss(model, tokens, REAL) for tokens in (TOKENS, other)]
    torch.testing.assert_close(losses[0], losses[1])
    torch.testing.assert_close(gradient(losses[0], model), gradient(losses[1], model), atol=1e-6, rtol=1e-5)


def test_a_batch_has_the_gradient_of_its_rows_alone(
    model: NeuralLanguageModel, gradient: Callable[[Tensor, nn.Module], Tensor]
) -> None:
    whole = gradient(_loss(model, TOKENS, REAL), model)
    alone = sum(
        gradient(_loss(model, row[:length].unsqueeze(0), torch.ones(1, length, dtype=torch.bool)), model)
        for row, length in zip(TOKENS, LENGTHS, strict=True)
    )
    torch.testing.assert_close(whole, alone, atol=1e-5, rtol=1e-5)


def test_rows_without_a_token_cost_nothing(
    model: NeuralLanguageModel, gradient: Callable[[Tensor, nn.Module], Tensor]
) -> None:
    loss = _loss(model, TOKENS[:1], torch.zeros(1, 4, dtype=torch.bool))
    assert float(loss.detach()) == 0
    assert not gradient(loss, model).any()
