"""Resampling, paired differences and the jackknife against their definitions, step by step on small samples."""

import math

import numpy as np
import pytest
from scipy.stats import norm, pearsonr, rankdata, spearmanr, t

from offscript.errors import OffscriptError
from offscript.statistics import (
    Difference,
    Estimate,
    Interval,
    Unbiased,
    bootstrap,
    bootstrap_by_length,
    contributions,
    correlation_interval,
    curve_difference,
    differences,
    differences_from_best,
    differences_of_draws,
    estimates_of_draws,
    independent_difference,
    jackknife,
    leave_out_errors,
    leave_out_profile,
    mean_interval,
    p_value_of,
    paired_differences,
    resampling,
    share_difference,
    two_stage_draws,
)
from offscript.statistics.resampling import percentile_bounds, resampled, resampling_counts, spread, value_and_draws

Array = np.ndarray


def seeded(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def ends(estimate: Estimate) -> list[float]:
    return [estimate.interval.lower, estimate.interval.upper]


@pytest.mark.parametrize(("level", "place"), [(0.95, 4), (0.9, 9), (0.5, 49), (0.999, 0)])
def test_bounds_are_order_statistics(level: float, place: int) -> None:
    draws = seeded().permutation(199).astype(float)[:, None]  # 0 to 198
    lower, upper = percentile_bounds(draws, level)
    assert (lower[0], upper[0]) == (place, 198 - place)


def test_the_spread_of_draws() -> None:
    table = np.array([[1.0, 1.0], [2.0, math.inf], [4.0, 2.0]])
    assert spread(table).tolist() == pytest.approx([np.std([1, 2, 4], ddof=1), math.inf])


@pytest.mark.parametrize("n", [2, 7, 1000])
def test_counts_are_those_of_the_generators_indices(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = seeded().integers(0, n, size=(5, n))
    expected = np.array([np.bincount(row, minlength=n) for row in drawn])
    assert np.array_equal(resampling_counts(n, 5, seeded()), expected)
    monkeypatch.setattr(resampling, "CACHE_ELEMENTS", 2 * n)  # two rows at a time
    assert np.array_equal(resampling_counts(n, 5, seeded()), expected)
    monkeypatch.setattr(resampling, "CACHE_ELEMENTS", 1)
    assert np.array_equal(resampling_counts(n, 5, seeded()), expected)


def test_samples_are_resampled_one_after_the_other() -> None:
    sizes, asked = [3, 4], []

    def statistic(first: Array, second: Array) -> Array:
        asked.append((first.shape, second.shape))
        return np.column_stack([first, second])

    draws = resampled(statistic, sizes, 100, seeded())
    generator = seeded()
    whole = [resampling_counts(n, 100, generator) / n for n in sizes]
    assert np.array_equal(draws, np.column_stack(whole))
    assert asked == [((100, 3), (100, 4))]
    with pytest.raises(OffscriptError, match="cannot use 99 resamples"):
        resampled(statistic, sizes, 99, seeded())
    value, _ = value_and_draws(statistic, sizes, 100, seeded())
    assert value.tolist() == [[1 / 3] * 3 + [1 / 4] * 4]
    for few in ([1, 5], []):
        with pytest.raises(OffscriptError, match="an interval needs at least two"):
            value_and_draws(statistic, few, 100, seeded())
    with pytest.raises(OffscriptError, match="NaN"):
        value_and_draws(lambda weights: np.full(len(weights), math.nan), [2], 100, seeded())
    assert value_and_draws(lambda weights: weights[:, 0], [2], 100, seeded())[0].tolist() == [0.5]


@pytest.mark.parametrize("method", ["percentile", "basic"])
def test_a_bootstrap_by_hand(method: str) -> None:
    values = np.array([[1.0, 5.0], [2.0, 1.0], [4.0, 1.0], [9.0, 0.0]])
    weights = resampling_counts(4, 199, seeded()) / 4
    draws = weights @ values
    draws = np.column_stack([draws, draws.mean(axis=1)])
    whole = np.append(values.mean(axis=0), values.mean())
    lower, upper = np.sort(draws, axis=0)[[4, 194]]
    if method == "basic":
        lower, upper = 2 * whole - upper, 2 * whole - lower
    found = bootstrap_by_length(lambda w: w @ values, [4], generator=seeded(), resamples=199, method=method)
    assert found.by_length.values == pytest.approx(whole[:2])
    assert found.by_length.lower == pytest.approx(lower[:2])
    assert found.by_length.upper == pytest.approx(upper[:2])
    assert ends(found.average) == pytest.approx([lower[2], upper[2]])
    assert found.average.standard_error == pytest.approx(draws[:, 2].std(ddof=1))
    one = bootstrap(lambda w: w @ values[:, 0], [4], generator=seeded(), resamples=199, method=method)
    assert [one.value, *ends(one)] == pytest.approx([4.0, lower[0], upper[0]])
    assert one.interval.level == 0.95
    with pytest.raises(OffscriptError, match="known: percentile, basic"):
        bootstrap(lambda w: w @ values[:, 0], [4], generator=seeded(), method="student")


def test_infinite_draws_are_not_mirrored() -> None:
    def statistic(weights: Array) -> Array:
        with np.errstate(divide="ignore"):
            return 1 / (weights @ np.array([0.0, 0.0, 0.0, 1.0]))

    found = bootstrap(statistic, [4], generator=seeded(), resamples=200, method="basic")
    assert found.interval.upper == math.inf
    assert 0 < found.interval.lower <= 4
    assert found.standard_error == math.inf


def test_groups_and_then_their_items_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([[3.0, 1.0], [0.0, 6.0], [2.0, 2.0]])
    blocks: list[Array] = []

    def statistic(block: Array) -> Array:
        blocks.append(block)
        return block.sum(axis=(1, 2))

    sizes = two_stage_draws(statistic, counts, 150, seeded())
    assert [len(block) for block in blocks] == [150]
    assert blocks[0].shape == (150, 3, 2)
    chosen = seeded().integers(0, 3, size=(150, 3))
    assert np.array_equal(sizes, counts.sum(axis=1)[chosen].sum(axis=1))
    assert (blocks[0][..., 0][chosen == 1] == 0).all()  # a group without an outcome has it in no resample
    rates = blocks[0][..., 0][chosen == 0]
    assert rates.mean() == pytest.approx(3.0, abs=0.2)
    monkeypatch.setattr(resampling, "BLOCK_ELEMENTS", 6 * 40)
    blocks.clear()
    assert len(two_stage_draws(statistic, counts, 150, seeded())) == 150
    assert [len(block) for block in blocks] == [40, 40, 40, 30]


def test_estimates_and_differences_of_draws_by_hand() -> None:
    draws = np.column_stack([np.arange(199.0) - 90, np.full(199, 2.0), np.arange(199.0)])
    values = np.array([10.0, 2.0, 300.0])
    found = estimates_of_draws(values, draws, level=0.9, method="m")
    assert [ends(each) for each in found] == [[-81.0, 99.0], [2.0, 2.0], [9.0, 300.0]]
    assert [each.interval.method for each in found] == ["m", "all resamples equal", "m"]
    assert [each.standard_error for each in found] == pytest.approx(
        [np.arange(199).std(ddof=1), 0.0] * 1 + [np.arange(199).std(ddof=1)]
    )
    apart = differences_of_draws(values, draws, level=0.9, method="m")
    # Resamples at least as far from 10 as 10 is from 0: those up to 0 and those from 20 on.
    beyond = int(((draws[:, 0] <= 0) | (draws[:, 0] >= 20)).sum())
    assert apart[0].p_value == (1 + beyond) / 200
    assert apart[1].p_value == 1 / 200
    assert differences_of_draws(np.zeros(1), draws[:, :1], level=0.9, method="m")[0].p_value == 1.0


@pytest.mark.parametrize("n", [12, 15])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_paired_differences_are_studentised_resample_by_resample(n: int, level: float) -> None:
    rng = seeded(n)
    first, second = rng.exponential(1.0, (n, 2)), rng.exponential(0.5, (n, 2))
    values = first - second
    counts = resampling_counts(n, 199, seeded())
    found = paired_differences(first, second, generator=seeded(), resamples=199, level=level)
    for column, difference in zip(values.T, found, strict=True):
        mean, error = column.mean(), column.std(ddof=1) / math.sqrt(n)
        samples = [np.repeat(column, row.astype(int)) for row in counts]
        studentised = np.array([(s.mean() - mean) / (s.std(ddof=0) / math.sqrt(n - 1)) for s in samples])
        lower, upper = percentile_bounds(studentised, level)
        assert difference.value == pytest.approx(mean)
        assert difference.standard_error == pytest.approx(error)
        assert ends(difference) == pytest.approx([mean - upper * error, mean - lower * error])
        beyond = int((np.abs(studentised) >= abs(mean / error)).sum())
        assert difference.p_value == (1 + beyond) / 200
        assert difference.interval.method == "paired bootstrap t"


def test_eleven_pairs_are_too_few_to_resample() -> None:
    rng = seeded(2)
    first, second = rng.normal(1, 1, (11, 1)), rng.normal(0, 1, (11, 1))
    (found,) = paired_differences(first, second, generator=seeded())
    mean = mean_interval((first - second)[:, 0])
    assert (found.value, ends(found)) == (mean.value, ends(mean))
    assert found.interval.method == f"paired, {mean.interval.method}"
    assert found.p_value == p_value_of(mean, 11)
    zero_one = paired_differences(np.ones((5, 1)), np.zeros((5, 1)) + 0.5, generator=seeded())[0]
    assert zero_one.interval.width == 0  # an amount, not a share of 5 ones
    assert zero_one.p_value == 2.0**-4


@pytest.mark.parametrize("n", [99, 100])
def test_pairs_of_answers_are_shares_below_a_hundred(n: int) -> None:
    first, second = (seeded(k).random((n, 1)) < 0.6 for k in (1, 2))
    found = paired_differences(first.astype(float), second.astype(float), generator=seeded(), resamples=200)[0]
    ones = np.ones(n)
    if n == 99:
        assert found == share_difference((first[:, 0], ones), (second[:, 0], ones))
    else:
        assert found.interval.method == "paired bootstrap t"


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_shares_square_and_add_with_their_correlation(level: float) -> None:
    first, second = np.array([1.0, 1, 0, 1, 1, 0, 1, 1]), np.array([1.0, 0, 0, 1, 0, 0, 1, 1])
    ones = np.ones(8)
    found = share_difference((first, ones), (second, ones), level=level)
    peer = pytest.importorskip("statsmodels.stats.proportion")
    correlation = pearsonr(first, second).statistic
    from offscript.statistics import proportion_interval

    one, other = proportion_interval(6, 8, level=level), proportion_interval(4, 8, level=level)
    assert other.interval.lower == pytest.approx(peer.proportion_confint(4, 8, alpha=1 - level, method="wilson")[0])

    def reach(a: float, b: float) -> float:
        return math.sqrt(a * a + b * b - 2 * correlation * a * b)

    down = reach(0.75 - one.interval.lower, other.interval.upper - 0.5)
    up = reach(one.interval.upper - 0.75, 0.5 - other.interval.lower)
    assert ends(found) == pytest.approx([0.25 - down, 0.25 + up])
    assert found.standard_error == pytest.approx(reach(one.standard_error, other.standard_error))
    z = 0.25 / down * norm.ppf((1 + level) / 2)
    assert found.p_value == pytest.approx(2 * norm.sf(z))
    agreed = share_difference((ones, ones), (ones, ones))
    sure = proportion_interval(8, 8)
    assert ends(agreed) == pytest.approx([-(1 - sure.interval.lower), 1 - sure.interval.lower])
    assert agreed.p_value == 1.0


def test_independent_figures_add_as_squares() -> None:
    first = Estimate(5.0, 0.3, Interval(4.0, 7.0, 0.95, ""))
    second = Estimate(3.0, 0.4, Interval(2.5, 6.0, 0.9, ""))
    found = independent_difference(first, second)
    assert found.value == 2.0
    assert found.standard_error == pytest.approx(0.5)
    assert ends(found) == pytest.approx([2 - math.sqrt(1 + 9), 2 + math.sqrt(4 + 0.25)])
    assert found.interval.level == 0.9
    assert found.p_value == pytest.approx(2 * norm.sf(2 / math.sqrt(10) * norm.ppf(0.95)))
    back = independent_difference(second, first)
    assert ends(back) == pytest.approx([-end for end in reversed(ends(found))])
    assert back.p_value == pytest.approx(found.p_value)
    exact = [Estimate(value, 0.0, Interval.exact(value)) for value in (1.0, 2.0)]
    assert independent_difference(*exact).p_value == 0.0
    assert independent_difference(exact[0], exact[0]).p_value == 1.0


def test_p_values_read_from_an_interval() -> None:
    figure = Estimate(3.0, 1.0, Interval(1.0, 4.0, 0.9, ""))
    quantile = t.ppf(0.95, 5)
    assert p_value_of(figure, 6, null=0.5) == pytest.approx(2 * t.sf(2.5 / 2 * quantile, 5))
    assert p_value_of(figure, 6, null=4.2) == pytest.approx(2 * t.sf(1.2 / 1 * quantile, 5))
    assert p_value_of(figure, 6, null=1.0) == pytest.approx(0.1)
    assert p_value_of(figure, 6, null=3.0) == 1.0
    assert p_value_of(figure, 3, null=-1e9) == 0.25  # three signs that agree
    assert p_value_of(Estimate(3.0, 0.0, Interval(3.0, 3.0, 0.9, "")), 4) == 2.0**-3
    assert p_value_of(Estimate(3.0, 0.0, Interval(3.0, 3.0, 0.9, "")), 1) == 1.0
    assert p_value_of(figure, 1, null=-20.0) == 1.0
    assert p_value_of(Estimate(3.0, 1.0, Interval(-math.inf, 4.0, 0.9, "")), 6) == 1.0
    assert p_value_of(Estimate(math.inf, math.inf, Interval(math.inf, math.inf, 0.9, "")), 5) == 2.0**-4
    assert p_value_of(Estimate(3.0, 0.0, Interval.exact(3.0)), 5) == 0.0
    assert p_value_of(Estimate(3.0, 0.5, Interval(2.0, 9.0, 0.9, "")), 40) == pytest.approx(
        2 * t.sf(3 * t.ppf(0.95, 39), 39)
    )


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_leads_over_all_pairs_of_systems_by_hand(level: float) -> None:
    table = seeded(7).normal(0, 1, (20, 3)) + np.array([0.0, 0.6, 0.2])
    n, means = 20, table.mean(axis=0)
    errors = np.array([[np.std(a - b, ddof=1) / math.sqrt(n) for b in table.T] for a in table.T])
    weights = resampling_counts(n, 199, seeded()) / n
    shifts = weights @ (table - means)
    leads = [max(abs(row[a] - row[b]) / errors[a, b] for a in range(3) for b in range(3) if a != b) for row in shifts]
    leads = np.sort(leads) * math.sqrt(n / (n - 1))
    reach = leads[min(198, math.ceil(level * 200) - 1)]
    inside = norm.cdf(reach)
    wider = t.ppf(inside, n - 1) / norm.ppf(inside)
    best, found = differences_from_best(table, generator=seeded(), resamples=199, level=level)
    assert best == int(means.argmax())
    for system, difference in enumerate(found):
        error = errors[best, system]
        value = means[best] - means[system]
        assert difference.value == pytest.approx(value)
        assert difference.standard_error == pytest.approx(error)
        assert ends(difference) == pytest.approx([value - wider * reach * error, value + wider * reach * error])
        beyond = int((leads * wider >= value / error).sum()) if value else 199
        assert difference.p_value == (1 + beyond) / 200


def test_twins_of_the_best_do_not_differ_from_it() -> None:
    column = seeded(1).normal(0, 1, 30)
    best, found = differences_from_best(np.column_stack([column, column]), generator=seeded(), resamples=100)
    assert best == 0
    assert [(each.value, each.standard_error, each.interval.width, each.p_value) for each in found] == [
        (0, 0, 0, 1)
    ] * 2
    far = np.column_stack([column, column - 50 + 1e-3 * seeded(2).normal(0, 1, 30)])
    assert differences_from_best(far, generator=seeded(), resamples=100)[1][1].p_value == pytest.approx(1 / 101)


def test_contributions_average_to_the_figure() -> None:
    items, weights = np.array([1.0, 4.0]), np.array([1.0, 3.0])
    assert contributions(3.25, items, weights) == pytest.approx([3.25 + 0.5 * (1 - 3.25), 3.25 + 1.5 * (4 - 3.25)])
    assert contributions(2.5, items) == pytest.approx(items)
    value = math.exp((0.5 * math.log(1.0) + 1.5 * math.log(4.0)) / 2)
    assert contributions(value, items, weights) == pytest.approx(
        [value * (1 + 0.5 * (0 - math.log(value))), value * (1 + 1.5 * (math.log(4) - math.log(value)))]
    )
    assert contributions(9.0, items) is None
    assert contributions(2.5, items[:1]) is None
    assert contributions(math.inf, items) is None
    assert contributions(0.0, np.array([-1.0, 1.0])) == pytest.approx([-1.0, 1.0])
    assert contributions(0.5, np.array([0.0, 4.0])) is None


def test_curves_are_read_off_between_their_means() -> None:
    positions = np.array([[0.0, 0.2], [2.0, 1.8], [1.0, 1.0]])  # three settings of two items, out of order
    heights = np.array([[0.0, 0.0], [4.0, 2.0], [1.0, 1.0]])
    points = np.array([0.5, 1.5])
    flat = np.array([[0.0, 0.0], [2.0, 2.0]]), np.array([[1.0, 1.0], [1.0, 1.0]])
    found = curve_difference(points, (positions, heights), flat, generator=seeded(), resamples=100)
    read = np.interp(points, [0.1, 1.0, 1.9], [0.0, 1.0, 3.0])
    assert found.value == pytest.approx(read.mean() - 1)
    assert found.interval.method == "paired bootstrap percentile"
    both = [
        np.interp(points, [p[0], p[2], p[1]], [h[0], h[2], h[1]]).mean() - 1
        for p, h in zip(positions.T, heights.T, strict=True)
    ]
    assert ends(found) == pytest.approx([min(both), max(both)])


@pytest.mark.parametrize("sentences", [3, 19, 20, 50])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_blocks_of_sentences_leave_in_turn(sentences: int, level: float) -> None:
    values = seeded(sentences).gamma(2.0, 1.0, sentences)

    def statistic(kept: Array) -> Array:
        return np.array([values[kept].mean() ** 2, values[kept].max()])

    groups = min(20, sentences)
    blocks = [sentence * groups // sentences for sentence in range(sentences)]
    without = np.array([statistic(np.array([block != left for block in blocks])) for left in range(groups)])
    errors = np.sqrt((groups - 1) * ((without - without.mean(axis=0)) ** 2).mean(axis=0))
    for place, found in enumerate(jackknife(statistic, sentences, level=level)):
        value = statistic(np.ones(sentences, dtype=bool))[place]
        reach = t.ppf((1 + level) / 2, groups - 1) * errors[place]
        assert [found.value, found.standard_error] == pytest.approx([value, errors[place]])
        assert ends(found) == pytest.approx([value - reach, value + reach])
    with pytest.raises(OffscriptError, match="at least 3 samples"):
        jackknife(statistic, 2)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("n", [10, 25])
def test_correlations_by_the_jackknife_of_fishers_z(kind: str, level: float, n: int) -> None:
    rng = seeded(n)
    first = rng.exponential(1.0, n).round(1)
    second = (first + rng.exponential(1.0, n)).round(1)
    peer = pearsonr if kind == "pearson" else spearmanr
    value = peer(first, second).statistic
    scores = np.array([np.arctanh(peer(np.delete(first, k), np.delete(second, k)).statistic) for k in range(n)])
    error = math.sqrt((n - 1) * scores.var())
    squares = (scores - scores.mean()) ** 2
    kurtosis = (squares**2).mean() / squares.mean() ** 2
    quantile = t.ppf((1 + level) / 2, min(2 * n / (kurtosis - 1), n - 1))
    if kind == "spearman":
        quantile = norm.ppf((1 + level) / 2)
    found = correlation_interval(first, second, kind=kind, level=level)
    assert found.value == pytest.approx(value)
    assert found.standard_error == pytest.approx(error * (1 - value**2))
    centre = np.arctanh(value)
    assert ends(found) == pytest.approx([np.tanh(centre - quantile * error), np.tanh(centre + quantile * error)])


def test_correlations_of_lines_and_of_too_few_pairs() -> None:
    line = np.arange(6.0)
    assert ends(correlation_interval(line, 2 * line)) == pytest.approx([1.0, 1.0])
    assert correlation_interval(line, -line).value == pytest.approx(-1.0)
    for kind, least in (("pearson", 6), ("spearman", 10)):
        values = seeded(3).normal(0, 1, (2, least))
        assert correlation_interval(*values, kind=kind).interval.width > 0
        with pytest.raises(OffscriptError, match=f"at least {least} samples"):
            correlation_interval(*values[:, 1:], kind=kind)
    for pair in ((line, np.ones(6)), (np.ones(6), line)):
        with pytest.raises(OffscriptError, match="a constant"):
            correlation_interval(*pair)
    with pytest.raises(OffscriptError, match="give pairs"):
        correlation_interval(line, np.arange(7.0))


def test_ranks_share_ties() -> None:
    from offscript.statistics.jackknife import weighted_ranks

    values = np.array([3.0, 1.0, 3.0, 7.0])
    assert weighted_ranks(np.full((1, 4), 0.25), values)[0] == pytest.approx((rankdata(values) - 0.5) / 4)


def test_errors_of_what_is_left_out_by_hand() -> None:
    values = np.array([2.0, 4.0])
    tables = [np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 3.0]]), np.array([[2.0, 4.0], [4.0, 4.0]])]

    def variance(table: Array) -> Array:
        whole = np.column_stack([table, table.mean(axis=1)])
        return (len(table) - 1) * whole.var(axis=0)

    assert leave_out_errors(values, tables) == pytest.approx(np.sqrt(variance(tables[0]) + variance(tables[1])))
    whole = [np.log(np.column_stack([table, table.mean(axis=1)])) for table in tables]
    logs = np.sqrt(sum((len(table) - 1) * table.var(axis=0) for table in whole))
    assert leave_out_errors(values, tables, logarithmic=True) == pytest.approx(logs * np.array([2.0, 4.0, 3.0]))
    broken = leave_out_errors(np.array([2.0, math.inf]), tables)
    assert np.isinf(broken).tolist() == [False, True, True]


