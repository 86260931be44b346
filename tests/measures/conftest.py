"""Small models written down, whose figures can be found by hand or by brute force."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

from offscript.corpora.vocabularies import WordVocabulary
from offscript.models.tabular import Tabular

Table = dict[tuple[int, ...], list[float]]


@dataclass(frozen=True)
class Pair:
    """A model and an oracle as tables, and as language models."""

    size: int
    length: int
    model_table: Table
    oracle_table: Table
    end: int | None = None

    @property
    def model(self) -> Tabular:
        return self._language_model(self.model_table, "model")

    @property
    def oracle(self) -> Tabular:
        return self._language_model(self.oracle_table, "oracle")

    def _language_model(self, table: Table, name: str) -> Tabular:
        symbols = [f"w{token}" for token in range(self.size)]
        end = None if self.end is None else symbols[self.end]
        return Tabular(WordVocabulary(symbols, end=end, unknown=None), self.length, table, name)


def random_pair(seed: int, *, with_end: bool = False) -> Pair:
    generator = np.random.default_rng(seed)
    size, length = int(generator.integers(2, 7)), int(generator.integers(2, 6))
    end = size - 1 if with_end else None
    histories = [
        history
        for time in range(length)
        for history in product(range(size), repeat=time)
        if end is None or end not in history
    ]
    tables = [{history: generator.dirichlet(np.ones(size)).tolist() for history in histories} for _ in range(2)]
    return Pair(size, length, tables[0], tables[1], end)


@pytest.fixture(scope="session")
def random_pairs() -> list[Pair]:
    return [random_pair(seed) for seed in range(20)]


@pytest.fixture(scope="session")
def random_pairs_with_end() -> list[Pair]:
    return [random_pair(100 + seed, with_end=True) for seed in range(20)]


@pytest.fixture(scope="session")
def written_down() -> Callable[..., Tabular]:
    """`written_down({"": [.9, .1], "A": …})`: a table over A and B for sequences of two tokens."""

    def make(following: dict[str, list[float]], name: str = "written") -> Tabular:
        return Tabular.from_json({"vocabulary": ["A", "B"], "length": 2, "next": following}, name)

    return make
