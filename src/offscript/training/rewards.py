"""What a sequence is worth: the oracle's log-likelihood, an entropy term (eq. 22) and a brevity penalty (eq. 67)."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from offscript.models.language_model import LanguageModel
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import AlgorithmSettings

_DEALING = 7
"""The stream of the random numbers that deal rewards out."""


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


def rewards(
    settings: RewardSettings, judged: Tensor, log_likelihoods: Tensor, lengths: Tensor, references: Tensor, draws: Draws
) -> Tensor:
    """R = b(n, n') (log o - tau log p), without a gradient, for sequences of any shape.

    `judged` holds log o and `log_likelihoods` log p; `lengths` and `references` are n and n'.
    """
    if settings.reward == "constant":
        judged = torch.zeros_like(judged)
    elif settings.reward == "random":
        order = draws.uniform(0, 0, judged.numel(), stream=_DEALING).squeeze(1).argsort().to(judged.device)
        judged = judged.flatten()[order].view_as(judged)
    reward = judged - settings.tau * log_likelihoods.detach().to(judged)
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


def summed_log_likelihoods(model: LanguageModel, tokens: Tensor, real: Tensor) -> Tensor:
    """Log-probability [rows] of each sequence's real tokens, without a gradient."""
    return model.log_likelihoods(tokens).double().where(real, 0.0).sum(dim=1)


def differentiable_log_likelihoods(model: NeuralLanguageModel, tokens: Tensor, real: Tensor) -> Tensor:
    """As `summed_log_likelihoods`, for training."""
    chosen = torch.nn.functional.cross_entropy(model.logits(tokens).flatten(0, 1), tokens.flatten(), reduction="none")
    return -chosen.view(tokens.shape).double().where(real, 0.0).sum(dim=1)


def real_until(lengths: Tensor, time: int) -> Tensor:
    """Which of `time` positions lie within the lengths, [..., time]."""
    return torch.arange(time, device=lengths.device) < lengths.unsqueeze(-1)
