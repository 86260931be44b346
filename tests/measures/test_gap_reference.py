"""The gap's partition, tables, resampling and tests against the same in plain loops."""

import math

import numpy as np
import pytest
import torch
from scipy.special import rel_entr

from offscript.measures.exposure import gap
from offscript.measures.exposure.gap import Partition, Tables, gap_figures, windows_of
from offscript.measures.exposure.studentised import METHOD, Resampled, Split, slopes
from offscript.statistics.resampling import percentile_bounds, resampling_counts

GROUPS, CLASSES = 6, 4
SPANS = [range(2), range(2, 5)]


def _js(p: np.ndarray, q: np.ndarray) -> float:
    middle = (p + q) / 2
    return float((rel_entr(p, middle) + rel_entr(q, middle)).sum() / 2)


def _tables(seed: int = 1, sentences: int = GROUPS) -> Tables:
    rng = np.random.default_rng(seed)
    tables = Tables(sentences, SPANS, CLASSES)
    for table in (tables.own, tables.given):
        values = torch.from_numpy(rng.dirichlet(np.ones(CLASSES), (sentences, 5)))
        tables.add(table, slice(0, sentences), slice(0, 5), values)
    for table in (tables.drawn, tables.text):
        tables.count(table, torch.from_numpy(rng.integers(0, CLASSES, (sentences, 5))))
    return tables


def test_windows_are_nearly_equal_and_five_wide() -> None:
    assert windows_of(4) == [range(4)]
    assert windows_of(9) == [range(9)]
    assert windows_of(10) == [range(5), range(5, 10)]
    assert windows_of(23) == [range(5), range(5, 11), range(11, 17), range(17, 23)]
    assert windows_of(100) == [range(25), range(25, 50), range(50, 75), range(75, 100)]


def test_tables_add_distributions_by_group_and_window() -> None:
    rng, sentences = np.random.default_rng(2), 7
    values = rng.dirichlet(np.ones(CLASSES), (sentences, 5))
    tables = Tables(sentences, SPANS, CLASSES)
    tables.add(tables.own, slice(0, 3), slice(0, 5), torch.from_numpy(values[:3]))
    tables.add(tables.own, slice(3, 7), slice(0, 2), torch.from_numpy(values[3:, :2]))
    tables.add(tables.own, slice(3, 7), slice(2, 5), torch.from_numpy(values[3:, 2:]))
    expected = np.stack([values[:, :2].mean(axis=1), values[:, 2:].mean(axis=1)], axis=1)
    assert tables.own.numpy() == pytest.approx(expected)
    classes = rng.integers(0, CLASSES, (sentences, 5))
    tables.count(tables.text, torch.from_numpy(classes))
    one_hot = np.eye(CLASSES)[classes]
    expected = np.stack([one_hot[:, :2].mean(axis=1), one_hot[:, 2:].mean(axis=1)], axis=1)
    assert tables.text.numpy() == pytest.approx(expected)
    assert tables.sizes.tolist() == [1.0] * 7
    assert not tables.drawn.any()


def test_many_sentences_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gap, "GROUPS", 3)
    tables = Tables(7, SPANS, CLASSES)
    assert tables.sizes.tolist() == [3.0, 2.0, 2.0]  # sentence · 3 // 7
    tables.count(tables.text, torch.zeros(7, 5, dtype=torch.long))
    assert tables.text[:, :, 0].numpy() == pytest.approx(np.array([[3.0, 3.0], [2.0, 2.0], [2.0, 2.0]]), abs=1e-12)


