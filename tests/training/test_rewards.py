"""Minimum risk and REINFORCE: gradients against enumeration, roll-outs against their definition, rewards by hand."""

import math
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
import torch
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.learning import Fleet, OptimiserSettings
from offscript.models.language_model import LanguageModel, State
from offscript.models.neural import NeuralLanguageModel
from offscript.models.registry import load_model
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import Step, TokenBatch, summed_log_likelihoods
from offscript.training.rewards import (
    MinimumRisk,
    MinimumRiskSettings,
    Reinforce,
    ReinforceSettings,
    RewardSettings,
    brevity_penalty,
    candidates_of,
    differentiable_log_likelihoods,
    normalised,
    rewards,
    risk,
)
from offscript.training.rollouts import Branches, branch_log_likelihoods, roll_out

Network = Callable[..., NeuralLanguageModel]
Gradient = Callable[..., Tensor]
Near = Callable[[Tensor, Tensor], bool]
GOLD = [0, 2]
PLAIN = {"tau": 1.0, "brevity_penalty": False, "normalise": False}


def whole(tokens: Tensor) -> Tensor:
    return torch.ones_like(tokens, dtype=torch.bool)


def prepared(algorithm: MinimumRisk | Reinforce, model: NeuralLanguageModel) -> MinimumRisk | Reinforce:
    algorithm.prepare(model, OptimiserSettings(), Fleet("cpu"))
    return algorithm


def regret(model: NeuralLanguageModel, oracle: LanguageModel, tokens: Tensor) -> Tensor:
    """KL(p‖o) over every sequence, to be differentiated (eq. 20)."""
    ours = differentiable_log_likelihoods(model, tokens, whole(tokens))
    return (ours.exp() * (ours - summed_log_likelihoods(oracle, tokens, whole(tokens)))).sum()


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_with_every_sequence_a_candidate_the_gradient_is_that_of_regret(
    kind: str, network: Network, gradient: Gradient, sequences: Callable[[int, int], Tensor], oracle_file: Path
) -> None:
    model, oracle, tokens = network(kind), load_model(str(oracle_file)), sequences(3, 3)
    settings = RewardSettings(oracle=str(oracle_file), **PLAIN)
    ours = differentiable_log_likelihoods(model, tokens, whole(tokens))
    lengths = torch.full((len(tokens),), 3)
    theirs = summed_log_likelihoods(oracle, tokens, whole(tokens))
    reward = rewards(settings, theirs, ours, lengths, lengths, Draws(1))
    one_set = risk(ours.unsqueeze(1), reward.unsqueeze(1), whole(tokens[:, :1]))
    assert float(one_set.detach()) == pytest.approx(float(regret(model, oracle, tokens).detach()), rel=1e-6)
    expected = gradient(regret(model, oracle, tokens), model)
    assert expected.abs().max() > 0.1
    assert torch.allclose(gradient(one_set, model), expected, atol=2e-6)


@pytest.mark.parametrize("normalise", [False, True])
def test_gradient_is_the_expectation_over_candidates(
    normalise: bool, network: Network, gradient: Gradient, near: Near, oracle_file: Path
) -> None:
    model, oracle, repeats, rows = network(), load_model(str(oracle_file)), 40, 30
    settings = MinimumRiskSettings(oracle=str(oracle_file), tau=0.5, normalise=normalise)
    exact = torch.zeros(sum(parameter.numel() for parameter in model.parameters()), dtype=torch.float64)
    for first, second in product(product(range(3), repeat=2), range(3)):
        tokens = torch.tensor([first, [GOLD[0], second]])
        weight = float(model.log_likelihoods(tokens)[0].sum().exp() * model.log_likelihoods(tokens)[1, 1].exp())
        valid = torch.tensor([[True], [list(first) != [GOLD[0], second]]])
        ours = differentiable_log_likelihoods(model, tokens, whole(tokens)).unsqueeze(1)
        theirs = summed_log_likelihoods(oracle, tokens, whole(tokens)).unsqueeze(1)
        lengths = torch.full((2, 1), 2)
        reward = rewards(settings, theirs, ours, lengths, lengths[0], Draws(1))
        reward = normalised(reward, valid) if normalise else reward
        exact += weight * gradient(risk(ours, reward, valid), model)
    algorithm, tokens = prepared(MinimumRisk(settings), model), torch.tensor([GOLD] * rows)
    drawn = [
        gradient(algorithm.loss(model, TokenBatch(tokens, whole(tokens)), Step(n, repeats, (2, n))).total, model) / rows
        for n in range(repeats)
    ]
    assert near(torch.stack(drawn), exact)


