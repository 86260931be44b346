"""Scheduled sampling: its gradient is the expectation over mixed histories; without mixing it is teacher forcing."""

from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.models.language_model import preceded_by_start
from offscript.models.neural import NeuralLanguageModel
from offscript.training import recipe_from
from offscript.training.algorithm import Step, TokenBatch
from offscript.training.likelihood import (
    ScheduledSampling,
    ScheduledSamplingSettings,
    TeacherForcing,
    curriculum,
    negative_log_likelihood,
)
from offscript.training.loop import _algorithm

Network = Callable[..., NeuralLanguageModel]
GOLD = [0, 2, 1]


def batch_of(*rows: list[int]) -> TokenBatch:
    tokens = torch.tensor(rows)
    return TokenBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))


def sampling(**settings: object) -> ScheduledSampling:
    return ScheduledSampling(ScheduledSamplingSettings(**settings))


def probability(model: NeuralLanguageModel, history: list[int], token: int) -> float:
    padded = torch.tensor([[*history, 0]])
    with torch.no_grad():
        return float(model.logits(padded)[0, len(history)].softmax(-1)[token])


def mixtures(model: NeuralLanguageModel, rate: float, drawing: str) -> dict[tuple[int, ...], float]:
    """Every mixed history of the gold sequence with its probability; the last token is never replaced."""
    found: dict[tuple[int, ...], float] = {}
    for replaced in product([False, True], repeat=2):
        for drawn in product(range(3), repeat=2):
            mixed = [new if swap else gold for swap, new, gold in zip(replaced, drawn, GOLD, strict=False)]
            weight = 1.0
            for place, swap in enumerate(replaced):
                history = GOLD if drawing == "parallel" else mixed
                chance = probability(model, history[:place], drawn[place]) if swap else 1 / 3
                weight *= (rate if swap else 1 - rate) * chance
            found[tuple(mixed)] = found.get(tuple(mixed), 0.0) + weight
    return found


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
@pytest.mark.parametrize("drawing", ["parallel", "sequential"])
def test_gradient_is_the_expectation_over_mixed_histories(
    kind: str, drawing: str, network: Network, gradient: Callable[..., Tensor], near: Callable[[Tensor, Tensor], bool]
) -> None:
    model, rate, repeats = network(kind), 0.5, 40
    histories = mixtures(model, rate, drawing)
    assert sum(histories.values()) == pytest.approx(1)
    exact = torch.zeros(sum(parameter.numel() for parameter in model.parameters()), dtype=torch.float64)
    gold = batch_of(GOLD)
    for mixed, weight in histories.items():
        inputs = preceded_by_start(torch.tensor([[*mixed, GOLD[-1]]]), model.vocabulary.start)
        exact += weight * gradient(negative_log_likelihood(model.unnormalised(model.features(inputs)), gold), model)
    algorithm, many = sampling(rate=rate, curriculum="uniform", drawing=drawing), batch_of(*[GOLD] * 50)
    drawn = [
        gradient(algorithm.loss(model, many, Step(number, repeats, (3, number))).total, model) / 50
        for number in range(repeats)
    ]
    assert near(torch.stack(drawn), exact)


def test_the_two_ways_to_draw_differ_once_two_tokens_are_replaced(network: Network) -> None:
    model = network()
    parallel, sequential = (mixtures(model, 1.0, drawing) for drawing in ("parallel", "sequential"))
    assert max(abs(parallel[mixed] - sequential[mixed]) for mixed in parallel) > 0.01


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
@pytest.mark.parametrize("drawing", ["parallel", "sequential"])
def test_without_mixing_it_is_teacher_forcing_bit_for_bit(
    kind: str, drawing: str, network: Network, gradient: Callable[..., Tensor]
) -> None:
    model, batch, step = network(kind), batch_of(GOLD, [1, 1, 0]), Step(5, 10, (1, 5))
    plain = TeacherForcing(TeacherForcing.Settings()).loss(model, batch, step).total
    mixed = sampling(rate=0.0, drawing=drawing).loss(model, batch, step).total
    assert torch.equal(plain, mixed)
    assert torch.equal(gradient(plain, model), gradient(mixed, model))


def test_a_linear_curriculum_begins_with_teacher_forcing(network: Network) -> None:
    model, batch, first = network(), batch_of(GOLD), Step(0, 10, (1, 0))
    plain = TeacherForcing(TeacherForcing.Settings()).loss(model, batch, first).total
    assert torch.equal(sampling(rate=1.0, curriculum="linear").loss(model, batch, first).total, plain)


def test_padding_is_never_replaced_nor_counted(network: Network) -> None:
    model, step = network(), Step(9, 10, (4, 9))
    padded = TokenBatch(torch.tensor([[*GOLD, 0, 0]]), torch.tensor([[True, True, True, False, False]]))
    other = TokenBatch(torch.tensor([[*GOLD, 2, 1]]), padded.real)
    losses = [sampling(rate=1.0).loss(model, batch, step).total for batch in (padded, other)]
    assert torch.equal(*losses)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("uniform", {0: 1.0, 50: 1.0, 100: 1.0}),
        ("linear", {0: 0.0, 50: 0.5, 100: 1.0}),
        ("inverse-sigmoid", {0: 0.0537, 50: 0.4930, 100: 0.9433}),
    ],
)
def test_curricula(name: str, values: dict[int, float]) -> None:
    for number, value in values.items():
        assert curriculum(name, Step(number, 101, (1,))) == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
@pytest.mark.parametrize("drawing", ["parallel", "sequential"])
def test_a_killed_run_goes_on_exactly(kind: str, drawing: str, resumes_exactly: Callable[..., bool]) -> None:
    assert resumes_exactly("scheduled-sampling", kind, rate=0.5, drawing=drawing)


def test_a_rate_above_one_is_refused() -> None:
    recipe = recipe_from(
        {"algorithm": "scheduled-sampling", "algorithm_settings": {"rate": 2}, "data": {"train": ["x.txt"]}}
    )
    with pytest.raises(OffscriptError, match="rate"):
        _algorithm(recipe)
