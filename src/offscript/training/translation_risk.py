"""Minimum risk training for translation as Shen et al. (2016) describe it: sentence-BLEU over sampled candidates."""

from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.learning import Fleet, Loss, OptimiserSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.sampling.generation import generate, lengths_until
from offscript.statistics.translation import sentence_bleu
from offscript.training.algorithm import Algorithm, AlgorithmSettings, Step, TokenBatch, real_until
from offscript.training.rewards import differentiable_log_likelihoods, repeated, risk


class TranslationRiskSettings(AlgorithmSettings):
    """How many candidates a source gets, and how sharp the distribution over them is."""

    candidates: int = Field(20, ge=1, description="translations drawn for each source, beside the reference")
    alpha: float = Field(0.005, gt=0, description="sharpness of the distribution over candidates (eq. 11)")
    longer: float = Field(1.5, ge=1, description="the most tokens of a candidate for each token of the reference")


class TranslationRisk(Algorithm):
    """The expected 1 - BLEU under Q(y | x) ∝ P(y | x)^α over candidates, the reference among them (eq. 10-11)."""

    name: ClassVar[str] = "minimum-risk-bleu"
    Settings: ClassVar[type[AlgorithmSettings]] = TranslationRiskSettings
    keeps_newest: ClassVar[bool] = True
    settings: TranslationRiskSettings

    def prepare(self, model: NeuralLanguageModel, optimiser: OptimiserSettings, fleet: Fleet) -> None:
        if model.vocabulary.end is None:
            raise OffscriptError("minimum-risk-bleu needs sequences that end", next="take a vocabulary with an end")

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        tokens = self._candidates(model, batch, step)
        flat, shape = tokens.flatten(0, 1), tokens.shape[:2]
        end = model.vocabulary.end
        real = real_until(lengths_until(flat, end), flat.shape[1])
        rewards = torch.tensor(_rewards(model, tokens)).to(flat.device)
        given = model.of_rows(torch.arange(len(flat)))
        ours = differentiable_log_likelihoods(given, flat, real).view(shape)
        valid = ~repeated(tokens)
        expected = risk(self.settings.alpha * ours, rewards, valid)
        # The step loop divides by the number of tokens; the risk is a mean over sources.
        return Loss(expected * batch.real.sum() / len(batch.tokens), logged={"bleu": float(rewards[1:].mean()) * 100})

    def _candidates(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Tensor:
        """The reference and draws of the model, [candidates + 1, rows, time], filled up with end tokens."""
        rows, time = batch.tokens.shape
        end, longest = model.vocabulary.end, int(time * self.settings.longer)
        assert end is not None
        reference = torch.full((rows, longest), end, device=batch.tokens.device)
        reference[:, :time] = batch.tokens.masked_fill(~batch.real, end)
        count = self.settings.candidates
        drawn = generate(model, rows * count, longest, seed=step.seed, batch_size=rows * count).tokens
        return torch.cat([reference.unsqueeze(0), drawn.to(reference.device).view(count, rows, longest)])


def _rewards(model: NeuralLanguageModel, tokens: Tensor) -> list[list[float]]:
    """Sentence-BLEU of every candidate from 0 to 1, [candidates + 1, rows]; the reference has 1."""
    end: Any = model.vocabulary.end
    rows = [[model.vocabulary.decode(_before(row, end)) for row in each] for each in tokens.tolist()]
    return [[sentence_bleu(text, wanted) for text, wanted in zip(each, rows[0], strict=True)] for each in rows]


def _before(row: list[int], end: int) -> list[int]:
    return row[: row.index(end)] if end in row else row