@pytest.mark.parametrize("logarithmic", [False, True])
def test_profiles_of_distances_by_hand(logarithmic: bool) -> None:
    values, errors = np.array([2.0, 4.0]), np.array([0.5, 3.0, 0.2])
    reach = t.ppf(0.9, 9) * errors
    centre = np.array([2.0, 4.0, 3.0])
    found = leave_out_profile(values, errors, 10, level=0.8, highest=6.0, logarithmic=logarithmic)
    if logarithmic:
        lower, upper = centre / np.exp(reach / centre), centre * np.exp(reach / centre)
    else:
        lower, upper = centre - reach, centre + reach
    lower, upper = np.clip(lower, 0, 6), np.clip(upper, 0, 6)
    assert found.by_length.values == (2.0, 4.0)
    assert found.by_length.lower == pytest.approx(lower[:2])
    assert found.by_length.upper == pytest.approx(upper[:2])
    assert ends(found.average) == pytest.approx([lower[2], upper[2]])
    assert (found.average.value, found.average.standard_error) == (3.0, 0.2)
    assert found.by_length.method == found.average.interval.method == "jackknife"
    unknown = leave_out_profile(values, np.array([0.5, math.inf, math.inf]), 10, level=0.8, highest=6.0)
    assert (unknown.by_length.lower[1], unknown.by_length.upper[1], *ends(unknown.average)) == (0.0, 6.0, 0.0, 6.0)


