"""The contract of what only emits tokens: no distribution, just draws of what may follow a history."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from offscript.corpora.vocabularies import Vocabulary
from offscript.models.language_model import LanguageModel, State, preceded_by_start, stepwise

Model = TypeVar("Model", bound=LanguageModel)

_MULTIPLIER, _INCREMENT = 6364136223846793005, 1442695040888963407
"""Knuth's constants for arithmetic modulo 2⁶⁴, by which a history becomes a number."""

FLOOR = 0.5
"""What is added to every token's count (Krichevsky and Trofimov 1981): a token never drawn is rare, not impossible."""


@dataclass(frozen=True)
class _History(State):
    """Everything that was read, and the keys of the draws that follow it."""

    tokens: Tensor  # [rows, time]
    keys: Tensor  # [rows]
    n: int

    def select(self, rows: Tensor) -> "_History":
        return _History(self.tokens[rows], self.keys[rows.cpu()], self.n)


@dataclass(frozen=True)
class _Inner(State):
    """The state of a generator's own model, and the keys of the draws that follow what it has read."""

    inner: State
    keys: Tensor  # [rows]
    n: int

    def select(self, rows: Tensor) -> "_Inner":
        return _Inner(self.inner.select(rows), self.keys[rows.cpu()], self.n)


class Generator(ABC):
    """A sample-only source: it reads tokens and counts n draws of what follows.

    Draws depend on the seed and on the history alone. So what is made of them is one fixed distribution after each
    history, whatever else stands in the batch.
    """

    vocabulary: Vocabulary
    name: str = "generator"

    @property
    def device(self) -> torch.device:
        """Where histories are read."""
        return torch.device("cpu")

    @property
    @abstractmethod
    def weight_hash(self) -> str:
        """A hash of everything that decides the draws, for recipes."""

    @abstractmethod
    def begin(self, rows: int, n: int, seed: int) -> State:
        """The state of `rows` sequences of which nothing is read yet, and after which n tokens are drawn."""

    @abstractmethod
    def count(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """Read one token per row, [rows]; return how many of n draws were each token, [rows, V]."""

    def count_all(self, tokens: Tensor, positions: range, n: int, seed: int) -> Iterator[tuple[range, Tensor]]:
        """Counts [rows, positions, V] at the positions of [rows, time] tokens, in the chunks of every model."""
        return stepwise(self.count, self.begin(len(tokens), n, seed), tokens, positions, self.vocabulary)


class TokenSource(Generator):
    """A generator of which nothing is known but the tokens it answers to whole histories: fill in `draw`."""

    @abstractmethod
    def draw(self, histories: Tensor, n: int, keys: Tensor) -> Tensor:
        """Next tokens [rows, n] after histories [rows, time], start included; `keys` [rows] seed the rows' draws."""

    def begin(self, rows: int, n: int, seed: int) -> State:
        return _History(torch.empty(rows, 0, dtype=torch.long, device=self.device), first_keys(rows, seed), n)

    def count(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        assert isinstance(state, _History)
        read = torch.cat([state.tokens, tokens.to(self.device).unsqueeze(1)], dim=1)
        keys = next_keys(state.keys, tokens)
        return counted(self.draw(read, state.n, keys), self.vocabulary.size), _History(read, keys, state.n)


class ModelGenerator(Generator, Generic[Model]):
    """A generator that stands on a language model, whose weights decide its draws."""

    def __init__(self, model: Model) -> None:
        self.model, self.vocabulary, self.name = model, model.vocabulary, model.name

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def weight_hash(self) -> str:
        return self.model.weight_hash


class ContinuedTexts(TokenSource):
    """A generator of a model that gives texts alone: the first token of every continuation is a draw."""

    def __init__(self, model: LanguageModel) -> None:
        self.model, self.vocabulary, self.name = model, model.vocabulary, model.name

    @property
    def weight_hash(self) -> str:
        return self.model.weight_hash

    def draw(self, histories: Tensor, n: int, keys: Tensor) -> Tensor:
        return torch.tensor(self.model.next_tokens(histories[:, 1:].tolist(), n, keys.tolist()))


class InternalDistribution(ModelGenerator[LanguageModel]):
    """A generator that can hand out the distribution it draws from, as every language model can.

    The n draws after a history are one multinomial, at a cost that does not grow with n.
    """

    def begin(self, rows: int, n: int, seed: int) -> State:
        return _Inner(self.model.begin(rows), first_keys(rows, seed), n)

    def count(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        assert isinstance(state, _Inner)
        log_probs, inner = self.model.advance(state.inner, tokens)
        keys = next_keys(state.keys, tokens)
        return multinomial_counts(log_probs, state.n, keys), _Inner(inner, keys, state.n)

    def count_all(self, tokens: Tensor, positions: range, n: int, seed: int) -> Iterator[tuple[range, Tensor]]:
        keys = _keys_at(preceded_by_start(tokens, self.vocabulary.start)[:, : positions.stop], seed)
        for scored in self.model.score(tokens, positions):
            own = keys[:, scored.positions.start : scored.positions.stop].flatten()
            counts = multinomial_counts(scored.log_probs.flatten(0, 1), n, own)
            yield scored.positions, counts.view(scored.log_probs.shape)


def first_keys(rows: int, seed: int) -> Tensor:
    """The keys [rows] of draws before anything is read."""
    return torch.full((rows,), seed, dtype=torch.long)


def next_keys(keys: Tensor, tokens: Tensor) -> Tensor:
    """The keys of draws after one more token a row: a number for each history, modulo 2⁶⁴."""
    return (keys + tokens.cpu() + 1) * _MULTIPLIER + _INCREMENT


def counted(draws: Tensor, size: int) -> Tensor:
    """How often each of `size` tokens stands in draws [rows, n]: [rows, size]."""
    counts = torch.zeros(len(draws), size, dtype=torch.long, device=draws.device)
    return counts.scatter_add_(1, draws, torch.ones_like(draws))


def log_shares(counts: Tensor, n: int, floor: float) -> Tensor:
    """Log-probabilities [..., V] from counts of n draws: (count + floor) / (n + floor V), in double precision."""
    return ((counts.double() + floor) / (n + floor * counts.shape[-1])).log()


def multinomial_counts(log_probs: Tensor, n: int, keys: Tensor) -> Tensor:
    """Counts [rows, V] of n draws from each row of log-probabilities, on their device; key i decides row i.

    A counter-based generator is set to each row's key in turn: drawing in one call for all rows would make a row's
    counts depend on the rows before it.
    """
    probabilities = log_probs.double().softmax(dim=-1).cpu().numpy()
    bits = np.random.Philox(key=0)
    draws, state = np.random.Generator(bits), bits.state
    counts = np.empty(probabilities.shape, np.int64)
    for row, key in enumerate(keys.numpy().view(np.uint64)):
        state["state"]["key"][0] = key
        bits.state = state
        counts[row] = draws.multinomial(n, probabilities[row])
    return torch.from_numpy(counts).to(log_probs.device)


def _keys_at(inputs: Tensor, seed: int) -> Tensor:
    """The keys [rows, time] after each of the inputs [rows, time] in turn."""
    keys, columns = first_keys(len(inputs), seed), []
    for column in inputs.unbind(dim=1):
        keys = next_keys(keys, column)
        columns.append(keys)
    return torch.stack(columns, dim=1)
