"""Means, rates, shares and ratios against their formulas, written down a second time, and against peers."""

import math

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from offscript.errors import OffscriptError
from offscript.statistics import (
    Estimate,
    Interval,
    clustered_proportion_interval,
    mean_by_length,
    mean_interval,
    perplexity_interval,
    proportion_interval,
    rate_interval,
    ratio_of_means_by_length,
    ratio_of_means_interval,
    samples_for_width,
    student_interval,
    within,
)
from offscript.statistics.estimates import as_table, as_vector

Array = np.ndarray


def bounds(estimate: Estimate) -> list[float]:
    return [estimate.interval.lower, estimate.interval.upper]


def hall(values: Array, level: float, *, unbiased: bool) -> list[float]:
    """The bounds m - s x, where x + g x² / 3 + g² x³ / 27 + g / 6 is Student's quantile (Hall 1992, eq. 3.2)."""
    n, mean = len(values), values.mean()
    skewness = ((values - mean) ** 3).mean() / ((values - mean) ** 2).mean() ** 1.5
    if unbiased:
        skewness *= math.sqrt(n * (n - 1)) / (n - 2)
    g, ends = skewness / math.sqrt(n), []
    for quantile in (t.ppf((1 + level) / 2, n - 1), t.ppf((1 - level) / 2, n - 1)):
        roots = np.roots([g**2 / 27, g / 3, 1.0, g / 6 - quantile])
        (x,) = [float(root.real) for root in roots if abs(root.imag) < 1e-6 * abs(root)]
        ends.append(mean - x * values.std(ddof=1) / math.sqrt(n))
    return ends


def plain(values: Array, level: float) -> list[float]:
    return list(t.interval(level, len(values) - 1, values.mean(), values.std(ddof=1) / math.sqrt(len(values))))


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("n", [4, 5, 11, 12, 13, 40])
def test_a_mean_has_halls_interval_and_below_twelve_values_the_wider_of_two(n: int, level: float) -> None:
    values = np.random.default_rng(n).exponential(2.0, n)
    found = mean_interval(values, level=level)
    assert found.value == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(values.std(ddof=1) / math.sqrt(n))
    if n < 12:
        one, other = hall(values, level, unbiased=True), plain(values, level)
        assert bounds(found) == pytest.approx([min(one[0], other[0]), max(one[1], other[1])])
        assert found.interval.method == "wider of t and skew-corrected t"
    else:
        assert bounds(found) == pytest.approx(hall(values, level, unbiased=False))
        assert found.interval.method == "skew-corrected t"


def test_a_mean_at_every_length_is_that_of_the_column() -> None:
    table = np.random.default_rng(1).gamma(2.0, 1.0, (15, 3))
    profile = mean_by_length(table)
    columns = [mean_interval(column) for column in table.T]
    assert profile.by_length.values == pytest.approx([each.value for each in columns])
    assert profile.by_length.lower == pytest.approx([each.interval.lower for each in columns])
    assert profile.by_length.upper == pytest.approx([each.interval.upper for each in columns])
    assert profile.average == mean_interval(table.mean(axis=1))


def test_equal_values_have_no_spread_and_say_so() -> None:
    for n in (4, 12):
        found = mean_interval([2.5] * n)
        assert (found.value, found.standard_error, *bounds(found)) == (2.5, 0.0, 2.5, 2.5)
        assert found.interval.method == "all values equal"


@pytest.mark.parametrize("n", [4, 10, 29, 30, 50])
def test_a_rate_over_equal_counts_is_the_mean(n: int) -> None:
    values = np.random.default_rng(n).normal(3.0, 1.0, n)
    values = np.concatenate([values, 6.0 - values])  # symmetric: no skewness to estimate in one of two ways
    rate, mean = rate_interval(5 * values, np.full(2 * n, 5.0)), mean_interval(values)
    assert rate.value == pytest.approx(mean.value)
    assert rate.standard_error == pytest.approx(mean.standard_error)
    assert bounds(rate) == pytest.approx(bounds(mean))


