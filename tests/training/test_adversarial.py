"""What the text GANs share: rewards come back where they belong, controls, baselines, lessons, the log."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.learning import Fleet, OptimiserSettings
from offscript.measures.bleu import leave_one_out_bleu
from offscript.models import approximate, load_model
from offscript.models.language_model import LanguageModel, State
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling import generate
from offscript.sampling.randomness import Draws
from offscript.training import recipe_from, train
from offscript.training.adversarial import (
    AdversarialSettings,
    SeqGAN,
    padded_with_end,
    rescaled_by_rank,
    rewards_by_position,
)
from offscript.training.algorithm import Step, TokenBatch
from offscript.training.collapse import alikeness

Network = Callable[..., NeuralLanguageModel]
GANS = {"seqgan": "lstm", "rankgan": "lstm", "leakgan": "manager-worker", "recurrent-gan": "noise-lstm"}


@dataclass(frozen=True)
class _Rows(State):
    rows: int

    def select(self, rows: Tensor) -> "_Rows":
        return _Rows(len(rows))


class Blank(LanguageModel):
    """Writes its last symbol, whatever it has read: a roll-out shows by itself where it left its roll-in."""

    def __init__(self, symbols: int) -> None:
        self.vocabulary = WordVocabulary([f"s{index}" for index in range(symbols)], end=None, unknown=None)

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def weight_hash(self) -> str:
        return "blank"

    def begin(self, rows: int) -> State:
        return _Rows(rows)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        log_probs = torch.full((len(tokens), self.vocabulary.size), -torch.inf)
        log_probs[:, -1] = 0.0
        return log_probs, state


@given(rows=st.integers(1, 9), time=st.integers(1, 8), roll_outs=st.integers(1, 6))
def test_a_marked_reward_comes_back_at_its_sequence_and_position(rows: int, time: int, roll_outs: int) -> None:
    """Row r is symbol r throughout. The discriminator reads off which row a roll-out comes from and where it left."""
    tokens = torch.arange(rows).unsqueeze(1).expand(rows, time).clone()

    def marked(sequences: Tensor) -> Tensor:
        kept = (sequences != rows).sum(dim=1)  # symbol `rows` is what the model goes on with
        return 100.0 * sequences[:, 0] + kept

    found = rewards_by_position(Blank(rows + 1), tokens, marked, roll_outs, Draws(1), end=None)  # type: ignore[arg-type]
    expected = 100.0 * torch.arange(rows).unsqueeze(1) + torch.arange(1, time + 1)
    assert torch.equal(found, expected)


def test_roll_outs_are_averaged_and_drawn_apart(network: Network) -> None:
    """The mean worth of many roll-outs is the expectation over what the model draws after the prefix."""
    model = network()
    tokens = torch.tensor([[0, 2, 1], [1, 0, 2]])
    last = torch.tensor([0.0, 1.0, 5.0])
    found = rewards_by_position(model, tokens, lambda rows: last[rows[:, -1]], 20_000, Draws(2), end=None)
    log_probs = torch.cat([scored.log_probs for scored in model.score(tokens)], dim=1)
    assert torch.allclose(found[:, 1], (log_probs[:, 2].exp() * last).sum(dim=1), atol=0.05)
    assert torch.equal(found[:, 2], last[tokens[:, -1]])


def test_nothing_follows_the_end_of_a_sequence(network: Network) -> None:
    model = network(end="c")
    tokens = torch.tensor([[0, 2, 2, 2]])
    found = rewards_by_position(model, tokens, lambda rows: (rows[:, 2:] == 2).all(dim=1).double(), 50, Draws(1), end=2)
    assert found[0, 1:].tolist() == [1.0, 1.0, 1.0]


def _prepared(model: NeuralLanguageModel, **settings: Any) -> SeqGAN:
    algorithm = SeqGAN(AdversarialSettings(**{"begins_at": None, **settings}))
    algorithm.prepare(model, OptimiserSettings(), Fleet("cpu"))
    return algorithm


def test_controls_put_something_else_in_the_discriminators_place(network: Network) -> None:
    rewards = torch.arange(12.0).view(4, 3)
    assert torch.equal(_prepared(network())._controlled(rewards, Draws(1)), rewards)
    assert torch.equal(_prepared(network(), reward="constant")._controlled(rewards, Draws(1)), torch.ones(4, 3))
    dealt = _prepared(network(), reward="random")._controlled(rewards, Draws(1))
    assert not torch.equal(dealt, rewards)
    assert torch.equal(dealt.flatten().sort().values, rewards.flatten())


def test_a_baseline_leaves_a_sequences_own_reward_out(network: Network) -> None:
    rewards = torch.tensor([[1.0, 0.0], [2.0, 0.0], [6.0, 3.0]])
    found = _prepared(network())._against_baseline(rewards)
    assert torch.allclose(found, torch.tensor([[-3.0, -1.5], [-1.5, -1.5], [4.5, 3.0]]))
    assert torch.equal(_prepared(network(), baseline="none")._against_baseline(rewards), rewards)
    assert torch.equal(_prepared(network(), reward="constant")._against_baseline(rewards), rewards)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_the_discriminator_learns_first_and_alone_where_asked(network: Network, bfloat16: bool) -> None:
    model, tokens = network(), torch.tensor([[0, 0, 0, 0]] * 32)
    algorithm = _prepared(model, discriminator_first=40, discriminator_steps=2, discriminator_bfloat16=bfloat16)
    batch = TokenBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))
    losses = []
    for number in range(40):
        loss = algorithm.loss(model, batch, Step(number, 100, (1, number)))
        gradients = torch.autograd.grad(loss.total, list(model.parameters()))
        assert all(bool((gradient == 0).all()) for gradient in gradients)
        losses.append(loss.logged["discriminator_loss"])
    assert losses[-1] < 0.7 * losses[0]
    assert algorithm.discriminator(tokens[:1]) > algorithm.discriminator(torch.tensor([[1, 2, 1, 2]]))


def test_a_discriminator_that_prefers_something_makes_it_likelier(network: Network) -> None:
    """The policy gradient climbs: with a count of one symbol in the discriminator's place, that symbol spreads."""
    model, tokens = network(), torch.zeros(64, 4, dtype=torch.long)
    algorithm = _prepared(model)
    algorithm.worth = lambda real: lambda rows: (rows == 1).double().mean(dim=1)  # type: ignore[method-assign]
    batch = TokenBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    before = float((generate(model, 500, 4, seed=1).tokens == 1).double().mean())
    for number in range(20):
        optimiser.zero_grad()
        (algorithm.loss(model, batch, Step(number, 20, (1, number))).total / 256).backward()
        optimiser.step()
    after = float((generate(model, 500, 4, seed=1).tokens == 1).double().mean())
    assert after > before + 0.2


