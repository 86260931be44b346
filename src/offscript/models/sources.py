"""Models that read a source before they predict (translation, summarisation); given sources, language models."""

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel, State


@dataclass(frozen=True)
class Sources:
    """The ids of sources, one row per source, padded on the right."""

    tokens: Tensor  # [rows, time]
    real: Tensor  # [rows, time], False where a row is padded

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], pad: int = 0) -> "Sources":
        """From ids of any lengths."""
        if not rows or not all(rows):
            raise OffscriptError("an empty source", next="give at least one token per source")
        lengths = torch.tensor([len(row) for row in rows])
        real = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
        tokens = torch.full(real.shape, pad)
        tokens[real] = torch.tensor([token for row in rows for token in row])
        return cls(tokens, real)

    def __len__(self) -> int:
        return len(self.tokens)

    def of_rows(self, rows: Tensor) -> "Sources":
        """The sources of numbered rows, padded no more than these need; row i has source i modulo their number."""
        chosen = rows.to(self.tokens.device) % len(self)
        real = self.real[chosen]
        time = int(real.sum(dim=1).max()) if len(rows) else 0
        return Sources(self.tokens[chosen, :time], real[:, :time])

    def require(self, rows: int) -> None:
        """Refuse another number of rows than there are sources."""
        if rows != len(self):
            raise OffscriptError(f"{rows} sequences for {len(self)} sources", next="give one source per sequence")

    def hash_with(self, weights: str) -> str:
        """A hash of a model's weights together with these sources."""
        listed = [row[real].tolist() for row, real in zip(self.tokens, self.real, strict=True)]
        return hashlib.sha256(f"{weights} {listed}".encode()).hexdigest()


class GivenSources(LanguageModel):
    """A model with a source for every row: fill in `begin` and `advance`."""

    def __init__(self, model: "Seq2SeqLanguageModel", sources: Sources) -> None:
        self.model, self.sources = model, sources
        self.vocabulary, self.name = model.vocabulary, model.name

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def weight_hash(self) -> str:
        return self.sources.hash_with(self.model.weight_hash)

    @property
    def conditions(self) -> int:
        return len(self.sources)

    def of_rows(self, rows: Tensor) -> LanguageModel:
        return self.model.given(self.sources.of_rows(rows))


class Seq2SeqLanguageModel(LanguageModel):
    """A model whose targets depend on a source; only what `given` answers can be asked for distributions."""

    def begin(self, rows: int) -> State:
        raise needs_sources(self.name)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        raise needs_sources(self.name)

    def read_sources(self, texts: Sequence[str]) -> Sources:
        """The sources as the model reads them: by default ids of its vocabulary, closed by the end token."""
        closing = [] if self.vocabulary.end is None else [self.vocabulary.end]
        return Sources.of([self.vocabulary.encode(text) + closing for text in texts])

    @abstractmethod
    def given(self, sources: Sources) -> LanguageModel:
        """The model of targets, with a source for every row."""


def needs_sources(name: str) -> OffscriptError:
    """The refusal of a model that was given no source."""
    return OffscriptError(f"{name} reads a source, and none was given", next=f"write {name},sources=FILE")
