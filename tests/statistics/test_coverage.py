"""The rows of the coverage table from fixed seeds: no method covers less than it should; and what shares get."""

import coverage_table
import numpy as np
import pytest

from offscript.statistics import mean_by_length, mean_interval, proportion_interval, rate_interval


@pytest.mark.slow
def test_every_row_covers() -> None:
    slack = 0.02  # three standard errors of 600 samples
    low = {}
    for case in coverage_table.cases():
        share = case.coverage(600)
        if share < coverage_table.RANGE[0] - slack and not case.comparison:
            low[f"{case.figure}, {case.size}, {case.population}"] = share
    assert low == {}


def test_the_page_marks_what_lies_outside() -> None:
    rows = [(case, share) for case, share in zip(coverage_table.cases(), (0.95, 0.90), strict=False)]
    page = coverage_table.page(rows, 100)
    assert "| 95.0 % |" in page
    assert "| **90.0 %** |" in page


def test_shares_of_rare_things_cover() -> None:
    """n zeros leave room for a one: 20 values of share .01 were covered in 19 of 100 samples before."""
    values = (np.random.default_rng(1).random((20, 4000)) < 0.01).astype(float)
    curve = mean_by_length(values).by_length
    assert np.mean((np.array(curve.lower) <= 0.01) & (np.array(curve.upper) >= 0.01)) >= 0.95
    assert min(upper - lower for lower, upper in zip(curve.lower, curve.upper, strict=True)) > 0.05


def test_a_share_is_a_proportion_and_an_amount_is_not() -> None:
    ones = np.array([1.0] * 7 + [0.0] * 3)
    assert mean_interval(ones) == proportion_interval(7, 10)
    assert mean_interval(np.zeros(10)).interval == proportion_interval(0, 10).interval
    assert mean_interval(np.zeros(10), share=False).interval.width == 0
    assert rate_interval(np.zeros(10), np.ones(10)).interval.width == 0
    assert (
        rate_interval(np.full(10, 3.0), np.full(10, 3.0), share=True).interval == proportion_interval(10, 10).interval
    )


def test_columns_of_shares_stand_beside_columns_of_amounts() -> None:
    table = np.column_stack([np.arange(10.0), np.arange(10) < 4, np.zeros(10)])
    found = mean_by_length(table).by_length
    share, none = proportion_interval(4, 10).interval, proportion_interval(0, 10).interval
    assert (found.lower[1], found.upper[1], found.upper[2]) == (share.lower, share.upper, none.upper)
    assert found.lower[0] == mean_interval(np.arange(10.0)).interval.lower
    assert found.method == "wider of t and skew-corrected t; modified Wilson of shares"


def test_groups_widen_the_interval_of_a_mean() -> None:
    generator = np.random.default_rng(2)
    groups = np.repeat(np.arange(40), 10)
    values = generator.normal(0, 1, 40)[groups] + 0.1 * generator.normal(0, 1, 400)
    together, apart = mean_interval(values, groups=groups), mean_interval(values)
    assert together.value == pytest.approx(apart.value)
    assert together.interval.width > 2.5 * apart.interval.width


@pytest.mark.parametrize(("successes", "trials"), [(1, 10), (2, 30), (3, 80)])
def test_few_successes_have_poissons_bound(successes: int, trials: int) -> None:
    from scipy.stats import chi2

    interval = proportion_interval(successes, trials).interval
    assert interval.lower == pytest.approx(chi2.ppf(0.05, 2 * successes) / 2 / trials)
    mirrored = proportion_interval(trials - successes, trials).interval
    assert (mirrored.lower, mirrored.upper) == pytest.approx((1 - interval.upper, 1 - interval.lower))