@pytest.mark.parametrize("level", [0.95, 0.7])
@pytest.mark.parametrize("n", [4, 29, 30])
def test_a_rate_is_linearised_over_its_sequences(n: int, level: float) -> None:
    rng = np.random.default_rng(n)
    counts = rng.integers(1, 9, n).astype(float)
    totals = counts * rng.exponential(1.0, n)
    rate = totals.sum() / counts.sum()
    influence = (totals - rate * counts) / counts.mean()
    if n < 30:
        influence = influence / (1 - counts / counts.sum()) * (n - 1) / n
        influence -= influence.mean()
        one, other = hall(influence, level, unbiased=True), plain(influence, level)
        expected = [min(one[0], other[0]), max(one[1], other[1])]
    else:
        expected = hall(influence, level, unbiased=False)
    found = rate_interval(totals, counts, level=level)
    assert found.value == pytest.approx(rate)
    assert bounds(found) == pytest.approx([rate + end for end in expected])
    assert found.standard_error == pytest.approx(influence.std(ddof=1) / math.sqrt(n))
    assert found.interval.method.startswith("linearised, wider" if n < 30 else "linearised, skew")
    perplexity = perplexity_interval(totals, counts, level=level)
    assert [perplexity.value, *bounds(perplexity)] == pytest.approx(np.exp([rate, *bounds(found)]).tolist())
    assert perplexity.standard_error == pytest.approx(math.exp(rate) * found.standard_error)
    assert perplexity.interval.level == level


def test_counts_without_exception_are_shares_of_their_sequences() -> None:
    counts = [3.0, 4.0, 5.0, 2.0]
    assert rate_interval([0.0] * 4, counts, share=True) == proportion_interval(0, 4)
    assert rate_interval(counts, counts, share=True, level=0.8) == proportion_interval(4, 4, level=0.8)
    assert rate_interval([0.0] * 4, counts).interval.width == 0
    assert rate_interval([1.0, 0.0, 0.0, 0.0], counts, share=True) == rate_interval([1.0, 0.0, 0.0, 0.0], counts)
    infinite = rate_interval([math.inf, 1.0, 1.0, 1.0], counts)
    assert (infinite.value, infinite.standard_error, *bounds(infinite)) == (math.inf,) * 4
    for bad in ([0.0] * 4, [1.0, 1.0, 1.0, -1.0], [1.0, 1.0, 1.0, math.inf]):
        with pytest.raises(OffscriptError, match="negative, infinite or all zero"):
            rate_interval([1.0] * 4, bad)
    assert rate_interval([1.0] * 4, [0.0, 1.0, 1.0, 1.0]).value == pytest.approx(4 / 3)
    with pytest.raises(OffscriptError, match="cannot pair 4 totals and 5 counts"):
        rate_interval([1.0] * 4, [1.0] * 5)


def test_groups_of_items_are_the_sequences_of_a_rate() -> None:
    values, groups = np.arange(12.0) ** 1.5, np.repeat(range(5), [4, 1, 2, 3, 2])
    sums = [values[groups == group].sum() for group in range(5)]
    assert mean_interval(values, groups=groups, level=0.9) == rate_interval(sums, [4, 1, 2, 3, 2], level=0.9)
    zeros = mean_interval(np.zeros(12), groups=groups)
    assert zeros == proportion_interval(0, 5)
    assert mean_interval(np.zeros(12), groups=groups, share=False).interval.width == 0


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("trials", [1, 2, 3, 4, 5, 20, 50, 51, 80])
def test_shares_have_wilsons_bounds_and_poissons_next_to_the_ends(trials: int, level: float) -> None:
    peer = pytest.importorskip("statsmodels.stats.proportion").proportion_confint
    few = min(3 if trials > 50 else 2, trials - 1)
    for wins in range(trials + 1):
        lower, upper = peer(wins, trials, alpha=1 - level, method="wilson")
        if 1 <= wins <= few:
            lower = chi2.ppf(1 - level, 2 * wins) / 2 / trials
        if 1 <= trials - wins <= few:
            upper = 1 - chi2.ppf(1 - level, 2 * (trials - wins)) / 2 / trials
        found = proportion_interval(wins, trials, level=level)
        assert bounds(found) == pytest.approx([lower, upper], abs=1e-12)
        share = wins / trials
        assert found.value == share
        assert found.standard_error == pytest.approx(math.sqrt(share * (1 - share) / trials))
        if trials > 1 or wins == 0:
            values = np.repeat([1.0, 0.0], [wins, trials - wins])
            column = mean_by_length(values[:, None], level=level)
            assert bounds(column.average) == pytest.approx(bounds(found))
            assert column.average.standard_error == pytest.approx(found.standard_error)
            assert column.by_length.method == "modified Wilson"


