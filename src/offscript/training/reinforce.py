"""REINFORCE (Williams 1992): whole sequences drawn from the model, made likelier by their reward above a baseline."""

from typing import ClassVar, Literal

from pydantic import Field
from torch import Tensor

from offscript.learning import Fleet, Loss, OptimiserSettings
from offscript.models.language_model import LanguageModel
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.generation import generate
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import Algorithm, AlgorithmSettings, Step, TokenBatch, load_oracle
from offscript.training.rewards import (
    RewardSettings,
    differentiable_log_likelihoods,
    real_until,
    rewards,
    summed_log_likelihoods,
)


class ReinforceSettings(RewardSettings):
    """What a reward is held against."""

    normalise: bool = Field(False, description="rewards over their standard deviation; the baseline does the rest")
    baseline: Literal["others", "none"] = Field("others", description="the mean reward of the batch's other sequences")


class Reinforce(Algorithm):
    """The policy gradient of the expected reward (eq. 22), a sequence drawn for each one of the batch."""

    name: ClassVar[str] = "reinforce"
    Settings: ClassVar[type[AlgorithmSettings]] = ReinforceSettings
    keeps_newest: ClassVar[bool] = True
    settings: ReinforceSettings
    _oracle: LanguageModel

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:
        self._oracle = load_oracle(self.settings.oracle, model)

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        rows, time = batch.tokens.shape
        drawn = generate(model, rows, time, seed=step.seed, stop_at_end=self.settings.stop_at_end)
        tokens, lengths = drawn.tokens.to(model.device), drawn.lengths.to(model.device)
        real = real_until(lengths, time)
        ours = differentiable_log_likelihoods(model, tokens, real)
        theirs = summed_log_likelihoods(self._oracle, tokens, real).to(ours)
        reward = rewards(self.settings, theirs, ours, lengths, batch.real.sum(dim=1), Draws(step.seed))
        return Loss(-(self._advantages(reward) * ours).sum(), logged={"reward": float(reward.mean())})

    def _advantages(self, reward: Tensor) -> Tensor:
        """Rewards above the baseline; a sequence's own reward is left out of it, which keeps the gradient unbiased."""
        others = max(1, len(reward) - 1)
        baseline = (reward.sum() - reward) / others if self.settings.baseline == "others" else 0.0
        scale = reward.std(correction=0).clamp(min=1e-9) if self.settings.normalise else 1.0
        return (reward - baseline) / scale
