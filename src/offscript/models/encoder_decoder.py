"""A transformer with an encoder for the source and a decoder for the target: pre-norm, one embedding for all of it."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from offscript.corpora.vocabularies import Vocabulary
from offscript.errors import OffscriptError
from offscript.models.language_model import State
from offscript.models.neural import NeuralLanguageModel
from offscript.models.sources import Seq2SeqLanguageModel, Sources, needs_sources

Pair = tuple[Tensor, Tensor]
"""Keys and values of one layer, [rows, heads, time, width of a head]."""


class EncoderDecoderSettings(BaseModel):
    """Sizes of the network; `context` is the longest source or target, end or start token included."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: int = Field(256, ge=4, le=1 << 20)
    inner: int | None = Field(
        None, ge=1, le=1 << 20, description="width of the feed-forward layers; four times the width if left out"
    )
    encoder_layers: int = Field(3, ge=1, le=1000)
    decoder_layers: int = Field(3, ge=1, le=1000)
    heads: int = Field(4, ge=1, le=1 << 20)
    context: int = Field(256, ge=2, le=1 << 20)
    dropout: float = Field(0.0, ge=0, lt=1)

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "EncoderDecoderSettings":
        if self.width % self.heads or self.width % 2:
            raise ValueError(f"width {self.width} does not divide into {self.heads} heads")
        return self


@dataclass(frozen=True)
class _Reading(State):
    """What the decoder has read (a pair a layer), and the encoded sources it looks at (a pair a layer)."""

    past: tuple[Pair, ...]
    sources: tuple[Pair, ...]
    hidden: Tensor | None  # [rows, 1, 1, time]: 0 at a source's tokens, -inf at padding; None without padding

    @property
    def time(self) -> int:
        return self.past[0][0].shape[2] if self.past else 0

    def select(self, rows: Tensor) -> "_Reading":
        return _Reading(
            tuple((keys[rows], values[rows]) for keys, values in self.past),
            tuple((keys[rows], values[rows]) for keys, values in self.sources),
            None if self.hidden is None else self.hidden[rows],
        )

    def reorder(self, rows: Tensor) -> "_Reading":
        """As `select`, where every row keeps its source."""
        past = tuple((keys[rows], values[rows]) for keys, values in self.past)
        return _Reading(past, self.sources, self.hidden)


