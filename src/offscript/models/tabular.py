"""Models that are written down, not learnt: a table of next-token distributions, and the uniform distribution."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from offscript.corpora.records import read_json_value
from offscript.corpora.vocabularies import Vocabulary, WordVocabulary
from offscript.errors import OffscriptError
from offscript.models.language_model import (
    LanguageModel,
    Scored,
    State,
    checked_positions,
    chunks_of,
    preceded_by_start,
)

_MISSING = -1
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class _Place(State):
    """The table row that answers after what was read; `None` before the start token."""

    rows: int
    nodes: Tensor | None  # [rows]

    def select(self, rows: Tensor) -> "_Place":
        return _Place(len(rows), None if self.nodes is None else self.nodes[rows])


class Tabular(LanguageModel):
    """An explicit distribution over sequences of at most `length` tokens, in double precision."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        length: int,
        following: Mapping[tuple[int, ...], Sequence[float]],
        name: str = "tabular",
    ) -> None:
        self.vocabulary, self.length, self.name = vocabulary, length, name
        if length < 1:
            raise OffscriptError(f"cannot make a tabular model of length {length}", next="give a length of 1 or more")
        if () not in following:
            raise OffscriptError(f"{name} has no distribution for the empty history", next='add the key ""')
        self._histories = sorted(following)  # the empty one comes first: node 0 answers after the start token
        self._log_probs = torch.tensor(
            [_checked(following[history], history, vocabulary) for history in self._histories], dtype=torch.float64
        ).log()  # [nodes, V]
        self._children = torch.full(self._log_probs.shape, _MISSING)
        nodes = {history: index for index, history in enumerate(self._histories)}
        for history, index in nodes.items():
            if history:
                self._link(nodes, history, index)
        if vocabulary.end is not None:
            self._absorb(vocabulary.end)
        self._require_complete()

    @classmethod
    def from_json(cls, described: Mapping[str, Any], name: str = "tabular") -> "Tabular":
        """Read `{"vocabulary": […], "length": L, "next": {"A B": […]}}`; `end` may name the closing symbol."""
        for key, kind in (("vocabulary", list), ("length", int), ("next", dict)):
            if not isinstance(described.get(key), kind):
                raise OffscriptError(
                    f"{name}: {key!r} is missing or not a {kind.__name__}", next="see the tabular layout in the docs"
                )
        for symbol in described["vocabulary"]:
            if not isinstance(symbol, str) or symbol.split() != [symbol]:
                raise OffscriptError(f"{name}: {symbol!r} is not a symbol", next="write a text without spaces")
        if not isinstance(described.get("end"), str | None):
            raise OffscriptError(f"{name}: 'end' is not a symbol", next="name one of the vocabulary")
        vocabulary = WordVocabulary(described["vocabulary"], end=described.get("end"), unknown=None)
        following: dict[tuple[int, ...], Any] = {}
        for key, distribution in described["next"].items():
            history = tuple(vocabulary.encode(key))
            if history in following:
                raise OffscriptError(f"{name} has two distributions after {key!r}", next="keep one")
            following[history] = distribution
        return cls(vocabulary, described["length"], following, name)

    @classmethod
    def load(cls, path: Path) -> "Tabular":
        """From a JSON file."""
        described = read_json_value(path)
        if not isinstance(described, dict) or described.get("kind") != "tabular":
            raise OffscriptError(f"{path} is not a tabular model", why='it has no "kind": "tabular"')
        return cls.from_json(described, name=path.stem)

    @property
    def weight_hash(self) -> str:
        content = json.dumps([self._histories, self._log_probs.tolist(), self.length])
        return hashlib.sha256(content.encode()).hexdigest()

    def begin(self, rows: int) -> _Place:
        return _Place(rows, None)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Place]:
        assert isinstance(state, _Place)
        nodes = torch.zeros_like(tokens) if state.nodes is None else self._children[state.nodes, tokens]
        self._require_known(nodes, state.nodes, tokens)
        return self._log_probs[nodes], _Place(state.rows, nodes)

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        asked = checked_positions(tokens, positions)
        state, visited = self.begin(len(tokens)), []
        for column in preceded_by_start(tokens, self.vocabulary.start)[:, : asked.stop].unbind(dim=1):
            _, state = self.advance(state, column)
            assert state.nodes is not None
            visited.append(state.nodes)
        for chunk in chunks_of(asked, len(tokens), self.vocabulary.size):
            yield Scored(chunk, self._log_probs[torch.stack(visited[chunk.start : chunk.stop], dim=1)])

    def _link(self, nodes: Mapping[tuple[int, ...], int], history: tuple[int, ...], index: int) -> None:
        if history[:-1] not in nodes:
            known = self.vocabulary.decode(history[:-1])
            raise OffscriptError(
                f"{self.name} has a distribution after {self.vocabulary.decode(history)!r} but none after {known!r}"
            )
        self._children[nodes[history[:-1]], history[-1]] = index

    def _absorb(self, end: int) -> None:
        """After an end token that the table does not go beyond, end tokens follow for certain, whatever is read."""
        absorbed, size = len(self._log_probs), self.vocabulary.size
        certain = torch.full((1, size), -math.inf, dtype=torch.float64)
        certain[0, end] = 0.0
        self._log_probs = torch.cat([self._log_probs, certain])
        self._children[:, end] = self._children[:, end].where(self._children[:, end] != _MISSING, absorbed)
        self._children = torch.cat([self._children, torch.full((1, size), absorbed)])

    def _require_complete(self) -> None:
        """Every history that can be drawn, and is shorter than the sequences, has a distribution."""
        open_ended = torch.tensor([len(history) < self.length - 1 for history in self._histories])
        nodes = len(self._histories)
        lost = (self._children[:nodes] == _MISSING) & self._log_probs[:nodes].isfinite() & open_ended.unsqueeze(1)
        if lost.any():
            node, token = lost.nonzero()[0].tolist()
            shown = self.vocabulary.decode((*self._histories[node], token))
            raise OffscriptError(
                f"{self.name} has no distribution after {shown!r}",
                why=f"sequences of {self.length} tokens can begin so",
                next="add that history, or lower the length",
            )

    def _require_known(self, nodes: Tensor, before: Tensor | None, tokens: Tensor) -> None:
        lost = (nodes == _MISSING).nonzero()
        if before is not None and len(lost):
            row = int(lost[0])
            history = (*self._histories[int(before[row])], int(tokens[row]))
            raise OffscriptError(
                f"{self.name} has no distribution after {self.vocabulary.decode(history)!r}",
                next=f"add that history to the table, or ask for sequences of at most {self.length} tokens",
            )


