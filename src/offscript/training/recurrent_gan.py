"""The recurrent GAN (Press et al. 2017): distributions in the place of tokens, valued by a Wasserstein critic.

The generator's outputs go to the critic as they are, so gradients flow through them and no token need be drawn.
Sequences grow as it learns, and the data's first tokens help it on its way.
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from offscript.errors import OffscriptError
from offscript.learning import Fleet, Loss, OptimiserSettings, build_optimiser, update
from offscript.models.critic import RecurrentCritic, RecurrentCriticSettings
from offscript.models.discriminator import ConvolutionalDiscriminator, ConvolutionSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.models.noise_lstm import NoiseLSTM
from offscript.sampling.generation import generate
from offscript.sampling.randomness import Draws, as_normal
from offscript.training.adversarial import padded_with_end
from offscript.training.algorithm import Algorithm, AlgorithmSettings, Step, TokenBatch
from offscript.training.collapse import alikeness

_NOISE, _BETWEEN, _LENGTH = 0, 1, 2


class RecurrentGANSettings(AlgorithmSettings):
    """The critic, its lessons, and the curriculum."""

    critic: RecurrentCriticSettings = RecurrentCriticSettings()
    convolution: ConvolutionSettings | None = Field(None, description="a convolutional critic in its place")
    critic_learning_rate: float = Field(1e-3, gt=0)
    critic_betas: tuple[float, float] = Field((0.5, 0.9), description="Adam's, as for every WGAN with this penalty")
    critic_steps: int = Field(5, ge=1, description="lessons of the critic for each step of the generator")
    penalty: float = Field(10.0, ge=0, description="λ, the weight of the gradient penalty")
    longest: int | None = Field(None, ge=1, description="tokens at the end of the curriculum; None: the batch's")
    lengths: Literal["variable", "fixed"] = Field(
        "variable", description="a step's length: anything up to the curriculum's, or always that"
    )
    helped: bool = Field(True, description="all tokens but the last are the data's, where the length is more than one")


class RecurrentGAN(Algorithm):
    """The improved Wasserstein loss (Gulrajani et al. 2017) on distributions, over sequences that grow longer."""

    name: ClassVar[str] = "recurrent-gan"
    Settings: ClassVar[type[AlgorithmSettings]] = RecurrentGANSettings
    keeps_newest: ClassVar[bool] = True
    settings: RecurrentGANSettings
    critic: nn.Module
    _optimiser: torch.optim.Optimizer
    _fleet: Fleet

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:
        if not isinstance(model, NoiseLSTM):
            raise OffscriptError(
                f"a recurrent GAN cannot teach a model of the kind {model.kind!r}",
                why="its generator begins with noise",
                next="write `model: {kind: noise-lstm}`",
            )
        self.critic = self._critic_for(model.vocabulary.size).to(model.device)
        rate = {"learning_rate": self.settings.critic_learning_rate, "betas": self.settings.critic_betas}
        self._optimiser, self._fleet = build_optimiser(self.critic, optimiser.model_copy(update=rate)), fleet

    def _critic_for(self, size: int) -> nn.Module:
        if self.settings.convolution is None:
            return RecurrentCritic(size, self.settings.critic)
        return ConvolutionalDiscriminator(size, self.settings.convolution)

    def networks(self) -> dict[str, nn.Module]:
        return {"critic": self.critic}

    def optimisers(self) -> dict[str, torch.optim.Optimizer]:
        return {"critic": self._optimiser}

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        assert isinstance(model, NoiseLSTM)
        longest = min(self.settings.longest or batch.tokens.shape[1], batch.tokens.shape[1])
        length = curriculum_length(longest, step)
        if self.settings.lengths == "variable":
            length = 1 + int(Draws(step.seed).uniform(0, 0, 1, stream=_LENGTH) * length)
        tokens = padded_with_end(batch, model)[:, :length]
        logged = self._teach_critic(model, tokens, step)
        emitted = self._emitted(model, tokens, (*step.seed, 0))
        logged |= alikeness(generate(model, len(tokens), longest, seed=step.seed).tokens)
        by_token = batch.tokens.shape[1]  # the loop divides by tokens, the critic's mean is over sequences
        return Loss(-self.critic(emitted).sum() * by_token, logged={**logged, "length": float(length)})

    def _teach_critic(self, model: NoiseLSTM, tokens: Tensor, step: Step) -> dict[str, float]:
        """So many updates of E[critic(emitted)] - E[critic(real)] + λ · penalty, each with noise of its own."""
        real = functional.one_hot(tokens, model.vocabulary.size).to(model.embedding)
        for number in range(1, self.settings.critic_steps + 1):
            seed = (*step.seed, number)
            with torch.no_grad():
                emitted = self._emitted(model, tokens, seed)
            share = Draws(seed).uniform(0, 0, len(tokens), stream=_BETWEEN).to(real).unsqueeze(2)
            distance, penalty = distance_and_penalty(self.critic, real, emitted, share)
            loss = self.settings.penalty * penalty - distance
            update(self._optimiser, loss / self._fleet.processes, fleet=self._fleet)
        return {"wasserstein": float(distance.detach())}

    def _emitted(self, model: NoiseLSTM, tokens: Tensor, seed: tuple[int, ...]) -> Tensor:
        """Distributions [rows, time, V] of the model's own; with help, of the last position alone after the data's."""
        rows, time = tokens.shape
        noise = as_normal(Draws(seed).uniform(0, 0, rows, model.noise, _NOISE)).to(model.embedding)
        memory = model.first_memory(noise)
        first = model.embedding[model.vocabulary.start].expand(rows, -1)
        if not self.settings.helped or time == 1:
            return model.relaxed(first, memory, time)
        read = torch.cat([first.unsqueeze(1), model.embedding[tokens[:, :-2]]], dim=1)
        _, memory = model.recurrence(read, memory)
        last = model.relaxed(model.embedding[tokens[:, -2]], memory, 1)
        return torch.cat([functional.one_hot(tokens[:, :-1], last.shape[-1]).to(last), last], dim=1)


def curriculum_length(longest: int, step: Step) -> int:
    """One token at first, all of them in the last part of the run: every length has an equal share of the steps."""
    return 1 + min(longest - 1, step.number * longest // max(1, step.total))


def distance_and_penalty(critic: nn.Module, real: Tensor, emitted: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """E[critic(real)] - E[critic(emitted)], and E[(‖∇critic‖ - 1)²] at points between the two, [rows, time, V] each.

    `share` [rows, 1, 1] is how much of a point is real. The critic reads all three in one pass, which costs recurrent
    ones little more than one of them.
    """
    between = share * real + (1 - share) * emitted
    read = torch.cat([real, emitted, between]).requires_grad_()
    values = critic(read)
    of_real, of_emitted, of_between = values.split([len(real), len(emitted), len(between)])
    [slopes] = torch.autograd.grad(of_between.sum(), read, create_graph=True)
    penalty: Tensor = (slopes[-len(between) :].flatten(1).norm(dim=1) - 1).square().mean()
    return of_real.mean() - of_emitted.mean(), penalty
