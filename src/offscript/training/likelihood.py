"""Maximum likelihood: teacher forcing, and scheduled sampling (Bengio et al. 2015).

In scheduled sampling some tokens of the history are the model's own instead of the data's. The exact way draws the
history token by token, each draw under the history mixed so far. The parallel way draws every replacement under the
data's history, in one pass without gradients, as is done for transformers (Mihaylova and Martins 2019): a replaced
token then does not see the replacements before it. The two agree where at most one token of a history is replaced, and
differ in the order of the rate squared.
"""

import math
from typing import ClassVar, Literal

import torch
from pydantic import Field
from scipy.special import lambertw
from torch import Tensor
from torch.nn import functional

from offscript.learning import Loss
from offscript.models.language_model import preceded_by_start
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.randomness import Draws, draw
from offscript.training.algorithm import Algorithm, AlgorithmSettings, Step, TokenBatch

_IGNORED = -100
_WHERE, _WHAT = 0, 1
"""Streams of the random numbers that decide where a token is replaced, and by what."""


class LikelihoodSettings(AlgorithmSettings):
    """How sure the model is asked to be."""

    label_smoothing: float = Field(0.0, ge=0, lt=1, description="the share of each target spread over all tokens")


class TeacherForcing(Algorithm):
    """Negative log-likelihood of the data (eq. 1 of the exposure-bias paper, eq. 16 of the regret paper)."""

    name: ClassVar[str] = "teacher-forcing"
    Settings: ClassVar[type[AlgorithmSettings]] = LikelihoodSettings
    settings: LikelihoodSettings

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        return Loss(negative_log_likelihood(model.logits(batch.tokens), batch, self.settings.label_smoothing))


def negative_log_likelihood(logits: Tensor, batch: TokenBatch, smoothing: float = 0.0) -> Tensor:
    """Of the batch's real tokens under logits [rows, time, V], summed; with smoothing, of smoothed targets."""
    targets = batch.tokens.masked_fill(~batch.real, _IGNORED)
    return functional.cross_entropy(
        logits.flatten(0, 1).float(),
        targets.flatten(),
        ignore_index=_IGNORED,
        reduction="sum",
        label_smoothing=smoothing,
    )


class ScheduledSamplingSettings(LikelihoodSettings):
    """How many tokens are replaced, and when."""

    rate: float = Field(0.1, ge=0, le=1, description="the highest share of replaced tokens")
    curriculum: Literal["linear", "uniform", "inverse-sigmoid"] = "linear"
    drawing: Literal["parallel", "sequential"] = Field("parallel", description="replacements at once, or one by one")


class ScheduledSampling(Algorithm):
    """Likelihood of the data's tokens after histories mixed of the data's tokens and the model's (eq. 21)."""

    name: ClassVar[str] = "scheduled-sampling"
    Settings: ClassVar[type[AlgorithmSettings]] = ScheduledSamplingSettings
    settings: ScheduledSamplingSettings

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        rate = self.settings.rate * curriculum(self.settings.curriculum, step)
        mix = mixed_in_parallel if self.settings.drawing == "parallel" else mixed_sequentially
        inputs = preceded_by_start(mix(model, batch, rate, Draws(step.seed)), model.vocabulary.start)
        logits = model.unnormalised(model.features(inputs))
        total = negative_log_likelihood(logits, batch, self.settings.label_smoothing)
        return Loss(total, logged={"mixing_rate": rate})


def curriculum(name: str, step: Step) -> float:
    """The share of the highest rate that is in force at a step.

    `inverse-sigmoid` is Bengio et al.'s 1 - k / (k + exp(i / k)); its k puts the half in the middle of the run.
    """
    match name:
        case "linear":
            return step.number / max(1, step.total - 1)
        case "inverse-sigmoid":
            slowness = math.exp(lambertw(step.total / 2).real)  # k ln k = total / 2
            return 1 - 1 / (1 + math.exp(step.number / slowness - math.log(slowness)))
        case _:
            return 1.0


def mixed_in_parallel(model: NeuralLanguageModel, batch: TokenBatch, rate: float, draws: Draws) -> Tensor:
    """The batch's tokens, some replaced by draws under the data's own history; only those are projected."""
    replaced = _replaced(batch, rate, draws)
    mixed = batch.tokens.clone()
    if not replaced.any():
        return mixed
    numbers = _numbers(batch, draws, _WHAT)
    with model.inference():
        features = model.features(preceded_by_start(batch.tokens, model.vocabulary.start))
        drawn = draw(model.project(features[replaced]), numbers[replaced])
    mixed[replaced] = drawn
    return mixed


def mixed_sequentially(model: NeuralLanguageModel, batch: TokenBatch, rate: float, draws: Draws) -> Tensor:
    """The batch's tokens, some replaced by draws under the history that is mixed so far."""
    replaced = _replaced(batch, rate, draws)
    mixed = batch.tokens.clone()
    if not replaced.any():
        return mixed
    numbers = _numbers(batch, draws, _WHAT)
    log_probs, state = model.start(len(mixed))
    for position in range(mixed.shape[1] - 1):
        mixed[:, position] = torch.where(
            replaced[:, position], draw(log_probs, numbers[:, position]), mixed[:, position]
        )
        log_probs, state = model.advance(state, mixed[:, position])
    return mixed


def _replaced(batch: TokenBatch, rate: float, draws: Draws) -> Tensor:
    """Which tokens of [rows, time] give way: real ones, and not a row's last, which nothing is read after."""
    chosen = _numbers(batch, draws, _WHERE) < rate
    chosen[:, :-1] &= batch.real[:, 1:]
    chosen[:, -1] = False
    return chosen


def _numbers(batch: TokenBatch, draws: Draws, stream: int) -> Tensor:
    """A uniform number a token, [rows, time]."""
    rows, time = batch.tokens.shape
    return draws.uniform(0, 0, rows, time, stream).to(batch.tokens.device)
