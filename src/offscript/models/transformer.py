"""A causal transformer: pre-norm blocks, rotary or learned positions, a key-value cache."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from offscript.corpora.vocabularies import Vocabulary
from offscript.errors import OffscriptError
from offscript.models.language_model import State
from offscript.models.neural import NeuralLanguageModel


class TransformerSettings(BaseModel):
    """Sizes of the network; `context` is the longest sequence, start token included."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: int = Field(512, ge=2, le=1 << 20)
    layers: int = Field(3, ge=1, le=1000)
    heads: int = Field(8, ge=1, le=1 << 20)
    context: int = Field(512, ge=1, le=1 << 20)
    dropout: float = Field(0.0, ge=0, lt=1)
    positions: Literal["rotary", "learned"] = "rotary"
    tied: bool = False

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "TransformerSettings":
        if self.width % self.heads or (self.positions == "rotary" and (self.width // self.heads) % 2):
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads of even size")
        return self


@dataclass(frozen=True)
class _Cache(State):
    """Keys and values of everything read, a pair a layer, [rows, heads, time, width of a head]."""

    rows: int
    pairs: tuple[tuple[Tensor, Tensor], ...]

    @property
    def time(self) -> int:
        return self.pairs[0][0].shape[2] if self.pairs else 0

    def select(self, rows: Tensor) -> "_Cache":
        return _Cache(len(rows), tuple((keys[rows], values[rows]) for keys, values in self.pairs))


class _Block(nn.Module):
    """Attention to what was read, then a feed-forward layer; both normalised before and added after."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        width = settings.width
        self.heads, self.rotary, self.dropout = settings.heads, settings.positions == "rotary", settings.dropout
        self.before_attention, self.before_feed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixing = nn.Linear(width, 3 * width, bias=False)
        self.joining = nn.Linear(width, width, bias=False)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, read: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        attended, pair = self._attend(self.before_attention(read), past)
        read = read + functional.dropout(attended, self.dropout, self.training)
        read = read + functional.dropout(self.feed(self.before_feed(read)), self.dropout, self.training)
        return read, pair

    def _attend(self, read: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        rows, time, width = read.shape
        split = self.mixing(read).view(rows, time, 3, self.heads, width // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)  # each [rows, heads, time, width of a head]
        before = 0 if past is None else past[0].shape[2]
        if self.rotary:
            queries, keys = _rotated(queries, before), _rotated(keys, before)
        if past is not None:
            keys, values = torch.cat([past[0], keys], dim=2), torch.cat([past[1], values], dim=2)
        attended = functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=_seen(time, before, read.device) if before and time > 1 else None,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=before == 0 and time > 1,
        )
        joined: Tensor = self.joining(attended.transpose(1, 2).reshape(rows, time, width))
        return joined, (keys, values)


class TransformerLanguageModel(NeuralLanguageModel):
    """Token embedding, blocks, a final norm, a linear output."""

    kind: ClassVar[str] = "transformer"
    settings: TransformerSettings

    def __init__(self, vocabulary: Vocabulary, settings: TransformerSettings) -> None:
        super().__init__(vocabulary, settings)
        self.embedding = nn.Embedding(vocabulary.inputs, settings.width)
        learned = settings.positions == "learned"
        self.places = nn.Embedding(settings.context, settings.width) if learned else None
        self.blocks = nn.ModuleList(_Block(settings) for _ in range(settings.layers))
        self.final_norm = nn.LayerNorm(settings.width)
        self.output = None if settings.tied else nn.Linear(settings.width, vocabulary.size, bias=False)
        self.dropout = nn.Dropout(settings.dropout)
        for part in (self.embedding, self.places):
            if part is not None:
                nn.init.normal_(part.weight, std=settings.width**-0.5)

    def features(self, inputs: Tensor) -> Tensor:
        return self._read(inputs, _Cache(len(inputs), ()))[0]

    def unnormalised(self, features: Tensor) -> Tensor:
        weight = self.embedding.weight[: self.vocabulary.size] if self.output is None else self.output.weight
        return functional.linear(features, weight)

    def begin(self, rows: int) -> _Cache:
        return _Cache(rows, ())

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Cache]:
        return self.read(state, tokens.unsqueeze(1))

    def read(self, state: State, tokens: Tensor) -> tuple[Tensor, _Cache]:
        assert isinstance(state, _Cache)
        with self.inference():
            features, cache = self._read(tokens.to(self.device), state)
            return self.project(features[:, -1]), cache

    def _read(self, inputs: Tensor, cache: _Cache) -> tuple[Tensor, _Cache]:
        before, after = cache.time, cache.time + inputs.shape[1]
        if after > self.settings.context:
            raise OffscriptError(
                f"{after} tokens are more than the model's context of {self.settings.context}",
                next="ask for shorter sequences",
            )
        read = self.embedding(inputs)
        if self.places is not None:
            read = read + self.places(torch.arange(before, after, device=inputs.device))
        read, pairs = self.dropout(read), []
        for layer, block in enumerate(self.blocks):
            read, pair = block(read, cache.pairs[layer] if cache.pairs else None)
            pairs.append(pair)
        return self.final_norm(read), _Cache(cache.rows, tuple(pairs))


def _seen(time: int, before: int, device: torch.device) -> Tensor:
    """Which of the `before + time` keys each of `time` new queries may look at."""
    return torch.ones(time, before + time, dtype=torch.bool, device=device).tril(diagonal=before)


def _rotated(vectors: Tensor, before: int) -> Tensor:
    """Rotary positions: each pair of coordinates turned by an angle that grows with the position."""
    time, width = vectors.shape[2:]
    rates = 10_000.0 ** (-torch.arange(0, width, 2, device=vectors.device) / width)
    angles = torch.arange(before, before + time, device=vectors.device).unsqueeze(1) * rates  # [time, width / 2]
    first, second = vectors[..., : width // 2], vectors[..., width // 2 :]
    cosine, sine = angles.cos().to(vectors.dtype), angles.sin().to(vectors.dtype)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)
