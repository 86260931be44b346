"""The contract that everything which predicts the next token keeps."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from offscript._abilities import Gives
from offscript.corpora.vocabularies import Vocabulary
from offscript.errors import OffscriptError

SCORE_BUDGET = 1 << 22
"""How many log-probabilities one scored chunk may hold: 16 MB in single precision, which is reused, not mapped anew."""

FEWEST_AT_ONCE = 32
"""Positions, of all rows together, that a scored chunk has at least: matrices of 4 to 10 rows take five times as long
per row, which a vocabulary of 262,144 tokens would otherwise come down to."""

_hashes: WeakKeyDictionary[nn.Module, tuple[list[tuple[int, int]], str]] = WeakKeyDictionary()


class State(Protocol):
    """What a model remembers of the tokens it has read, one row a sequence.

    `advance` consumes a state; to go on from one point in several ways, `select` copies first.
    """

    def select(self, rows: Tensor) -> "State":
        """A copy that holds the named rows in the given order, with repetition."""


@dataclass(frozen=True)
class Scored:
    """Next-token log-probabilities at consecutive positions; position t has read start and tokens 0 … t-1."""

    positions: range
    log_probs: Tensor  # [rows, len(positions), V]


class LanguageModel(ABC):
    """Next-token distributions, step by step or for whole sequences.

    The first token that `advance` reads is `vocabulary.start`; what it answers then is the distribution at
    position 0.
    """

    vocabulary: Vocabulary
    name: str = "unnamed"

    @property
    def noise(self) -> int:
        """How many normal numbers a drawn sequence begins with; none where draws from distributions are all chance."""
        return 0

    def given(self, condition: Any) -> "LanguageModel":
        """The model of sequences that depend on a condition: noise [rows, noise], or sources."""
        return self

    @property
    def conditions(self) -> int:
        """How many conditions it was given, such as sources, of which one row each is the least to read; 1 without."""
        return 1

    def of_rows(self, rows: Tensor) -> "LanguageModel":
        """The model as it is for the numbered rows [n], which follow each other in a batch.

        Where every row has a source of its own, row i has source i modulo their number.
        """
        return self

    @property
    def reading(self) -> str:
        """What the model reads before every text, in a sentence for the page; empty where that goes without saying."""
        return ""

    @property
    def gives(self) -> Gives:
        """What can be asked of it; a model behind an API may give less than its distributions."""
        return Gives.distributions

    @property
    def limits(self) -> str:
        """What it gives, in a sentence, for a question that needs more."""
        return f"{self.name} gives {self.gives.words}"

    @property
    def pace(self) -> float | None:
        """Tokens per second, where that is known without trying; None where it can be measured."""
        return None

    @property
    def device(self) -> torch.device:
        """Where tokens are read and distributions are answered."""
        return torch.device("cpu")

    @property
    @abstractmethod
    def weight_hash(self) -> str:
        """A hash of everything that decides the model's answers, for recipes."""

    @abstractmethod
    def begin(self, rows: int) -> State:
        """The state of `rows` sequences of which nothing is read yet."""

    @abstractmethod
    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """Read one token per row, [rows]; return the next log-probabilities [rows, V] and the new state."""

    def advance_unnormalised(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """As `advance`, except that a constant may be missing in each row: what draws from it needs no more."""
        return self.advance(state, tokens)

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        """Log-probabilities at the positions (all by default) of [rows, time] tokens, in chunks of bounded size.

        Models of one vocabulary cut the same tokens into the same chunks. Unless a model knows a faster way, it is
        asked step by step.
        """
        asked = checked_positions(tokens, positions)
        for chunk, log_probs in stepwise(self.advance, self.begin(len(tokens)), tokens, asked, self.vocabulary):
            yield Scored(chunk, log_probs)

    def read(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        """Read several tokens a row, [rows, time > 0]; answer the log-probabilities after the last."""
        for column in tokens.unbind(dim=1):
            log_probs, state = self.advance(state, column)
        return log_probs, state

    def start(self, rows: int, prefix: Tensor | None = None) -> tuple[Tensor, State]:
        """Read the start token and, if given, a prefix [rows, time]; answer as `advance` does."""
        opening = torch.full((rows, 1), self.vocabulary.start, dtype=torch.long, device=self.device)
        if prefix is not None:
            opening = torch.cat([opening, prefix.to(self.device)], dim=1)
        return self.read(self.begin(rows), opening)

    def log_likelihoods(
        self, tokens: Tensor, positions: range | None = None, lengths: Sequence[int] | None = None
    ) -> Tensor:
        """Log-probability of the tokens of [rows, time] at the positions, each given those before it.

        Args:
            tokens: Rows of tokens.
            positions: All by default.
            lengths: How many tokens of each row count; what is answered beyond them means nothing.
        """
        columns = []
        for scored in self.score(tokens, positions):
            chosen = tokens[:, scored.positions.start : scored.positions.stop].to(scored.log_probs.device)
            columns.append(scored.log_probs.gather(-1, chosen.unsqueeze(-1)).squeeze(-1))
        return torch.cat(columns, dim=1)

    def likeliest(
        self, tokens: Tensor, positions: range | None = None, lengths: Sequence[int] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Log-probability of the likeliest token at the positions, and whether it is the one that stands there.

        Args:
            tokens: Rows of tokens.
            positions: All by default.
            lengths: As of `log_likelihoods`.

        Returns:
            Two tables [rows, positions].
        """
        best, right = [], []
        for scored in self.score(tokens, positions):
            values, ids = scored.log_probs.max(dim=-1)
            best.append(values.cpu())
            right.append(ids.cpu() == tokens[:, scored.positions.start : scored.positions.stop].cpu())
        return torch.cat(best, dim=1), torch.cat(right, dim=1)

    def continue_texts(
        self, prefixes: Sequence[Sequence[int]], most: int, drawing: Mapping[str, float], seeds: Sequence[int]
    ) -> list[list[int]]:
        """Texts that somebody else draws: of models that give no distributions, which are drawn from here.

        Args:
            prefixes: The beginnings, as tokens.
            most: How many tokens follow at most.
            drawing: How they are drawn: `temperature`, `top_p`, `top_k`, `min_p`.
            seeds: One per text.

        Returns:
            What follows each prefix, with the end token where a text ended.
        """
        raise OffscriptError(f"{self.name} is drawn from by its distributions", next="call `generate`")

    def next_tokens(self, prefixes: Sequence[Sequence[int]], n: int, seeds: Sequence[int]) -> list[list[int]]:
        """n draws of the token that follows each prefix, of models that give texts alone.

        Args:
            prefixes: The beginnings, as tokens.
            n: How many draws follow each.
            seeds: One per prefix.
        """
        raise OffscriptError(f"{self.name} is drawn from by its distributions", next="call `approximate`")


@dataclass(frozen=True)
class History(State):
    """Everything that was read, the start token first."""

    tokens: Tensor  # [rows, time]

    def select(self, rows: Tensor) -> "History":
        return History(self.tokens[rows])


class HistoryModel(LanguageModel):
    """A model that keeps no state and reads whole histories at every step: fill in `predict`."""

    @abstractmethod
    def predict(self, histories: Tensor) -> Tensor:
        """Next-token log-probabilities [rows, V] after histories [rows, time], the start token first."""

    @property
    def weight_hash(self) -> str:
        """The model's name and class; a model with weights gives their hash."""
        return f"{self.name} {type(self).__qualname__}"

    def begin(self, rows: int) -> State:
        return History(torch.empty(rows, 0, dtype=torch.long, device=self.device))

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        assert isinstance(state, History)
        read = torch.cat([state.tokens, tokens.to(self.device).unsqueeze(1)], dim=1)
        with torch.inference_mode():
            return self.predict(read), History(read)


def stepwise(
    step: Callable[[State, Tensor], tuple[Tensor, State]],
    state: State,
    tokens: Tensor,
    positions: range,
    vocabulary: Vocabulary,
) -> Iterator[tuple[range, Tensor]]:
    """What a step answers at the positions of [rows, time] tokens, in chunks [rows, positions, V] of bounded size."""
    inputs, answers = preceded_by_start(tokens, vocabulary.start), []
    chunks = chunks_of(positions, len(tokens), vocabulary.size)
    chunk = next(chunks)
    for position, column in enumerate(inputs[:, : positions.stop].unbind(dim=1)):
        answer, state = step(state, column)
        if position >= positions.start:
            answers.append(answer)
        if len(answers) == len(chunk):
            yield chunk, torch.stack(answers, dim=1)
            chunk, answers = next(chunks, chunk), []


def chunks_of(positions: range, rows: int, width: int) -> Iterator[range]:
    """Cut positions so that rows x positions x width stays within `SCORE_BUDGET`, `FEWEST_AT_ONCE` at the least."""
    step = max(1, -(-FEWEST_AT_ONCE // max(1, rows)), SCORE_BUDGET // max(1, rows * width))
    for first in range(positions.start, positions.stop, step):
        yield range(first, min(first + step, positions.stop))


def checked_positions(tokens: Tensor, positions: range | None) -> range:
    """The positions asked for, all by default; refused where they leave the tokens."""
    time = tokens.shape[1]
    asked = range(time) if positions is None else positions
    if not asked or asked.step != 1 or asked.start < 0 or asked.stop > time:
        raise OffscriptError(
            f"cannot score positions {asked} of sequences with {time} tokens", next="ask for a range inside them"
        )
    return asked


def preceded_by_start(tokens: Tensor, start: int) -> Tensor:
    """What is read to predict the tokens: start, then all but the last."""
    opening = torch.full_like(tokens[:, :1], start)
    return torch.cat([opening, tokens[:, :-1]], dim=1)


def hash_of_weights(weights: Mapping[str, Tensor]) -> str:
    """SHA-256 over names and bytes, in the order of the names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def weight_hash_of(network: nn.Module) -> str:
    """The hash of a network's weights, computed again only where one of them was changed or replaced."""
    weights = network.state_dict()
    if any(tensor.is_inference() for tensor in weights.values()):
        return hash_of_weights(weights)  # what changes them is not counted
    versions = [(tensor.data_ptr(), tensor._version) for tensor in weights.values()]
    known = _hashes.get(network)
    if known is None or known[0] != versions:
        _hashes[network] = known = versions, hash_of_weights(weights)
    return known[1]


def require_same_vocabulary(model: LanguageModel, other: LanguageModel) -> None:
    """Two models can be compared token by token only when their ids mean the same symbols."""
    if model.vocabulary.fingerprint != other.vocabulary.fingerprint:
        raise OffscriptError(
            f"{model.name} and {other.name} have different vocabularies "
            f"({model.vocabulary.size} and {other.vocabulary.size} symbols)",
            why="their next-token distributions cannot be compared",
            next="take an oracle with the model's own vocabulary",
        )