def test_a_partition_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [50, 1, 30, 0, 9, 5, 5, 0, 0, 0]
    text = torch.tensor([token for token, count in enumerate(counts) for _ in range(count)])
    made = Partition.of(text, 10, expected=200.0)  # a class must expect 20 of 200: a tenth
    assert made.singles.tolist() == [0, 2]
    # The rest holds a fifth of the text: two bands, of tokens 4 and of all others; half a sighting is shared by eight.
    assert made.bands.shape[1] == 2
    weights = np.array([9, 5, 5, 1, 0, 0, 0, 0]) + 0.5 / 8
    above = (weights.cumsum() - weights) / weights.sum()
    expected = [0 if share < 0.5 else 1 for share in above]
    order = [4, 5, 6, 1, 3, 7, 8, 9]
    assert [int(made.classes[token]) - 2 for token in order] == expected
    assert made.classes[[0, 2]].tolist() == [0, 1]
    assert made.largest == 1
    assert sorted(made.banded.tolist()) == [
        token for token, band in sorted(zip(order, expected, strict=True)) if not band
    ]
    assert len(made) == 4
    probabilities = torch.tensor(np.random.default_rng(1).dirichlet(np.ones(10), 3))
    summed = np.zeros((3, 4))
    for token, place in enumerate(made.classes.tolist()):
        summed[:, place] += probabilities[:, token].numpy()
    assert made.of_probabilities(probabilities).numpy() == pytest.approx(summed)
    monkeypatch.setattr(gap, "SINGLE", 1)
    assert Partition.of(text, 10, expected=200.0).singles.tolist() == [0]
    monkeypatch.setattr(gap, "BANDS", 3)
    assert Partition.of(text, 10, expected=20000.0).bands.shape[1] == 3
    small = Partition.of(torch.tensor([0, 0, 1]), 2, expected=1e9)
    assert len(small) == 2
    assert small.singles.tolist() == [0]  # one of two stands alone, and the other is the band


def test_the_gap_is_that_of_averages_over_windows() -> None:
    tables = _tables()
    found = gap_figures(tables, ("js",), seed=3, resamples=150)
    own, given, text = (table.numpy().mean(axis=0) for table in (tables.own, tables.given, tables.text))
    model = np.array([_js(own[window], text[window]) for window in range(2)])
    data = np.array([_js(given[window], text[window]) for window in range(2)])
    split = Resampled.of([tables.own, tables.given, tables.text], tables.sizes, ["js"], np.random.default_rng(3), 150)
    assert split.gap("js").value == pytest.approx(np.append(model - data, (model - data).mean()))
    assert split.deviation("model", "js").value == pytest.approx(np.append(model, model.mean()))
    assert split.deviation("data", "js").value == pytest.approx(np.append(data, data.mean()))
    counts = resampling_counts(GROUPS, 150, np.random.default_rng(3))
    redrawn = []
    for row in counts:
        o, g, t = (np.tensordot(row, table.numpy(), 1) / GROUPS for table in (tables.own, tables.given, tables.text))
        redrawn.append([_js(o[w], t[w]) - _js(g[w], t[w]) for w in range(2)])
    gap_split = split.gap("js")
    whole = gap_split.value + gap_split.linear + gap_split.rest
    assert whole[:, :2] == pytest.approx(np.array(redrawn))
    assert found["mgd_gap.js"].estimate.value == pytest.approx(gap_split.unbiased[-1])
    assert found["mgd_gap.js"].estimate.interval.method == METHOD
    for side in ("model", "data"):
        figure = split.deviation(side, "js").figure(0.95, (0.0, math.log(2)))
        assert found[f"mgd_{side}.js"].estimate.interval == figure.estimate.interval


def test_linear_parts_and_variances_are_those_of_single_groups() -> None:
    tables, step = _tables(4), 1e-6
    arrays = [table.numpy() for table in (tables.own, tables.given, tables.text)]

    def figures(weights: np.ndarray) -> np.ndarray:
        own, given, text = (np.tensordot(weights, array, 1) / weights.sum() for array in arrays)
        model = np.array([_js(own[w], text[w]) for w in range(2)])
        data = np.array([_js(given[w], text[w]) for w in range(2)])
        rows = np.stack([model, data, model - data])
        return np.column_stack([rows, rows.mean(axis=1)])

    split = Resampled.of([tables.own, tables.given, tables.text], tables.sizes, ["js"], np.random.default_rng(3), 100)
    counts = resampling_counts(GROUPS, 100, np.random.default_rng(3))

    def influences(weights: np.ndarray) -> np.ndarray:
        """What a weight of 1 of each group that has any moves: [groups, figures, windows + 1]."""
        moves = step * np.diag(weights > 0)
        return np.array([(figures(weights + move) - figures(weights - move)) / (2 * step) for move in moves])

    slope = influences(np.ones(GROUPS))
    for place, key in enumerate((("model", "js"), ("data", "js"), ("gap", "js"))):
        part = split.splits[key]
        linear = np.tensordot(counts, slope[:, place], 1)
        assert part.linear == pytest.approx(linear, abs=1e-8)
        expected = (slope[:, place] ** 2).sum(axis=0) * GROUPS / (GROUPS - 1)
        assert part.variance == pytest.approx(expected, rel=1e-5)
        row = counts[0]
        own = influences(row)[:, place]
        assert part.variances[0] == pytest.approx((row[:, None] * own**2).sum(axis=0) * 6 / 5, rel=1e-4)
    assert split.gap("js").groups == GROUPS


