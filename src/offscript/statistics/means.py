"""Means, rates and proportions: closed forms, chosen by measured coverage."""

import math

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics.estimates import (
    Curve,
    Estimate,
    Interval,
    Profile,
    as_table,
    as_vector,
    normal_quantile,
    single,
    student_quantile,
)


def mean_interval(values: npt.ArrayLike, *, level: float = 0.95) -> Estimate:
    """Mean of independent values by Student's t with Hall's (1992) correction for skewness.

    At n = 200 to 1,000 it covers 0.94 to 0.97 for normal, exponential, log-normal, beta and 0/1 values: as often as the
    studentised bootstrap, and without resampling. For log-normal values at n = 100 these two cover 0.93, plain t 0.92
    and the percentile bootstrap 0.91. An infinite value makes the mean infinite beyond doubt.
    """
    return mean_by_length(as_vector(values)[:, None], level=level).average


def mean_by_length(values: npt.ArrayLike, *, level: float = 0.95) -> Profile:
    """Means of the columns of `values` [n, lengths], and of each row's mean, both as `mean_interval`."""
    table, method = as_table(values), "skew-corrected t"
    means, _, *bounds = skewness_corrected(table, level)
    average = skewness_corrected(table.mean(axis=1, keepdims=True), level)
    return Profile(single(*average, level, method), Curve.of(means, (bounds[0], bounds[1]), level, method))


def rate_interval(totals: npt.ArrayLike, counts: npt.ArrayLike, *, level: float = 0.95) -> Estimate:
    """Sum of totals over sum of counts, such as nats per token: a ratio estimator, linearised over sequences."""
    sums, sizes = as_vector(totals), as_vector(counts)
    if sums.shape != sizes.shape:
        raise OffscriptError(f"{len(sums)} totals and {len(sizes)} counts", next="give one count for each total")
    if not (sizes >= 0).all() or not 0 < sizes.sum() < math.inf:
        raise OffscriptError("counts that are negative, infinite or all zero", next="count at least one token")
    rate = sums.sum() / sizes.sum()
    if math.isinf(rate):
        return Estimate(rate, math.inf, Interval(rate, rate, level, "delta"))
    influence = (sums - rate * sizes) / sizes.mean()
    _, errors, lower, upper = skewness_corrected(influence[:, None], level)
    return single(np.array([rate]), errors, rate + lower, rate + upper, level, "delta")


def perplexity_interval(nll: npt.ArrayLike, tokens: npt.ArrayLike, *, level: float = 0.95) -> Estimate:
    """exp(nats per token) from each sequence's negative log-likelihood in nats and number of tokens."""
    rate = rate_interval(nll, tokens, level=level)
    with np.errstate(over="ignore"):  # beyond 709 nats a token it is infinite
        value, lower, upper = np.exp([rate.value, rate.interval.lower, rate.interval.upper]).tolist()
    return Estimate(value, value * rate.standard_error, Interval(lower, upper, level, "delta"))


def proportion_interval(successes: float, trials: float, *, level: float = 0.95) -> Estimate:
    """A proportion by Wilson's score interval; of weighted trials, their effective numbers."""
    if not 0 <= successes <= trials or trials == 0:
        raise OffscriptError(f"{successes} successes of {trials} trials", next="count 0 to n successes of n ≥ 1 trials")
    share, z = successes / trials, normal_quantile((1 + level) / 2)
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    lower = 0.0 if successes == 0 else centre - half
    upper = 1.0 if successes == trials else centre + half
    return Estimate(share, math.sqrt(share * (1 - share) / trials), Interval(lower, upper, level, "wilson"))


def clustered_proportion_interval(successes: npt.ArrayLike, trials: npt.ArrayLike, *, level: float = 0.95) -> Estimate:
    """A proportion of trials that come in clusters, such as the sentences of texts: Wilson's interval, widened.

    Args:
        successes: Successes of each cluster [n].
        trials: Trials of each cluster [n]; some may have none.
        level: Level of the interval.

    Returns:
        The proportion over all trials; it counts as many trials as independent ones would vary as much (Kish 1965).
    """
    wins, sizes = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    count = float(sizes.sum())
    share = float(wins.sum()) / count if count else 0.0
    expected = share * (1 - share) * count
    effect = max(1.0, float(((wins - share * sizes) ** 2).sum()) / expected) if expected else 1.0
    return proportion_interval(float(wins.sum()) / effect, count / effect, level=level)


def student_interval(values: FloatArray, *, level: float = 0.95) -> Estimate:
    """Plain Student's t: a handful of runs tells nothing of skewness, which `mean_interval` would allow for."""
    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(n)
    reach = student_quantile(n - 1, (1 + level) / 2) * error
    return Estimate(mean, error, Interval(mean - reach, mean + reach, level, "t over runs"))


def skewness_corrected(table: FloatArray, level: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Means, standard errors, lower and upper bounds of the columns of `table` [n, k], each [k].

    The studentised mean passes through Hall's monotone cubic transformation, which removes the first-order effect of
    skewness on coverage. An infinite mean is its own bounds.
    """
    n = len(table)
    means = table.mean(axis=0)
    infinite = np.isinf(means)
    centred = np.where(infinite, 0.0, table) - np.where(infinite, 0.0, means)
    variances = (centred**2).mean(axis=0)
    errors = np.sqrt(variances / (n - 1))
    scaled_skewness = (centred**3).mean(axis=0) / np.where(variances == 0, 1.0, variances) ** 1.5 / math.sqrt(n)
    quantile = student_quantile(n - 1, (1 + level) / 2)
    lower = means - errors * _hall_inverse(quantile, scaled_skewness)
    upper = means - errors * _hall_inverse(-quantile, scaled_skewness)
    return means, np.where(infinite, math.inf, errors), lower, upper


def _hall_inverse(quantile: float, skewness: FloatArray) -> FloatArray:
    symmetric = np.abs(skewness) < 1e-6
    scale = np.where(symmetric, 1.0, skewness)
    inverse = 3 / scale * (np.cbrt(1 + scale * (quantile - scale / 6)) - 1)
    return np.where(symmetric, quantile, inverse)
