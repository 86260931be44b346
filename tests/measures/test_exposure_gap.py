"""Exposure bias without an oracle: the gap over a partition, its interval and its level, after anchors of real text."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from offscript.corpora.vocabularies import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure
from offscript.measures.distances import distances
from offscript.measures.exposure.anchored import PLAIN_DISTANCES, measure_exposure_gap, usual_prefix
from offscript.measures.exposure.gap import Partition, Tables, gap_figures, windows_of
from offscript.measures.exposure.studentised import slopes
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.sampling.generation import generate

# --- The partition, the windows and the tables.


def test_frequent_tokens_are_classes_and_rare_ones_share_bands() -> None:
    text = torch.tensor([0] * 50 + [1] * 30 + [2] * 5 + [3] * 5 + [4] * 5 + [5] * 5)
    partition = Partition.of(text, 8, 100)
    assert partition.singles.tolist() == [0, 1]
    assert partition.classes[:2].tolist() == [0, 1]
    assert partition.classes[2:].min() == 2
    assert partition.classes[7] == len(partition) - 1  # never seen: with the rarest
    probabilities = torch.rand(3, 4, 8).softmax(dim=-1)
    summed = partition.of_probabilities(probabilities)
    assert summed.shape == (3, 4, len(partition))
    for number in range(len(partition)):
        torch.testing.assert_close(summed[..., number], probabilities[..., partition.classes == number].sum(-1))


@pytest.mark.parametrize("size", [2, 3, 50])
def test_a_partition_of_few_tokens_has_two_classes_or_more(size: int) -> None:
    partition = Partition.of(torch.zeros(3, dtype=torch.long), size, 5)
    assert 2 <= len(partition) <= size or size == 2
    assert partition.of_probabilities(torch.eye(size)).sum() == size


def test_a_partition_only_lowers_a_distance() -> None:
    torch.manual_seed(1)
    p, q = torch.rand(2, 20, 300).double().pow(4)
    p, q = (side / side.sum(-1, keepdim=True) for side in (p, q))
    partition = Partition.of(torch.multinomial(p[0], 2000, replacement=True), 300, 400)
    full = distances(p.log(), q.log(), PLAIN_DISTANCES)
    coarse = distances(*(partition.of_probabilities(side).log() for side in (p, q)), PLAIN_DISTANCES)
    assert all((coarse[name] <= full[name] + 1e-9).all() for name in PLAIN_DISTANCES)


@pytest.mark.parametrize(("lengths", "count"), [(1, 1), (9, 1), (10, 2), (39, 4), (500, 4)])
def test_windows_cover_every_length_once(lengths: int, count: int) -> None:
    windows = windows_of(lengths)
    assert len(windows) == count
    assert [place for window in windows for place in window] == list(range(lengths))


def test_tables_average_over_windows_and_count_alike() -> None:
    tokens = torch.randint(0, 3, (7, 11), generator=torch.Generator().manual_seed(1))
    tables = Tables(7, windows_of(11), 3)
    tables.count(tables.text, tokens)
    one_hot = torch.nn.functional.one_hot(tokens, 3).double()
    tables.add(tables.own, slice(0, 4), slice(0, 11), one_hot[:4])
    tables.add(tables.own, slice(4, 7), slice(0, 6), one_hot[4:, :6])
    tables.add(tables.own, slice(4, 7), slice(6, 11), one_hot[4:, 6:])
    torch.testing.assert_close(tables.own, tables.text)
    torch.testing.assert_close(tables.text.sum(-1), torch.ones(7, 2, dtype=torch.float64))
    torch.testing.assert_close(tables.text[:, 0], one_hot[:, :5].mean(1))


@pytest.mark.parametrize("name", PLAIN_DISTANCES)
def test_slopes_are_derivatives(name: str) -> None:
    p, q = (torch.tensor([side], dtype=torch.float64) for side in ([0.5, 0.3, 0.2], [0.2, 0.2, 0.6]))
    value = float(distances(p.log(), q.log(), [name])[name])
    for place, slope in enumerate(slopes(name, p, q)):
        for token in range(3):
            moved = [p.clone(), q.clone()]
            moved[place][0, token] += 1e-6
            after = float(distances(moved[0].log(), moved[1].log(), [name])[name])
            assert (after - value) / 1e-6 == pytest.approx(float(slope[0, token]), abs=1e-4)


# --- The interval and the p-value, where the truth is known: predictions scatter about a mean, tokens are drawn.

OWN, GIVEN, TEXT = [0.40, 0.35, 0.15, 0.10], [0.33, 0.32, 0.20, 0.15], [0.30, 0.30, 0.20, 0.20]


def simulated(own: list[float], given: list[float], text: list[float], n: int, seed: int) -> dict[str, Figure]:
    """Both continuations of an anchor share its lean, as they would."""
    generator = np.random.default_rng((seed, n))
    tables = Tables(n, windows_of(5), 4)
    lean = generator.normal(size=(n, 1, 4)) * 0.3

    def scattered(mean: list[float]) -> Tensor:
        draws = np.array(mean) * (1 + 0.2 * np.tanh(lean + 0.3 * generator.normal(size=(n, 5, 4))))
        return torch.from_numpy(draws / draws.sum(-1, keepdims=True))

    def tokens(table: Tensor) -> Tensor:
        return torch.multinomial(table.flatten(0, 1), 1, generator=numbers).view(n, 5)

    numbers = torch.Generator().manual_seed(seed)
    after_own, after_text, real = scattered(own), scattered(given), scattered(text)
    tables.add(tables.own, slice(0, n), slice(0, 5), after_own)
    tables.add(tables.given, slice(0, n), slice(0, 5), after_text)
    tables.count(tables.drawn, tokens(after_own))
    tables.count(tables.text, tokens(after_text if given == text else real))
    return gap_figures(tables, ["js"], seed=seed, resamples=200)


@pytest.mark.parametrize("n", [60, 300])
def test_equal_model_and_data_raise_few_alarms(n: int) -> None:
    runs = [simulated(TEXT, TEXT, TEXT, n, seed) for seed in range(120)]
    assert np.mean([run["mgd_gap_p.js"].estimate.value < 0.05 for run in runs]) <= 0.08
    assert np.mean([0 in run["mgd_gap.js"].estimate.interval for run in runs]) >= 0.92
    assert abs(np.mean([run["mgd_gap.js"].estimate.value for run in runs])) < 2e-4


@pytest.mark.parametrize("n", [100, 400])
def test_the_interval_holds_a_gap_that_is_there(n: int) -> None:
    large = simulated(OWN, GIVEN, TEXT, 60_000, 1)["mgd_gap.js"].estimate.value
    runs = [simulated(OWN, GIVEN, TEXT, n, seed)["mgd_gap.js"].estimate for seed in range(120)]
    assert 0.90 <= np.mean([large in run.interval for run in runs]) <= 0.99
    assert np.mean([run.value for run in runs]) == pytest.approx(large, rel=0.1)
    if n == 400:
        assert np.mean([run.interval.lower > 0 for run in runs]) > 0.9


def test_the_interval_and_the_p_value_agree() -> None:
    for seed in range(20):
        for figures in (simulated(OWN, GIVEN, TEXT, 60, seed), simulated(TEXT, TEXT, TEXT, 60, seed)):
            if figures["mgd_gap_p.js"].estimate.value > 0.05:
                assert 0 in figures["mgd_gap.js"].estimate.interval


def test_a_ratio_needs_a_deviation_that_is_clear_of_noise() -> None:
    assert "eb_m.js" not in simulated(OWN, TEXT, TEXT, 200, 1)
    ratio = simulated(OWN, [0.36, 0.34, 0.2, 0.1], TEXT, 2000, 1)["eb_m.js"].estimate
    assert 1 < ratio.interval.lower < ratio.value < ratio.interval.upper < math.inf


def test_what_never_varies_still_has_an_interval() -> None:
    tables = Tables(30, windows_of(5), 2)
    for table in (tables.own, tables.given, tables.drawn, tables.text):
        table[..., 0] = 1.0
    for figure in gap_figures(tables, ["js"], seed=1).values():
        assert figure.estimate.interval.width > 0
        assert math.isfinite(figure.estimate.interval.width)


# --- From a model and sentences.


def lstm(seed: int, *, end: str | None = None, size: int = 40) -> LSTMLanguageModel:
    words = WordVocabulary([str(token) for token in range(size)], end=end, unknown=None)
    model = LSTMLanguageModel(words, LSTMSettings(hidden=8, embedding=8))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


def measured(model: LSTMLanguageModel, data: Tensor, **changes: Any) -> dict[str, Any]:
    settings = {"samples": len(data), "length": data.shape[1], "seed": 1, "resamples": 200, **changes}
    return {entry.name: entry for entry in measure_exposure_gap(model, data, **settings)}


@pytest.mark.parametrize("prefix", [None, 0])
def test_a_model_has_no_gap_to_its_own_text(prefix: int | None) -> None:
    model = lstm(1)
    text = generate(model, 150, 20, seed=7, stop_at_end=False).tokens
    found = measured(model, text, prefix=prefix)
    assert 0 in found["mgd_gap.js"].interval
    assert found["mgd_gap_p.js"].value > 0.05
    assert found["mgd_gap.js"].recipe["prefix"] == (10 if prefix is None else 0)
    assert "eb_m.js" not in found
    assert len(found["eb_m_plain.js"].by_position.values) == (9 if prefix is None else 19)


def test_a_model_of_other_text_has_a_ratio() -> None:
    found = measured(lstm(1), generate(lstm(2), 300, 20, seed=7, stop_at_end=False).tokens)
    assert found["mgd_data.js"].interval.lower > 0
    assert math.isfinite(found["eb_m.js"].interval.upper)
    assert found["eb_m_plain.tv"].interval.width > 0


def test_continuations_reach_the_length_of_the_text() -> None:
    model = lstm(3, end="3")
    text = generate(model, 2000, 16, seed=5, stop_at_end=True)
    kept = text.tokens[(text.tokens != model.vocabulary.end).all(dim=1)]
    assert 50 < len(kept) < 1900
    found = measured(model, kept[:200], distances=["js", "gd"])
    assert {name.split(".")[1] for name in found} == {"js"}
    assert found["mgd_gap_p.js"].value > 0.05


def test_figures_do_not_depend_on_the_batch_size() -> None:
    model = lstm(1)
    text = generate(lstm(2), 50, 14, seed=7, stop_at_end=False).tokens
    first, second = (measured(model, text, batch_size=size) for size in (7, 50))
    assert first.keys() == second.keys()
    for name, entry in first.items():
        assert second[name].value == pytest.approx(entry.value, rel=1e-4, abs=1e-7)


def test_anchors_leave_room() -> None:
    assert [usual_prefix(length) for length in (2, 3, 14, 20, 50)] == [0, 0, 6, 10, 10]
    text = generate(lstm(1), 20, 12, seed=7, stop_at_end=False).tokens
    with pytest.raises(OffscriptError, match="anchor of 11"):
        measured(lstm(1), text, prefix=11)
    with pytest.raises(OffscriptError, match="no distance"):
        measured(lstm(1), text, distances=["gd"])
