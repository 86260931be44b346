"""SEARNN (Leblond et al. 2018): learn at each context what every next token would cost, by the oracle's judgement.

A roll-in sets the contexts. At some of them several tokens are tried, each followed by a roll-out, and the oracle's
costs of what comes out become a target distribution. With copied references the paper skips the roll-outs and takes
the oracle's next-token distribution for the costs (§6): `roll_out: next-token`.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from offscript.learning import Fleet, Loss, OptimiserSettings
from offscript.models.language_model import LanguageModel, preceded_by_start
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.generation import lengths_until
from offscript.sampling.randomness import Draws
from offscript.training.algorithm import (
    Algorithm,
    AlgorithmSettings,
    Step,
    TokenBatch,
    draw_batch,
    load_oracle,
    real_until,
)
from offscript.training.rollouts import Branches, branch_log_likelihoods, roll_out

_POLICIES, _CONTEXTS, _TOKENS = 3, 4, 5
"""Streams of the random numbers that choose policies, contexts and tokens."""

_LEAST = -1e6
"""What is impossible to the oracle costs much, but not infinitely: all tokens of a context may be impossible."""


class SearnnSettings(AlgorithmSettings):
    """Where contexts come from, what follows a tried token, and what is tried."""

    oracle: str = Field(description="the model string of the oracle that costs come from")
    roll_in: Literal["reference", "learned", "mixed"] = "reference"
    roll_out: Literal["next-token", "reference", "learned", "mixed"] = "next-token"
    reference_share: float = Field(0.5, ge=0, le=1, description="how often `mixed` is the reference")
    contexts: float = Field(0.33, gt=0, le=1, description="share of contexts; the first and the last are always in")
    tokens: int = Field(25, ge=2, description="tokens to try at a context, the reference's among them")
    cost: Literal["surprise", "improbability"] = Field("surprise", description="-log o, or 1 - o (of a token, in mean)")
    alpha: float = Field(1.0, gt=0, description="sharpness of the target; 1 and surprise give the oracle's own")
    stop_at_end: bool = Field(True, description="false where end tokens are ordinary ones, as in packed rows")


@dataclass(frozen=True)
class Contexts:
    """Places in the roll-ins, in order of position, and how many contexts each stands for."""

    rows: Tensor  # [contexts]
    positions: Tensor  # [contexts]
    weights: Tensor  # [contexts]


class Searnn(Algorithm):
    """KL from the target, the softmax of -alpha times the costs, to the model, both over the tokens that were tried."""

    name: ClassVar[str] = "searnn"
    Settings: ClassVar[type[AlgorithmSettings]] = SearnnSettings
    settings: SearnnSettings
    _oracle: LanguageModel

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:
        self._oracle = load_oracle(self.settings.oracle, model)

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        draws = Draws(step.seed)
        rolled = self._roll_in(model, batch, step, draws)
        contexts = choose_contexts(rolled.real, self.settings.contexts, draws)
        features = model.features(preceded_by_start(rolled.tokens, model.vocabulary.start))
        log_probs = model.project(features[contexts.rows, contexts.positions])  # [contexts, V]
        gold = batch.tokens[contexts.rows, contexts.positions]
        tried = choose_tokens(log_probs.detach(), gold, self.settings.tokens, draws)
        costs = self._costs(model, rolled, batch, contexts, tried, draws)
        target = (-self.settings.alpha * costs).log_softmax(dim=1)
        ours = log_probs.gather(1, tried).double().log_softmax(dim=1)
        divergences = functional.kl_div(ours, target, reduction="none", log_target=True).sum(dim=1)
        return Loss((contexts.weights * divergences).sum(), logged={"contexts": float(len(tried))})

    def _roll_in(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step, draws: Draws) -> TokenBatch:
        """Sequences that set the contexts; `mixed` decides once a sequence."""
        if self.settings.roll_in == "reference":
            return batch
        rows, time = batch.tokens.shape
        own = draw_batch(model, rows, time, seed=step.seed, stop_at_end=self.settings.stop_at_end)
        learned = draws.uniform(0, 0, rows, stream=_POLICIES).to(model.device) >= self._share(self.settings.roll_in)
        return TokenBatch(torch.where(learned, own.tokens, batch.tokens), torch.where(learned, own.real, batch.real))

    def _costs(
        self,
        model: NeuralLanguageModel,
        rolled: TokenBatch,
        batch: TokenBatch,
        contexts: Contexts,
        tried: Tensor,
        draws: Draws,
    ) -> Tensor:
        """What each tried token costs, [contexts, tokens]."""
        if self.settings.roll_out == "next-token":
            scores = next_token_log_probs(self._oracle, rolled.tokens, contexts, tried)
            tokens_scored = torch.ones_like(scores)
        else:
            scores, tokens_scored = self._rolled_out(model, rolled.tokens, batch, contexts, tried, draws)
        if self.settings.cost == "improbability":
            return 1 - (scores / tokens_scored).exp()
        return -scores.clamp(min=_LEAST)

    def _rolled_out(
        self,
        model: NeuralLanguageModel,
        roll_ins: Tensor,
        batch: TokenBatch,
        contexts: Contexts,
        tried: Tensor,
        draws: Draws,
    ) -> tuple[Tensor, Tensor]:
        """The oracle's log-likelihood of every roll-out from its context on, and of how many tokens, [contexts, k]."""
        each = tried.shape[1]
        branches = Branches(contexts.rows.repeat_interleave(each), contexts.positions.repeat_interleave(each))
        forced = tried.flatten()
        tokens, real = _continued(roll_ins, batch, branches, forced)
        numbers = draws.uniform(0, 0, len(branches), stream=_POLICIES + _TOKENS).squeeze(1).to(tokens.device)
        learned = (numbers >= self._share(self.settings.roll_out)).nonzero().squeeze(1)
        end = model.vocabulary.end if self.settings.stop_at_end else None
        if len(learned):
            tokens[learned] = roll_out(model, roll_ins, branches.of(learned), draws, forced=forced[learned], end=end)
            real[learned] = real_until(lengths_until(tokens[learned], end).to(real.device), real.shape[1])
        if end is not None:
            real &= real_until(lengths_until(tokens, end).to(real.device), real.shape[1])
        scores = branch_log_likelihoods(self._oracle, roll_ins, branches, tokens, real)
        count = real.sum(dim=1) - branches.positions
        return scores.view_as(tried), count.clamp(min=1).view_as(tried)

    def _share(self, policy: str) -> float:
        """How often a policy is the reference."""
        return {"reference": 1.0, "learned": 0.0, "mixed": self.settings.reference_share}[policy]


