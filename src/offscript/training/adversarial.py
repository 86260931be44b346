"""SeqGAN (Yu et al. 2017), and what it shares with the other text GANs that learn by policy gradients."""

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from offscript.errors import OffscriptError
from offscript.learning import Bfloat16, Fleet, Loss, OptimiserSettings, build_optimiser, in_bfloat16, update
from offscript.models.discriminator import ConvolutionalDiscriminator, ConvolutionSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.generation import lengths_until
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import Algorithm, AlgorithmSettings, Step, TokenBatch, dealt_at_random, draw_batch
from offscript.training.collapse import alikeness
from offscript.training.examination import Phase, chance_limit, pair_accuracy
from offscript.training.rollouts import Branches, roll_out

_ROLLING, _EXAMINED, _TAUGHT = 1, 2, 3
_COPIED = ("embedding", "discriminator")
"""Parts of the roll-out policy that never lag behind: SeqGAN's embeddings, and what LeakGAN's manager reads."""


class AdversarialSettings(AlgorithmSettings):
    """The discriminator, how much it learns, when the generator follows it, and what its belief is turned into."""

    discriminator: ConvolutionSettings = ConvolutionSettings()
    discriminator_learning_rate: float = Field(1e-3, gt=0)
    discriminator_clip: float | None = Field(None, gt=0, description="the largest norm of its gradient")
    discriminator_l2: float = Field(0.0, ge=0, description="weight of half the squared norm of its last layer")
    discriminator_steps: int = Field(1, ge=1, description="sets of sequences drawn for it per step of the generator")
    discriminator_batches: int = Field(1, ge=1, description="batches in each set, as many of data as of draws")
    discriminator_epochs: int = Field(1, ge=1, description="how often it goes through each set")
    discriminator_bfloat16: Bfloat16 = Field(
        False,
        description="its matrix products, as it learns, read bfloat16: true, false, or auto, where that is fast",
    )
    discriminator_first: int = Field(0, ge=0, description="steps at the beginning in which it learns alone, at least")
    begins_at: float | None = Field(
        0.6, gt=0.5, lt=1, description="the generator learns once so many held-out pairs are told apart; null: at once"
    )
    held_out: int = Field(256, ge=1, description="validation sequences to examine the discriminator with, at most")
    examined_every: int = Field(10, ge=1, description="steps from one examination to the next")
    roll_outs: int = Field(4, ge=1, description="continuations that a prefix is valued by")
    roll_out_delay: float = Field(
        0.8, ge=0, lt=1, description="the roll-out policy keeps this share of its weights at every step; 0: the model's"
    )
    rescaled: float | None = Field(
        None, gt=0, description="δ of the bootstrapped rescaled activation: rewards by rank within the batch (LeakGAN)"
    )
    baseline: Literal["others", "none"] = Field("others", description="the batch's mean reward at the same position")
    reward: Literal["discriminator", "constant", "random"] = Field(
        "discriminator", description="controls: one reward for all, or the discriminator's dealt out at random"
    )
    stop_at_end: bool = Field(True, description="false where end tokens are ordinary ones, as in packed rows")


@dataclass(frozen=True)
class Worth:
    """What sequences are worth [n], by the discriminator's features of them [n, width]."""

    discriminator: ConvolutionalDiscriminator
    of_features: Callable[[Tensor], Tensor]

    def __call__(self, sequences: Tensor) -> Tensor:
        """Of whole sequences [n, time]."""
        return self.of_features(self.discriminator.features(sequences))

    def of_roll_outs(self, tokens: Tensor, rolled: Tensor, roll_outs: int) -> Tensor:
        """Of sequences that left [rows, time] after 1, 2, … tokens, `roll_outs` times the rows after each.

        Windows that lie in a prefix are read once, whatever left it.
        """
        maxima = self.discriminator.prefix_maxima(tokens)
        parts = rolled.split(len(tokens) * roll_outs)
        values = [
            self.of_features(self.discriminator.continued_features(part, kept, maxima[:, kept].repeat(roll_outs, 1)))
            for kept, part in enumerate(parts, start=1)
        ]
        return torch.cat(values)


