"""LeakGAN's generator: stepping and reading whole sequences agree, leaks carry no gradient, folders bring it back."""

from pathlib import Path

import pytest
import torch

from offscript.corpora import WordVocabulary
from offscript.models import load_model
from offscript.models.discriminator import ConvolutionSettings
from offscript.models.manager_worker import ManagerWorker, ManagerWorkerSettings
from offscript.models.storage import save
from offscript.sampling import generate


@pytest.fixture
def model() -> ManagerWorker:
    vocabulary = WordVocabulary([f"w{index}" for index in range(7)], end=None, unknown=None)
    discriminator = ConvolutionSettings(embedding=4, windows=(1, 3, 4), filters=3)
    with torch.random.fork_rng():
        torch.manual_seed(6)
        sizes = ManagerWorkerSettings(hidden=6, embedding=5, goal=3, horizon=3, discriminator=discriminator)
        built = ManagerWorker(vocabulary, sizes)
        with torch.no_grad():
            for parameter in built.parameters():
                parameter.mul_(2.0)
    return built


def test_steps_agree_with_whole_sequences(model: ManagerWorker) -> None:
    tokens = torch.randint(7, (5, 9), generator=torch.Generator().manual_seed(1))
    whole = torch.cat([scored.log_probs for scored in model.score(tokens)], dim=1)
    log_probs, state = model.start(5)
    for position in range(9):
        assert torch.allclose(log_probs, whole[:, position], atol=1e-5)
        log_probs, state = model.advance(state, tokens[:, position])
    chosen = torch.tensor([3, 0, 3])
    log_probs, state = model.start(5, tokens[:, :6])
    log_probs, _ = model.advance(state.select(chosen), tokens[chosen, 6])
    assert torch.allclose(log_probs, whole[chosen, 7], atol=1e-5)


def test_leaked_features_carry_no_gradient(model: ManagerWorker) -> None:
    model.logits(torch.tensor([[1, 2, 3, 4]])).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert (parameter.grad is None) == name.startswith("discriminator."), name


def test_goals_have_length_one_and_change_the_logits(model: ManagerWorker) -> None:
    inputs = torch.tensor([[7, 1, 2, 3]])
    goals = model.planned(inputs).goals
    assert torch.allclose(goals.norm(dim=-1), torch.ones(1, 4), atol=1e-5)
    turned = model.unnormalised(model.worked(inputs, -goals))
    assert torch.allclose(turned, -model.unnormalised(model.features(inputs)), atol=1e-5)


def test_it_comes_back_from_disk(model: ManagerWorker, tmp_path: Path) -> None:
    save(model, tmp_path)
    loaded = load_model(str(tmp_path))
    assert loaded.weight_hash == model.weight_hash
    assert torch.equal(generate(loaded, 20, 8, seed=1).tokens, generate(model, 20, 8, seed=1).tokens)
