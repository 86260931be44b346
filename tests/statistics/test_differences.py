"""Differences in pairs, from intervals alone, and corrected for their number."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from statsmodels.stats.multitest import multipletests

from offscript.errors import OffscriptError
from offscript.statistics import (
    Estimate,
    Interval,
    can_be_compared,
    contributions,
    curve_difference,
    differences_of_draws,
    holm,
    independent_difference,
    mean_interval,
    paired_differences,
    perplexity_interval,
    pseudo_values,
    rate_interval,
    ratio_of_means_by_length,
    share_difference,
    student_interval,
)
from offscript.statistics.means import RUNS


def test_contributions_of_a_mean_are_its_items() -> None:
    items = np.array([1.0, 2.0, 6.0])
    found = contributions(3.0, items)
    assert found is not None
    np.testing.assert_allclose(found, items)


def test_contributions_of_a_rate_average_to_it_and_vary_as_it_does() -> None:
    generator = np.random.default_rng(1)
    counts = generator.integers(1, 30, 400).astype(float)
    totals = counts * generator.gamma(2, 2, 400)
    rate = rate_interval(totals, counts)
    found = contributions(rate.value, totals / counts, counts)
    assert found is not None
    assert found.mean() == pytest.approx(rate.value)
    assert found.std(ddof=1) / math.sqrt(400) == pytest.approx(rate.standard_error, rel=0.01)


def test_contributions_of_a_perplexity_average_to_it_and_vary_as_it_does() -> None:
    generator = np.random.default_rng(2)
    counts = generator.integers(1, 30, 400).astype(float)
    nll = counts * generator.gamma(20, 0.2, 400)
    perplexity = perplexity_interval(nll, counts)
    found = contributions(perplexity.value, np.exp(nll / counts), counts)
    assert found is not None
    assert found.mean() == pytest.approx(perplexity.value)
    assert found.std(ddof=1) / math.sqrt(400) == pytest.approx(perplexity.standard_error, rel=0.01)


@pytest.mark.parametrize("items", [[1.0], [1.0, np.nan, 2.0], [1.0, 2.0, 30.0], np.ones((3, 2))])
def test_items_that_do_not_make_the_figure_are_not_used(items: Any) -> None:
    assert contributions(3.0, np.array(items)) is None


def test_many_differences_are_those_of_each_alone() -> None:
    generator = np.random.default_rng(3)
    first, second = generator.normal(0.3, 1, (80, 3)), generator.normal(0, 1, (80, 3))
    found = paired_differences(first, second, generator=np.random.default_rng(1), resamples=4000)
    for column, difference in enumerate(found):
        one, two = first[:, [column]], second[:, [column]]
        (alone,) = paired_differences(one, two, generator=np.random.default_rng(1), resamples=4000)
        assert difference.value == pytest.approx(alone.value)
        assert difference.standard_error == pytest.approx(alone.standard_error)
        assert difference.interval.lower == pytest.approx(alone.interval.lower)
        assert difference.interval.upper == pytest.approx(alone.interval.upper)
        assert difference.p_value == pytest.approx(alone.p_value, abs=1e-3)


def test_equal_values_do_not_differ_and_constant_shifts_do() -> None:
    values = np.random.default_rng(4).normal(size=(50, 1))
    (same,) = paired_differences(values, values, generator=np.random.default_rng(1), resamples=200)
    assert (same.value, same.p_value) == (0.0, 1.0)
    (moved,) = paired_differences(values + 1, values, generator=np.random.default_rng(1), resamples=200)
    assert moved.value == pytest.approx(1.0)
    assert moved.p_value < 0.01


def test_shapes_must_agree() -> None:
    with pytest.raises(OffscriptError, match="the same items"):
        paired_differences(np.ones((5, 1)), np.ones((4, 1)), generator=np.random.default_rng(1), resamples=200)


@pytest.mark.slow
def test_paired_intervals_cover() -> None:
    covered, trials = 0, 300
    for trial in range(trials):
        generator = np.random.default_rng([5, trial])
        shared = generator.exponential(1, (100, 1))
        first, second = shared + generator.exponential(0.2, (100, 1)), shared + generator.exponential(0.1, (100, 1))
        (found,) = paired_differences(first, second, generator=generator, resamples=500)
        covered += 0.1 in found.interval
    assert 0.92 <= covered / trials <= 0.98


def test_two_intervals_add_up_as_squares() -> None:
    first = Estimate(5.0, 1.0, Interval(2.0, 9.0, 0.95, "delta"))
    second = Estimate(1.0, 1.0, Interval(0.0, 5.0, 0.95, "delta"))
    found = independent_difference(first, second)
    assert (found.value, found.interval.lower, found.interval.upper) == pytest.approx((4.0, -1.0, 4 + math.sqrt(17)))
    assert found.standard_error == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize(
    "second", [[0.0, 3.0, 3.5, 6.5], [0.1, 0.2, 0.4, 0.5], [1.0, 1.5, 2.0, 2.5, 3.0]], ids=["wide", "narrow", "five"]
)
def test_a_difference_of_few_runs_is_welchs(second: list[float]) -> None:
    first = np.array([1.0, 2.0, 4.0, 5.0])
    found = independent_difference(student_interval(first), student_interval(np.array(second))).interval
    welch = scipy.stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    assert (found.lower, found.upper) == pytest.approx((welch.low, welch.high))


def test_means_of_fewer_than_twelve_items_are_not_compared() -> None:
    few, enough = mean_interval(np.arange(11.0)), mean_interval(np.arange(12.0))
    for pair in ((few, enough), (enough, few), (few, few)):
        assert not can_be_compared(*pair)
        with pytest.raises(OffscriptError, match="fewer than 12 items cannot be compared"):
            independent_difference(*pair)
    assert can_be_compared(enough, enough)
    assert independent_difference(enough, enough).value == 0.0


def test_a_difference_of_runs_is_welchs() -> None:
    first, second = np.array([1.0, 3.0, 8.0]), np.array([2.0, 7.0, 3.0, 5.0])
    found = independent_difference(student_interval(first), student_interval(np.array(second))).interval
    welch = scipy.stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    assert (found.lower, found.upper) == pytest.approx((welch.low, welch.high))


def test_runs_with_bounds_beyond_doubt_are_not_narrowed() -> None:
    first = Estimate(5.0, 1.0, Interval(2.0, 9.0, 1.0, RUNS))
    second = Estimate(1.0, 1.0, Interval(0.0, 5.0, 1.0, RUNS))
    found = independent_difference(first, second).interval
    assert (found.lower, found.upper, found.level) == pytest.approx((-1.0, 4 + math.sqrt(17), 1.0))


def test_a_difference_of_four_and_of_eleven_runs_is_not_narrowed() -> None:
    first, second = student_interval(np.array([1.0, 2.0, 4.0, 5.0])), student_interval(np.linspace(0, 3, 11))
    found = independent_difference(first, second).interval
    down = math.hypot(first.value - first.interval.lower, second.interval.upper - second.value)
    assert found.lower == pytest.approx(first.value - second.value - down)


@given(st.floats(-5, 5), st.floats(0.01, 3), st.floats(0.01, 3))
def test_the_p_value_agrees_with_the_interval(value: float, first_reach: float, second_reach: float) -> None:
    first = Estimate(value, 1.0, Interval(value - first_reach, value + first_reach, 0.95, "t"))
    second = Estimate(0.0, 1.0, Interval(-second_reach, second_reach, 0.95, "t"))
    found = independent_difference(first, second)
    if abs(abs(found.value) - math.hypot(first_reach, second_reach)) > 1e-9:
        assert (found.p_value < 0.05) == (0 not in found.interval)


def test_exact_figures_differ_or_do_not() -> None:
    exact = [Estimate(value, 0.0, Interval.exact(value)) for value in (1.0, 2.0)]
    assert independent_difference(exact[0], exact[1]).p_value == 0.0
    assert independent_difference(exact[0], exact[0]).p_value == 1.0


@given(arrays.arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1)))
def test_holm_is_statsmodels(p_values: np.ndarray) -> None:
    np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1], atol=1e-12)


def test_parts_of_a_ratio_average_to_it_and_vary_as_it_does() -> None:
    generator = np.random.default_rng(6)
    shared = generator.gamma(3, 1, (500, 1))
    top, bottom = shared + generator.gamma(4, 1, (500, 4)), shared + generator.gamma(3, 1, (500, 4))
    found = ratio_of_means_by_length(top, bottom, generator=generator, paired=True).average
    parts = pseudo_values(top, bottom)
    assert parts.mean() == pytest.approx(found.value)
    assert parts.std(ddof=1) / math.sqrt(500) == pytest.approx(found.standard_error, rel=0.1)
    assert contributions(found.value, parts) == pytest.approx(parts)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_p_value_goes_by_the_bound_on_the_side_of_zero(sign: int) -> None:
    """First reaches 1 towards zero and 9 away from it: only the near bound decides."""
    bounds = sorted([sign * 2.0, sign * 12.0])
    first = Estimate(sign * 3.0, 1.0, Interval(bounds[0], bounds[1], 0.95, "t"))
    found = independent_difference(first, Estimate(0.0, 0.0, Interval.exact(0.0)))
    assert found.p_value == pytest.approx(2 * scipy.stats.norm.sf(3.0 * 1.959964 / 1.0), rel=1e-4)


@pytest.mark.parametrize("value", [0.5, -0.5, 0.0])
def test_items_that_are_zero_or_below_have_no_logarithm(value: float) -> None:
    assert contributions(value, np.array([0.0, 2.0, 4.0])) is None
    assert contributions(value, np.array([-1.0, 2.0, 4.0])) is None


def test_parts_of_a_ratio_by_hand() -> None:
    """2 / 1.5, and what each of two sequences adds: a larger denominator takes away."""
    ratio = 2 / 1.5
    expected = [ratio + (-1 + 0.5 * ratio) / 1.5, ratio + (1 - 0.5 * ratio) / 1.5]
    assert pseudo_values([[1.0], [3.0]], [[1.0], [2.0]]) == pytest.approx(expected)
    assert pseudo_values([[2.0], [2.0]], [[1.0], [3.0]])[0] > 1 > pseudo_values([[2.0], [2.0]], [[1.0], [3.0]])[1]


def test_few_pairs_get_the_interval_of_their_mean_difference() -> None:
    changes = np.array([0.1, 0.2, 0.3, 0.5, 0.6, 0.7])  # symmetric: plain t
    (found,) = paired_differences(changes[:, None], np.zeros((6, 1)), generator=np.random.default_rng(1))
    peer = scipy.stats.ttest_1samp(changes, 0)
    assert found.p_value == pytest.approx(max(peer.pvalue, 2 ** (1 - 6)))
    assert (found.interval.lower, found.interval.upper) == pytest.approx(tuple(peer.confidence_interval()))
    assert found.interval.method == "paired, wider of t and skew-corrected t"


def test_right_and_wrong_answers_are_compared_as_shares() -> None:
    first, second = np.array([1.0] * 7 + [0.0] * 2 + [1.0] * 31), np.array([0.0] * 7 + [1.0] * 2 + [1.0] * 31)
    (found,) = paired_differences(first[:, None], second[:, None], generator=np.random.default_rng(1))
    ones = np.ones(40)
    assert found == share_difference((first, ones), (second, ones))
    assert found.value == pytest.approx(5 / 40)
    (same,) = paired_differences(ones[:, None], ones[:, None], generator=np.random.default_rng(1))
    assert (same.value, same.p_value) == (0.0, 1.0)
    assert same.interval.width > 0.1


def test_paired_shares_cover() -> None:
    generator, held = np.random.default_rng(8), 0
    for _ in range(500):
        both = generator.random((30, 1))
        (found,) = paired_differences(
            (both < 0.8).astype(float), ((both < 0.7) | (both > 0.95)).astype(float), generator=generator
        )
        held += 0.05 in found.interval
    assert 0.93 <= held / 500 <= 0.99


def test_resamples_far_from_the_observed_difference_make_the_p_value() -> None:
    draws = np.concatenate([np.full((3, 1), 2.1), np.full((1, 1), -0.1), np.full((95, 1), 1.0)])
    (found,) = differences_of_draws(np.array([1.0]), draws, level=0.95, method="m")
    assert found.p_value == (4 + 1) / (99 + 1)
    (none,) = differences_of_draws(np.array([0.0]), np.zeros((99, 1)), level=0.95, method="m")
    assert (none.p_value, none.interval.method) == (1.0, "all resamples equal")


def test_curves_that_differ_by_a_constant() -> None:
    generator = np.random.default_rng(9)
    places = np.stack([generator.normal(place, 0.05, 40) for place in (0.2, 0.5, 0.8)])
    heights = places**2
    found = curve_difference(
        np.linspace(0.3, 0.7, 9), (places, heights + 0.1), (places[::-1], heights[::-1]), generator=generator
    )
    assert found.value == pytest.approx(0.1)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.1, 0.1))
    assert found.p_value == 1 / 1001


def test_a_geometric_mean_of_small_items_has_contributions() -> None:
    items = np.array([0.25, 0.5, 0.9])
    value = float(np.exp(np.log(items).mean()))
    parts = contributions(value, items)
    assert parts is not None
    assert parts == pytest.approx(value * (1 + np.log(items) - math.log(value)))
    assert contributions(0.3, np.array([0.0, 1.0, 0.9])) is None
    assert contributions(0.0, np.array([0.25, 0.5])) is None
    assert contributions(-1.0, np.array([0.25, 0.5])) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_the_side_towards_zero_decides_how_likely_a_difference_is(sign: int) -> None:
    """Intervals need not be symmetric: a positive difference may be zero by its lower reach, others by their upper."""
    near, far = 0.2, 3.0
    low, high = (0.5 - near, 0.5 + far) if sign > 0 else (-0.5 - far, -0.5 + near)
    first = Estimate(sign * 0.5, 0.1, Interval(low, high, 0.95, "m"))
    second = Estimate(0.0, 0.0, Interval(0.0, 0.0, 0.95, "m"))
    expected = 2 * scipy.stats.norm.sf(0.5 / (near / scipy.stats.norm.ppf(0.975)))
    assert independent_difference(first, second).p_value == pytest.approx(expected)


@pytest.mark.parametrize("n", [5, 60])
def test_ratios_of_values_below_zero_may_be_below_zero(n: int) -> None:
    generator = np.random.default_rng(3)
    top, bottom = generator.normal(-1.0, 0.5, (n, 1)), generator.normal(4.0, 0.3, (n, 1))
    interval = ratio_of_means_by_length(top, bottom, generator=generator, resamples=300).average.interval
    assert interval.lower < -0.25 < interval.upper < 0
    assert interval.lower > -1


def test_a_single_pair_that_differs_still_has_finite_bounds() -> None:
    """Many resamples do not hold the one pair: studentised, they are infinitely far off, and bound nothing."""
    first = np.full(40, 50.0)
    second = first.copy()
    second[7] = 47.0
    (found,) = paired_differences(first[:, None], second[:, None], generator=np.random.default_rng(1))
    assert found.value == pytest.approx(3 / 40)
    assert math.isfinite(found.interval.lower)
    assert math.isfinite(found.interval.upper)
    assert 0 in found.interval
    assert found.p_value > 0.05