def test_profiles_leave_room_for_a_bias_or_take_it_off() -> None:
    values, errors = np.array([2.0]), np.array([0.1, 0.1])
    reach = t.ppf(0.95, 9) * 0.1  # the figure can be near one end only
    room = leave_out_profile(values, errors, 10, level=0.95, unbiased=Unbiased(values, values - 0.5, values))
    assert room.average.interval.method == "jackknife, bias allowed for"
    assert ends(room.average) == pytest.approx([1.5 - reach, 2 + reach], abs=1e-3)
    off = leave_out_profile(values, errors, 10, level=0.95, unbiased=Unbiased(values - 1, values - 1.4, values - 0.5))
    assert (off.average.value, off.average.interval.method) == (1.0, "jackknife, bias taken off")
    assert ends(off.average) == pytest.approx([0.6 - reach, 1.5 + reach], abs=1e-3)
    assert off.by_length.values == (1.0,)


@pytest.mark.parametrize("apart", [0.0, 0.01, 0.5, 1.0, 3.0, 40.0])
def test_a_bias_widens_an_interval_no_more_than_its_level_asks(apart: float) -> None:
    values, error = np.array([9.0, 9.0]), 0.1
    unbiased = Unbiased(values, values - apart * error, values)
    found = leave_out_profile(values, np.full(3, error), 12, level=0.95, unbiased=unbiased)
    lower, upper = ends(found.average)
    reach = (upper - 9) / error
    assert 9 - apart * error - lower == pytest.approx(upper - 9)
    # A figure at either end is held with the stated chance, one between them more often.
    assert t.cdf(reach + apart, 11) - t.cdf(-reach, 11) == pytest.approx(0.95, abs=1e-8)
    assert t.ppf(0.95, 11) - 1e-8 <= reach <= t.ppf(0.975, 11) + 1e-8
    assert (found.by_length.lower, found.by_length.upper) == (pytest.approx([lower] * 2), pytest.approx([upper] * 2))


