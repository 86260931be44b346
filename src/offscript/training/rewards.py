"""Algorithms that raise the expected reward of sequences: REINFORCE (Williams 1992), minimum risk (Shen et al. 2016).

The reward is the oracle's log-likelihood with an entropy term (eq. 22) and a brevity penalty (eq. 67).
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from offscript.learning import Fleet, Loss, OptimiserSettings
from offscript.models.language_model import LanguageModel
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.generation import lengths_until
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import (
    Algorithm,
    AlgorithmSettings,
    Step,
    TokenBatch,
    dealt_at_random,
    draw_batch,
    load_oracle,
    real_until,
    summed_log_likelihoods,
)
from offscript.training.rollouts import Branches, roll_out

_CONTEXTS = 8
"""The stream of the random numbers that choose contexts."""


class RewardSettings(AlgorithmSettings):
    """Who rewards, and how. The controls tell what of an effect the oracle is behind."""

    oracle: str = Field(description="the model string of the oracle")
    tau: float = Field(0.5, ge=0, description="weight of the entropy term")
    brevity_penalty: bool = True
    normalise: bool = Field(True, description="rewards of a set less their mean, over their standard deviation")
    reward: Literal["oracle", "constant", "random"] = Field(
        "oracle", description="controls: nothing in the oracle's place, or its judgements dealt out at random"
    )
    stop_at_end: bool = Field(True, description="false where end tokens are ordinary ones, as in packed rows")


class Rewarded(Algorithm):
    """Whole sequences are rewarded by an oracle; likelihood is not what is trained for."""

    keeps_newest: ClassVar[bool] = True
    settings: RewardSettings
    _oracle: LanguageModel

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:
        self._oracle = load_oracle(self.settings.oracle, model)


class ReinforceSettings(RewardSettings):
    """The baseline that a reward is compared with."""

    normalise: bool = Field(False, description="rewards over their standard deviation; the baseline does the rest")
    baseline: Literal["others", "none"] = Field("others", description="the mean reward of the batch's other sequences")


class Reinforce(Rewarded):
    """The policy gradient of the expected reward (eq. 22), a sequence drawn for each one of the batch."""

    name: ClassVar[str] = "reinforce"
    Settings: ClassVar[type[AlgorithmSettings]] = ReinforceSettings
    settings: ReinforceSettings

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        drawn = draw_batch(model, *batch.tokens.shape, seed=step.seed, stop_at_end=self.settings.stop_at_end)
        ours = differentiable_log_likelihoods(model, drawn.tokens, drawn.real)
        theirs = summed_log_likelihoods(self._oracle, drawn.tokens, drawn.real).to(ours)
        lengths, references = drawn.real.sum(dim=1), batch.real.sum(dim=1)
        reward = rewards(self.settings, theirs, ours, lengths, references, Draws(step.seed))
        return Loss(-(self._advantages(reward) * ours).sum(), logged={"reward": float(reward.mean())})

    def _advantages(self, reward: Tensor) -> Tensor:
        """Rewards above the baseline; a sequence's own reward is left out of it, which keeps the gradient unbiased."""
        others = max(1, len(reward) - 1)
        baseline = (reward.sum() - reward) / others if self.settings.baseline == "others" else 0.0
        scale = reward.std(correction=0).clamp(min=1e-9) if self.settings.normalise else 1.0
        return (reward - baseline) / scale


class MinimumRiskSettings(RewardSettings):
    """How many candidates a sequence gets."""

    candidates: int = Field(20, ge=2, description="roll-outs of a sequence, at most one a context")


class MinimumRisk(Rewarded):
    """The risk of the candidates under the model's distribution over them (eq. 23); to be begun from a trained model.

    The candidates of a sequence are one roll-out from each of its contexts (App. C.2), so that they stay near the data.
    Rewards are held fixed when gradients are taken. With tau = 1, every sequence a candidate and no brevity penalty the
    gradient is that of KL(p‖o).
    """

    name: ClassVar[str] = "minimum-risk"
    Settings: ClassVar[type[AlgorithmSettings]] = MinimumRiskSettings
    settings: MinimumRiskSettings

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        draws = Draws(step.seed)
        end = model.vocabulary.end if self.settings.stop_at_end else None
        tokens, valid = candidates_of(model, batch, self.settings.candidates, draws, end)
        flat, shape = tokens.flatten(0, 1), tokens.shape[:2]
        lengths = lengths_until(flat, end).to(flat.device)
        real = real_until(lengths, flat.shape[1])
        model = model.of_rows(torch.arange(len(flat)))  # candidate after candidate, the rows in their order
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
    return tokens, batch.real[:, contexts].t() & ~repeated(tokens)


def repeated(tokens: Tensor) -> Tensor:
    """Which of [candidates, rows, time] are the same as an earlier candidate of their row."""
    same = (tokens.unsqueeze(0) == tokens.unsqueeze(1)).all(dim=-1)  # [candidates, candidates, rows]
    return same.permute(2, 0, 1).tril(diagonal=-1).any(dim=2).t()


def rewards(
    settings: RewardSettings, oracle: Tensor, log_likelihoods: Tensor, lengths: Tensor, references: Tensor, draws: Draws
) -> Tensor:
    """R = b(n, n') (log o - tau log p), without a gradient, for sequences of any shape.

    `oracle` holds log o and `log_likelihoods` log p; `lengths` and `references` are n and n'.
    """
    if settings.reward == "constant":
        oracle = torch.zeros_like(oracle)
    elif settings.reward == "random":
        oracle = dealt_at_random(oracle, draws)
    reward = oracle - settings.tau * log_likelihoods.detach().to(oracle)
    return brevity_penalty(lengths, references) * reward if settings.brevity_penalty else reward


def brevity_penalty(lengths: Tensor, references: Tensor) -> Tensor:
    """1 for what is longer than its reference, exp(1 - n'/n) for the rest (eq. 66)."""
    return (1 - references.double() / lengths).clamp(max=0).exp()


def normalised(reward: Tensor, valid: Tensor) -> Tensor:
    """Rewards [candidates, rows] with mean 0 and standard deviation 1 over each row's valid candidates.

    Rewards that are all alike become 0.
    """
    count = valid.sum(dim=0).clamp(min=1)
    kept = reward.where(valid, 0.0)
    centred = (kept - kept.sum(dim=0) / count).where(valid, 0.0)
    deviation = (centred.square().sum(dim=0) / count).sqrt()
    return centred / deviation.where(deviation > 1e-9 * kept.abs().amax(dim=0), torch.inf)


def differentiable_log_likelihoods(model: NeuralLanguageModel, tokens: Tensor, real: Tensor) -> Tensor:
    """As `summed_log_likelihoods`, for training."""
    chosen = torch.nn.functional.cross_entropy(model.logits(tokens).flatten(0, 1), tokens.flatten(), reduction="none")
    return -chosen.view(tokens.shape).double().where(real, 0.0).sum(dim=1)
