"""Averages of predictions by groups of sequences, their subsets, and the paper's plain estimate, in plain loops."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import t

from offscript.measures.exposure import anchored, marginal
from offscript.measures.exposure.anchored import _given_no_end, _plain_figures, usual_prefix
from offscript.measures.exposure.marginal import Averages, Marginals, _parts, _Subsets, marginal_figures

SIZE, LENGTHS, SEQUENCES = 4, 3, 9


def _predictions(seed: int, sequences: int = SEQUENCES, size: int = SIZE) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(size), (sequences, LENGTHS)))


def _averages(seed: int, groups: int = 4) -> tuple[Averages, np.ndarray]:
    made, values = Averages(SEQUENCES, LENGTHS, SIZE, groups=groups), _predictions(seed)
    made.add(slice(0, 5), slice(0, LENGTHS), values[:5].log())
    made.add_probabilities(slice(5, 9), slice(0, 1), values[5:, :1])
    made.add_probabilities(slice(5, 9), slice(1, LENGTHS), values[5:, 1:])
    return made, values.numpy()


GROUP_OF = np.arange(SEQUENCES) * 4 // SEQUENCES  # 0 0 0 1 1 2 2 3 3


@pytest.mark.parametrize("large", [False, True])
def test_sums_by_group_and_length(large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(marginal, "LARGE", SIZE)  # a sum for each group
    made, values = _averages(1)
    expected = np.stack([values[group == GROUP_OF].sum(axis=0) for group in range(4)])
    assert made.sums.numpy() == pytest.approx(expected)
    assert made.sizes.tolist() == [3.0, 2.0, 2.0, 2.0]
    assert made.sums.dtype == torch.float64
    weights = np.random.default_rng(2).random((5, 4))
    means = np.stack([w @ expected[:, 1] / (w @ made.sizes.numpy()) for w in weights])
    assert made.weighted(torch.from_numpy(weights), 1).numpy() == pytest.approx(means)
    assert made.most_probable(torch.from_numpy(weights), 1).tolist() == means.argmax(axis=1).tolist()


def test_counted_tokens() -> None:
    tokens = np.random.default_rng(3).integers(0, SIZE, (SEQUENCES, LENGTHS))
    made = Averages(SEQUENCES, LENGTHS, SIZE, groups=4)
    made.count(torch.from_numpy(tokens))
    one_hot = np.eye(SIZE)[tokens]
    assert made.sums.numpy() == pytest.approx(np.stack([one_hot[g == GROUP_OF].sum(axis=0) for g in range(4)]))


def test_how_many_groups_and_which_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Averages(3, 2, 5).sums.shape == (3, 2, 5)
    assert len(Averages(1000, 2, 5).sizes) == 100
    monkeypatch.setattr(marginal, "LARGEST", 20 * 10)
    assert len(Averages(1000, 2, 5).sizes) == 20
    monkeypatch.setattr(marginal, "LARGEST", 1)
    assert len(Averages(1000, 2, 5).sizes) == 10
    monkeypatch.setattr(marginal, "LARGEST_DOUBLE", 100)
    assert Averages(1000, 2, 5).sums.dtype == torch.float64
    monkeypatch.setattr(marginal, "LARGEST_DOUBLE", 99)
    assert Averages(1000, 2, 5).sums.dtype == torch.float32


@pytest.mark.parametrize("groups", [1, 2, 4, 7])
def test_parts_are_disjoint_neighbours(groups: int) -> None:
    for count in (2, 4):
        parts = _parts(groups, count)
        if groups < count:
            assert parts.shape == (0, groups)
        else:
            expected = [[float(group * count // groups == part) for group in range(groups)] for part in range(count)]
            assert parts.tolist() == expected


def _marginals(paired: bool) -> tuple[Marginals, list[np.ndarray]]:
    (own, a), (given, b) = _averages(4), _averages(5)
    tokens = np.random.default_rng(6).integers(0, SIZE, (SEQUENCES, LENGTHS))
    text = Averages(SEQUENCES, LENGTHS, SIZE, groups=4)
    text.count(torch.from_numpy(tokens))
    return Marginals(own, given, text, paired), [a, b, np.eye(SIZE)[tokens]]


def test_subsets_of_paired_and_of_independent_sequences() -> None:
    paired = _Subsets.of(_marginals(paired=True)[0])
    assert paired.model.tolist() == paired.data.tolist()
    assert paired.model[0].tolist() == [1.0] * 4
    assert paired.left_out == (slice(1, 5),)
    assert paired.model[1:5].tolist() == (1 - np.eye(4)).tolist()
    assert (paired.halves, paired.quarters) == (slice(5, 7), slice(7, 11))
    assert paired.model[5:7].tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
    apart = _Subsets.of(_marginals(paired=False)[0])
    assert apart.left_out == (slice(1, 5), slice(5, 9))
    assert apart.model[1:5].tolist() == np.ones((4, 4)).tolist()
    assert apart.data[1:5].tolist() == (1 - np.eye(4)).tolist()
    assert apart.model[5:9].tolist() == (1 - np.eye(4)).tolist()
    assert apart.data[5:9].tolist() == np.ones((4, 4)).tolist()
    assert apart.groups == 4


def _tv(p: np.ndarray, q: np.ndarray) -> float:
    return float(np.abs(p - q).sum() / 2)


@pytest.mark.parametrize("paired", [False, True])
def test_deviations_have_the_jackknifes_errors(paired: bool) -> None:
    marginals, (own, given, text) = _marginals(paired)
    figures = marginal_figures(marginals, ["tv", "gd"], seed=1, resamples=100)

    def deviations(model: np.ndarray, data: np.ndarray) -> np.ndarray:
        o, g, x = own[model].mean(axis=0), given[data].mean(axis=0), text[data].mean(axis=0)
        rows = np.array([[_tv(o[k], x[k]) for k in range(LENGTHS)], [_tv(g[k], x[k]) for k in range(LENGTHS)]])
        return np.column_stack([rows, rows.mean(axis=1)])

    everything = np.ones(SEQUENCES, dtype=bool)
    left = [group != GROUP_OF for group in range(4)]
    tables = [[deviations(kept, kept) for kept in left]] if paired else [
        [deviations(everything, kept) for kept in left],
        [deviations(kept, everything) for kept in left],
    ]  # fmt: skip
    errors = np.sqrt(sum(3 * np.var(table, axis=0) for table in tables))
    whole = deviations(everything, everything)
    for row, name in enumerate(("mgd_model.tv", "mgd_data.tv")):
        assert figures[name].estimate.standard_error == pytest.approx(errors[row, -1])
        if figures[name].estimate.interval.method != "jackknife, bias taken off":
            assert figures[name].estimate.value == pytest.approx(whole[row, -1])
            assert figures[name].by_length.values == pytest.approx(whole[row, :-1])
    greedy = [
        [float(side[:, k].mean(axis=0).argmax() != text[:, k].mean(axis=0).argmax()) for k in range(LENGTHS)]
        for side in (own, given)
    ]
    assert figures["mgd_model.gd"].by_length.values == pytest.approx(greedy[0])
    assert figures["mgd_data.gd"].by_length.values == pytest.approx(greedy[1])


def test_resampled_steps_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    marginals, _ = _marginals(paired=False)
    whole = marginal_figures(marginals, ["gd"], seed=1, resamples=100)
    monkeypatch.setattr(marginal, "RESAMPLED_AT_ONCE", SIZE * 7)
    assert marginal_figures(marginals, ["gd"], seed=1, resamples=100) == whole


def test_distributions_given_that_the_end_is_not_next() -> None:
    rows = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], dtype=torch.float64)
    found = _given_no_end(rows.clone(), 0)
    assert found[0].tolist() == pytest.approx([0.0, 0.375, 0.625])
    assert found[1].tolist() == [0.0, 0.0, 0.0]
    assert _given_no_end(rows, None) is rows


@pytest.mark.parametrize(("length", "prefix"), [(1, 0), (2, 0), (4, 1), (19, 8), (20, 10), (50, 10)])
def test_anchors_are_ten_tokens_or_nearly_half(length: int, prefix: int) -> None:
    assert usual_prefix(length) == prefix


def test_the_papers_estimate_by_hand() -> None:
    marginals, arrays = _marginals(paired=True)
    averages = marginals.model_on_model, marginals.model_on_data, marginals.data_on_data
    found = _plain_figures(*averages, ["tv"], 0.9)["eb_m_plain.tv"]
    own, given, text = (array.mean(axis=0) for array in arrays)
    ratios = np.array([_tv(own[k], text[k]) / _tv(given[k], text[k]) for k in range(LENGTHS)])
    assert found.by_length.values == pytest.approx(ratios)
    assert found.estimate.value == pytest.approx(ratios.mean())
    sums = [np.stack([array[group == GROUP_OF].sum(axis=0) for group in range(4)]) for array in arrays]
    sizes = np.array([3.0, 2.0, 2.0, 2.0])
    shifts = np.zeros((4, LENGTHS))
    for k in range(LENGTHS):
        bottom = _tv(given[k], text[k])
        for group in range(4):
            moved = [sums[side][group, k] - sizes[group] * (own, given, text)[side][k] for side in range(3)]
            of_top = (np.sign(own[k] - text[k]) / 2 * (moved[0] - moved[2])).sum() / 9
            of_bottom = (np.sign(given[k] - text[k]) / 2 * (moved[1] - moved[2])).sum() / 9
            shifts[group, k] = (of_top - ratios[k] * of_bottom) / bottom
    shifts = np.column_stack([shifts, shifts.mean(axis=1)])
    error = math.sqrt((shifts[:, -1] ** 2).sum() * 4 / 3)
    assert found.estimate.standard_error == pytest.approx(error)
    factor = math.exp(min(50.0, t.ppf(0.95, 3) * error / ratios.mean()))
    assert found.estimate.interval.upper == pytest.approx(ratios.mean() * factor)
    assert found.estimate.interval.lower == pytest.approx(ratios.mean() / factor)
    same = _plain_figures(averages[0], averages[2], averages[2], ["tv"], 0.9)
    assert same == {}  # nothing to divide by
    assert anchored.PREFIX == 10
