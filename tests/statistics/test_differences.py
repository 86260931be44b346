"""Differences in pairs, from intervals alone, and corrected for their number."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from statsmodels.stats.multitest import multipletests

from offscript.errors import OffscriptError
from offscript.statistics import (
    Estimate,
    Interval,
    contributions,
    holm,
    independent_difference,
    mean_interval,
    paired_differences,
    perplexity_interval,
    pseudo_values,
    rate_interval,
    ratio_of_means_by_length,
)


def test_contributions_of_a_mean_are_its_items() -> None:
    items = np.array([1.0, 2.0, 6.0])
    found = contributions(mean_interval(items).value, items)
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
        paired_differences(np.ones((3, 1)), np.ones((4, 1)), generator=np.random.default_rng(1), resamples=200)


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
