"""What is audited, against what, and with how much work."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from offscript._files import sha256_of
from offscript.audits.shares import Sharing
from offscript.corpora.associations import AssociationTest, read_association_tests
from offscript.corpora.readers import read_corpus
from offscript.measures.likelihood import Texts, encode_texts
from offscript.models.language_model import LanguageModel, require_same_vocabulary
from offscript.sampling.generation import generate, texts

Progress = Callable[[int, int], None]
"""Told how much of a question is done, and of how much."""

FEWEST = 50
"""Samples below which no budget goes: intervals would say nothing."""

_LOG_PROBABILITIES = 1 << 23
"""Of one step of a batch: 32 MB, and several times that while they are sampled from."""

_TOKENS_OF_A_TEST = 60
"""About what the three sentences of an association test come to, contexts included."""


class Budget(str, Enum):
    """How much work an audit may be: minutes on two cores, an hour or two, or the papers' own settings."""

    quick = "quick"
    standard = "standard"
    paper = "paper"

    @property
    def samples(self) -> int:
        """Sequences drawn from each source."""
        return {"quick": 500, "standard": 20_000, "paper": 100_000}[self.value]

    @property
    def effort(self) -> float:
        """Weights read times tokens that one question may take: for `quick`, 74,000 tokens of 135 million weights."""
        return {"quick": 1e13, "standard": 4e14, "paper": math.inf}[self.value]


@dataclass(frozen=True)
class Subject:
    """A model, the oracle it is held against and the real text it is held against, where there are any."""

    model: LanguageModel
    oracle: LanguageModel | None = None
    corpus: tuple[str, ...] = ()
    budget: Budget = Budget.quick
    seed: int = 1
    length: int = 50
    batch_size: int = 256
    limit: int | None = None
    associations: str | None = None
    sharing: Sharing | None = None

    def __post_init__(self) -> None:
        if self.oracle is not None:
            require_same_vocabulary(self.model, self.oracle)

    @property
    def samples(self) -> int:
        """Sequences drawn from each source: the budget's, or the limit."""
        return min(self.budget.samples, self.limit or self.budget.samples)

    def affordable(self, tokens: int, most: int | None = None) -> int:
        """How many samples a question may take whose every sample costs so many tokens of the model.

        It depends on the model's size and not on the machine's speed, so that a run makes the same figures anywhere.
        """
        return min(self.samples, most or self.samples, self._within_effort(tokens, self.samples, self.oracle))

    def _within_effort(self, tokens: int, wanted: int, oracle: LanguageModel | None = None) -> int:
        cost = max(1, tokens * sum(_weights_of(model) for model in (self.model, oracle) if model is not None))
        return max(FEWEST, int(min(self.budget.effort / cost, wanted)))

    @property
    def rows_at_once(self) -> int:
        """The batch size, or less where the vocabulary is large."""
        return max(1, min(self.batch_size, _LOG_PROBABILITIES // self.model.vocabulary.size))

    @cached_property
    def gold(self) -> Texts:
        """Text to predict: the corpus, or where there is none, sequences drawn from the oracle."""
        vocabulary = self.model.vocabulary
        if self.corpus:
            sentences = islice(read_corpus(list(self.corpus)), self.samples)
            return encode_texts(sentences, vocabulary, longest=self.length, recipe={"corpus": list(self.corpus)})
        assert self.oracle is not None
        drawn = generate(self.oracle, self.samples, self.length, seed=(self.seed, 1), batch_size=self.batch_size)
        rows = [row[:size] for row, size in zip(drawn.tokens.tolist(), drawn.lengths.tolist(), strict=True)]
        lengths = [len(text) + 1 for text in texts(self.oracle, drawn)]
        return Texts(rows, lengths, {"drawn from": self.oracle.name, "seed": self.seed, "length": self.length})

    @cached_property
    def rows(self) -> Tensor:
        """The gold text as rows of one length, which half of the sentences or more reach; for marginals by position."""
        sizes = sorted(len(row) for row in self.gold.tokens)
        length = min(self.length, sizes[len(sizes) // 2])
        return torch.tensor([row[:length] for row in self.gold.tokens if len(row) >= length])

    @cached_property
    def association_tests(self) -> list[AssociationTest]:
        """Tests of the file, or so many of them, taken at equal steps, as the limit and the model's size allow."""
        if self.associations is None:
            return []
        tests = read_association_tests(self.associations)
        allowed = min(self._within_effort(_TOKENS_OF_A_TEST, len(tests)), self.limit or len(tests), len(tests))
        return [tests[number * len(tests) // allowed] for number in range(allowed)]

    @cached_property
    def recipe(self) -> dict[str, Any]:
        """What decides the answers, question and environment aside."""
        oracle = None if self.oracle is None else {"name": self.oracle.name, "weights": self.oracle.weight_hash}
        return {
            "model": {"name": self.model.name, "weights": self.model.weight_hash},
            "oracle": oracle,
            "corpus": {source: _content_hash(source) for source in self.corpus},
            "budget": self.budget.value,
            "samples": self.samples,
            "length": self.length,
            "seed": self.seed,
        }


def _weights_of(model: LanguageModel) -> int:
    network = getattr(model, "network", model)
    return sum(weight.numel() for weight in network.parameters()) if isinstance(network, nn.Module) else 0


def _content_hash(source: str) -> str:
    path = Path(source)
    return sha256_of(path) if path.is_file() else hashlib.sha256(source.encode()).hexdigest()


def side_by_side(columns: Sequence[tuple[str, Sequence[str]]], title: str) -> dict[str, Any]:
    """Example texts for the page, a column a source."""
    return {
        "kind": "texts",
        "title": title,
        "columns": [{"title": name, "texts": list(rows)} for name, rows in columns],
    }
