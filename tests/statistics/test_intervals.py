"""Known answers, peers as oracles, and coverage: each 95 % interval must hold the truth 93 to 97 times in 100."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics import (
    Curve,
    Difference,
    Interval,
    bootstrap,
    bootstrap_by_length,
    correlation_interval,
    independent_difference,
    mean_by_length,
    mean_interval,
    paired_differences,
    perplexity_interval,
    proportion_interval,
    rate_interval,
    ratio,
    ratio_of_means_by_length,
    ratio_of_means_interval,
    resampling,
    samples_for_width,
)
from offscript.statistics.jackknife import weighted_ranks

REPEATS = 2000  # one column each, so that one call makes them all


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def coverage(curve: Curve, truth: float) -> float:
    return float(np.mean((np.array(curve.lower) <= truth) & (truth <= np.array(curve.upper))))


def paired(first: npt.ArrayLike, second: npt.ArrayLike, rng: np.random.Generator, resamples: int = 1000) -> Difference:
    (difference,) = paired_differences(
        np.asarray(first)[:, None], np.asarray(second)[:, None], generator=rng, resamples=resamples
    )
    return difference


def independent(first: FloatArray, second: FloatArray, rng: np.random.Generator, resamples: int) -> Difference:
    return independent_difference(mean_interval(first), mean_interval(second))


def share_covering(intervals: list[Interval], truth: float) -> float:
    return float(np.mean([truth in interval for interval in intervals]))


POPULATIONS: dict[str, tuple[Callable[..., FloatArray], float]] = {
    "normal": (lambda rng, size: rng.normal(2.0, 1.0, size), 2.0),
    "exponential": (lambda rng, size: rng.exponential(1.0, size), 1.0),
    "log-normal": (lambda rng, size: rng.lognormal(0.0, 0.8, size), math.exp(0.32)),
    "beta": (lambda rng, size: rng.beta(1.0, 8.0, size), 1 / 9),
    "rare": (lambda rng, size: (rng.random(size) < 0.08).astype(float), 0.08),
    "even": (lambda rng, size: (rng.random(size) < 0.4).astype(float), 0.4),
}


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("population", POPULATIONS)
def test_means_cover(population: str, n: int) -> None:
    draw, truth = POPULATIONS[population]
    curve = mean_by_length(draw(generator(n), (n, REPEATS))).by_length
    assert 0.93 <= coverage(curve, truth) <= 0.97


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("population", ["exponential", "log-normal", "beta", "rare", "even"])
def test_ratios_cover(population: str, n: int) -> None:
    draw, truth = POPULATIONS[population]
    rng = generator(n)
    top, bottom = 1.5 * draw(rng, (n, REPEATS)), draw(rng, (n + 100, REPEATS))
    curve = ratio_of_means_by_length(top, bottom, generator=rng, resamples=500).by_length
    assert 0.93 <= coverage(curve, 1.5) <= 0.97
    assert 1.5 * truth == pytest.approx(top.mean(), rel=0.05)


@pytest.mark.parametrize("n", [12, 200])
@pytest.mark.parametrize("paired", [False, True])
def test_the_average_ratio_over_lengths_covers(paired: bool, n: int) -> None:
    rng, lengths, found = generator(5), 6, []
    growth = np.linspace(1.0, 1.2, lengths)
    for _ in range(600):
        drift = rng.gamma(2.0, 0.5, (2, n, 1))  # what makes the lengths of one sequence depend on each other
        top = growth * (drift[0] + rng.exponential(1.0, (n, lengths)))
        bottom = (drift[0] if paired else drift[1]) + rng.exponential(1.0, (n, lengths))
        profile = ratio_of_means_by_length(top, bottom, generator=rng, paired=paired, resamples=300)
        found.append(profile.average.interval)
    assert 0.93 <= share_covering(found, float(growth.mean())) <= 0.97


@pytest.mark.parametrize("n", [20, 400])
def test_pairing_narrows_what_is_coupled(n: int) -> None:
    rng = generator(6)
    common = rng.exponential(1.0, (n, 5))
    top, bottom = 1.1 * common + 0.05 * rng.random((n, 5)), common
    coupled, loose = (
        ratio_of_means_by_length(top, bottom, generator=generator(7), paired=paired).average for paired in (True, False)
    )
    assert coupled.value == loose.value
    assert coupled.interval.width < loose.interval.width / 5


def test_rates_and_perplexities_cover() -> None:
    rng, rates, perplexities = generator(8), [], []
    for _ in range(1000):
        tokens = rng.integers(5, 40, 200)
        nll = rng.gamma(3.0 * tokens, 1.0) * rng.lognormal(-0.02, 0.2, 200)  # long sentences weigh more
        rates.append(rate_interval(nll, tokens).interval)
        perplexities.append(perplexity_interval(nll, tokens).interval)
    assert 0.93 <= share_covering(rates, 3.0) <= 0.97
    assert share_covering(perplexities, math.exp(3.0)) == share_covering(rates, 3.0)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("n", [200, 1000])
def test_proportions_cover(share: float, n: int) -> None:
    counts = np.arange(n + 1)
    held = [share in proportion_interval(int(count), n).interval for count in counts]
    assert 0.93 <= scipy.stats.binom.pmf(counts, n, share)[held].sum() <= 0.97


@pytest.mark.parametrize("compare", [independent, paired])
def test_differences_cover_and_their_p_values_are_honest(compare: Callable[..., Difference]) -> None:
    rng, found = generator(9), []
    for _ in range(600):
        common = rng.exponential(1.0, 80)
        first, second = (
            common + rng.exponential(0.5, 80),
            (common if compare is paired else rng.exponential(1.0, 80)) + 0.5,
        )
        found.append(compare(first, second, rng, 300))
    assert 0.93 <= share_covering([difference.interval for difference in found], 0.0) <= 0.97
    p_values = [difference.p_value for difference in found]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.02)
    assert np.mean(np.array(p_values) <= 0.5) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
def test_correlations_cover(kind: str) -> None:
    rng, found = generator(10), []
    truth = 0.6 if kind == "pearson" else 6 / math.pi * math.asin(0.3)  # of a bivariate normal
    for _ in range(1500):
        first, noise = rng.normal(size=(2, 100))
        second = 0.6 * first + 0.8 * noise
        found.append(correlation_interval(first, second, kind=kind).interval)
    assert 0.93 <= share_covering(found, truth) <= 0.97


def test_a_distance_between_averages_needs_the_basic_bootstrap() -> None:
    """MGD (eq. 5) is pushed up by a finite sample; percentiles are pushed twice, the basic interval is not."""
    rng, size, n = generator(11), 20, 1000
    reference = np.full(size, 1 / size)
    shifted = reference * np.linspace(0.8, 1.2, size)
    truth = 0.5 * np.abs(shifted - reference).sum()
    found: dict[str, list[Interval]] = {"percentile": [], "basic": []}
    for _ in range(300):
        seen = np.eye(size)[rng.choice(size, n, p=shifted)]
        for method, intervals in found.items():
            estimate = bootstrap(
                lambda weights, seen=seen: 0.5 * np.abs(weights @ seen - reference).sum(axis=1),
                [n],
                generator=rng,
                method=method,
                resamples=200,
            )
            intervals.append(estimate.interval)
    assert share_covering(found["percentile"], truth) < 0.2
    assert share_covering(found["basic"], truth) > 0.85


def test_a_symmetric_sample_has_students_interval() -> None:
    values = 3.0 + np.concatenate([np.arange(1, 30.0), -np.arange(1, 30.0)])
    peer = DescrStatsW(values)
    found = mean_interval(values, level=0.9)
    assert found.value == pytest.approx(3.0)
    assert found.standard_error == pytest.approx(peer.std_mean)
    assert (found.interval.lower, found.interval.upper) == pytest.approx(peer.tconfint_mean(alpha=0.1))


def test_a_skewed_sample_reaches_further_on_its_long_side() -> None:
    found = mean_interval(generator(12).exponential(1.0, 100))
    assert found.interval.upper - found.value > found.value - found.interval.lower


def test_wilson_agrees_with_statsmodels() -> None:
    for successes, trials in ((0, 10), (3, 10), (10, 10), (517, 2000)):
        found, peer = proportion_interval(successes, trials), proportion_confint(successes, trials, method="wilson")
        assert (found.interval.lower, found.interval.upper) == pytest.approx(peer, abs=1e-12)


def test_standard_errors_agree_with_scipys_bootstrap() -> None:
    rng = generator(13)
    top, bottom = rng.exponential(1.0, 300), rng.gamma(3.0, 1.0, 200)
    peer = scipy.stats.bootstrap(
        (top, bottom), lambda a, b, axis: a.mean(axis) / b.mean(axis), n_resamples=9999, method="percentile", rng=rng
    )
    found = ratio_of_means_interval(top, bottom, generator=rng, resamples=9999)
    assert found.standard_error == pytest.approx(peer.standard_error, rel=0.05)
    assert found.interval.lower == pytest.approx(peer.confidence_interval.low, rel=0.02)
    assert found.interval.upper == pytest.approx(peer.confidence_interval.high, rel=0.02)


def test_paired_ratio_agrees_with_scipys_bootstrap() -> None:
    rng = generator(14)
    tokens = rng.integers(5, 40, 300).astype(float)
    nll = rng.gamma(3.0 * tokens, 1.0)
    peer = scipy.stats.bootstrap(
        (nll, tokens), lambda a, b, axis: a.mean(axis) / b.mean(axis), paired=True, n_resamples=5000, rng=rng
    )
    for found in (rate_interval(nll, tokens), ratio_of_means_interval(nll, tokens, generator=rng, paired=True)):
        assert found.standard_error == pytest.approx(peer.standard_error, rel=0.06)
        assert found.interval.width == pytest.approx(float(np.diff(peer.confidence_interval)[0]), rel=0.1)


def test_p_values_agree_with_the_t_tests() -> None:
    rng = generator(15)
    first, second = rng.normal(0.0, 1.0, 200), rng.normal(0.2, 1.0, 200)
    pairs = {
        paired: scipy.stats.ttest_rel(first, second),
        independent: scipy.stats.ttest_ind(first, second, equal_var=False),
    }
    for compare, peer in pairs.items():
        found = compare(first, second, rng, 9999)
        assert found.value == pytest.approx(first.mean() - second.mean())
        assert found.p_value == pytest.approx(peer.pvalue, abs=0.015)
        assert (found.interval.lower, found.interval.upper) == pytest.approx(peer.confidence_interval(), abs=0.02)


@given(hnp.arrays(np.int64, st.integers(10, 16), elements=st.integers(0, 4)), st.integers(0, 2**32 - 1))
def test_correlations_of_tied_values_agree_with_scipy(first: npt.NDArray[np.int64], seed: int) -> None:
    second = generator(seed).permutation(first) + np.arange(len(first)) // 2
    if first.min() == first.max() or second.min() == second.max():
        return
    for kind, peer in (("pearson", scipy.stats.pearsonr), ("spearman", scipy.stats.spearmanr)):
        found = correlation_interval(first, second, kind=kind)
        assert found.value == pytest.approx(peer(first, second).statistic, abs=1e-9)


@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_ranks_of_a_resample_are_those_of_the_drawn_values(n: int, seed: int) -> None:
    rng = generator(seed)
    values = rng.integers(0, 4, n).astype(float)
    counts = resampling.resampling_counts(n, 3, rng)
    ranks = weighted_ranks(counts, values)
    for row, times in enumerate(counts.astype(int)):
        expected = scipy.stats.rankdata(np.repeat(values, times)) - 0.5
        np.testing.assert_allclose(np.repeat(ranks[row], times), expected)


def test_resampling_counts_have_the_multinomial_law() -> None:
    counts = resampling.resampling_counts(5, 40_000, generator(16))
    assert (counts.sum(axis=1) == 5).all()
    drawn = np.bincount(counts[:, 0].astype(int), minlength=6)
    expected = 40_000 * scipy.stats.binom.pmf(np.arange(6), 5, 0.2)
    assert scipy.stats.chisquare(drawn[:5], expected[:5] * drawn[:5].sum() / expected[:5].sum()).pvalue > 0.001
    assert np.corrcoef(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(-0.25, abs=0.02)


def test_memory_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = generator(17).random(40)
    whole = bootstrap(lambda weights: weights @ values, [40], generator=generator(18))
    monkeypatch.setattr(resampling, "BLOCK_ELEMENTS", 400)
    monkeypatch.setattr(resampling, "CACHE_ELEMENTS", 100)
    assert bootstrap(lambda weights: weights @ values, [40], generator=generator(18)) == whole


def test_the_same_seed_gives_the_same_interval() -> None:
    top, bottom = generator(19).random((2, 50, 3))
    first, again, other = (ratio_of_means_by_length(top, bottom, generator=generator(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_a_generic_bootstrap_equals_the_ratios_own() -> None:
    top, bottom = generator(20).random((2, 60, 4))
    own = ratio_of_means_by_length(top, bottom, generator=generator(21))
    generic = bootstrap_by_length(lambda a, b: ratio(a @ top, b @ bottom), [60, 60], generator=generator(21))
    assert generic.by_length.lower == own.by_length.lower
    assert generic.average.interval.upper == own.average.interval.upper
    assert generic.average.value == pytest.approx(own.average.value, rel=1e-12)


@pytest.mark.parametrize("n", [20, 50])
def test_a_ratio_over_zero_is_infinite_and_not_bounded(n: int) -> None:
    top, bottom = np.full((n, 3), 0.5), generator(22).random((n, 3)) + 1
    bottom[:, 1] = 0.0
    found = ratio_of_means_by_length(top, bottom, generator=generator())
    assert found.by_length.values[1] == math.inf
    assert "unbounded where a mean is zero" in found.by_length.method
    assert (found.by_length.lower[1], found.by_length.upper[1]) == (0.0, math.inf)
    assert math.isfinite(found.by_length.upper[0])
    assert found.average.value == found.average.standard_error == found.average.interval.upper == math.inf
    assert math.isfinite(found.average.interval.lower)
    assert "unbounded where a mean is zero" in found.average.interval.method


@pytest.mark.parametrize("n", [9, 90])
def test_nothing_over_nothing_is_one_and_not_bounded(n: int) -> None:
    found = ratio_of_means_interval(np.zeros(n), np.zeros(n), generator=generator())
    assert (found.value, found.interval.lower, found.interval.upper) == (1.0, 0.0, math.inf)


def test_resamples_without_a_denominator_widen_the_interval() -> None:
    rare = np.zeros(60)
    rare[0] = 1.0
    found = ratio_of_means_interval(np.ones(60), rare, generator=generator(23))
    assert found.value == 60.0
    assert found.interval.upper == math.inf
    assert 5 < found.interval.lower < 60


def test_values_that_may_be_negative_leave_both_ends_open() -> None:
    found = ratio_of_means_interval([1.0, -1.0, 2.0, 1.0], np.zeros(4), generator=generator())
    assert (found.interval.lower, found.interval.upper) == (-math.inf, math.inf)


def test_an_infinite_value_makes_the_mean_infinite_beyond_doubt() -> None:
    found = mean_by_length([[1.0, math.inf], [2.0, 1.0], [4.0, 1.0], [3.0, 1.0]])
    assert found.by_length.values == (pytest.approx(10 / 4), math.inf)
    assert found.by_length.lower[1] == found.average.interval.lower == found.average.value == math.inf
    assert rate_interval([1.0, math.inf, 1.0, 1.0], [3] * 4).interval == Interval(math.inf, math.inf, 0.95, "infinite")
    infinite = ratio_of_means_interval([1.0, math.inf, 1.0, 1.0], [1.0, 2.0, 1.0, 1.0], generator=generator())
    assert (infinite.value, infinite.interval.upper) == (math.inf, math.inf)


def test_a_perplexity_too_large_for_a_float_is_infinite() -> None:
    found = perplexity_interval([900.0, 1000.0, 950.0, 950.0], [1, 1, 1, 1])
    assert (found.value, found.interval.upper) == (math.inf, math.inf)


def test_ratios_of_deviations() -> None:
    found = ratio([0.36, 0.5, 0.0, 0.0, math.inf, math.inf, 1.0], [0.2, 0.0, 0.0, 1.0, 1.0, math.inf, math.inf])
    assert found.tolist() == pytest.approx([1.8, math.inf, 1.0, 0.0, math.inf, 1.0, 0.0])


def test_a_constant_has_no_error_and_no_p_value_of_zero() -> None:
    assert mean_interval([2.0] * 4).interval == Interval(2.0, 2.0, 0.95, "all values equal")
    values = np.arange(20.0)
    sure = paired(values + 2, values, generator())
    assert (sure.value, sure.interval.lower, sure.interval.upper) == (2.0, 2.0, 2.0)
    assert sure.p_value == 1 / 1001
    assert paired(values, values, generator()).p_value == 1.0
    assert paired(values[:4], values[:4], generator()).p_value == 1.0


@pytest.mark.parametrize("population", ["normal", "exponential"])
def test_a_plan_gives_the_wished_width(population: str) -> None:
    draw, _ = POPULATIONS[population]
    rng = generator(24)
    needed = samples_for_width(mean_interval(draw(rng, 2000)), 2000, 0.05)
    assert mean_interval(draw(rng, needed)).interval.width == pytest.approx(0.05, rel=0.1)


def test_a_ratio_can_be_planned_from_a_pilot() -> None:
    rng = generator(25)
    pilot = ratio_of_means_interval(rng.exponential(1, 1000), rng.exponential(1, 1000), generator=rng)
    needed = samples_for_width(pilot, 1000, 0.1)
    whole = ratio_of_means_interval(*rng.exponential(1, (2, needed)), generator=rng)
    assert whole.interval.width == pytest.approx(0.1, rel=0.15)


@given(hnp.arrays(np.float64, st.integers(4, 30), elements=st.floats(-1e6, 1e6)), st.floats(0.5, 0.999))
@example(np.array([0.0, 0.0, 0.0, 1e-110]), 0.95)  # the cube of its spread is 0
def test_means_lie_within_their_intervals(values: FloatArray, level: float) -> None:
    found = mean_interval(values, level=level)
    slack = 1e-9 * (1 + np.abs(values).max())
    assert found.value == pytest.approx(values.mean(), abs=slack)
    assert found.interval.lower - slack <= found.value <= found.interval.upper + slack


@given(hnp.arrays(np.float64, st.integers(4, 30), elements=st.floats(2, 1e3)), st.floats(0.1, 10), st.floats(-10, 10))
def test_means_move_and_stretch_with_their_values(values: FloatArray, scale: float, shift: float) -> None:
    assume(not np.isin(scale * values + shift, (0.0, 1.0)).all())  # a share
    found, moved = mean_interval(values), mean_interval(scale * values + shift)
    slack = 1e-3 * (1 + values.max())
    assert moved.interval.lower == pytest.approx(scale * found.interval.lower + shift, abs=slack)
    assert moved.interval.upper == pytest.approx(scale * found.interval.upper + shift, abs=slack)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), "got 0"),
        (lambda: mean_interval([2.0, 1.0, 3.0]), "need at least 4 samples for an interval, got 3"),
        (lambda: mean_interval([1.0, math.nan]), "1 of 2 values are NaN"),
        (lambda: mean_interval([math.inf, -math.inf]), "their mean is undefined"),
        (lambda: mean_interval([[1.0, 2.0]]), "one value per sequence"),
        (lambda: mean_interval([1.0, 2.0] * 2, level=1.5), "a level of 1.5"),
        (lambda: mean_interval([1.0, 2.0] * 2, level=0.0), "a level of 0"),
        (lambda: mean_by_length(np.ones((5, 0))), "one column per length"),
        (lambda: rate_interval([1.0, 2.0] * 2, [3.0]), "got 1"),
        (lambda: rate_interval([1.0, 2.0, 3.0, 4.0, 5.0], [3.0] * 4), "one count for each total"),
        (lambda: rate_interval([1.0, 2.0] * 2, [0.0] * 4), "all zero"),
        (lambda: proportion_interval(3, 0), "0 trials"),
        (lambda: proportion_interval(3, 2), "3 successes of 2"),
        (lambda: ratio_of_means_interval([1.0], [1.0, 2.0], generator=generator()), "got 1"),
        (lambda: ratio_of_means_by_length(np.ones((5, 2)), np.ones((5, 4)), generator=generator()), "equal lengths"),
        (lambda: ratio_of_means_interval(np.ones(5), np.ones(4), generator=generator(), paired=True), "equal lengths"),
        (lambda: ratio_of_means_interval(*np.ones((2, 50)), generator=generator(), resamples=3), "3 resamples"),
        (lambda: bootstrap(lambda w: w @ np.ones(2), [2], generator=generator(), method="x"), "percentile, basic"),
        (lambda: bootstrap(lambda w: w @ np.ones(1), [1], generator=generator()), "at least two"),
        (lambda: bootstrap(lambda w: w[:, 0] * math.nan, [2], generator=generator()), "statistic that is NaN"),
        (lambda: paired(np.ones(5), np.ones(4), generator()), "same items"),
        (lambda: correlation_interval([1, 2, 3, 4, 5, 6], [1] * 6), "constant"),
        (lambda: correlation_interval(range(6), range(7)), "give pairs"),
        (lambda: correlation_interval([1, 2], [2, 1], kind="x"), "known: pearson, spearman"),
        (lambda: correlation_interval(np.arange(9), np.arange(9) ** 2, kind="spearman"), "at least 10 samples"),
        (lambda: samples_for_width(mean_interval([1.0, 2.0] * 2), 4, 0.0), "width 0"),
        (lambda: samples_for_width(mean_interval([1.0, math.inf] * 2), 4, 0.1), "infinite"),
        (lambda: Interval(2.0, 1.0, 0.95, "t"), "not a range"),
        (lambda: Interval(math.nan, 1.0, 0.95, "t"), "not a range"),
        (lambda: Curve((1.0,), (0.0, 0.0), (2.0,), 0.95, "t"), "differ in number"),
        (lambda: Curve((math.nan,), (0.0,), (2.0,), 0.95, "t"), "NaN"),
    ],
)
def test_bad_input_gets_one_clear_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(OffscriptError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
