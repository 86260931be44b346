"""LeakGAN (Guo et al. 2018): the discriminator's features leak to a manager, who sets goals for a worker to reach."""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from offscript.errors import OffscriptError
from offscript.learning import Loss
from offscript.models.discriminator import ConvolutionalDiscriminator
from offscript.models.language_model import preceded_by_start
from offscript.models.manager_worker import ManagerWorker
from offscript.models.neural import NeuralLanguageModel
from offscript.training.adversarial import AdversarialSettings, SeqGAN, nothing
from offscript.training.algorithm import AlgorithmSettings, Step, TokenBatch
from offscript.training.likelihood import negative_log_likelihood


class LeakGANSettings(AdversarialSettings):
    """How often a step is supervised. The discriminator's sizes are the model's own settings."""

    supervised_every: int = Field(5, ge=0, description="one step of so many is teacher forcing; 0: none is")
    rescaled: float | None = Field(
        12.0, gt=0, description="δ of the bootstrapped rescaled activation; null: raw rewards"
    )


class LeakGAN(SeqGAN):
    """The manager follows SeqGAN's rewards, the worker the manager; between them come steps of teacher forcing."""

    name: ClassVar[str] = "leakgan"
    Settings: ClassVar[type[AlgorithmSettings]] = LeakGANSettings
    settings: LeakGANSettings

    def discriminator_for(self, model: NeuralLanguageModel) -> ConvolutionalDiscriminator:
        """The model's own, whose features it reads."""
        if not isinstance(model, ManagerWorker):
            raise OffscriptError(
                f"LeakGAN cannot teach a model of the kind {model.kind!r}",
                why="its generator has a manager and a worker",
                next="write `model: {kind: manager-worker}`",
            )
        return model.discriminator

    def networks(self) -> dict[str, nn.Module]:
        """All but the discriminator, which is stored with the model."""
        return {name: network for name, network in super().networks().items() if name != "discriminator"}

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        assert isinstance(model, ManagerWorker)
        every, logged, notes = self.settings.supervised_every, *self._taught(model, batch, step)
        first = self.phase.began_at
        if first is None:
            return Loss(nothing(model), logged=logged, notes=notes)
        supervised = every and (step.number - first) % every == 0
        lesson = self._supervised(model, batch) if supervised else self._followed(model, batch, step)
        return Loss(lesson.total, logged={**logged, **lesson.logged}, notes=notes)

    def generator_loss(self, model: NeuralLanguageModel, drawn: TokenBatch, rewards: Tensor) -> Tensor:
        """The manager's directions weighted by the rewards (eq. 8), the worker's tokens by its own (eq. 10)."""
        assert isinstance(model, ManagerWorker)
        inputs = preceded_by_start(drawn.tokens, model.vocabulary.start)
        leaked, goals = model.planned(inputs)
        with torch.no_grad():
            whole = model.discriminator.prefix_features(drawn.tokens)  # [rows, time + 1, features]
            intrinsic = reached(whole, goals.detach(), model.settings.horizon)
        log_probs = model.unnormalised(model.worked(inputs, goals.detach())).float().log_softmax(dim=-1)
        chosen = log_probs.gather(-1, drawn.tokens.unsqueeze(-1)).squeeze(-1)
        worker = -(self._against_baseline(self._worker_rewards(intrinsic)) * chosen)[drawn.real].sum()
        return worker + self._manager_loss(leaked, goals, model.settings.horizon, rewards.to(chosen))

    def _supervised(self, model: ManagerWorker, batch: TokenBatch) -> Loss:
        """Likelihood of the data, and directions that the data's own features take."""
        inputs = preceded_by_start(batch.tokens, model.vocabulary.start)
        leaked, goals = model.planned(inputs)
        likelihood = negative_log_likelihood(model.unnormalised(model.worked(inputs, goals.detach())), batch)
        ones = torch.ones(batch.tokens.shape, device=model.device)
        return Loss(likelihood + self._manager_loss(leaked, goals, model.settings.horizon, ones))

    def _worker_rewards(self, intrinsic: Tensor) -> Tensor:
        """A constant control rewards the worker alike; a random one is the manager's affair."""
        return torch.ones_like(intrinsic) if self.settings.reward == "constant" else intrinsic

    def _manager_loss(self, leaked: Tensor, goals: Tensor, horizon: int, rewards: Tensor) -> Tensor:
        """-Σ reward · cos(f_{t+c} - f_t, g_t), where the sequence goes on for c tokens."""
        if leaked.shape[1] <= horizon:
            return goals.sum() * 0.0
        ahead = leaked[:, horizon:] - leaked[:, :-horizon]
        likeness = functional.cosine_similarity(ahead, goals[:, :-horizon], dim=-1)
        return -(rewards[:, :-horizon] * likeness).sum()


def reached(features: Tensor, goals: Tensor, horizon: int) -> Tensor:
    """The worker's own reward [rows, time]: how far each token went where the latest c goals pointed (eq. 9).

    r_t is the mean over i = 1 … c of cos(f_{t+1} - f_{t+1-i}, g_{t+1-i}), as far as there are goals. Features
    [rows, time + 1, width] are those of every prefix, goals [rows, time, width] what was wanted before each token.
    """
    rows, time, _ = goals.shape
    total = torch.zeros(rows, time, device=goals.device)
    for back in range(1, min(horizon, time) + 1):
        moved = features[:, back:] - features[:, :-back]  # ends after token back - 1, …, time - 1
        total[:, back - 1 :] += functional.cosine_similarity(moved, goals[:, : time - back + 1], dim=-1)
    return total / torch.arange(1, time + 1, device=goals.device).clamp(max=horizon)
