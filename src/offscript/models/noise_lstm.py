"""The recurrent GAN's generator (Press et al. 2017): an LSTM whose only chance is the noise in its first state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from offscript.corpora.vocabularies import Vocabulary
from offscript.models.generator import FLOOR, ModelGenerator, counted, log_shares
from offscript.models.language_model import SCORE_BUDGET, LanguageModel, Scored, State
from offscript.models.neural import NeuralLanguageModel

Memory = tuple[Tensor, Tensor]
_OPEN = 2.0
"""The first bias of the forget gates."""


class NoiseLSTMSettings(BaseModel):
    """Sizes of the network, and how many noise states speak for it where a distribution is asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden: int = Field(128, ge=1, le=1 << 20)
    embedding: int = Field(32, ge=1, le=1 << 20)
    noise: int = Field(16, ge=1, le=1 << 20, description="normal numbers that a sequence begins with")
    deviation: float = Field(1.0, gt=0, description="what noise is multiplied by; more makes sequences differ more")
    states: int = Field(64, ge=1, le=1 << 20, description="noise states whose mean is its next-token distribution")


@dataclass(frozen=True)
class _Ensemble(State):
    """Hidden and cell states of several noise states for each sequence."""

    hidden: Tensor  # [rows, n, hidden]
    cell: Tensor  # [rows, n, hidden]

    def select(self, rows: Tensor) -> "_Ensemble":
        return _Ensemble(self.hidden[rows], self.cell[rows])