@pytest.mark.parametrize("name", ["tv", "js", "hellinger"])
def test_slopes_are_derivatives(name: str) -> None:
    from offscript.measures.distances import distances

    rng, step = np.random.default_rng(5), 1e-6
    p, q = (torch.from_numpy(rng.dirichlet(np.ones(5), 2)) for _ in range(2))
    first, second = slopes(name, p, q)
    for place in range(5):
        moved = torch.zeros(5, dtype=torch.float64)
        moved[place], moved[(place + 1) % 5] = step, -step  # within the simplex

        def measured(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return distances(a.log(), b.log(), [name])[name]

        by_p = (measured(p + moved, q) - measured(p - moved, q)) / (2 * step)
        by_q = (measured(p, q + moved) - measured(p, q - moved)) / (2 * step)
        assert by_p.tolist() == pytest.approx((first[:, place] - first[:, (place + 1) % 5]).tolist(), abs=1e-6)
        assert by_q.tolist() == pytest.approx((second[:, place] - second[:, (place + 1) % 5]).tolist(), abs=1e-6)
    nothing = slopes(name, torch.tensor([[0.0, 1.0]]).double(), torch.tensor([[0.0, 1.0]]).double())
    assert all(torch.isfinite(part).all() for part in nothing)


def _split(value: list[float], linear: np.ndarray, rest: np.ndarray, variance: float, groups: int = 10) -> Split:
    variances = np.full_like(linear, variance)
    return Split(np.array(value), linear, rest, np.full(len(value), variance), variances, groups)


def test_a_split_by_hand() -> None:
    rng = np.random.default_rng(6)
    linear, rest = rng.normal(0, 1, (199, 2)), 0.1 * rng.normal(1, 1, (199, 2))
    split = _split([0.5, 0.5], linear, rest, 1.2)
    bias, bend = rest.mean(axis=0), rest.var(axis=0)
    error = np.sqrt(1.2 - 2 * bend + bend)
    assert split.unbiased == pytest.approx(0.5 - bias)
    assert split.standard_errors == pytest.approx(error)
    scores = (linear + rest - bias) / error
    assert split.studentised == pytest.approx(scores)
    seen = (0.5 - bias[-1]) / error[-1]
    assert split.tail(0.0) == int((scores[:, -1] >= seen).sum())
    assert split.tail(5.0) == int((scores[:, -1] <= (0.5 - bias[-1] - 5) / error[-1]).sum())
    first, last = percentile_bounds(scores, 0.9)
    figure = split.figure(0.9, (-9.0, 9.0))
    assert figure.estimate.interval.lower == pytest.approx((0.5 - bias - last * error)[-1])
    assert figure.estimate.interval.upper == pytest.approx((0.5 - bias - first * error)[-1])
    assert figure.estimate.standard_error == pytest.approx(error[-1])
    assert figure.by_length.lower == pytest.approx((0.5 - bias - last * error)[:1])
    cut = split.figure(0.9, (0.4, 0.6)).estimate
    assert (cut.interval.lower, cut.interval.upper) == (0.4, 0.6)


def test_a_split_without_spread_has_the_width_of_the_rule_of_three() -> None:
    flat = _split([0.5, 0.5], np.zeros((100, 2)), np.zeros((100, 2)), 0.0)
    assert flat.studentised.tolist() == np.zeros((100, 2)).tolist()
    interval = flat.figure(0.95, (0.0, 1.0)).estimate.interval
    assert (interval.lower, interval.upper) == pytest.approx((0.5 - 0.3, 0.5 + 0.3))
    bent = _split([0.5, 0.5], np.zeros((100, 2)), np.random.default_rng(1).normal(0, 1, (100, 2)), 0.5)
    assert bent.standard_errors == pytest.approx(bent.rest.std(axis=0))  # no variance is left below the bend
    low = _split([-3.0, -3.0], np.random.default_rng(2).normal(0, 0.1, (100, 2)), np.zeros((100, 2)), 0.01)
    assert low.figure(0.95, (0.0, 1.0)).estimate.interval.upper == pytest.approx(0.1)


def test_exchanges_of_model_and_data_by_hand() -> None:
    tables = _tables(7)
    observed, nulls = gap._exchanged(tables, ["js"], np.random.default_rng(9), 50)["js"]
    own, given, drawn, text = (t.numpy() for t in (tables.own, tables.given, tables.drawn, tables.text))
    signs = np.random.default_rng(9).integers(0, 2, size=(50, GROUPS))
    signs[0] = 0
    gaps = []
    for row in signs:
        keep = row[:, None, None] == 0
        o, g, t = (np.where(keep, a, b).mean(axis=0) for a, b in ((own, given), (given, own), (text, drawn)))
        gaps.append(np.mean([_js(o[w], t[w]) - _js(g[w], t[w]) for w in range(2)]))
    assert observed == pytest.approx(gaps[0])
    assert nulls == pytest.approx(np.array(gaps[1:]))


def _gap_split(value: float, error: float = 0.1) -> Split:
    scores = np.linspace(-3, 3, 199)[:, None] * error
    return Split(
        np.array([value, value]), np.hstack([scores, scores]), np.zeros((199, 2)), np.full(2, error**2),
        np.full((199, 2), error**2), 50,
    )  # fmt: skip


APART = _gap_split(0.35)  # a deviation that tells model and data apart


def test_the_larger_of_two_p_values_counts() -> None:
    split = _gap_split(0.15)
    tail = split.tail(0.0)
    nulls = np.linspace(-1, 1, 99)
    figures = gap._gap_figure("js", split, APART, (0.9, nulls), 0.95, math.log(2))
    tails = int((nulls >= 0.9).sum())
    resampled, exact = (2 * tail + 1) / 200, (2 * tails + 1) / 100
    assert resampled > exact
    assert figures["mgd_gap_p.js"].estimate.value == pytest.approx(resampled)
    assert figures["mgd_gap_p.js"].estimate.interval.method == "p-value"
    assert 0.0 in figures["mgd_gap.js"].estimate.interval
    figures = gap._gap_figure("js", _gap_split(0.35), APART, (0.1, nulls), 0.95, math.log(2))
    tails = min(int((nulls >= 0.1 - 1e-12).sum()), int((nulls <= 0.1 + 1e-12).sum()))
    assert figures["mgd_gap_p.js"].estimate.value == pytest.approx((2 * tails + 1) / 100)
    assert figures["mgd_gap.js"].estimate.interval.lower == 0.0  # the exact test cannot exclude it
    clear = gap._gap_figure("js", _gap_split(0.35), APART, (2.0, nulls), 0.95, math.log(2))
    assert clear["mgd_gap_p.js"].estimate.value == pytest.approx(1 / 100)
    assert clear["mgd_gap.js"].estimate.interval.lower > 0
    below = gap._gap_figure("js", _gap_split(-0.35), APART, (-2.0, nulls), 0.95, math.log(2))
    assert below["mgd_gap.js"].estimate.interval.upper < 0
    middle = gap._gap_figure("js", _gap_split(0.0), APART, (0.0, nulls), 0.95, math.log(2))
    assert middle["mgd_gap_p.js"].estimate.value == 1.0


def test_a_ratio_needs_a_deviation_clear_of_noise() -> None:
    rng = np.random.default_rng(8)
    linear = rng.normal(0, 0.1, (200, 2))
    model = Split(np.array([0.8, 0.9]), linear, np.zeros((200, 2)), np.full(2, 0.01), np.full((200, 2), 0.01), 50)
    data = Split(np.array([0.7, 0.5]), linear[::-1], np.zeros((200, 2)), np.full(2, 0.01), np.full((200, 2), 0.01), 50)
    found = gap._ratio_figure(model, data, 0.95)
    assert found is not None
    assert found.estimate.value == pytest.approx(1.8)
    scale = 0.1 / linear[:, -1].std()
    spread = (linear[:, -1] * scale / 0.9 - linear[::-1][:, -1] * scale / 0.5).std(ddof=1)
    assert found.estimate.standard_error == pytest.approx(1.8 * spread)
    assert found.estimate.interval.upper == pytest.approx(1.8 * math.exp(1.959964 * spread), rel=1e-5)
    assert found.estimate.interval.lower == pytest.approx(1.8 / math.exp(1.959964 * spread), rel=1e-5)
    weak = Split(np.array([0.4, 0.4]), linear, np.zeros((200, 2)), np.full(2, 0.01), np.full((200, 2), 0.01), 50)
    assert gap._ratio_figure(model, weak, 0.95) is None  # four standard errors are not more than four
    none = Split(np.array([0.0, 0.0]), linear, np.zeros((200, 2)), np.full(2, 0.01), np.full((200, 2), 0.01), 50)
    assert gap._ratio_figure(none, data, 0.95) is None