def choose_contexts(real: Tensor, share: float, draws: Draws) -> Contexts:
    """A share of the real positions [rows, time]; the first and last of a row are always in.

    A context that was drawn stands for 1 / share, so that the expected loss is that of all contexts.
    """
    rows, time = real.shape
    drawn = real & (draws.uniform(0, 0, rows, time, _CONTEXTS).to(real.device) < share)
    certain = real.clone()
    certain[:, 1:-1] &= ~real[:, 2:]  # what has a real one before and after it is not certain
    positions, own = (drawn | certain).t().nonzero().unbind(dim=1)
    weights = torch.where(certain[own, positions], 1.0, 1 / share)
    return Contexts(own, positions, weights.double())


def choose_tokens(log_probs: Tensor, gold: Tensor, most: int, draws: Draws) -> Tensor:
    """Tokens to try [contexts, k]: the reference's, the others drawn from the model without replacement (Gumbel)."""
    contexts, size = log_probs.shape
    if most >= size:
        return torch.arange(size, device=log_probs.device).expand(contexts, size)
    noise = -(-draws.uniform(0, 0, contexts, size, stream=_TOKENS).to(log_probs.device).log()).log()
    keys = (log_probs + noise).scatter(1, gold.unsqueeze(1), torch.inf)
    return keys.topk(most, dim=1, sorted=False).indices


def next_token_log_probs(oracle: LanguageModel, tokens: Tensor, contexts: Contexts, tried: Tensor) -> Tensor:
    """The oracle's log-probabilities of the tried tokens after each context, [contexts, k]."""
    found = torch.empty(tried.shape, dtype=torch.float64, device=tried.device)
    if isinstance(oracle, NeuralLanguageModel):  # what contexts need, a third of all positions
        with oracle.inference():
            features = oracle.features(preceded_by_start(tokens.to(oracle.device), oracle.vocabulary.start))
            found[:] = oracle.project(features[contexts.rows, contexts.positions]).gather(1, tried).double()
        return found
    for scored in oracle.score(tokens):
        here = ((contexts.positions >= scored.positions.start) & (contexts.positions < scored.positions.stop)).nonzero()
        here = here.squeeze(1)
        places = contexts.rows[here], contexts.positions[here] - scored.positions.start
        found[here] = scored.log_probs[places].gather(1, tried[here]).double()
    return found


def _continued(roll_ins: Tensor, batch: TokenBatch, branches: Branches, forced: Tensor) -> tuple[Tensor, Tensor]:
    """Roll-ins up to their branches, the tried tokens, then the reference's suffixes; and what of that is real."""
    before = torch.arange(roll_ins.shape[1], device=roll_ins.device) < branches.positions.unsqueeze(1)
    tokens = torch.where(before, roll_ins[branches.rows], batch.tokens[branches.rows])
    real = before | batch.real[branches.rows]
    places = torch.arange(len(branches), device=roll_ins.device), branches.positions
    tokens[places], real[places] = forced, True
    return tokens, real