def test_impossible_counts_are_refused() -> None:
    for wins, trials in ((0, 0), (-1, 3), (4, 3)):
        with pytest.raises(OffscriptError, match=f"cannot have {wins} successes of {trials} trials"):
            proportion_interval(wins, trials)


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("texts", [2, 3, 12])
def test_trials_in_clusters_count_as_many_as_would_vary_as_much(texts: int, level: float) -> None:
    sizes = np.array([5, 3, 4] * 4)[:texts]
    wins = np.array([5, 0, 2] * 4)[:texts]
    share = wins.sum() / sizes.sum()
    wider = (t.ppf((1 + level) / 2, texts - 1) / norm.ppf((1 + level) / 2)) ** 2 * texts / (texts - 1)
    effect = wider * ((wins - share * sizes) ** 2).sum() / (share * (1 - share) * sizes.sum())
    assert effect > 1
    found = clustered_proportion_interval(wins, sizes, level=level)
    assert found == proportion_interval(wins.sum() / effect, sizes.sum() / effect, level=level)
    empty = clustered_proportion_interval([*wins, 0], [*sizes, 0], level=level)
    assert bounds(empty) == pytest.approx(bounds(found))


def test_clusters_of_one_trial_are_plain_trials_and_even_ones_count_no_more_than_they_are() -> None:
    assert clustered_proportion_interval([1, 0, 1, 1], [1, 1, 1, 1]) == proportion_interval(3, 4)
    assert clustered_proportion_interval([0, 0], [3, 2]) == proportion_interval(0, 5)
    assert clustered_proportion_interval([1, 1, 1], [2, 2, 2]) == proportion_interval(3, 6)
    with pytest.raises(OffscriptError, match="0 trials"):
        clustered_proportion_interval([0.0], [0.0])


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_runs_have_students_interval(level: float) -> None:
    values = np.array([1.0, 2.0, 4.0])
    found = student_interval(values, level=level)
    assert bounds(found) == pytest.approx(plain(values, level))
    assert (found.value, found.interval.level) == (pytest.approx(7 / 3), level)
    assert student_interval(values).interval.level == 0.95


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("negative", [False, True])
def test_few_ratios_have_the_jackknife_of_the_logarithm(level: float, paired: bool, negative: bool) -> None:
    rng = np.random.default_rng(3)
    top, bottom = rng.gamma(4.0, 1.0, (9, 2)), rng.gamma(4.0, 1.0, (9 if paired else 7, 2))
    if negative:
        top[0, 0] = -0.5

    def figures(above: Array, below: Array) -> Array:
        ratios = above.mean(axis=0) / below.mean(axis=0)
        values = np.array([*ratios, ratios.mean()])
        return values if negative else np.log(values)

    def without(table: Array, place: int) -> Array:
        return np.delete(table, place, axis=0)

    if paired:
        tables = [[figures(without(top, k), without(bottom, k)) for k in range(9)]]
    else:
        tables = [
            [figures(without(top, k), bottom) for k in range(9)],
            [figures(top, without(bottom, k)) for k in range(7)],
        ]
    parts = [(len(table) - 1) * np.var(table, axis=0) for table in tables]
    variances = sum(parts)
    freedom = variances**2 / sum(part**2 / (len(table) - 1) for part, table in zip(parts, tables, strict=True))
    reach = t.ppf((1 + level) / 2, freedom) * np.sqrt(variances)
    value = figures(top, bottom)
    lower, upper = (value - reach, value + reach) if negative else (np.exp(value - reach), np.exp(value + reach))
    found = ratio_of_means_by_length(
        top, bottom, generator=np.random.default_rng(1), paired=paired, level=level, resamples=100
    )
    assert [*found.by_length.lower, found.average.interval.lower] == pytest.approx(lower)
    assert [*found.by_length.upper, found.average.interval.upper] == pytest.approx(upper)
    assert found.average.value == pytest.approx(value[-1] if negative else math.exp(value[-1]))
    error = math.sqrt(variances[-1]) * (1 if negative else found.average.value)
    assert found.average.standard_error == pytest.approx(error)
    assert found.average.interval.method == "jackknife of the logarithm"


