"""The text GANs' convolutional discriminator (Zhang and LeCun 2015; Yu et al. 2017): real or generated?"""

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn import functional


class ConvolutionSettings(BaseModel):
    """Sizes of the network: so many filters for each width of window, in tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    embedding: int = Field(32, ge=1)
    windows: tuple[int, ...] = Field((1, 2, 3, 4, 5), min_length=1)
    filters: int = Field(32, ge=1)
    dropout: float = Field(0.25, ge=0, lt=1)

    @property
    def width(self) -> int:
        """How many features a sequence has."""
        return self.filters * len(self.windows)


class ConvolutionalDiscriminator(nn.Module):
    """Windows over the embedded tokens, the largest answer of each filter, a highway, and one logit.

    A window ends at a token and reaches back over nothing where the sequence has not begun. So the features of every
    prefix are running maxima, and all of them cost no more than those of the whole.
    """

    def __init__(self, size: int, settings: ConvolutionSettings) -> None:
        super().__init__()
        self.settings = settings
        self.embedding = nn.Parameter(torch.randn(size, settings.embedding) * settings.embedding**-0.5)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(settings.embedding, settings.filters, window) for window in settings.windows
        )
        self.highway = nn.Linear(settings.width, 2 * settings.width)
        self.dropout = nn.Dropout(settings.dropout)
        self.output = nn.Linear(settings.width, 1)

    def forward(self, sequences: Tensor) -> Tensor:
        """A logit [rows] for tokens [rows, time], or for distributions over them [rows, time, V]."""
        logits: Tensor = self.output(self.dropout(self.features(sequences))).squeeze(1)
        return logits

    def features(self, sequences: Tensor) -> Tensor:
        """Features [rows, width] of whole sequences."""
        return self.mixed(self.responses(self.embedded(sequences)).amax(dim=2))

    def prefix_features(self, tokens: Tensor) -> Tensor:
        """Features [rows, time + 1, width] of every prefix of tokens [rows, time], from the empty one to the whole."""
        nothing = torch.zeros(len(tokens), self.settings.width, 1, device=tokens.device)
        responses = torch.cat([nothing, self.responses(self.embedded(tokens))], dim=2)
        return self.mixed(responses.cummax(dim=2).values.transpose(1, 2))

    def embedded(self, sequences: Tensor) -> Tensor:
        """[rows, embedding, time]."""
        relaxed = sequences.is_floating_point()
        return (sequences @ self.embedding if relaxed else self.embedding[sequences]).transpose(1, 2)

    def responses(self, embedded: Tensor) -> Tensor:
        """What every filter answers to the window that ends at each token, [rows, width, time]."""
        answers = (
            convolution(functional.pad(embedded, (window - 1, 0)))
            for window, convolution in zip(self.settings.windows, self.convolutions, strict=True)
        )
        return torch.cat(list(answers), dim=1).relu()

    def mixed(self, pooled: Tensor) -> Tensor:
        """The highway (Srivastava et al. 2015): gate · relu(transformed) + (1 - gate) · pooled, on [..., width]."""
        gate, transformed = self.highway(pooled).chunk(2, dim=-1)
        gate = gate.sigmoid()
        mixed: Tensor = gate * transformed.relu() + (1 - gate) * pooled
        return mixed
