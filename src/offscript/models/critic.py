"""The recurrent GAN's critic (Press et al. 2017): reads distributions one after the other, and answers one number."""

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn


class RecurrentCriticSettings(BaseModel):
    """Sizes of the network."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden: int = Field(128, ge=1, le=1 << 20)
    embedding: int = Field(32, ge=1, le=1 << 20)


class RecurrentCritic(nn.Module):
    """A gated recurrent unit over embedded distributions; its last state is projected to one number.

    It reads sequences of every length alike, as the curriculum needs. Gradients of its gradients exist, as the gradient
    penalty needs: no fused kernel is used.
    """

    def __init__(self, size: int, settings: RecurrentCriticSettings) -> None:
        super().__init__()
        self.settings = settings
        self.embedding = nn.Linear(size, settings.embedding, bias=False)
        self.recurrence = nn.GRU(settings.embedding, settings.hidden, batch_first=True)
        self.output = nn.Linear(settings.hidden, 1)

    def forward(self, sequences: Tensor) -> Tensor:
        """A number [rows] for distributions [rows, time, V]."""
        with torch.backends.cudnn.flags(enabled=False):  # cuDNN has no gradients of gradients
            read, _ = self.recurrence(self.embedding(sequences))
        numbers: Tensor = self.output(read[:, -1]).squeeze(1)
        return numbers