@pytest.mark.parametrize("baseline", ["others", "none"])
def test_reinforce_has_the_gradient_of_regret(
    baseline: str,
    network: Network,
    gradient: Gradient,
    near: Near,
    sequences: Callable[[int, int], Tensor],
    oracle_file: Path,
) -> None:
    model, repeats, rows = network(), 40, 50
    settings = ReinforceSettings(oracle=str(oracle_file), baseline=baseline, **PLAIN)
    exact = gradient(regret(model, load_model(str(oracle_file)), sequences(3, 2)), model)
    algorithm, tokens = prepared(Reinforce(settings), model), torch.tensor([GOLD] * rows)
    drawn = [
        gradient(algorithm.loss(model, TokenBatch(tokens, whole(tokens)), Step(n, repeats, (2, n))).total, model) / rows
        for n in range(repeats)
    ]
    assert near(torch.stack(drawn), exact)


def test_a_constant_reward_without_entropy_teaches_nothing(
    network: Network, gradient: Gradient, oracle_file: Path
) -> None:
    model, tokens = network(), torch.tensor([GOLD] * 8)
    settings = MinimumRiskSettings(oracle=str(oracle_file), tau=0.0, reward="constant")
    algorithm = prepared(MinimumRisk(settings), model)
    loss = algorithm.loss(model, TokenBatch(tokens, whole(tokens)), Step(0, 1, (1,))).total
    assert gradient(loss, model).abs().max() == 0


def test_random_rewards_are_the_oracles_in_another_order(oracle_file: Path) -> None:
    settings = RewardSettings(oracle=str(oracle_file), reward="random", tau=0.0, brevity_penalty=False)
    judged, same = torch.arange(12.0).view(3, 4), torch.ones(3, 4)
    dealt = rewards(settings, judged, same, same, same, Draws(5))
    assert dealt.shape == judged.shape
    assert not torch.equal(dealt, judged)
    assert torch.equal(dealt.flatten().sort().values, judged.flatten())


@pytest.mark.parametrize(("length", "reference", "penalty"), [(6, 3, 1), (3, 3, 1), (2, 4, math.exp(-1))])
def test_brevity_penalty_by_hand(length: int, reference: int, penalty: float) -> None:
    assert float(brevity_penalty(torch.tensor(length), torch.tensor(reference))) == pytest.approx(penalty)


def test_rewards_are_normalised_over_valid_candidates() -> None:
    given = torch.tensor([[1.0, 5.0], [3.0, 5.0], [9.0, 5.0]], dtype=torch.float64)
    valid = torch.tensor([[True, True], [True, True], [False, True]])
    assert normalised(given, valid).tolist() == [[-1, 0], [1, 0], [0, 0]]


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_candidates_keep_their_prefix_and_count_once(kind: str, network: Network) -> None:
    model = network(kind)
    tokens = torch.tensor([[0, 1, 2, 1], [2, 2, 0, 0]])
    real = torch.tensor([[True] * 4, [True, True, False, False]])
    found, valid = candidates_of(model, TokenBatch(tokens, real), 20, Draws(3), None)
    assert found.shape == (4, 2, 4)
    for context in range(4):
        assert torch.equal(found[context, :, :context], tokens[:, :context])
        assert not valid[context][~real[:, context]].any()
    for row in range(2):
        kept = [tuple(each) for each in found[valid[:, row], row].tolist()]
        assert len(kept) == len(set(kept)) > 0


