"""The LSTM language model of the exposure-bias and text-GAN papers."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from offscript.corpora.vocabularies import Vocabulary
from offscript.models.language_model import State
from offscript.models.neural import NeuralLanguageModel

_LARGEST_TABLE = 1 << 25
_STEPS_TO_REPAY = 32


class LSTMSettings(BaseModel):
    """Sizes of the network; a tied output shares its weights with the embedding."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden: int = Field(512, ge=1, le=1 << 20)
    embedding: int = Field(512, ge=1, le=1 << 20)
    layers: int = Field(1, ge=1, le=1000)
    dropout: float = Field(0.0, ge=0, lt=1)
    tied: bool = False

    @model_validator(mode="after")
    def _tied_sizes_agree(self) -> "LSTMSettings":
        if self.tied and self.embedding != self.hidden:
            raise ValueError(f"a tied output needs embedding = hidden, not {self.embedding} and {self.hidden}")
        return self


@dataclass(frozen=True)
class _Memory(State):
    """Hidden and cell state, [rows, hidden] a layer, and the gate table where it pays."""

    hidden: tuple[Tensor, ...]
    cell: tuple[Tensor, ...]
    table: Tensor | None

    def select(self, rows: Tensor) -> "_Memory":
        hidden, cell = (tuple(layer[rows] for layer in part) for part in (self.hidden, self.cell))
        return _Memory(hidden, cell, self.table)


class LSTMLanguageModel(NeuralLanguageModel):
    """Embedding, LSTM layers, a linear output; dropout before, between and after the layers."""

    kind: ClassVar[str] = "lstm"
    settings: LSTMSettings

    def __init__(self, vocabulary: Vocabulary, settings: LSTMSettings) -> None:
        super().__init__(vocabulary, settings)
        between = settings.dropout if settings.layers > 1 else 0.0
        self.embedding = nn.Embedding(vocabulary.inputs, settings.embedding)
        self.recurrence = nn.LSTM(
            settings.embedding, settings.hidden, settings.layers, batch_first=True, dropout=between
        )
        self.output = None if settings.tied else nn.Linear(settings.hidden, vocabulary.size, bias=False)
        self.bias = nn.Parameter(torch.zeros(vocabulary.size))
        self.dropout = nn.Dropout(settings.dropout)
        self._table: tuple[tuple[Tensor, ...], Tensor] | None = None
        nn.init.normal_(self.embedding.weight, std=settings.embedding**-0.5)

    def features(self, inputs: Tensor) -> Tensor:
        read, _ = self.recurrence(self.dropout(self.embedding(inputs)))
        dropped: Tensor = self.dropout(read)
        return dropped

    def unnormalised(self, features: Tensor) -> Tensor:
        weight = self.embedding.weight[: self.vocabulary.size] if self.output is None else self.output.weight
        return functional.linear(features, weight, self.bias)

    def begin(self, rows: int) -> _Memory:
        zeros = (torch.zeros(rows, self.settings.hidden, device=self.device),) * self.settings.layers
        with self.inference():
            return _Memory(zeros, zeros, self._gate_table(rows))

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Memory]:
        with self.inference():
            features, memory = self._advanced(state, tokens)
            return self.project(features), memory

    def advance_unnormalised(self, state: State, tokens: Tensor) -> tuple[Tensor, _Memory]:
        with self.inference():
            features, memory = self._advanced(state, tokens)
            return self.unnormalised(features), memory

    def _advanced(self, state: State, tokens: Tensor) -> tuple[Tensor, _Memory]:
        """The last layer's features [rows, hidden] after one more token a row, and all layers' states."""
        assert isinstance(state, _Memory)
        tokens = tokens.to(self.device)
        hidden: list[Tensor] = []
        cell: list[Tensor] = []
        for layer in range(self.settings.layers):
            if layer == 0 and state.table is not None:
                gates = state.table[tokens]
            else:
                below = hidden[-1] if layer else self.embedding(tokens)
                gates = functional.linear(below, *self._input_weights(layer))
            after = self._step(layer, gates, state.hidden[layer], state.cell[layer])
            hidden.append(after[0])
            cell.append(after[1])
        return hidden[-1], _Memory(tuple(hidden), tuple(cell), state.table)

    def read(self, state: State, tokens: Tensor) -> tuple[Tensor, _Memory]:
        assert isinstance(state, _Memory)
        if tokens.shape[1] == 1:
            return self.advance(state, tokens[:, 0])
        with self.inference():
            before = torch.stack(state.hidden), torch.stack(state.cell)
            read, (hidden, cell) = self.recurrence(self.embedding(tokens.to(self.device)), before)
            return self.project(read[:, -1]), _Memory(hidden.unbind(), cell.unbind(), state.table)

    def _step(self, layer: int, gates: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
        recurrent = getattr(self.recurrence, f"weight_hh_l{layer}")
        enter, forget, candidate, leave = torch.addmm(gates, hidden, recurrent.t()).chunk(4, dim=-1)
        cell = forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()
        return leave.sigmoid() * cell.tanh(), cell

    def _input_weights(self, layer: int) -> tuple[Tensor, Tensor]:
        names = (f"weight_ih_l{layer}", f"bias_ih_l{layer}", f"bias_hh_l{layer}")
        weight, bias, other_bias = (getattr(self.recurrence, name) for name in names)
        return weight, bias + other_bias

    def _gate_table(self, rows: int) -> Tensor | None:
        """Every token's share in the first layer's gates, [inputs, 4 hidden], where `rows` sequences repay it.

        It is made again whenever a weight is not what it was made of. A copy of the weights tells: optimisers change
        them in place, and the fused ones leave their version counters alone.
        """
        size = self.vocabulary.inputs * 4 * self.settings.hidden
        if size > _LARGEST_TABLE or rows * _STEPS_TO_REPAY < self.vocabulary.inputs:
            return None
        weights = (self.embedding.weight, *self._input_weights(0))
        if self._table is None or not all(map(_same, self._table[0], weights)):
            self._table = tuple(part.clone() for part in weights), functional.linear(*weights)
        return self._table[1]


def _same(old: Tensor, new: Tensor) -> bool:
    return (old.device, old.dtype) == (new.device, new.dtype) and torch.equal(old, new)
