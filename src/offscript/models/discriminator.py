"""The text GANs' convolutional discriminator (Zhang and LeCun 2015; Yu et al. 2017): real or generated?"""

from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

ORIGINAL_WINDOWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20)
ORIGINAL_FILTERS = (100, 200, 200, 200, 200, 100, 100, 100, 100, 100, 160, 160)
"""SeqGAN's sizes for sequences of 20 tokens (Yu et al. 2017, appendix)."""


class ConvolutionSettings(BaseModel):
    """Sizes of the network: so many filters for each width of window, in tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    embedding: int = Field(32, ge=1)
    windows: tuple[int, ...] = Field((1, 2, 3, 4, 5), min_length=1)
    filters: int | tuple[int, ...] = Field(32, description="of every window, or of each one in turn")
    dropout: float = Field(0.25, ge=0, lt=1)
    highway: Literal["separate", "shared"] = Field(
        "separate", description="whether gate and transform have a matrix each, as in SeqGAN, or share one"
    )
    highway_bias: float = Field(0.0, description="added to the gate; -2 lets most features pass at first")

    @model_validator(mode="after")
    def _a_number_for_each_window(self) -> "ConvolutionSettings":
        if len(self.each) != len(self.windows) or min(self.each) < 1 or min(self.windows) < 1:
            raise ValueError(f"needs one positive number of filters per window, got {self.filters} for {self.windows}")
        return self

    @property
    def each(self) -> tuple[int, ...]:
        """The number of filters of each window."""
        return (self.filters,) * len(self.windows) if isinstance(self.filters, int) else self.filters

    @property
    def width(self) -> int:
        """How many features a sequence has."""
        return sum(self.each)


class ConvolutionalDiscriminator(nn.Module):
    """Windows over the embedded tokens, the largest answer of each filter, a highway, and one logit.

    Only windows that lie within the sequence count; where none does, the filter answers 0. So the features of every
    prefix are running maxima, and all of them cost no more than those of the whole.
    """

    def __init__(self, size: int, settings: ConvolutionSettings) -> None:
        super().__init__()
        self.settings = settings
        self.embedding = nn.Parameter(torch.randn(size, settings.embedding) * settings.embedding**-0.5)
        self.convolutions = nn.ModuleList(
            nn.Linear(window * settings.embedding, filters)
            for window, filters in zip(settings.windows, settings.each, strict=True)
        )
        self.highway = nn.Linear(settings.width, settings.width * (1 if settings.highway == "shared" else 2))
        self.dropout = nn.Dropout(settings.dropout)
        self.output = nn.Linear(settings.width, 1)

    def forward(self, sequences: Tensor) -> Tensor:
        """A logit [rows] for tokens [rows, time], or for distributions over them [rows, time, V]."""
        return self.logits(self.features(sequences))

    def logits(self, features: Tensor) -> Tensor:
        """A logit [rows] for the features [rows, width] of sequences."""
        logits: Tensor = self.output(self.dropout(features)).squeeze(1)
        return logits

    def features(self, sequences: Tensor) -> Tensor:
        """Features [rows, width] of whole sequences."""
        return self.mixed(self.pooled(self.embedded(sequences)))

    def prefix_features(self, tokens: Tensor) -> Tensor:
        """Features [rows, time + 1, width] of every prefix of tokens [rows, time], from the empty one to the whole."""
        return self.mixed(self.prefix_maxima(tokens))

    def prefix_maxima(self, tokens: Tensor) -> Tensor:
        """As `prefix_features`, before the highway: [rows, time + 1, width]."""
        rows, time = tokens.shape
        maxima = torch.zeros(rows, time + 1, self.settings.width, device=tokens.device)
        first, embedded = 0, self.embedded(tokens)
        for window, convolution in self._pairs():
            if window <= time:
                answers = convolution(_windows(embedded, window)).relu()  # [rows, time - window + 1, filters]
                maxima[:, window:, first : first + convolution.out_features] = answers.cummax(dim=1).values
            first += convolution.out_features
        return maxima

    def continued_features(self, tokens: Tensor, kept: int, maxima: Tensor) -> Tensor:
        """Features of tokens [rows, time] whose first `kept` are a prefix with known maxima [rows, width].

        Only windows that end after the prefix are read, which is half of the work over all prefixes of a sequence.
        """
        first = max(0, kept + 1 - max(self.settings.windows))
        rest = self.pooled(self.embedded(tokens[:, first:]), kept - first)
        return self.mixed(torch.maximum(maxima, rest))

    def embedded(self, sequences: Tensor) -> Tensor:
        """[rows, time, embedding]."""
        if sequences.is_floating_point():
            return sequences @ self.embedding
        return functional.embedding(sequences, self.embedding)

    def pooled(self, embedded: Tensor, kept: int = 0) -> Tensor:
        """The largest answer of every filter [rows, width], of windows that end after the first `kept` tokens."""
        rows, time, _ = embedded.shape
        parts = []
        for window, convolution in self._pairs():
            if window > time:
                parts.append(embedded.new_zeros(rows, convolution.out_features))
                continue
            read = embedded[:, max(0, kept + 1 - window) :]
            weight, bias = convolution.weight, convolution.bias
            # The bias and the rectifier commute with the maximum, and cost less after it.
            parts.append((functional.linear(_windows(read, window), weight).amax(dim=1) + bias).relu())
        return torch.cat(parts, dim=1)

    def latest(self, embedded: Tensor, read: int) -> Tensor:
        """Every filter's answer [rows, width] to the window that ends at the last of [rows, time, embedding].

        `read` is the number of tokens that there are; what stands before them in `embedded` counts for nothing.
        """
        rows, time, _ = embedded.shape
        parts = [
            convolution(embedded[:, time - window :].flatten(1)).relu()
            if window <= read
            else embedded.new_zeros(rows, convolution.out_features)
            for window, convolution in self._pairs()
        ]
        return torch.cat(parts, dim=1)

    def mixed(self, pooled: Tensor) -> Tensor:
        """The highway (Srivastava et al. 2015): gate · relu(transformed) + (1 - gate) · pooled, on [..., width]."""
        answer = self.highway(pooled)
        gate, transformed = (answer, answer) if self.settings.highway == "shared" else answer.chunk(2, dim=-1)
        gate = (gate + self.settings.highway_bias).sigmoid()
        return torch.lerp(pooled, transformed.relu(), gate)

    def _pairs(self) -> list[tuple[int, nn.Linear]]:
        """Every width of window with its filters."""
        found = []
        for window, convolution in zip(self.settings.windows, self.convolutions, strict=True):
            assert isinstance(convolution, nn.Linear)
            found.append((window, convolution))
        return found


def _windows(embedded: Tensor, window: int) -> Tensor:
    """Every window of [rows, time, embedding] as one vector: [rows, time - window + 1, window * embedding]."""
    return embedded.unfold(1, window, 1).transpose(2, 3).flatten(2)
