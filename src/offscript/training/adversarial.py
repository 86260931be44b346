"""SeqGAN (Yu et al. 2017), and what it shares with the other text GANs that learn by policy gradients."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from offscript.errors import OffscriptError
from offscript.learning import Fleet, Loss, OptimiserSettings, build_optimiser, update
from offscript.models.discriminator import ConvolutionalDiscriminator, ConvolutionSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.generation import lengths_until
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import Algorithm, AlgorithmSettings, Step, TokenBatch, dealt_at_random, draw_batch
from offscript.training.rollouts import Branches, roll_out

_ROLLING = 1
_SMOOTHING = 0.1
IntArray = NDArray[np.int64]
Worth = Callable[[Tensor], Tensor]
"""What sequences [n, time] are worth, [n]."""


class AdversarialSettings(AlgorithmSettings):
    """The discriminator (`judge` in recipes and logs), how much it learns, and what its belief is turned into."""

    judge: ConvolutionSettings = ConvolutionSettings()
    judge_learning_rate: float = Field(1e-3, gt=0)
    judge_steps: int = Field(1, ge=1, description="lessons of the discriminator for each step of the generator")
    judge_first: int = Field(0, ge=0, description="steps at the beginning in which the discriminator alone learns")
    roll_outs: int = Field(4, ge=1, description="continuations that a prefix is valued by")
    baseline: Literal["others", "none"] = Field("others", description="the batch's mean reward at the same position")
    reward: Literal["judge", "constant", "random"] = Field(
        "judge", description="controls: one reward for all, or the discriminator's dealt out at random"
    )
    stop_at_end: bool = Field(True, description="false where end tokens are ordinary ones, as in packed rows")


class Adversarial(Algorithm):
    """A generator learns by policy gradients from a discriminator that learns to tell its draws from data."""

    Settings: ClassVar[type[AlgorithmSettings]] = AdversarialSettings
    keeps_newest: ClassVar[bool] = True
    settings: AdversarialSettings
    discriminator: ConvolutionalDiscriminator
    _optimiser: torch.optim.Optimizer
    _clip: float | None
    _fleet: Fleet

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:
        if model.noise:
            raise OffscriptError(
                f"{self.name} cannot teach a model of the kind {model.kind!r}",
                why="what it draws follows from its noise, and no policy has a gradient there",
                next="take `algorithm: recurrent-gan`, or another kind",
            )
        self.discriminator = self.discriminator_for(model)
        rate = {"learning_rate": self.settings.judge_learning_rate}
        self._optimiser = build_optimiser(self.discriminator, optimiser.model_copy(update=rate))
        self._clip, self._fleet = optimiser.clip, fleet

    def discriminator_for(self, model: NeuralLanguageModel) -> ConvolutionalDiscriminator:
        """A discriminator of the model's sequences."""
        return ConvolutionalDiscriminator(model.vocabulary.size, self.settings.judge).to(model.device)

    def networks(self) -> dict[str, nn.Module]:
        return {"judge": self.discriminator}

    def optimisers(self) -> dict[str, torch.optim.Optimizer]:
        return {"judge": self._optimiser}

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
        logged = self._teach_discriminator(model, batch, step)
        if step.number < self.settings.judge_first:
            return Loss(_nothing(model), logged=logged)
        end = model.vocabulary.end if self.settings.stop_at_end else None
        drawn = self._drawn(model, batch, (*step.seed, 0))
        worth, draws = self.worth(padded_with_end(batch, model)), Draws((*step.seed, _ROLLING))
        with torch.no_grad():
            raw = rewards_by_position(model, drawn.tokens, worth, self.settings.roll_outs, draws, end=end)
        rewards = self._against_baseline(self._controlled(raw, draws))
        return Loss(self.generator_loss(model, drawn, rewards), logged={**logged, "reward": float(raw.mean())})

    def _teach_discriminator(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> dict[str, float]:
        """So many updates, each on the batch and as many fresh draws, which show whether the model collapses."""
        real = padded_with_end(batch, model)
        for number in range(1, self.settings.judge_steps + 1):
            drawn = self._drawn(model, batch, (*step.seed, 1 + number))
            self.discriminator.train()
            loss = self.discriminator_loss(real, drawn.tokens)
            update(self._optimiser, loss / self._fleet.processes, clip=self._clip, fleet=self._fleet)
        self.discriminator.eval()
        return {"judge_loss": float(loss.detach()), **alikeness(drawn.tokens)}

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
        return lambda sequences: self.discriminator(sequences).sigmoid()


def rewards_by_position(
    model: NeuralLanguageModel, tokens: Tensor, worth: Worth, roll_outs: int, draws: Draws, *, end: int | None
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
    values = torch.cat([worth(part) for part in rolled.split(rows * roll_outs)])
    by_position = values.view(time - 1, roll_outs, rows).mean(dim=1).t()  # [rows, time - 1]
    return torch.cat([by_position, whole], dim=1)


def padded_with_end(batch: TokenBatch, model: NeuralLanguageModel) -> Tensor:
    """The batch's tokens, ended as drawn sequences are: padding must not tell the two apart."""
    end = model.vocabulary.end
    return batch.tokens if end is None else batch.tokens.masked_fill(~batch.real, end)


def _nothing(model: NeuralLanguageModel) -> Tensor:
    """A loss that moves no weight."""
    return torch.stack([parameter.sum() for parameter in model.parameters()]).sum() * 0.0


def alikeness(tokens: Tensor, order: int = 3) -> dict[str, float]:
    """Whether a generator collapses, for its log, on the few sequences [rows, time] of one batch.

    `distinct_share`: different sequences; `self_bleu`: BLEU of each against all others. The question `diversity`
    measures the same with intervals, in a package that this one cannot import; a test holds the two together.
    """
    rows = tokens.cpu().numpy()
    found = {"distinct_share": len(np.unique(rows, axis=0)) / len(rows)}
    return {**found, "self_bleu": self_bleu(rows, min(order, rows.shape[1]))} if len(rows) > 1 else found


def self_bleu(rows: IntArray, order: int) -> float:
    """The mean of BLEU-`order` over sequences of one length, NLTK's smoothing method 1."""
    logarithms = np.zeros(len(rows))
    unknown = np.zeros(len(rows), dtype=bool)
    for n in range(1, order + 1):
        counts = _counts(rows, n)
        second, first = np.partition(counts, -2, axis=0)[-2:] if len(rows) > 1 else (counts[0] * 0, counts[0])
        allowed = np.where((counts == first) & ((counts == first).sum(axis=0) == 1), second, first)
        matches = np.minimum(counts, allowed).sum(axis=1)
        unknown |= (matches == 0) & (n == 1)
        logarithms += np.log(np.where(matches == 0, _SMOOTHING, matches) / (rows.shape[1] - n + 1))
    return float(np.where(unknown, 0.0, np.exp(logarithms / order)).mean())


def _counts(rows: IntArray, n: int) -> IntArray:
    """How often each n-gram of the batch stands in each row, [rows, n-grams]."""
    windows = np.lib.stride_tricks.sliding_window_view(rows, n, axis=1)  # [rows, time - n + 1, n]
    _, grams = np.unique(windows.reshape(-1, n), axis=0, return_inverse=True)
    counts = np.zeros((len(rows), int(grams.max()) + 1), dtype=np.int64)
    np.add.at(counts, (np.repeat(np.arange(len(rows)), windows.shape[1]), grams.reshape(-1)), 1)
    return counts
