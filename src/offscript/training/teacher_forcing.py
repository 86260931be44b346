"""Teacher forcing: maximum likelihood of every token under the data's own history."""

from typing import ClassVar

from torch import Tensor
from torch.nn import functional

from offscript.learning import Loss
from offscript.models.neural import NeuralLanguageModel
from offscript.training.algorithm import Algorithm, Step, TokenBatch

_IGNORED = -100


class TeacherForcing(Algorithm):
    """Negative log-likelihood of the data (eq. 1 of the exposure-bias paper, eq. 16 of the regret paper)."""

    name: ClassVar[str] = "teacher-forcing"

    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        return Loss(negative_log_likelihood(model.logits(batch.tokens), batch))


def negative_log_likelihood(logits: Tensor, batch: TokenBatch) -> Tensor:
    """Of the batch's real tokens under logits [rows, time, V], summed."""
    targets = batch.tokens.masked_fill(~batch.real, _IGNORED)
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=_IGNORED, reduction="sum")
