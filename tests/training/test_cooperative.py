"""Cooperative training: the generator's gradient and the estimated JS against enumeration; the mediator's own steps."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from offscript.learning import Fleet, OptimiserSettings, seeded
from offscript.models.neural import NeuralLanguageModel
from offscript.models.registry import load_model
from offscript.training.algorithm import Step, TokenBatch, summed_log_likelihoods
from offscript.training.cooperative import Cooperative, CooperativeSettings, mediator_for, next_token_divergences

Network = Callable[..., NeuralLanguageModel]
LENGTH = 2


def prepared(model: NeuralLanguageModel, mediator: NeuralLanguageModel | None = None, **settings: Any) -> Cooperative:
    algorithm = Cooperative(CooperativeSettings(**settings))
    with seeded(1):  # the mediator's first weights
        algorithm.prepare(model, OptimiserSettings(learning_rate=0.05), Fleet("cpu"))
    if mediator is not None:
        algorithm.mediator = mediator
    return algorithm


def whole(tokens: Tensor) -> TokenBatch:
    return TokenBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))


def log_probs(model: NeuralLanguageModel, tokens: Tensor) -> Tensor:
    return model.logits(tokens).double().log_softmax(-1)


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_gradient_is_the_expectation_over_the_generators_contexts(
    kind: str,
    network: Network,
    gradient: Callable[..., Tensor],
    near: Callable[[Tensor, Tensor], bool],
    sequences: Callable[[int, int], Tensor],
) -> None:
    model, mediator, repeats, rows = network(kind), network(kind, seed=1), 40, 40
    tokens = sequences(3, LENGTH)
    weights = summed_log_likelihoods(model, tokens, whole(tokens).real).exp().clone()
    divergences = next_token_divergences(log_probs(model, tokens), log_probs(mediator, tokens).detach())
    exact = gradient((weights.unsqueeze(1) * divergences).sum(), model)
    algorithm, batch = prepared(model, mediator, generator_steps=2), whole(tokens[:1].repeat(rows, 1))
    drawn = [
        gradient(algorithm.loss(model, batch, Step(2 * n + 1, 100, (4, n))).total, model) / rows for n in range(repeats)
    ]
    assert near(torch.stack(drawn), exact)


def test_estimated_js_is_the_mean_of_both_divergences_from_the_mediator(
    network: Network, near: Callable[[Tensor, Tensor], bool], sequences: Callable[[int, int], Tensor], oracle_file: Path
) -> None:
    model, mediator, oracle = network(), network(seed=1), load_model(str(oracle_file))
    tokens = sequences(3, LENGTH)
    data, generator, middle = (
        summed_log_likelihoods(each, tokens, whole(tokens).real) for each in (oracle, model, mediator)
    )
    exact = (data.exp() * (data - middle)).sum() / 2 + (generator.exp() * (generator - middle)).sum() / 2
    algorithm = prepared(model, mediator, generator_steps=2, oracle=str(oracle_file))
    found = []
    for number in range(30):
        seeded = torch.Generator().manual_seed(number)
        rows = torch.multinomial(data.exp(), 50, replacement=True, generator=seeded)
        logged = algorithm.loss(model, whole(tokens[rows]), Step(1, 100, (4, number))).logged
        found.append([logged["estimated_js"], logged["balanced_nll"]])
    entropy = -(data.exp() * data).sum()
    assert near(torch.tensor(found, dtype=torch.float64), torch.stack([exact, exact + entropy / 2]))


def test_the_mediator_is_twice_as_wide(network: Network) -> None:
    assert mediator_for(network(), 2).settings.model_dump() == {
        **network().settings.model_dump(),
        "hidden": 6,
        "embedding": 4,
    }
    assert mediator_for(network("transformer"), 2).settings.model_dump()["width"] == 8


def test_the_mediator_takes_its_steps_and_learns_the_mixture(
    network: Network, sequences: Callable[[int, int], Tensor]
) -> None:
    model, tokens = network(), sequences(3, LENGTH)
    algorithm = prepared(model, mediator_steps=4)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    batch = whole(tokens[[0, 4]].repeat(32, 1))
    for number in range(25):
        algorithm._teach_mediator(model, batch, Step(number, 100, (3, number)))
    assert {int(state["step"]) for state in algorithm.optimisers()["mediator"].state.values()} == {100}
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    data = torch.zeros(9, dtype=torch.float64)
    data[[0, 4]] = 0.5
    mixture = (data + summed_log_likelihoods(model, tokens, batch.real[:9]).exp()) / 2
    learned = summed_log_likelihoods(algorithm.mediator, tokens, batch.real[:9]).exp()
    assert float((learned - mixture).abs().sum()) / 2 < 0.06


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_a_killed_run_goes_on_exactly(kind: str, resumes_exactly: Callable[..., bool]) -> None:
    assert resumes_exactly("cooperative", kind, generator_steps=2)


def test_the_generator_moves_only_where_it_differs_from_the_mediator(
    network: Network, gradient: Callable[..., Tensor]
) -> None:
    model = network()
    algorithm = prepared(model, network(), generator_steps=2)
    loss = algorithm.loss(model, whole(torch.zeros(4, 3, dtype=torch.long)), Step(1, 2, (1,))).total
    assert gradient(loss, model).abs().max() < 1e-5
