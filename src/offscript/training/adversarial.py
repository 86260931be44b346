"""What the text GANs that learn by policy gradients share: a judge, its lessons, roll-outs, and the controls."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from offscript.errors import OffscriptError
from offscript.learning import Fleet, Loss, OptimiserSettings, build_optimiser, update
from offscript.models.discriminator import ConvolutionalDiscriminator, ConvolutionSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.generation import generate, lengths_until
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import Algorithm, AlgorithmSettings, Step, TokenBatch
from offscript.training.diversity import alikeness
from offscript.training.rewards import real_until
from offscript.training.rollouts import Branches, roll_out

_DEALING, _ROLLING = 7, 1
Judge = Callable[[Tensor], Tensor]
"""What sequences [n, time] are worth, [n]."""


class AdversarialSettings(AlgorithmSettings):
    """The judge, how much it learns, and what its judgements are turned into."""

    judge: ConvolutionSettings = ConvolutionSettings()
    judge_learning_rate: float = Field(1e-3, gt=0)
    judge_steps: int = Field(1, ge=1, description="lessons of the judge for each step of the generator")
    judge_first: int = Field(0, ge=0, description="steps at the beginning in which the judge alone learns")
    roll_outs: int = Field(4, ge=1, description="continuations that a prefix is judged by")
    baseline: Literal["others", "none"] = Field("others", description="the batch's mean reward at the same position")
    reward: Literal["judge", "constant", "random"] = Field(
        "judge", description="controls: one reward for all, or the judge's dealt out at random"
    )
    stop_at_end: bool = Field(True, description="false where end tokens are ordinary ones, as in packed rows")


class Adversarial(Algorithm):
    """A generator that draws, a judge that learns to tell its draws from data, and a gradient from the judgements."""

    Settings: ClassVar[type[AlgorithmSettings]] = AdversarialSettings
    keeps_newest: ClassVar[bool] = True
    settings: AdversarialSettings
    judge: ConvolutionalDiscriminator
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
        self.judge = self.judge_for(model)
        rate = {"learning_rate": self.settings.judge_learning_rate}
        self._optimiser = build_optimiser(self.judge, optimiser.model_copy(update=rate))
        self._clip, self._fleet = optimiser.clip, fleet

    def judge_for(self, model: NeuralLanguageModel) -> ConvolutionalDiscriminator:
        """A judge of the model's sequences."""
        return ConvolutionalDiscriminator(model.vocabulary.size, self.settings.judge).to(model.device)

    def networks(self) -> dict[str, nn.Module]:
        return {"judge": self.judge}

    def optimisers(self) -> dict[str, torch.optim.Optimizer]:
        return {"judge": self._optimiser}

    @abstractmethod
    def judge_loss(self, real: Tensor, drawn: Tensor) -> Tensor:
        """What the judge lowers by telling real sequences from drawn ones."""

    @abstractmethod
    def judgement(self, real: Tensor) -> Judge:
        """What a drawn sequence is worth, held against real ones where that matters."""

    def generator_loss(self, model: NeuralLanguageModel, drawn: TokenBatch, rewards: Tensor) -> Tensor:
        """The policy gradient: -Σ reward · log p over the tokens drawn, rewards [rows, time]."""
        log_probs = model.logits(drawn.tokens).float().log_softmax(dim=-1)
        chosen = log_probs.gather(-1, drawn.tokens.unsqueeze(-1)).squeeze(-1)
        return -(rewards.to(chosen) * chosen)[drawn.real].sum()

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        logged = self._teach_judge(model, batch, step)
        if step.number < self.settings.judge_first:
            return Loss(_nothing(model), logged=logged)
        end = model.vocabulary.end if self.settings.stop_at_end else None
        drawn = self._drawn(model, batch, (*step.seed, 0))
        judgement, draws = self.judgement(padded_with_end(batch, model)), Draws((*step.seed, _ROLLING))
        with torch.no_grad():
            raw = rewards_by_position(model, drawn.tokens, judgement, self.settings.roll_outs, draws, end=end)
        rewards = self._against_baseline(self._controlled(raw, draws))
        return Loss(self.generator_loss(model, drawn, rewards), logged={**logged, "reward": float(raw.mean())})

    def _teach_judge(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> dict[str, float]:
        """So many updates, each on the batch and as many fresh draws, which show whether the model collapses."""
        real = padded_with_end(batch, model)
        for number in range(1, self.settings.judge_steps + 1):
            drawn = self._drawn(model, batch, (*step.seed, 1 + number))
            self.judge.train()
            loss = self.judge_loss(real, drawn.tokens)
            update(self._optimiser, loss / self._fleet.processes, clip=self._clip, fleet=self._fleet)
        self.judge.eval()
        return {"judge_loss": float(loss.detach()), **alikeness(drawn.tokens)}

    def _drawn(self, model: NeuralLanguageModel, batch: TokenBatch, seed: tuple[int, ...]) -> TokenBatch:
        rows, time = batch.tokens.shape
        drawn = generate(model, rows, time, seed=seed, stop_at_end=self.settings.stop_at_end)
        return TokenBatch(drawn.tokens.to(model.device), real_until(drawn.lengths.to(model.device), time))

    def _controlled(self, rewards: Tensor, draws: Draws) -> Tensor:
        """The rewards [rows, time], or what a control puts in their place."""
        if self.settings.reward == "constant":
            return torch.ones_like(rewards)
        if self.settings.reward == "random":
            order = draws.uniform(0, 0, rewards.numel(), stream=_DEALING).squeeze(1).argsort().to(rewards.device)
            return rewards.flatten()[order].view_as(rewards)
        return rewards

    def _against_baseline(self, rewards: Tensor) -> Tensor:
        """Less the mean reward of the other sequences at the same position, which keeps the gradient unbiased.

        A constant reward has no baseline: against its own mean it would be nothing.
        """
        if self.settings.baseline == "none" or self.settings.reward == "constant":
            return rewards
        others = max(1, len(rewards) - 1)
        return rewards - (rewards.sum(dim=0) - rewards) / others


def rewards_by_position(
    model: NeuralLanguageModel, tokens: Tensor, judgement: Judge, roll_outs: int, draws: Draws, *, end: int | None
) -> Tensor:
    """What each token of [rows, time] is worth: the mean judgement of sequences that go on after it.

    The last token is worth what the whole sequence is. All roll-outs of all positions are drawn in one batch, from the
    states that their prefixes leave (Yu et al. 2017, eq. 4).
    """
    rows, time = tokens.shape
    whole = judgement(tokens).unsqueeze(1)
    if time == 1:
        return whole
    own = torch.arange(rows, device=tokens.device).repeat((time - 1) * roll_outs)
    leaves = torch.arange(1, time, device=tokens.device).repeat_interleave(rows * roll_outs)
    rolled = roll_out(model, tokens, Branches(own, leaves), draws, end=end)
    if end is not None:  # what leaves a sequence after its end stays what it is
        ended = lengths_until(tokens, end)[own] <= leaves
        rolled = torch.where(ended.unsqueeze(1), tokens[own], rolled)
    judged = torch.cat([judgement(part) for part in rolled.split(rows * roll_outs)])
    by_position = judged.view(time - 1, roll_outs, rows).mean(dim=1).t()  # [rows, time - 1]
    return torch.cat([by_position, whole], dim=1)


def padded_with_end(batch: TokenBatch, model: NeuralLanguageModel) -> Tensor:
    """The batch's tokens, ended as drawn sequences are: a judge must not tell the two apart by their padding."""
    end = model.vocabulary.end
    return batch.tokens if end is None else batch.tokens.masked_fill(~batch.real, end)


def _nothing(model: NeuralLanguageModel) -> Tensor:
    """A loss that moves no weight."""
    return torch.stack([parameter.sum() for parameter in model.parameters()]).sum() * 0.0