def test_a_bias_is_extrapolated_from_halves_and_quarters() -> None:
    truth = np.array([0.3, 0.5])
    # One that falls as 1 / n: halves have twice, quarters four times as much.
    found = Unbiased.extrapolated(truth + 0.1, truth + 0.2, truth + 0.4)
    assert found.value == pytest.approx(truth)
    assert found.upper == pytest.approx(truth)
    assert found.lower == pytest.approx(truth + 0.1 - 0.1 / (math.sqrt(2) - 1))
    # One that falls as the root of n: the slowest pace.
    root = math.sqrt(2)
    slow = Unbiased.extrapolated(truth + 0.1, truth + 0.1 * root, truth + 0.2)
    assert slow.lower == pytest.approx(truth)
    gain = 0.1 * (root - 1)
    assert slow.value == pytest.approx(truth + 0.1 - gain * (1 + (2 - root) / 3))
    assert slow.upper == pytest.approx(truth + 0.1 - gain)
    still = Unbiased.extrapolated(truth, truth + 0.1, truth + 0.1)
    assert still.lower == pytest.approx([0.0, 0.0])
    assert still.value == pytest.approx(truth - 0.1 * (1 + 1 / 3))
    falling = Unbiased.extrapolated(truth, truth - 0.1, truth - 0.2)
    assert falling == (pytest.approx(truth),) * 3
    known = Unbiased.known(truth)
    assert all(part is truth for part in known)
    ratio = Unbiased(truth, truth / 2, truth * 2).over(Unbiased(2 * truth, truth, 4 * truth))
    assert [part.tolist() for part in ratio] == [
        pytest.approx([0.5] * 2),
        pytest.approx([1 / 8] * 2),
        pytest.approx([2.0] * 2),
    ]


