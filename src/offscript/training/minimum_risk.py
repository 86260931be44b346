"""Minimum risk (Shen et al. 2016): the expected reward over a set of candidates (eq. 23), as the regret paper has it.

The candidates of a sequence are one roll-out from each of its contexts (App. C.2), so that they stay near the data.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor

from offscript.learning import Fleet, Loss, OptimiserSettings
from offscript.models.language_model import LanguageModel
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.generation import lengths_until
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import Algorithm, AlgorithmSettings, Step, TokenBatch, load_oracle
from offscript.training.rewards import (
    RewardSettings,
    differentiable_log_likelihoods,
    normalised,
    real_until,
    rewards,
    summed_log_likelihoods,
)
from offscript.training.rollouts import Branches, roll_out

_CONTEXTS = 8
"""The stream of the random numbers that choose contexts."""


class MinimumRiskSettings(RewardSettings):
    """How many candidates a sequence gets."""

    candidates: int = Field(20, ge=2, description="roll-outs of a sequence, at most one a context")


class MinimumRisk(Algorithm):
    """The risk of the candidates under the model's distribution over them (eq. 23); to be begun from a trained model.

    Rewards are held fixed when gradients are taken. With tau = 1, every sequence a candidate and no brevity penalty the
    gradient is that of KL(p‖o).
    """

    name: ClassVar[str] = "minimum-risk"
    Settings: ClassVar[type[AlgorithmSettings]] = MinimumRiskSettings
    keeps_newest: ClassVar[bool] = True
    settings: MinimumRiskSettings
    _oracle: LanguageModel

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:
        self._oracle = load_oracle(self.settings.oracle, model)

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        draws = Draws(step.seed)
        end = model.vocabulary.end if self.settings.stop_at_end else None
        tokens, valid = candidates_of(model, batch, self.settings.candidates, draws, end)
        flat, shape = tokens.flatten(0, 1), tokens.shape[:2]
        lengths = lengths_until(flat, end).to(flat.device)
        real = real_until(lengths, flat.shape[1])
        ours = differentiable_log_likelihoods(model, flat, real).view(shape)
        theirs = summed_log_likelihoods(self._oracle, flat, real).to(ours).view(shape)
        reward = rewards(self.settings, theirs, ours, lengths.view(shape), batch.real.sum(dim=1), draws)
        shown = float(reward[valid].mean())
        if self.settings.normalise:
            reward = normalised(reward, valid)
        return Loss(risk(ours, reward, valid), logged={"reward": shown})


def risk(log_likelihoods: Tensor, reward: Tensor, valid: Tensor) -> Tensor:
    """Expected loss of reward over the valid candidates [candidates, rows], summed over rows (eq. 23)."""
    weights = log_likelihoods.masked_fill(~valid, -torch.inf).softmax(dim=0)
    return -(weights * reward.where(valid, 0.0)).sum()


def candidates_of(
    model: NeuralLanguageModel, batch: TokenBatch, most: int, draws: Draws, end: int | None
) -> tuple[Tensor, Tensor]:
    """One roll-out of every row at each of at most `most` contexts, [contexts, rows, time], and which ones count.

    A candidate counts if its context is one of the row's own and if no earlier candidate is the same sequence.
    """
    rows, time = batch.tokens.shape
    device = batch.tokens.device
    order = draws.uniform(0, 0, time, stream=_CONTEXTS).squeeze(1).argsort()
    contexts = order[:most].sort().values.to(device)
    branches = Branches(torch.arange(rows, device=device).repeat(len(contexts)), contexts.repeat_interleave(rows))
    tokens = roll_out(model, batch.tokens, branches, draws, end=end).view(len(contexts), rows, time)
    return tokens, batch.real[:, contexts].t() & ~_repeated(tokens)


def _repeated(tokens: Tensor) -> Tensor:
    """Which of [candidates, rows, time] are the same as an earlier candidate of their row."""
    same = (tokens.unsqueeze(0) == tokens.unsqueeze(1)).all(dim=-1)  # [candidates, candidates, rows]
    return same.permute(2, 0, 1).tril(diagonal=-1).any(dim=2).t()