class Adversarial(Algorithm):
    """A generator learns by policy gradients from a discriminator that learns to tell its draws from data."""

    Settings: ClassVar[type[AlgorithmSettings]] = AdversarialSettings
    keeps_newest: ClassVar[bool] = True
    settings: AdversarialSettings
    discriminator: ConvolutionalDiscriminator
    phase: Phase
    _optimiser: torch.optim.Optimizer
    _fleet: Fleet
    _generator: NeuralLanguageModel
    _policy: NeuralLanguageModel | None
    _data: Callable[[int], TokenBatch] | None = None
    _held_out: Tensor | None = None

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:
        if model.noise:
            raise OffscriptError(
                f"{self.name} cannot teach a model of the kind {model.kind!r}",
                why="what it draws follows from its noise, and no policy has a gradient there",
                next="take `algorithm: recurrent-gan`, or another kind",
            )
        self.discriminator = self.discriminator_for(model)
        rate = {"learning_rate": self.settings.discriminator_learning_rate}
        self._optimiser = build_optimiser(self.discriminator, optimiser.model_copy(update=rate))
        self._fleet, self.phase, self._generator = fleet, Phase(), model
        self._policy = copy.deepcopy(model) if self.settings.roll_out_delay else None

    def meet(self, batch: Callable[[int], TokenBatch], held_out: Callable[[], Iterator[TokenBatch]]) -> None:
        """Remember where the data are, and some held-out sequences to examine the discriminator with."""
        self._data = batch
        wanted, rows = self.settings.held_out, list[Tensor]()
        for part in held_out():
            rows.append(padded_with_end(part, self._generator))
            if sum(map(len, rows)) >= wanted or rows[-1].shape[1] != rows[0].shape[1]:
                break
        self._held_out = torch.cat([part for part in rows if part.shape[1] == rows[0].shape[1]])[:wanted]

    def discriminator_for(self, model: NeuralLanguageModel) -> ConvolutionalDiscriminator:
        """A discriminator of the model's sequences."""
        return ConvolutionalDiscriminator(model.vocabulary.size, self.settings.discriminator).to(model.device)

    def networks(self) -> dict[str, nn.Module]:
        found: dict[str, nn.Module] = {"discriminator": self.discriminator, "phase": self.phase}
        return found if self._policy is None else {**found, "policy": self._policy}

    def optimisers(self) -> dict[str, torch.optim.Optimizer]:
        return {"discriminator": self._optimiser}

    @abstractmethod
    def discriminator_loss(self, real: Tensor, drawn: Tensor) -> Tensor:
        """What the discriminator lowers by telling real sequences from drawn ones."""

    @abstractmethod
    def worth(self, real: Tensor) -> Worth:
        """What a drawn sequence is worth, compared with real ones where that matters."""

    def generator_loss(self, model: NeuralLanguageModel, drawn: TokenBatch, rewards: Tensor) -> Tensor:
        """The policy gradient: -Σ reward · log p over the tokens drawn, rewards [rows, time]."""
        log_probs = model.logits(drawn.tokens).float().log_softmax(dim=-1)
        chosen = log_probs.gather(-1, drawn.tokens.unsqueeze(-1)).squeeze(-1)
        return -(rewards.to(chosen) * chosen)[drawn.real].sum()

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        logged, notes = self._taught(model, batch, step)
        if self.phase.began_at is None:
            return Loss(nothing(model), logged=logged, notes=notes)
        followed = self._followed(model, batch, step)
        return Loss(followed.total, logged={**logged, **followed.logged}, notes=notes)

    def _taught(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> tuple[dict[str, float], list[str]]:
        """Teach the discriminator, examine it, and begin the generator's phase where it is due: the log, and notes."""
        logged = self._teach_discriminator(model, batch, step)
        accuracy, notes = None, []
        if (step.number + 1) % self.settings.examined_every == 0 and self._held_out is not None:
            accuracy, pairs = self._examined(model, batch, step), len(self._held_out)
            logged["discriminator_accuracy"] = accuracy
            notes = [text for text in [self.phase.note(accuracy, pairs)] if text is not None]
        if self.phase.began_at is None and self._is_due(step, accuracy):
            self.phase.begin(step.number)
            notes.append("the generator begins to follow the discriminator")
        return logged, notes

    def _is_due(self, step: Step, accuracy: float | None) -> bool:
        """The rule: enough steps alone, and an examination passed by more than luck."""
        if step.number < self.settings.discriminator_first:
            return False
        if self.settings.begins_at is None:
            return True
        if accuracy is None or self._held_out is None:
            return False
        return accuracy >= max(self.settings.begins_at, chance_limit(len(self._held_out)))

    def _examined(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> float:
        """How often the discriminator scores a held-out sequence above one of the model's."""
        assert self._held_out is not None
        shape, stop = self._held_out.shape, self.settings.stop_at_end
        drawn = draw_batch(model, *shape, seed=(*step.seed, _EXAMINED, 0), stop_at_end=stop)
        with torch.no_grad():
            worth = self.worth(padded_with_end(batch, model))
            return pair_accuracy(worth(self._held_out), worth(drawn.tokens))

    def _followed(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        """The generator's lesson: draw, value every prefix by roll-outs, take the policy gradient."""
        drawn, end = self._drawn(model, batch, (*step.seed, 0)), model.vocabulary.end
        policy, draws = self._rolling(model), Draws((*step.seed, _ROLLING))
        with torch.no_grad():
            worth = self.worth(padded_with_end(batch, model))
            stop = end if self.settings.stop_at_end else None
            raw = rewards_by_position(policy, drawn.tokens, worth, self.settings.roll_outs, draws, end=stop)
        scaled = raw if self.settings.rescaled is None else rescaled_by_rank(raw, self.settings.rescaled)
        rewards = self._against_baseline(self._controlled(scaled, draws))
        return Loss(self.generator_loss(model, drawn, rewards), logged={"reward": float(raw.mean())})

    def _rolling(self, model: NeuralLanguageModel) -> NeuralLanguageModel:
        """The roll-out policy, brought nearer to the model: θ' ← delay · θ' + (1 - delay) · θ (Yu et al. 2017)."""
        if self._policy is None or model is not self._generator:  # one with sources of its own has no copy
            return model
        with torch.no_grad():
            news = dict(model.state_dict())
            for name, kept in self._policy.state_dict().items():
                lags = kept.is_floating_point() and not name.startswith(_COPIED)
                kept.lerp_(news[name], 1 - self.settings.roll_out_delay) if lags else kept.copy_(news[name])
        return self._policy

    def _teach_discriminator(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> dict[str, float]:
        """Steps x epochs x batches of updates, on data and as many draws, which show whether the model collapses."""
        settings, losses = self.settings, list[Tensor]()
        for number in range(settings.discriminator_steps):
            pairs = self._pairs(model, batch, step, number)
            self.discriminator.train()
            for _ in range(settings.discriminator_epochs):
                for real, drawn in pairs:
                    with self.discriminator.bfloat16_products(self._in_bfloat16):
                        loss = self.discriminator_loss(real, drawn) + self._shrinkage()
                    clip = settings.discriminator_clip
                    update(self._optimiser, loss / self._fleet.processes, clip=clip, fleet=self._fleet)
                    losses.append(loss.detach())
        self.discriminator.eval()
        return {"discriminator_loss": float(torch.stack(losses).mean()), **alikeness(pairs[-1][1])}

    @property
    def _in_bfloat16(self) -> bool:
        return in_bfloat16(self.settings.discriminator_bfloat16, self._fleet.device)

    def _pairs(
        self, model: NeuralLanguageModel, batch: TokenBatch, step: Step, number: int
    ) -> list[tuple[Tensor, Tensor]]:
        """A set for the discriminator: batches of data, and draws of the same shape."""
        count, own = self.settings.discriminator_batches, [batch]
        if self._data is not None and (count > 1 or self.settings.discriminator_steps > 1):
            first = (step.number * self.settings.discriminator_steps + number) * count
            own = [self._data(first + index) for index in range(count)]
        real = [padded_with_end(part, model) for part in own]
        seed = (*step.seed, _TAUGHT, number)
        if len({part.shape[1] for part in real}) == 1:  # drawn at once, which costs less than batch by batch
            shape, stop = (sum(map(len, real)), real[0].shape[1]), self.settings.stop_at_end
            drawn = draw_batch(model, *shape, seed=seed, stop_at_end=stop).tokens.split([len(part) for part in real])
        else:
            drawn = tuple(self._drawn(model, part, (*seed, index)).tokens for index, part in enumerate(own))
        return list(zip(real, drawn, strict=True))

    def _shrinkage(self) -> Tensor:
        """SeqGAN's penalty on the weights of the last layer."""
        weight, bias = self.discriminator.output.weight, self.discriminator.output.bias
        return self.settings.discriminator_l2 * 0.5 * (weight.square().sum() + bias.square().sum())

    def _drawn(self, model: NeuralLanguageModel, batch: TokenBatch, seed: tuple[int, ...]) -> TokenBatch:
        return draw_batch(model, *batch.tokens.shape, seed=seed, stop_at_end=self.settings.stop_at_end)

    def _controlled(self, rewards: Tensor, draws: Draws) -> Tensor:
        """The rewards [rows, time], or what a control puts in their place."""
        if self.settings.reward == "constant":
            return torch.ones_like(rewards)
        if self.settings.reward == "random":
            return dealt_at_random(rewards, draws)
        return rewards

    def _against_baseline(self, rewards: Tensor) -> Tensor:
        """Less the mean reward of the other sequences at the same position, which keeps the gradient unbiased.

        A constant reward has no baseline: against its own mean it would be nothing.
        """
        if self.settings.baseline == "none" or self.settings.reward == "constant":
            return rewards
        others = max(1, len(rewards) - 1)
        return rewards - (rewards.sum(dim=0) - rewards) / others


class SeqGAN(Adversarial):
    """The policy gradient of the discriminator's belief, through Monte-Carlo roll-outs of every prefix."""

    name: ClassVar[str] = "seqgan"

    def discriminator_loss(self, real: Tensor, drawn: Tensor) -> Tensor:
        """Cross-entropy of telling real sequences from drawn ones."""
        logits = self.discriminator(torch.cat([real, drawn]))
        truth = torch.arange(len(logits), device=logits.device) < len(real)
        return functional.binary_cross_entropy_with_logits(logits, truth.to(logits))

    def worth(self, real: Tensor) -> Worth:
        """The probability that a sequence is real; none is needed to compare with."""
        return Worth(self.discriminator, lambda features: self.discriminator.logits(features).sigmoid())


def rewards_by_position(
    model: NeuralLanguageModel,
    tokens: Tensor,
    worth: Callable[[Tensor], Tensor],
    roll_outs: int,
    draws: Draws,
    *,
    end: int | None,
) -> Tensor:
    """What each token of [rows, time] is worth: the mean worth of sequences that go on after it.

    The last token is worth what the whole sequence is. All roll-outs of all positions are drawn in one batch, from the
    states that their prefixes leave (Yu et al. 2017, eq. 4).
    """
    rows, time = tokens.shape
    whole = worth(tokens).unsqueeze(1)
    if time == 1:
        return whole
    own = torch.arange(rows, device=tokens.device).repeat((time - 1) * roll_outs)
    leaves = torch.arange(1, time, device=tokens.device).repeat_interleave(rows * roll_outs)
    rolled = roll_out(model, tokens, Branches(own, leaves), draws, end=end)
    if end is not None:  # what leaves a sequence after its end stays what it is
        ended = lengths_until(tokens, end)[own] <= leaves
        rolled = torch.where(ended.unsqueeze(1), tokens[own], rolled)
    if isinstance(worth, Worth):
        values = worth.of_roll_outs(tokens, rolled, roll_outs)
    else:
        values = torch.cat([worth(part) for part in rolled.split(rows * roll_outs)])
    by_position = values.view(time - 1, roll_outs, rows).mean(dim=1).t()  # [rows, time - 1]
    return torch.cat([by_position, whole], dim=1)


def rescaled_by_rank(rewards: Tensor, sharpness: float) -> Tensor:
    """σ(δ · (½ - rank / B)) of rewards [B, time], ranked at every position (Guo et al. 2018, eq. 11).

    The highest has rank 1. Rewards keep their mean and variance through all of training, however far the discriminator
    is ahead.
    """
    ranks = rewards.argsort(dim=0, descending=True).argsort(dim=0) + 1
    return (sharpness * (0.5 - ranks / len(rewards))).sigmoid()


def padded_with_end(batch: TokenBatch, model: NeuralLanguageModel) -> Tensor:
    """The batch's tokens, ended as drawn sequences are: padding must not tell the two apart."""
    end = model.vocabulary.end
    return batch.tokens if end is None else batch.tokens.masked_fill(~batch.real, end)


def nothing(model: NeuralLanguageModel) -> Tensor:
    """A loss that moves no weight."""
    return torch.stack([parameter.sum() for parameter in model.parameters()]).sum() * 0.0