@pytest.mark.parametrize(
    ("error", "kind"), [(0.03, "off"), (0.0334, "room"), (0.19, "room"), (0.2, "none"), (0.3, "none")]
)
def test_a_bias_matters_beside_the_error(error: float, kind: str) -> None:
    truth = np.array([0.3, 0.5])
    found = Unbiased.where_it_matters(truth + 0.1, truth + 0.2, truth + 0.4, error)  # a bias of 0.1 at the least
    if kind == "none":
        assert found is None or error == 0.2  # 0.2 is the edge, up to rounding
        return
    assert found is not None
    assert found.value == pytest.approx(truth if kind == "off" else truth + 0.1)
    assert found.upper == pytest.approx(truth if kind == "off" else truth + 0.1)


def test_the_kurtosis_tells_the_degrees_of_freedom() -> None:
    from offscript.statistics.jackknife import _freedom

    parts = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    squares = (parts - parts.mean()) ** 2
    assert _freedom(parts) == pytest.approx(12 / ((squares**2).mean() / squares.mean() ** 2 - 1))
    assert _freedom(np.array([-1.0, 1.0])) == 1.0  # no excess at all
    assert _freedom(np.ones(5)) == 4.0
    assert _freedom(np.array([0.0, math.nan, 1.0])) == 2.0
    assert _freedom(np.arange(5.0)) == 4.0  # flatter than normal: at most n - 1


def test_a_lone_pair_is_studentised_by_its_own_error() -> None:
    from offscript.statistics.differences import _studentised

    found = _studentised(0.0, 0.0, np.array([1.0, -2.0, 3.0]), -1.0, 2.0, 0.9)
    assert isinstance(found, Difference)
    assert (found.p_value, found.interval.width) == (1.0, 0.0)
    shifted = _studentised(-2.0, 0.0, np.array([1.0, -2.0, 3.0]), -1.0, 2.0, 0.9)
    assert shifted.p_value == 0.25
    assert differences.MOVER in independent_difference(shifted, shifted).interval.method