def test_few_contexts_are_chosen_when_few_candidates_are_asked_for(network: Network) -> None:
    tokens = torch.tensor([[0, 1, 2, 1, 0]])
    found, _ = candidates_of(network(), TokenBatch(tokens, whole(tokens)), 2, Draws(3), None)
    assert len(found) == 2


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_roll_outs_follow_the_models_distribution(kind: str, network: Network) -> None:
    model, copies = network(kind), 4000
    branches = Branches(torch.zeros(copies, dtype=torch.long), torch.ones(copies, dtype=torch.long))
    drawn = roll_out(model, torch.tensor([[1, 0, 0]]), branches, Draws(8))
    counts = torch.bincount(drawn[:, 1] * 3 + drawn[:, 2], minlength=9)
    tokens = torch.tensor([[1, first, second] for first, second in product(range(3), repeat=2)])
    expected = copies * model.log_likelihoods(tokens)[:, 1:].sum(dim=1).exp().double()
    assert float(((counts - expected).square() / expected).sum()) < 26.1  # chi-square, 8 degrees, one in a thousand


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_branches_are_scored_as_whole_sequences_are(
    kind: str, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, roll_ins = network(kind), torch.tensor([[0, 1, 2, 1], [2, 0, 0, 1]])
    branches = Branches(torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 2, 3]))
    tokens = roll_out(model, roll_ins, branches, Draws(2), forced=torch.tensor([2, 1, 0, 0]))
    assert [int(tokens[number, place]) for number, place in enumerate(branches.positions)] == [2, 1, 0, 0]
    along = model.log_likelihoods(tokens).double()
    expected = torch.stack([row[place:].sum() for row, place in zip(along, branches.positions, strict=True)])
    for budget in (1 << 24, 6):  # all at once, and two branches at a time
        monkeypatch.setattr("offscript.training.rollouts.SCORE_BUDGET", budget)
        assert torch.allclose(branch_log_likelihoods(model, roll_ins, branches, tokens, whole(tokens)), expected)
        assert torch.equal(roll_out(model, roll_ins, branches, Draws(2), forced=torch.tensor([2, 1, 0, 0])), tokens)


def test_roll_outs_end_once(network: Network) -> None:
    model = network(end="c")
    branches = Branches(torch.zeros(50, dtype=torch.long), torch.zeros(50, dtype=torch.long))
    drawn = roll_out(model, torch.tensor([[0, 0, 0, 0]]), branches, Draws(4), end=2)
    ended = (drawn == 2).int().cummax(dim=1).values.bool()
    assert ended.any()
    assert bool((drawn[ended] == 2).all())


def test_no_prefix_is_read_twice(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    model, calls, advance = network(), [], network().__class__._advanced

    def counted(self: NeuralLanguageModel, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        calls.append(len(tokens))
        return advance(self, state, tokens)

    monkeypatch.setattr(model.__class__, "_advanced", counted)
    tokens = torch.tensor([[0, 1, 2, 1]] * 2)
    candidates_of(model, TokenBatch(tokens, whole(tokens)), 20, Draws(3), None)
    assert calls == [2, 4, 6, 8]


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
@pytest.mark.parametrize("algorithm", ["minimum-risk", "reinforce"])
def test_a_killed_run_goes_on_exactly(
    algorithm: str, kind: str, resumes_exactly: Callable[..., bool], oracle_file: Path
) -> None:
    assert resumes_exactly(algorithm, kind, oracle=str(oracle_file))


def test_an_oracle_over_other_symbols_is_refused(network: Network, oracle_file: Path) -> None:
    model = network(end="c")
    with pytest.raises(OffscriptError, match="different vocabularies"):
        prepared(MinimumRisk(MinimumRiskSettings(oracle=str(oracle_file))), model)
