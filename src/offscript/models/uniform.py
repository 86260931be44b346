"""Every symbol as likely as any other: what a model that has learnt nothing is held against."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from offscript.corpora.vocabularies import Vocabulary
from offscript.models.language_model import LanguageModel, Scored, State, checked_positions, chunks_of


@dataclass(frozen=True)
class _Rows(State):
    """Nothing is remembered."""

    rows: int

    def select(self, rows: Tensor) -> "_Rows":
        return _Rows(len(rows))


class Uniform(LanguageModel):
    """log V nats a token, whatever was read."""

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