class _Attention(nn.Module):
    """Queries from one place, keys and values from the same or from another."""

    def __init__(self, settings: EncoderDecoderSettings, *, crossed: bool = False) -> None:
        super().__init__()
        width = settings.width
        self.heads, self.dropout, self.crossed = settings.heads, settings.dropout, crossed
        self.mixing = nn.Linear(width, width if crossed else 3 * width)
        self.looking = nn.Linear(width, 2 * width) if crossed else None
        self.joining = nn.Linear(width, width)

    def pair_of(self, read: Tensor) -> Pair:
        """Keys and values of what another sequence reads, for cross-attention."""
        assert self.looking is not None
        keys, values = self._split(self.looking(read), 2)
        return keys, values

    def forward(self, read: Tensor, pair: Pair | None, hidden: Tensor | None) -> tuple[Tensor, Pair]:
        """`pair` holds what was read before, or for cross-attention what is looked at; `hidden` is added to scores."""
        if self.crossed:
            assert pair is not None
            (queries,) = self._split(self.mixing(read), 1)
            keys, values = pair
        else:
            queries, keys, values = self._split(self.mixing(read), 3)
            if pair is not None:
                keys, values = torch.cat([pair[0], keys], dim=2), torch.cat([pair[1], values], dim=2)
        scores = queries @ keys.transpose(-1, -2) * keys.shape[-1] ** -0.5
        if hidden is not None:
            scores = scores + hidden
        attended = scores.softmax(dim=-1).to(values.dtype) @ values
        joined: Tensor = self.joining(attended.transpose(1, 2).flatten(2))
        return joined, (keys, values)

    def _split(self, mixed: Tensor, parts: int) -> tuple[Tensor, ...]:
        rows, time, width = mixed.shape
        return mixed.view(rows, time, parts, self.heads, width // parts // self.heads).permute(2, 0, 3, 1, 4).unbind(0)


class _Layer(nn.Module):
    """Attention to itself, for a decoder attention to the source, then a feed-forward layer; norms come first."""

    def __init__(self, settings: EncoderDecoderSettings, *, decodes: bool) -> None:
        super().__init__()
        width, inner = settings.width, settings.inner or 4 * settings.width
        self.dropout = settings.dropout
        self.before_itself, self.itself = nn.LayerNorm(width), _Attention(settings)
        self.before_source = nn.LayerNorm(width) if decodes else None
        self.source = _Attention(settings, crossed=True) if decodes else None
        self.before_feed = nn.LayerNorm(width)
        self.widening, self.narrowing = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(
        self, read: Tensor, past: Pair | None, hidden: Tensor | None, source: Pair | None, padding: Tensor | None
    ) -> tuple[Tensor, Pair]:
        attended, pair = self.itself(self.before_itself(read), past, hidden)
        read = read + self._dropped(attended.float())
        if self.source is not None and self.before_source is not None:
            attended, _ = self.source(self.before_source(read), source, padding)
            read = read + self._dropped(attended.float())
        fed = self.narrowing(self._dropped(functional.relu(self.widening(self.before_feed(read)))))
        return read + self._dropped(fed.float()), pair

    def pair_of(self, encoded: Tensor) -> Pair:
        """Keys and values of encoded sources [rows, time, width]."""
        assert self.source is not None
        return self.source.pair_of(encoded)

    def _dropped(self, values: Tensor) -> Tensor:
        return dropped(values, self.dropout) if self.training else values


class EncoderDecoder(NeuralLanguageModel, Seq2SeqLanguageModel):
    """One embedding for sources, targets and the output; sinusoidal positions; `given` makes it a language model."""

    kind: ClassVar[str] = "encoder-decoder"
    settings: EncoderDecoderSettings
    places: Tensor

    def __init__(self, vocabulary: Vocabulary, settings: EncoderDecoderSettings) -> None:
        super().__init__(vocabulary, settings)
        if vocabulary.end is None:
            raise OffscriptError("a translation model needs an end token", next="take a vocabulary that has one")
        self.embedding = nn.Embedding(vocabulary.inputs, settings.width)
        nn.init.normal_(self.embedding.weight, std=settings.width**-0.5)
        self.encoder = nn.ModuleList(_Layer(settings, decodes=False) for _ in range(settings.encoder_layers))
        self.decoder = nn.ModuleList(_Layer(settings, decodes=True) for _ in range(settings.decoder_layers))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(settings.width), nn.LayerNorm(settings.width)
        self.register_buffer("places", _sinusoids(settings.context, settings.width), persistent=False)
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.xavier_uniform_(part.weight)
                nn.init.zeros_(part.bias)

    def given(self, sources: Sources) -> "GivenNetwork":
        return GivenNetwork(self, sources)

    def features(self, inputs: Tensor) -> Tensor:
        raise needs_sources(self.name)

    def unnormalised(self, features: Tensor) -> Tensor:
        return functional.linear(features, self.embedding.weight[: self.vocabulary.size])

    def look_at(self, sources: Sources) -> _Reading:
        """The state of targets of which nothing is read yet: every layer's keys and values of the encoded sources."""
        tokens, real = sources.tokens.to(self.device), sources.real.to(self.device)
        hidden = None
        if not bool(real.all()):
            hidden = torch.zeros(real.shape, device=self.device).masked_fill(~real, -math.inf)[:, None, None]
        read = self._embedded(tokens, 0)
        for layer in self.encoder:
            read, _ = layer(read, None, hidden, None, None)
        read = self.encoder_norm(read)
        return _Reading((), tuple(_layer(each).pair_of(read) for each in self.decoder), hidden)

    def decode(self, inputs: Tensor, state: _Reading) -> tuple[Tensor, _Reading]:
        """Features [rows, time, width] after each of the inputs [rows, time], and the state after the last."""
        before, time = state.time, inputs.shape[1]
        read, unseen, past = self._embedded(inputs, before), None, []
        if time > 1:
            unseen = torch.full((time, before + time), -math.inf, device=inputs.device).triu(diagonal=before + 1)
        for number, layer in enumerate(self.decoder):
            own = state.past[number] if state.past else None
            read, pair = layer(read, own, unseen, state.sources[number], state.hidden)
            past.append(pair)
        return self.decoder_norm(read), _Reading(tuple(past), state.sources, state.hidden)

    def _embedded(self, tokens: Tensor, before: int) -> Tensor:
        after = before + tokens.shape[1]
        if after > self.settings.context:
            raise OffscriptError(
                f"{after} tokens are more than the model's context of {self.settings.context}",
                next="give shorter sources, or ask for shorter sequences",
            )
        read = self.embedding(tokens) * self.settings.width**0.5 + self.places[before:after]
        return dropped(read, self.settings.dropout) if self.training else read


class GivenNetwork(NeuralLanguageModel):
    """The network with a source for every row; it shares the network's weights."""

    settings: EncoderDecoderSettings

    def __init__(self, network: EncoderDecoder, sources: Sources) -> None:
        super().__init__(network.vocabulary, network.settings)
        self.network, self.sources, self.name = network, sources, network.name
        self.training = network.training

    @property
    def conditions(self) -> int:
        return len(self.sources)

    def of_rows(self, rows: Tensor) -> "GivenNetwork":
        return GivenNetwork(self.network, self.sources.of_rows(rows))

    @property
    def weight_hash(self) -> str:
        return self.sources.hash_with(self.network.weight_hash)

    def features(self, inputs: Tensor) -> Tensor:
        self.sources.require(len(inputs))
        features, _ = self.network.decode(inputs, self.network.look_at(self.sources))
        return features

    def unnormalised(self, features: Tensor) -> Tensor:
        return self.network.unnormalised(features)

    def begin(self, rows: int) -> _Reading:
        self.sources.require(rows)
        with self.inference():
            return self.network.look_at(self.sources)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Reading]:
        return self.read(state, tokens.unsqueeze(1))

    def read(self, state: State, tokens: Tensor) -> tuple[Tensor, _Reading]:
        assert isinstance(state, _Reading)
        with self.inference():
            features, state = self.network.decode(tokens.to(self.device), state)
            return self.project(features[:, -1]), state


def _layer(part: nn.Module) -> _Layer:
    assert isinstance(part, _Layer)
    return part


def dropped(values: Tensor, rate: float) -> Tensor:
    """Dropout from bytes: torch's own draws a number per value, which takes a sixth of a training step on a CPU.

    The rate is rounded to 1/256.
    """
    threshold = round(rate * 256)
    if threshold == 0:
        return values
    words = torch.empty(-(-values.numel() // 8), dtype=torch.long, device=values.device)
    words.random_(-(2**63), None)
    kept = words.view(torch.uint8)[: values.numel()].view(values.shape) >= threshold
    return values * (kept.to(values.dtype) * (256 / (256 - threshold)))


def _sinusoids(context: int, width: int) -> Tensor:
    """Positions as Vaswani et al. (2017) encode them, [context, width]."""
    rates = 10_000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(context).unsqueeze(1) * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)
