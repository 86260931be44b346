"""What an algorithm of training is to the step loop: a loss, and whatever networks of its own it needs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import torch
from pydantic import ValidationError
from torch import Tensor, nn

from offscript._config import Section, first_fault
from offscript.errors import OffscriptError
from offscript.learning import Fleet, Loss, OptimiserSettings
from offscript.models.language_model import LanguageModel, require_same_vocabulary
from offscript.models.neural import NeuralLanguageModel
from offscript.models.registry import load_model
from offscript.sampling.generation import lengths_until
from offscript.sampling.randomness import Draws, draw_of_rows
from offscript.training.recipe import Recipe

_DEALING = 7
"""The stream of the random numbers that deal rewards out."""


class AlgorithmSettings(Section):
    """Settings of an algorithm; most have none beyond the recipe's."""


Settings = TypeVar("Settings", bound=AlgorithmSettings)


@dataclass(frozen=True)
class TokenBatch:
    """Tokens on the training device, and which of them are real."""

    tokens: Tensor  # [rows, time]
    real: Tensor  # [rows, time], False where a row is padded


@dataclass(frozen=True)
class Step:
    """Where the run stands, and the seed of this step's randomness."""

    number: int
    total: int
    seed: tuple[int, ...]


class Algorithm(ABC):
    """One way of teaching a model. Its only randomness is that of the step it is given."""

    name: ClassVar[str]
    Settings: ClassVar[type[AlgorithmSettings]] = AlgorithmSettings
    keeps_newest: ClassVar[bool] = False
    """Whether the newest weights count as the best: where likelihood is not what is trained for, it must not choose."""

    def __init__(self, settings: AlgorithmSettings) -> None:
        self.settings = settings

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:  # noqa: B027
        """Load or build what it needs beside the model; called once, before a checkpoint is read."""

    def networks(self) -> dict[str, nn.Module]:
        """Networks of its own (a critic, a mediator), to be stored with each checkpoint."""
        return {}

    def optimisers(self) -> dict[str, torch.optim.Optimizer]:
        """What trains its own networks, to be stored with each checkpoint."""
        return {}

    def meet(self, batch: Callable[[int], TokenBatch], held_out: Callable[[], Iterator[TokenBatch]]) -> None:  # noqa: B027
        """Look at the data beside the batches of the steps; called once, after `prepare`.

        Args:
            batch: The training batch with a number, from 0.
            held_out: All validation batches.
        """

    @abstractmethod
    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        """The loss of one batch summed over its tokens, and means to log; the caller divides by the tokens."""


def settings_of(schema: type[Settings], name: str, recipe: Recipe) -> Settings:
    """A recipe's `algorithm_settings`, checked."""
    try:
        return schema(**recipe.algorithm_settings)
    except ValidationError as fault:
        raise OffscriptError(f"the settings of {name} do not fit", why=first_fault(fault, schema)) from fault


def draw_batch(
    model: NeuralLanguageModel, rows: int, time: int, *, seed: tuple[int, ...], stop_at_end: bool
) -> TokenBatch:
    """Sequences of the model's own, on its device: those of `generate`, rounding aside, in one batch."""
    end = model.vocabulary.end if stop_at_end else None
    own, everyone = model.of_rows(torch.arange(rows)), torch.arange(rows, device=model.device)
    tokens = torch.full((rows, time), 0 if end is None else end, device=model.device)
    going = torch.ones(rows, dtype=torch.bool, device=model.device)
    draws, (log_probs, state) = Draws(seed), own.start(rows)
    for position in range(time):
        uniform = draws.uniform(position, 0, rows).squeeze(1).to(model.device)
        chosen = draw_of_rows(log_probs, everyone, uniform)
        tokens[:, position] = chosen if end is None else torch.where(going, chosen, end)
        if end is not None:
            going &= chosen != end
        if position + 1 == time or not going.any():
            break
        log_probs, state = own.advance_unnormalised(state, tokens[:, position])
    return TokenBatch(tokens, real_until(lengths_until(tokens, end).to(model.device), time))


def dealt_at_random(rewards: Tensor, draws: Draws) -> Tensor:
    """The same rewards in the places of others: a control, in which a reward says nothing about its sequence."""
    order = draws.uniform(0, 0, rewards.numel(), stream=_DEALING).squeeze(1).argsort().to(rewards.device)
    return rewards.flatten()[order].view_as(rewards)


def real_until(lengths: Tensor, time: int) -> Tensor:
    """Which of `time` positions lie within the lengths, [..., time]."""
    return torch.arange(time, device=lengths.device) < lengths.unsqueeze(-1)


def summed_log_likelihoods(model: LanguageModel, tokens: Tensor, real: Tensor) -> Tensor:
    """Log-probability [rows] of each sequence's real tokens, without a gradient."""
    return model.log_likelihoods(tokens).double().where(real, 0.0).sum(dim=1)


def load_oracle(text: str, model: NeuralLanguageModel) -> LanguageModel:
    """The model that judges, on the device and over the vocabulary of the one that learns."""
    oracle = load_model(text, device=str(model.device))
    require_same_vocabulary(model, oracle)
    return oracle