def _batch(tokens: Tensor) -> TokenBatch:
    return TokenBatch(tokens, torch.ones_like(tokens, dtype=torch.bool))


def test_the_generator_waits_for_a_useful_discriminator(network: Network) -> None:
    """Against data that the model draws itself, nothing can be told apart; against constant data, soon everything."""
    model, constant = network(), torch.zeros(256, 4, dtype=torch.long)
    own = generate(model, 256, 4, seed=9).tokens
    for data, follows in ((own, False), (constant, True)):
        algorithm = _prepared(model, begins_at=0.75, examined_every=5, discriminator_learning_rate=0.01)
        algorithm.meet(lambda number, data=data: _batch(data[:32]), lambda data=data: iter([_batch(data)]))
        losses = [algorithm.loss(model, _batch(data[:32]), Step(number, 40, (1, number))) for number in range(40)]
        told = [text for loss in losses for text in loss.notes]
        began = algorithm.phase.began_at
        assert (began is not None) == follows
        assert ("the generator begins to follow the discriminator" in told) == follows
        assert all(("reward" in loss.logged) == (began is not None and n >= began) for n, loss in enumerate(losses))
        assert [("discriminator_accuracy" in loss.logged) for loss in losses] == [n % 5 == 4 for n in range(40)]


def test_the_roll_out_policy_lags_behind_the_generator(network: Network) -> None:
    model = network()
    algorithm = _prepared(model, roll_out_delay=0.8)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 1.0
    policy = dict(algorithm._rolling(model).state_dict())
    for name, tensor in model.state_dict().items():
        step = 1.0 if name.startswith("embedding") else 0.2
        assert torch.allclose(policy[name] - before[name], torch.full_like(tensor, step), atol=1e-5)
    assert _prepared(model, roll_out_delay=0.0)._rolling(model) is model


def test_rescaled_rewards_depend_on_ranks_alone() -> None:
    rewards = torch.tensor([[0.1, 5.0], [0.3, 4.0], [0.2, 6.0]])
    found = rescaled_by_rank(rewards, 12.0)
    expected = [[3, 2], [1, 3], [2, 1]]  # ranks, the highest first
    assert torch.allclose(found, torch.sigmoid(12.0 * (0.5 - torch.tensor(expected) / 3)))


def test_rewards_of_roll_outs_are_those_of_the_whole_sequences(network: Network) -> None:
    """Windows that lie in a prefix are read once; the rewards are what reading all of them gives."""
    model = network()
    algorithm = _prepared(model, discriminator={"windows": (1, 2, 3), "filters": 4})
    algorithm.discriminator.eval()
    tokens = generate(model, 5, 6, seed=1).tokens
    worth = algorithm.worth(tokens)
    with torch.no_grad():
        shared = rewards_by_position(model, tokens, worth, 3, Draws(1), end=None)
        whole = rewards_by_position(model, tokens, lambda rows: worth(rows), 3, Draws(1), end=None)
    assert torch.allclose(shared, whole, atol=1e-6)


