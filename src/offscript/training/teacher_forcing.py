"""Teacher forcing: maximum likelihood of every token under the data's own history."""

from typing import ClassVar

from torch.nn import functional

from offscript.models.neural import NeuralLanguageModel
from offscript.training.algorithm import Algorithm, Loss, Step, TokenBatch

_IGNORED = -100


class TeacherForcing(Algorithm):
    """Negative log-likelihood of the data (eq. 1 of the exposure-bias paper, eq. 16 of the regret paper)."""

    name: ClassVar[str] = "teacher-forcing"

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        targets = batch.tokens.masked_fill(~batch.real, _IGNORED)
        logits = model.logits(batch.tokens)
        total = functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=_IGNORED, reduction="sum"
        )
        return Loss(total, {})