class NoiseLSTM(NeuralLanguageModel):
    """Given its noise it emits one token for certain: the likeliest. The mean over the noise is its distribution.

    As a language model it is the vote of `states` noise states that are stored with the weights, half a vote added to
    every token. `offscript.models.approximate` asks any other number; what is drawn from it has noise of its own.
    """

    kind: ClassVar[str] = "noise-lstm"
    settings: NoiseLSTMSettings

    def __init__(self, vocabulary: Vocabulary, settings: NoiseLSTMSettings) -> None:
        super().__init__(vocabulary, settings)
        self.embedding = nn.Parameter(torch.randn(vocabulary.inputs, settings.embedding) * settings.embedding**-0.5)
        self.recurrence = nn.LSTM(settings.embedding, settings.hidden, batch_first=True)
        self.from_noise = nn.Linear(settings.noise, 2 * settings.hidden)
        self.output = nn.Linear(settings.hidden, vocabulary.size)
        with torch.no_grad():  # an open forget gate carries the noise on, else it is lost after a few tokens
            biases = dict(self.recurrence.named_parameters())["bias_ih_l0"]
            biases[settings.hidden : 2 * settings.hidden].fill_(_OPEN)
        self.states: Tensor
        self.register_buffer("states", torch.randn(settings.states, settings.noise))

    @property
    def noise(self) -> int:
        """How many normal numbers a drawn sequence begins with."""
        return self.settings.noise

    def features(self, inputs: Tensor, noise: Tensor | None = None) -> Tensor:
        """With noise [rows, noise], or with none of it."""
        noise = torch.zeros(len(inputs), self.noise, device=self.device) if noise is None else noise
        read, _ = self.recurrence(self.embedding[inputs], self.first_memory(noise))
        features: Tensor = read
        return features

    def unnormalised(self, features: Tensor) -> Tensor:
        logits: Tensor = self.output(features)
        return logits

    def first_memory(self, noise: Tensor) -> Memory:
        """Hidden and cell state [1, rows, hidden] that noise [rows, noise] begins with."""
        hidden, cell = self.from_noise(noise * self.settings.deviation).tanh().unsqueeze(0).chunk(2, dim=-1)
        return hidden.contiguous(), cell.contiguous()

    def relaxed(self, first: Tensor, memory: Memory, steps: int) -> Tensor:
        """Distributions [rows, steps, V], each read as it is in place of a token (the continuous relaxation).

        `first` [rows, embedding] is what is read first, after `memory`.
        """
        read, emitted = first.unsqueeze(1), []
        for _ in range(steps):
            features, memory = self.recurrence(read, memory)
            emitted.append(self.unnormalised(features).softmax(dim=-1))  # [rows, 1, V]
            read = emitted[-1] @ self.embedding[: self.vocabulary.size]
        return torch.cat(emitted, dim=1)

    def given(self, noise: Tensor) -> LanguageModel:
        return _Given(self, noise)

    def begin(self, rows: int) -> _Ensemble:
        return self.begin_with(self.states.expand(rows, -1, -1))

    def begin_with(self, noise: Tensor) -> _Ensemble:
        """The state of sequences with noise [rows, n, noise], of which nothing is read yet."""
        with self.inference():
            memory = self.first_memory(noise.reshape(-1, self.noise))
            return _Ensemble(*(part.view(*noise.shape[:2], -1) for part in memory))

    def vote(self, state: State, tokens: Tensor) -> tuple[Tensor, _Ensemble]:
        """Read one token per row; return how many of a row's noise states emit each token, [rows, V]."""
        assert isinstance(state, _Ensemble)
        n = state.hidden.shape[1]
        parts = [part.split(max(1, SCORE_BUDGET // (n * self._width))) for part in (state.hidden, state.cell)]
        sizes = [len(part) for part in parts[0]]
        counts, after = [], []
        with self.inference():
            for hidden, cell, read in zip(*parts, tokens.to(self.device).split(sizes), strict=True):
                memory = hidden.flatten(0, 1).unsqueeze(0), cell.flatten(0, 1).unsqueeze(0)
                features, memory = self.recurrence(self.embedding[read.repeat_interleave(n)].unsqueeze(1), memory)
                emitted = self.unnormalised(features.squeeze(1)).argmax(dim=-1)
                counts.append(counted(emitted.view(-1, n), self.vocabulary.size))
                after.append([part.view(hidden.shape) for part in memory])
            hidden, cell = (torch.cat(part) for part in zip(*after, strict=True))
            return torch.cat(counts), _Ensemble(hidden, cell)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Ensemble]:
        counts, after = self.vote(state, tokens)
        return log_shares(counts, self.settings.states, FLOOR), after

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        return LanguageModel.score(self, tokens, positions)

    def log_likelihoods(
        self, tokens: Tensor, positions: range | None = None, lengths: Sequence[int] | None = None
    ) -> Tensor:
        return LanguageModel.log_likelihoods(self, tokens, positions, lengths)

    @property
    def _width(self) -> int:
        """The most numbers that one noise state needs at one step."""
        return max(self.vocabulary.size, 4 * self.settings.hidden)


class _Given(LanguageModel):
    """The generator with noise [rows, noise] of its own for every sequence: nothing is left to chance."""

    def __init__(self, model: NoiseLSTM, noise: Tensor) -> None:
        self._model, self._noise = model, noise.to(model.device)
        self.vocabulary, self.name = model.vocabulary, model.name

    @property
    def device(self) -> torch.device:
        return self._model.device

    @property
    def weight_hash(self) -> str:
        return self._model.weight_hash

    def begin(self, rows: int) -> State:
        return self._model.begin_with(self._noise[:rows].unsqueeze(1))

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        counts, state = self._model.vote(state, tokens)
        return counts.double().log(), state


class NoiseStates(ModelGenerator[NoiseLSTM]):
    """The generator as a source of draws: n noise states run side by side, and each emits one token.

    All sequences share the n states, which the seed decides: an ensemble that votes at every position.
    """

    def begin(self, rows: int, n: int, seed: int) -> State:
        noise = torch.randn(n, self.model.noise, generator=torch.Generator().manual_seed(seed))
        return self.model.begin_with(noise.to(self.device).expand(rows, -1, -1))

    def count(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        return self.model.vote(state, tokens)