def test_a_set_for_the_discriminator_is_read_in_every_epoch(network: Network) -> None:
    model, tokens = network(), torch.zeros(8, 4, dtype=torch.long)
    algorithm = _prepared(model, discriminator_steps=2, discriminator_batches=3, discriminator_epochs=4)
    asked, read = [], []
    algorithm.meet(lambda number: (asked.append(number), _batch(tokens))[1], lambda: iter([_batch(tokens)]))
    loss = algorithm.discriminator_loss
    algorithm.discriminator_loss = lambda real, drawn: (read.append(len(real)), loss(real, drawn))[1]  # type: ignore
    algorithm._teach_discriminator(model, _batch(tokens), Step(5, 10, (1, 5)))
    assert asked == [*range(30, 36)]
    assert len(read) == 2 * 3 * 4


@pytest.mark.parametrize(("algorithm", "kind"), GANS.items())
def test_a_killed_run_goes_on_exactly(algorithm: str, kind: str, resumes_exactly: Callable[..., bool]) -> None:
    own = {"discriminator": {"filters": 2}, "begins_at": None, "examined_every": 2, "discriminator_batches": 2}
    assert resumes_exactly(algorithm, kind, **({"critic": {"hidden": 4}} if kind == "noise-lstm" else own))


@pytest.mark.parametrize(("algorithm", "kind"), GANS.items())
def test_every_gan_is_trained_saved_drawn_from_and_measured_alike(
    algorithm: str, kind: str, oracle_file: Path, tmp_path: Path
) -> None:
    recipe = recipe_from(
        {
            "algorithm": algorithm,
            "algorithm_settings": {} if kind == "noise-lstm" else {"begins_at": None},
            "model": {"kind": kind, "hidden": 4, "embedding": 4},
            "data": {"kind": "samples", "model": str(oracle_file), "length": 4, "size": 16, "validation": 16},
            "stop": {"steps": 3},
        }
    )
    trained = train(recipe, tmp_path / "run", log_every=1)
    lines = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    told = [line for line in lines if "loss" in line]
    assert len(told) == 3
    assert all(0 < line["distinct_share"] <= 1 for line in told)
    assert all(0 <= line["self_bleu"] <= 1 for line in told)
    model = load_model(str(trained.folder))
    assert generate(model, 20, 4, seed=1).tokens.shape == (20, 4)
    tokens = generate(load_model(str(oracle_file)), 20, 4, seed=1).tokens
    assert model.log_likelihoods(tokens).isfinite().all()
    assert approximate(model, 100).log_likelihoods(tokens).isfinite().all()


def test_padding_does_not_give_real_sequences_away(network: Network) -> None:
    model = network(end="c")
    tokens, real = torch.tensor([[1, 2, 0, 0], [1, 1, 1, 2]]), torch.tensor([[True, True, False, False], [True] * 4])
    assert padded_with_end(TokenBatch(tokens, real), model).tolist() == [[1, 2, 2, 2], [1, 1, 1, 2]]
    assert padded_with_end(TokenBatch(tokens, real), network()) is tokens


def test_a_policy_gradient_of_noise_is_refused(oracle_file: Path, tmp_path: Path) -> None:
    data = {"kind": "samples", "model": str(oracle_file), "length": 4, "size": 8, "validation": 8}
    recipe = recipe_from({"algorithm": "seqgan", "model": {"kind": "noise-lstm"}, "data": data})
    with pytest.raises(OffscriptError, match="take `algorithm: recurrent-gan`"):
        train(recipe, tmp_path / "run")


@pytest.mark.parametrize(("algorithm", "wanted"), [("leakgan", "manager-worker"), ("recurrent-gan", "noise-lstm")])
def test_a_model_of_the_wrong_kind_is_refused(algorithm: str, wanted: str, oracle_file: Path, tmp_path: Path) -> None:
    data = {"kind": "samples", "model": str(oracle_file), "length": 4, "size": 8, "validation": 8}
    recipe = recipe_from({"algorithm": algorithm, "model": {"kind": "lstm", "hidden": 2, "embedding": 2}, "data": data})
    with pytest.raises(OffscriptError, match=f"write `model: {{kind: {wanted}}}`"):
        train(recipe, tmp_path / "run")


@given(
    rows=st.integers(2, 12).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=n, max_size=n)
    )
)
def test_logged_self_bleu_is_the_measured_one(rows: list[list[int]]) -> None:
    tokens = np.array(rows)
    found = alikeness(torch.tensor(rows))
    assert found["self_bleu"] == pytest.approx(leave_one_out_bleu(tokens, highest_order=3).corpus(3))
    assert found["distinct_share"] == len({tuple(row) for row in rows}) / len(rows)


def test_collapse_shows() -> None:
    same, varied = torch.zeros(16, 6, dtype=torch.long), torch.randint(50, (16, 6))
    assert alikeness(same) == {"distinct_share": 1 / 16, "self_bleu": 1.0}
    assert alikeness(varied)["self_bleu"] < 0.3
    assert alikeness(varied)["distinct_share"] == 1.0