@pytest.mark.parametrize("paired", [False, True])
def test_fifty_sequences_are_resampled(paired: bool) -> None:
    rng = np.random.default_rng(4)
    top, bottom = rng.gamma(4.0, 1.0, 50), rng.gamma(4.0, 1.0, 50)
    seeded = {"generator": np.random.default_rng(1), "resamples": 200}
    assert ratio_of_means_interval(top, bottom, paired=paired, **seeded).interval.method == "bootstrap percentile"
    fewer = ratio_of_means_interval(top, bottom[:49], **seeded)
    assert fewer.interval.method == "jackknife of the logarithm"
    with pytest.raises(OffscriptError, match="give equal lengths"):
        ratio_of_means_interval(top, bottom[:49], paired=True, **seeded)


def test_constant_ratios_have_no_width() -> None:
    found = ratio_of_means_interval([2.0] * 5, [4.0] * 6, generator=np.random.default_rng(1), resamples=100)
    assert (found.value, found.standard_error, *bounds(found)) == (0.5, 0.0, 0.5, 0.5)


def test_a_plan_by_hand() -> None:
    pilot = Estimate(1.0, 0.5, Interval(0.0, 2.0, 0.9, ""))
    # A width of 0.2 takes an error of 0.1 / 1.6449; errors fall as one over the root of the number.
    assert samples_for_width(pilot, 10, 0.2) == math.ceil(10 * (0.5 / (0.1 / 1.6448536)) ** 2)
    assert samples_for_width(pilot, 10, 1e6) == 2
    for width in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(OffscriptError, match="ask for a width above 0"):
            samples_for_width(pilot, 10, width)
    with pytest.raises(OffscriptError, match="infinite"):
        samples_for_width(Estimate(1.0, math.inf, Interval(0.0, 2.0, 0.9, "")), 10, 0.2)


def test_an_interval_is_cut_to_what_the_figure_can_be() -> None:
    estimate = Estimate(0.5, 0.1, Interval(-0.2, 1.3, 0.9, "m"))
    assert within(estimate, 0, 1) == Estimate(0.5, 0.1, Interval(0.0, 1.0, 0.9, "m"))
    assert within(estimate, 0).interval.upper == 1.3
    assert within(estimate, -1, 2) == estimate


def test_what_no_interval_can_be_made_from() -> None:
    for values, message in (
        (np.ones((2, 2)), r"shape \(2, 2\)"),
        ([1.0], "at least 2 samples for an interval, got 1"),
        ([1.0, math.nan, math.nan], "2 of 3 values are NaN"),
        ([math.inf, -math.inf], "inf and -inf"),
    ):
        with pytest.raises(OffscriptError, match=message):
            as_vector(values)
    for table in (np.ones((3, 0)), np.ones(3)):
        with pytest.raises(OffscriptError, match="one row per sequence"):
            as_table(table)
    assert as_vector([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert as_table([[math.inf], [1.0]]).shape == (2, 1)
    for least in (mean_interval, lambda values: rate_interval(values, np.ones(len(values)))):
        assert least([1.0, 2.0, 3.0, 5.0]).interval.width > 0
        with pytest.raises(OffscriptError, match="at least 4 samples for an interval, got 3"):
            least([1.0, 2.0, 3.0])
    for level in (0.0, 1.1, -0.5):
        with pytest.raises(OffscriptError, match="a level above 0 and at most 1"):
            Interval(0.0, 1.0, level, "")
    assert Interval(0.0, 1.0, 1.0, "").width == 1.0
    assert Interval(math.inf, math.inf, 0.5, "").width == 0.0
