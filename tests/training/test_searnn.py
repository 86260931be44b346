"""SEARNN: its gradient against enumeration, its costs against whole sequences, its samples against frequencies."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from offscript.learning import Fleet, OptimiserSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.models.registry import load_model
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import Step, TokenBatch, summed_log_likelihoods
from offscript.training.searnn import Searnn, SearnnSettings, choose_contexts, choose_tokens

Network = Callable[..., NeuralLanguageModel]
GOLD = [0, 2, 1, 1]


def batch_of(*rows: list[int]) -> TokenBatch:
    tokens = torch.tensor(rows)
    return TokenBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))


def prepared(model: NeuralLanguageModel, oracle: Path, **settings: Any) -> Searnn:
    algorithm = Searnn(SearnnSettings(oracle=str(oracle), **settings))
    algorithm.prepare(model, OptimiserSettings(), Fleet("cpu"))
    return algorithm


def divergence_from(targets: Tensor, model: NeuralLanguageModel, tokens: Tensor) -> Tensor:
    """The sum over positions of KL from targets [time, V] to the model along one sequence."""
    ours = model.logits(tokens)[0].double().log_softmax(-1)
    return (targets.exp() * (targets - ours)).sum()


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_with_surprise_and_every_token_the_target_is_the_oracle(
    kind: str, network: Network, gradient: Callable[..., Tensor], oracle_file: Path
) -> None:
    model, batch = network(kind), batch_of(GOLD)
    [scored] = load_model(str(oracle_file)).score(batch.tokens)
    loss = prepared(model, oracle_file, contexts=1.0).loss(model, batch, Step(0, 1, (1,))).total
    exact = divergence_from(scored.log_probs[0], model, batch.tokens)
    assert float(loss.detach()) == pytest.approx(float(exact.detach()), rel=1e-5)
    assert torch.allclose(gradient(loss, model), gradient(exact, model), atol=1e-5)


@pytest.mark.parametrize("roll_out", ["next-token", "reference"])
def test_gradient_over_some_contexts_is_in_expectation_that_over_all(
    roll_out: str,
    network: Network,
    gradient: Callable[..., Tensor],
    near: Callable[[Tensor, Tensor], bool],
    oracle_file: Path,
) -> None:
    model, many, repeats = network(), batch_of(*[GOLD] * 30), 40
    everywhere = prepared(model, oracle_file, contexts=1.0, roll_out=roll_out)
    exact = gradient(everywhere.loss(model, batch_of(GOLD), Step(0, 1, (1,))).total, model)
    some = prepared(model, oracle_file, contexts=0.33, roll_out=roll_out)
    drawn = [gradient(some.loss(model, many, Step(n, repeats, (6, n))).total, model) / 30 for n in range(repeats)]
    assert near(torch.stack(drawn), exact)


def copied_costs(oracle: Path, place: int) -> Tensor:
    """-log o of the whole sequence for every token at a place of the gold sequence."""
    tokens = torch.tensor([[*GOLD[:place], token, *GOLD[place + 1 :]] for token in range(3)])
    return -summed_log_likelihoods(load_model(str(oracle)), tokens, torch.ones_like(tokens, dtype=torch.bool))


def test_copied_references_cost_what_the_oracle_says_of_whole_sequences(network: Network, oracle_file: Path) -> None:
    model, batch = network(), batch_of(GOLD)
    targets = torch.stack([(-2 * copied_costs(oracle_file, place)).log_softmax(0) for place in range(4)])
    algorithm = prepared(model, oracle_file, contexts=1.0, roll_out="reference", alpha=2.0)
    loss = algorithm.loss(model, batch, Step(0, 1, (1,))).total
    assert float(loss.detach()) == pytest.approx(
        float(divergence_from(targets, model, batch.tokens).detach()), rel=1e-5
    )


def test_learned_roll_outs_give_the_expectation_over_what_follows(
    network: Network, gradient: Callable[..., Tensor], near: Callable[[Tensor, Tensor], bool], oracle_file: Path
) -> None:
    """Two positions: a token tried first is followed by one draw, a token tried last by none."""
    model, oracle, gold, repeats, rows = network(), load_model(str(oracle_file)), [2, 0], 40, 30
    pairs = torch.tensor(list(product(range(3), repeat=2)))
    following = model.log_likelihoods(pairs)[:, 1].exp().view(3, 3).double()
    costs = -summed_log_likelihoods(oracle, pairs, torch.ones_like(pairs, dtype=torch.bool)).view(3, 3)
    last = -oracle.log_likelihoods(torch.tensor([[gold[0], token] for token in range(3)]))[:, 1]
    exact = torch.zeros(sum(parameter.numel() for parameter in model.parameters()), dtype=torch.float64)
    for drawn in product(range(3), repeat=3):
        weight = float(torch.stack([following[token, after] for token, after in enumerate(drawn)]).prod())
        tried = torch.stack([costs[token, after] for token, after in enumerate(drawn)])
        targets = torch.stack([(-tried).log_softmax(0), (-last).log_softmax(0)])
        exact += weight * gradient(divergence_from(targets, model, torch.tensor([gold])), model)
    algorithm, many = prepared(model, oracle_file, roll_out="learned"), batch_of(*[gold] * rows)
    found = [
        gradient(algorithm.loss(model, many, Step(n, repeats, (9, n))).total, model) / rows for n in range(repeats)
    ]
    assert near(torch.stack(found), exact)


def test_the_cost_can_be_an_improbability(network: Network, oracle_file: Path) -> None:
    model, batch = network(), batch_of(GOLD)
    [scored] = load_model(str(oracle_file)).score(batch.tokens)
    algorithm = prepared(model, oracle_file, contexts=1.0, cost="improbability", alpha=10.0)
    loss = algorithm.loss(model, batch, Step(0, 1, (1,))).total
    exact = divergence_from((10 * scored.log_probs[0].exp()).log_softmax(-1), model, batch.tokens)
    assert float(loss.detach()) == pytest.approx(float(exact.detach()), rel=1e-5)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.floats(0.05, 1.0), st.integers(0, 99))
def test_the_first_and_last_contexts_are_always_in(lengths: list[int], share: float, seed: int) -> None:
    real = torch.arange(7) < torch.tensor(lengths).unsqueeze(1)
    chosen = choose_contexts(real, share, Draws(seed))
    places = set(zip(chosen.rows.tolist(), chosen.positions.tolist(), strict=True))
    for row, length in enumerate(lengths):
        assert {(row, 0), (row, length - 1)} <= places
        assert all(place < length for own, place in places if own == row)
    assert chosen.positions.tolist() == sorted(chosen.positions.tolist())


def test_tried_tokens_are_different_hold_the_reference_and_follow_the_model() -> None:
    contexts, log_probs = 2000, torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    gold = torch.full((contexts,), 3)
    tried = choose_tokens(log_probs.expand(contexts, 4), gold, 2, Draws(1))
    assert bool((tried == 3).any(dim=1).all())
    others = torch.bincount(tried[tried != 3], minlength=4)
    assert int(others.sum()) == contexts
    expected = contexts * torch.tensor([0.5, 0.3, 0.15]) / 0.95
    assert float(((others[:3] - expected).square() / expected).sum()) < 13.8  # chi-square, 2 degrees, one in a thousand


@pytest.mark.parametrize(
    ("kind", "roll_in", "roll_out"),
    [
        ("lstm", "reference", "next-token"),
        ("lstm", "learned", "learned"),
        ("transformer", "mixed", "mixed"),
        ("transformer", "learned", "reference"),
    ],
)
def test_a_killed_run_goes_on_exactly(
    kind: str, roll_in: str, roll_out: str, resumes_exactly: Callable[..., bool], oracle_file: Path
) -> None:
    assert resumes_exactly("searnn", kind, oracle=str(oracle_file), roll_in=roll_in, roll_out=roll_out, tokens=2)
