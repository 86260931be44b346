import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement
from offscript.measures.regret.estimation import (
    Regrets,
    accumulated_errors,
    measure_regret,
    measure_regret_exactly,
    regret_correlations,
    regret_figures,
    regrets_along,
    sentences_for_regret,
)
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.tabular import Tabular
from offscript.sampling.generation import generate
from offscript.statistics import mean_interval

REPEATS, SEQUENCES = 200, 200
ESTIMATORS = ("q_per_token", "q_per_sequence")


def by_name(measurements: list[Measurement]) -> dict[str, Measurement]:
    return {entry.name: entry for entry in measurements}


def whole_sequences(pair: Any, history: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Every sequence that ends, or is cut at the full length."""
    if len(history) == pair.length or (history and history[-1] == pair.end):
        yield history
        return
    for token in range(pair.size):
        yield from whole_sequences(pair, (*history, token))


def log_probability(table: dict[tuple[int, ...], list[float]], sequence: tuple[int, ...]) -> float:
    return sum(math.log(table[sequence[:time]][token]) for time, token in enumerate(sequence))


def divergence(p: list[float], q: list[float]) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def errors_by_length(pair: Any, histories_of: dict[tuple[int, ...], list[float]]) -> list[float]:
    """Expected KL(p‖o) of the first 1, 2, … tokens on the histories of one table."""
    steps = [0.0] * pair.length
    frontier = {(): 1.0}
    for time in range(pair.length):
        following: dict[tuple[int, ...], float] = {}
        for history, weight in frontier.items():
            steps[time] += weight * divergence(pair.model_table[history], pair.oracle_table[history])
            for token in range(pair.size):
                if token != pair.end:
                    following[(*history, token)] = weight * histories_of[history][token]
        frontier = following
    return np.cumsum(steps).tolist()


@pytest.fixture(params=["all of one length", "with an end"])
def pairs(request: pytest.FixtureRequest, random_pairs: list[Any], random_pairs_with_end: list[Any]) -> list[Any]:
    return random_pairs if request.param == "all of one length" else random_pairs_with_end


def test_regret_is_the_divergence_of_whole_sequences(pairs: list[Any]) -> None:
    for pair in pairs:
        sequences = list(whole_sequences(pair))
        ours = [log_probability(pair.model_table, sequence) for sequence in sequences]
        theirs = [log_probability(pair.oracle_table, sequence) for sequence in sequences]
        between = sum(math.exp(p) * (p - o) for p, o in zip(ours, theirs, strict=True))
        crossed = -sum(math.exp(p) * o for p, o in zip(ours, theirs, strict=True))
        tokens = sum(math.exp(p) * len(sequence) for p, sequence in zip(ours, sequences, strict=True))
        exact = by_name(measure_regret_exactly(pair.model, pair.oracle, length=pair.length))
        assert exact["q_per_sequence"].value == pytest.approx(between, abs=1e-9)
        assert exact["q_per_token"].value == pytest.approx(between / tokens, abs=1e-9)
        assert exact["nll_oracle"].value == pytest.approx(crossed / tokens, abs=1e-9)


def test_accumulated_errors_are_brute_force(pairs: list[Any]) -> None:
    for pair in pairs:
        made = errors_by_length(pair, pair.model_table)
        expected = errors_by_length(pair, pair.oracle_table)
        exact = by_name(measure_regret_exactly(pair.model, pair.oracle, length=pair.length))
        curves = [exact[name].by_position for name in ("q_per_sequence", "acc_err", "excess_acc_err")]
        lengths = range(1, pair.length + 1)
        per_token = [total / length for total, length in zip(expected, lengths, strict=True)]
        accumulated = [total / error for total, error in zip(made, per_token, strict=True)]
        excess = [100 * (value / length - 1) for value, length in zip(accumulated, lengths, strict=True)]
        for curve, values in zip(curves, (made, accumulated, excess), strict=True):
            assert curve is not None
            assert curve.values == pytest.approx(values, abs=1e-9)
        assert exact["acc_err"].value == pytest.approx(accumulated[-1], abs=1e-9)


def test_both_estimators_find_the_same_regret_and_one_knows_it_better(pairs: list[Any]) -> None:
    for pair in pairs:
        exact = by_name(measure_regret_exactly(pair.model, pair.oracle, length=pair.length))
        found = by_name(measure_regret(pair.model, pair.oracle, samples=2000, length=pair.length, seed=1))
        assert exact.keys() == found.keys()
        for name in ESTIMATORS:
            inner, sampled = found[name], found[f"{name}_sampled"]
            assert inner.standard_error < sampled.standard_error
            for entry in (inner, sampled):
                assert entry.value == pytest.approx(exact[name].value, abs=4.5 * entry.standard_error)


@pytest.mark.slow
def test_intervals_cover(pairs: list[Any]) -> None:
    held: dict[str, list[bool]] = {}
    for pair in pairs:
        truth = by_name(measure_regret_exactly(pair.model, pair.oracle, length=pair.length))
        rows = REPEATS * SEQUENCES
        on_model, on_data = (
            regrets_along(
                pair.model,
                pair.oracle,
                generate(source, rows, pair.length, seed=1, batch_size=rows),
                batch_size=rows,
            )
            for source in (pair.model, pair.oracle)
        )
        for repeat in range(REPEATS):
            part = slice(repeat * SEQUENCES, (repeat + 1) * SEQUENCES)
            drawn = Regrets(
                on_model.inner[part], on_model.sampled[part], on_model.surprise[part], on_model.lengths[part]
            )
            errors = accumulated_errors(drawn.inner, on_data.inner[part], seed=repeat, resamples=200)
            for name, figure in {**regret_figures(drawn), **errors}.items():
                interval = figure.estimate.interval
                held.setdefault(name, []).append(interval.lower <= truth[name].value <= interval.upper)
    assert len(held) == 7
    assert {name: np.mean(hits) for name, hits in held.items() if not 0.93 <= np.mean(hits) <= 0.97} == {}


def test_the_worked_example(written_down: Callable[..., Tabular]) -> None:
    model = written_down({"": [0.9, 0.1], "A": [0.9, 0.1], "B": [0.5, 0.5]})
    oracle = written_down({"": [0.5, 0.5], "A": [0.5, 0.5], "B": [0.5, 0.5]})
    step = 0.9 * math.log(1.8) + 0.1 * math.log(0.2)  # KL of (0.9, 0.1) from (0.5, 0.5)
    exact = by_name(measure_regret_exactly(model, oracle, length=2))
    assert exact["q_per_sequence"].value == pytest.approx(1.9 * step, abs=1e-12)
    assert exact["acc_err"].value == pytest.approx(1.9 * step / (1.5 * step / 2), abs=1e-12)
    assert exact["excess_acc_err"].value == pytest.approx(100 * (1.9 / 1.5 - 1), abs=1e-9)
    sampled = by_name(measure_regret(model, oracle, samples=500, length=2, seed=1))
    assert sampled["nll_oracle"].value == pytest.approx(math.log(2), abs=1e-12)  # the same for every sequence


def test_totals_of_nought_and_one_are_not_taken_for_shares() -> None:
    steps = np.tile([[0.0], [1.0]], (10, 1))
    found = regret_figures(Regrets(steps, steps, steps, np.ones(20)))["q_per_sequence"].estimate
    assert found == mean_interval(steps[:, 0], share=False)
    assert found.interval != mean_interval(steps[:, 0], share=True).interval


def test_a_model_that_is_its_oracle_has_no_regret(random_pairs_with_end: list[Any]) -> None:
    pair = random_pairs_with_end[0]
    found = by_name(measure_regret(pair.oracle, pair.oracle, samples=50, length=pair.length, seed=1))
    for name in ("q_per_token", "q_per_token_sampled", "q_per_sequence", "excess_acc_err"):
        assert found[name].value == 0.0
    assert found["acc_err"].value == pair.length


def test_what_the_oracle_excludes_costs_infinitely_much(written_down: Callable[..., Tabular]) -> None:
    model = written_down({"": [0.5, 0.5], "A": [0.5, 0.5], "B": [0.5, 0.5]})
    oracle = written_down({"": [0.5, 0.5], "A": [1.0, 0.0], "B": [0.5, 0.5]})
    exact = by_name(measure_regret_exactly(model, oracle, length=2))
    sampled = by_name(measure_regret(model, oracle, samples=100, length=2, seed=1))
    for name in ("q_per_token", "q_per_sequence", "nll_oracle"):
        assert exact[name].value == sampled[name].value == math.inf


def test_regret_of_single_sentences(written_down: Callable[..., Tabular]) -> None:
    model = written_down({"": [0.9, 0.1], "A": [0.9, 0.1], "B": [0.5, 0.5]})
    oracle = written_down({"": [0.5, 0.5], "A": [0.5, 0.5], "B": [0.5, 0.5]})
    regrets = regrets_along(model, oracle, sentences_for_regret(model, ["A A", "B A", "A"], 2))
    by_hand = [math.log(1.8), (math.log(0.2) + 0.0) / 2, math.log(1.8)]
    assert regrets.per_sample == pytest.approx(by_hand, abs=1e-12)
    assert regrets.lengths.tolist() == [2, 2, 1]


def test_sentences_end_where_they_fit() -> None:
    vocabulary = WordVocabulary(["a", "b", "."], end=".", unknown=None)
    sentences = sentences_for_regret(Tabular(vocabulary, 1, {(): [0.3, 0.3, 0.4]}), ["a", "a b b a", ""], 3)
    assert sentences.tokens.tolist() == [[0, 2, 2], [0, 1, 1], [2, 2, 2]]
    assert sentences.lengths.tolist() == [2, 3, 1]


def test_correlations_over_models() -> None:
    generator = np.random.default_rng(1)
    quality = generator.normal(size=40)
    models = [
        {"q_per_token": q, "nll_oracle": 2 * q + 1, "ppl": -q + 0.5 * noise}
        for q, noise in zip(quality, generator.normal(size=40), strict=True)
    ]
    found = regret_correlations(models)
    assert set(found) == {("q_per_token", "ppl"), ("q_per_token", "nll_oracle"), ("ppl", "nll_oracle")}
    assert found["q_per_token", "nll_oracle"].value == pytest.approx(1.0)
    columns = [[model[name] for model in models] for name in ("q_per_token", "ppl")]
    assert found["q_per_token", "ppl"].value == pytest.approx(np.corrcoef(columns)[0, 1])
    assert found["q_per_token", "ppl"].interval.upper < -0.5


def test_correlations_need_every_figure_of_every_model() -> None:
    with pytest.raises(OffscriptError, match="a model without 'ppl'"):
        regret_correlations([{"q_per_token": 1.0, "nll_oracle": 2.0}])


def lstm(size: int = 5) -> LSTMLanguageModel:
    words = WordVocabulary([str(token) for token in range(size)], end=None, unknown=None)
    return LSTMLanguageModel(words, LSTMSettings(hidden=4, embedding=4))


@pytest.mark.parametrize(
    ("oracle", "changes", "message"),
    [
        (lstm(6), {}, "different vocabularies"),
        (lstm(), {"samples": 1}, "1 sample"),
        (lstm(), {"length": 0}, "sequences of 0 tokens"),
    ],
)
def test_bad_input_is_refused(oracle: Any, changes: dict[str, int], message: str) -> None:
    settings = {"samples": 10, "length": 4, "seed": 1, **changes}
    with pytest.raises(OffscriptError, match=message):
        measure_regret(lstm(), oracle, **settings)


def test_a_model_that_returns_nan_is_refused() -> None:
    broken = lstm()
    with torch.no_grad():
        broken.bias[0] = math.nan
    with pytest.raises(OffscriptError, match="(?i)nan"):
        measure_regret(lstm(), broken, samples=10, length=3, seed=1)