@dataclass(frozen=True)
class _Rows(State):
    """Nothing is remembered."""

    rows: int

    def select(self, rows: Tensor) -> "_Rows":
        return _Rows(len(rows))


class Uniform(LanguageModel):
    """log V nats per token, whatever was read."""

    def __init__(self, vocabulary: Vocabulary, name: str = "uniform") -> None:
        self.vocabulary, self.name = vocabulary, name

    @property
    def weight_hash(self) -> str:
        return f"uniform {self.vocabulary.fingerprint}"

    def begin(self, rows: int) -> State:
        return _Rows(rows)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        return self._log_probs(len(tokens)), state

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        for chunk in chunks_of(checked_positions(tokens, positions), len(tokens), self.vocabulary.size):
            yield Scored(chunk, self._log_probs(len(tokens), len(chunk)))

    def _log_probs(self, *shape: int) -> Tensor:
        size = self.vocabulary.size
        return torch.full((*shape, size), -math.log(size), dtype=torch.float64)


def _checked(distribution: Sequence[float], history: tuple[int, ...], vocabulary: Vocabulary) -> list[float]:
    shown = vocabulary.decode(history)
    try:
        values = [float(value) for value in distribution]
    except (TypeError, ValueError, OverflowError) as fault:
        raise OffscriptError(f"what follows {shown!r} is not a list of probabilities", why=str(fault)) from fault
    if len(values) != vocabulary.size:
        raise OffscriptError(f"found {len(values)} probabilities after {shown!r} for {vocabulary.size} symbols")
    if any(not math.isfinite(value) or value < 0 for value in values) or abs(sum(values) - 1) > _TOLERANCE:
        raise OffscriptError(
            f"the probabilities after {shown!r} are not a distribution", why=f"they sum to {sum(values):.6g}"
        )
    total = sum(values)
    return [value / total for value in values]
