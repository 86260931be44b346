"""A tabular model with sources: one table of next-token distributions for each of a few sources."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from offscript._specification import nearest
from offscript.corpora.records import read_json_value
from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel, State
from offscript.models.sources import GivenSources, Seq2SeqLanguageModel, Sources
from offscript.models.tabular import Tabular


@dataclass(frozen=True)
class _Places(State):
    """Which table answers a row, and where in it the row stands."""

    tables: Tensor  # [rows]
    states: tuple[State, ...]  # one per row

    def select(self, rows: Tensor) -> "_Places":
        one = torch.zeros(1, dtype=torch.long)
        return _Places(self.tables[rows], tuple(self.states[row].select(one) for row in rows.tolist()))


class ConditionalTabular(Seq2SeqLanguageModel):
    """An explicit distribution over targets for each source, in double precision.

    Args:
        tables: The table of each source, all of one vocabulary and one length.
        name: What to call the model.
    """

    def __init__(self, tables: Mapping[str, Tabular], name: str = "conditional") -> None:
        if not tables:
            raise OffscriptError(f"{name} has no source", next="give at least one")
        self.texts, self.tables, self.name = list(tables), list(tables.values()), name
        first = self.tables[0]
        self.vocabulary, self.length = first.vocabulary, first.length
        for text, table in tables.items():
            if table.vocabulary.fingerprint != first.vocabulary.fingerprint or table.length != first.length:
                raise OffscriptError(f"{name}: the table of {text!r} has another vocabulary or length")

    @classmethod
    def from_json(cls, described: Mapping[str, Any], name: str = "conditional") -> "ConditionalTabular":
        """Read the layout of a tabular model with `{"sources": {"SOURCE": {"A B": […]}}}` in the place of `next`."""
        sources = described.get("sources")
        if not isinstance(sources, dict):
            raise OffscriptError(f"{name}: 'sources' is not a mapping", next="see the tabular layout in the docs")
        shared = {key: described.get(key) for key in ("vocabulary", "length", "end")}
        return cls(
            {
                text: Tabular.from_json({**shared, "next": following}, name=f"{name}, source {text!r}")
                for text, following in sources.items()
            },
            name,
        )

    @property
    def weight_hash(self) -> str:
        hashes = [(text, table.weight_hash) for text, table in zip(self.texts, self.tables, strict=True)]
        return hashlib.sha256(repr(hashes).encode()).hexdigest()

    def read_sources(self, texts: Sequence[str]) -> Sources:
        for text in texts:
            if text not in self.texts:
                raise OffscriptError(f"{self.name} has no table for {text!r}", next=nearest(text, self.texts))
        return Sources.of([[self.texts.index(text)] for text in texts])

    def given(self, sources: Sources) -> LanguageModel:
        return _Given(self, sources)


class _Given(GivenSources):
    model: ConditionalTabular

    def begin(self, rows: int) -> _Places:
        self.sources.require(rows)
        tables = self.sources.tokens[:, 0]
        return _Places(tables, tuple(self.model.tables[table].begin(1) for table in tables.tolist()))

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Places]:
        assert isinstance(state, _Places)
        answers = [
            self.model.tables[table].advance(own, token)
            for table, own, token in zip(state.tables.tolist(), state.states, tokens.split(1), strict=True)
        ]
        return torch.cat([log_probs for log_probs, _ in answers]), _Places(
            state.tables, tuple(own for _, own in answers)
        )


def load_table(path: Path) -> LanguageModel:
    """A tabular model, with sources or without, from a JSON file."""
    described = read_json_value(path)
    if isinstance(described, dict) and described.get("kind") == "conditional-tabular":
        return ConditionalTabular.from_json(described, name=path.stem)
    return Tabular.load(path)
