"""Measures of a model with sources: tables whose likelihood, EB-C and regret are found by enumeration."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from offscript.corpora.vocabularies import WordVocabulary
from offscript.measures.exposure.estimation import measure_exposure, measure_exposure_exactly
from offscript.measures.likelihood.estimation import measure_likelihood
from offscript.measures.regret.estimation import measure_regret, measure_regret_exactly
from offscript.measures.texts import Texts
from offscript.models.conditional import ConditionalTabular
from offscript.models.language_model import LanguageModel
from offscript.models.tabular import Tabular

SIZE, LENGTH, SOURCES = 3, 3, ("eins", "zwei", "drei")
Table = dict[tuple[int, ...], list[float]]


def _tables(seed: int) -> dict[str, Table]:
    generator = np.random.default_rng(seed)
    histories = [history for time in range(LENGTH) for history in product(range(SIZE), repeat=time)]
    return {
        source: {history: generator.dirichlet(np.ones(SIZE)).tolist() for history in histories} for source in SOURCES
    }


def _given(tables: dict[str, Table], name: str) -> LanguageModel:
    vocabulary = WordVocabulary([f"w{token}" for token in range(SIZE)], end=None, unknown=None)
    model = ConditionalTabular({source: Tabular(vocabulary, LENGTH, table) for source, table in tables.items()}, name)
    return model.given(model.read_sources(list(SOURCES)))


@pytest.fixture(scope="module")
def tables() -> tuple[dict[str, Table], dict[str, Table]]:
    return _tables(1), _tables(2)


@pytest.fixture(scope="module")
def models(tables: Any) -> tuple[LanguageModel, LanguageModel]:
    return _given(tables[0], "model"), _given(tables[1], "oracle")


def _probability(table: Table, sequence: tuple[int, ...]) -> float:
    return math.prod(table[sequence[:time]][token] for time, token in enumerate(sequence))


def test_likelihood_equals_the_tables(models: Any, tables: Any) -> None:
    rows = [(0, 1, 2), (2, 2), (1, 0, 0), (2, 1, 1), (0,)]  # the fourth and the fifth have the first two sources
    texts = Texts([list(row) for row in rows], [5] * len(rows), {})
    found = {entry.name: entry.value for entry in measure_likelihood(models[0], texts, batch_size=2)}
    totals = [-math.log(_probability(tables[0][SOURCES[place % 3]], row)) for place, row in enumerate(rows)]
    assert found["nll"] == pytest.approx(sum(totals) / 12, abs=1e-9)


def _expected(tables: Any, histories_of: int, value: Any) -> float:
    """The mean of a value of (source, history of 1 … LENGTH - 1 tokens) over histories of one of the models."""
    total = 0.0
    for time in range(1, LENGTH):
        for source in SOURCES:
            for history in product(range(SIZE), repeat=time):
                weight = _probability(tables[histories_of][source], history) / len(SOURCES)
                total += weight * value(source, history)
    return total / (LENGTH - 1)


def test_conditional_exposure_bias_equals_enumeration(models: Any, tables: Any) -> None:
    def variation(source: str, history: tuple[int, ...]) -> float:
        ours, theirs = (table[source][history] for table in tables)
        return 0.5 * sum(abs(p - q) for p, q in zip(ours, theirs, strict=True))

    found = {entry.name: entry.value for entry in measure_exposure_exactly(*models, length=LENGTH, distances=["tv"])}
    assert found["cgd_model.tv"] == pytest.approx(_expected(tables, 0, variation), abs=1e-9)
    assert found["cgd_data.tv"] == pytest.approx(_expected(tables, 1, variation), abs=1e-9)


def test_regret_equals_enumeration(models: Any, tables: Any) -> None:
    expected = sum(
        _probability(tables[0][source], row)
        * math.log(_probability(tables[0][source], row) / _probability(tables[1][source], row))
        for source in SOURCES
        for row in product(range(SIZE), repeat=LENGTH)
    ) / len(SOURCES)
    found = {entry.name: entry.value for entry in measure_regret_exactly(*models, length=LENGTH)}
    assert found["q_per_sequence"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("batch_size", [7, 256])
def test_sampled_figures_agree_with_the_exact_ones(models: Any, batch_size: int) -> None:
    """Rows keep their sources through drawing and scoring, whatever the batch."""
    exact = {entry.name: entry.value for entry in measure_exposure_exactly(*models, length=LENGTH, distances=["tv"])}
    exact |= {entry.name: entry.value for entry in measure_regret_exactly(*models, length=LENGTH)}
    drawn = measure_exposure(
        *models, samples=3000, length=LENGTH, seed=3, distances=["tv"], marginal=False, batch_size=batch_size
    ) + measure_regret(*models, samples=3000, length=LENGTH, seed=3, batch_size=batch_size)
    for entry in drawn:
        if entry.name in ("cgd_model.tv", "cgd_data.tv", "q_per_sequence"):
            assert abs(entry.value - exact[entry.name]) < 4 * entry.standard_error + 1e-12


def test_a_wrong_row_order_would_show(models: Any) -> None:
    model = models[0]
    tokens = torch.zeros(3, 1, dtype=torch.long)
    turned = model.of_rows(torch.tensor([1, 2, 0])).log_likelihoods(tokens)
    assert not torch.allclose(turned, model.log_likelihoods(tokens))
