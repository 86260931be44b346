"""Cooperative training (CoT, Lu et al. 2018): a mediator learns the mean of data and model, the model follows it.

The mediator M is taught, by maximum likelihood, half by data and half by the generator's samples; the generator G then
lowers its divergence from M token by token. Together they lower the Jensen-Shannon divergence of data and generator.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from offscript.learning import Fleet, Loss, OptimiserSettings, build_optimiser, update
from offscript.models.language_model import LanguageModel
from offscript.models.neural import NeuralLanguageModel
from offscript.models.storage import build
from offscript.training.algorithm import (
    Algorithm,
    AlgorithmSettings,
    Step,
    TokenBatch,
    draw_batch,
    load_oracle,
    summed_log_likelihoods,
)
from offscript.training.likelihood import negative_log_likelihood

_SIZES = {"lstm": ("hidden", "embedding"), "transformer": ("width",)}
"""What of each kind of network the mediator multiplies."""


class CooperativeSettings(AlgorithmSettings):
    """The mediator's size and how many steps each of the two takes; the paper's are 2, 4 and 1 (App. B)."""

    mediator_size: int = Field(2, ge=1, description="widths of the mediator over those of the generator")
    mediator_steps: int = Field(4, ge=1, description="the batch is parted among them, so that no step sees old data")
    generator_steps: int = Field(1, ge=1, description="steps of the generator for each round of the mediator's")
    mediator_learning_rate: float | None = Field(None, gt=0, description="None: the recipe's")
    oracle: str | None = Field(None, description="the data's true model, if known: with it the logged JS is absolute")
    stop_at_end: bool = Field(True, description="false where end tokens are ordinary ones, as in packed rows")


class Cooperative(Algorithm):
    """The generator's loss is KL(G‖M) over next tokens, at every context that the generator itself draws."""

    name: ClassVar[str] = "cooperative"
    Settings: ClassVar[type[AlgorithmSettings]] = CooperativeSettings
    keeps_newest: ClassVar[bool] = True
    settings: CooperativeSettings
    mediator: NeuralLanguageModel
    _optimiser: torch.optim.Optimizer
    _clip: float | None
    _fleet: Fleet
    _oracle: LanguageModel | None

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:
        self.mediator = mediator_for(model, self.settings.mediator_size)
        rate = self.settings.mediator_learning_rate or optimiser.learning_rate
        self._optimiser = build_optimiser(self.mediator, optimiser.model_copy(update={"learning_rate": rate}))
        self._clip, self._fleet = optimiser.clip, fleet
        self._oracle = None if self.settings.oracle is None else load_oracle(self.settings.oracle, model)

    def networks(self) -> dict[str, nn.Module]:
        return {"mediator": self.mediator}

    def optimisers(self) -> dict[str, torch.optim.Optimizer]:
        return {"mediator": self._optimiser}

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        if step.number % self.settings.generator_steps == 0:
            self._teach_mediator(model, batch, step)
        rows, time = batch.tokens.shape
        drawn = self._drawn(model, rows, time, (*step.seed, 0))
        own = model.logits(drawn.tokens).float().log_softmax(dim=-1)
        with self.mediator.inference():
            guide = self.mediator.logits(drawn.tokens).float().log_softmax(dim=-1)
        divergences = next_token_divergences(own, guide.clone())  # what inference made cannot be differentiated by
        return Loss(divergences[drawn.real].sum(), logged=self._estimate(model, batch, drawn))

    def _teach_mediator(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> None:
        """One update for each part of the batch, on as many samples of the generator as there are sequences in it."""
        parts = torch.arange(len(batch.tokens), device=batch.tokens.device).chunk(self.settings.mediator_steps)
        self.mediator.train()
        for number, rows in enumerate(parts, start=1):
            data = TokenBatch(batch.tokens[rows], batch.real[rows])
            drawn = self._drawn(model, len(rows), batch.tokens.shape[1], (*step.seed, number))
            losses = [negative_log_likelihood(self.mediator.logits(part.tokens), part) for part in (data, drawn)]
            tokens = self._fleet.total(float(data.real.sum() + drawn.real.sum()))
            update(self._optimiser, torch.stack(losses).sum() / tokens, clip=self._clip, fleet=self._fleet)

    def _drawn(self, model: NeuralLanguageModel, rows: int, time: int, seed: tuple[int, ...]) -> TokenBatch:
        return draw_batch(model, rows, time, seed=seed, stop_at_end=self.settings.stop_at_end)

    def _estimate(self, model: NeuralLanguageModel, data: TokenBatch, drawn: TokenBatch) -> dict[str, float]:
        """JS of data and generator in nats per sequence: (KL(data‖M) + KL(G‖M)) / 2 on the step's sequences.

        Without an oracle the data's own entropy is unknown: `balanced_nll` is the estimate plus half of it.
        """
        of_data = -summed_log_likelihoods(self.mediator, data.tokens, data.real)
        of_drawn = summed_log_likelihoods(model, drawn.tokens, drawn.real)
        of_drawn = of_drawn - summed_log_likelihoods(self.mediator, drawn.tokens, drawn.real)
        balanced = float(of_data.mean() + of_drawn.mean()) / 2
        if self._oracle is None:
            return {"balanced_nll": balanced}
        entropy = -float(summed_log_likelihoods(self._oracle, data.tokens, data.real).mean())
        return {"balanced_nll": balanced, "estimated_js": balanced - entropy / 2}


def next_token_divergences(own: Tensor, guide: Tensor) -> Tensor:
    """KL(G‖M) over the vocabulary from log-probabilities [..., V]; contexts are taken as given (Lu et al., eq. 10)."""
    return (own.exp() * (own - guide)).sum(dim=-1)


def mediator_for(model: NeuralLanguageModel, size: int) -> NeuralLanguageModel:
    """A fresh network of the model's kind, `size` times as wide."""
    settings = model.settings.model_dump()
    for key in _SIZES[model.kind]:
        settings[key] *= size
    return build(model.kind, settings, model.vocabulary).to(model.device)
