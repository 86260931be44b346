"""Influence values against numerical derivatives of the weighted figures, and variances against their definition."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import t

from offscript.errors import OffscriptError
from offscript.statistics import (
    agreement,
    crossed_difference,
    crossed_interval,
    crossed_mean,
    crossed_variance,
    fleiss_kappa,
    intraclass_correlation,
    krippendorff_alpha,
    raters_needed,
)
from offscript.statistics.crossed import CrossedVariance

Array = np.ndarray


def ratings(seed: int = 1) -> tuple[Array, Array, Array]:
    """Ratings from 0 to 4 of nine items by seven raters, a third of them missing, and no item left with one."""
    rng = np.random.default_rng(seed)
    item, rater = np.divmod(np.arange(63), 7)
    values = np.clip(np.round(2 + rng.normal(0, 1, 9)[item] + rng.normal(0, 1, 63)), 0, 4)
    kept = (rng.random(63) < 0.66) | (rater < 2)
    return values[kept], item[kept], rater[kept]


def pairs_mean(weights: Array, distances: Array) -> float:
    """Mean distance of two different ratings, each drawn by its weight."""
    both = np.outer(weights, weights) * (1 - np.eye(len(weights)))
    return float((both * distances).sum() / both.sum())


def weighted_ranks(values: Array, weights: Array) -> Array:
    return np.array([weights[values < v].sum() + weights[values == v].sum() / 2 for v in values])


def log_alpha(metric: str) -> Callable[[Array, Array, Array], float]:
    def figure(values: Array, items: Array, weights: Array) -> float:
        if metric == "nominal":
            distances = (values[:, None] != values).astype(float)
        else:
            scale = values if metric == "interval" else weighted_ranks(values, weights)
            distances = (scale[:, None] - scale) ** 2
        chosen = [items == item for item in np.unique(items)]
        observed = sum(weights[m].sum() * pairs_mean(weights[m], distances[np.ix_(m, m)]) for m in chosen)
        return math.log(observed / weights.sum() / pairs_mean(weights, distances))

    return figure


def log_kappa(values: Array, items: Array, weights: Array) -> float:
    differ = (values[:, None] != values).astype(float)
    chosen = [items == item for item in np.unique(items)]
    shares = np.array([weights[m].sum() / m.sum() for m in chosen])  # items count alike
    own = np.array([pairs_mean(weights[m], differ[np.ix_(m, m)]) for m in chosen])
    chances = np.array([weights[values == value].sum() for value in np.unique(values)]) / weights.sum()
    return math.log((shares * own).sum() / shares.sum() / (1 - (chances**2).sum()))


def log_icc(values: Array, items: Array, weights: Array) -> float:
    """Log of 1 - ICC(1), by the table of the analysis of variance."""
    chosen = [items == item for item in np.unique(items)]
    sizes = np.array([weights[m].sum() for m in chosen])
    means = np.array([np.average(values[m], weights=weights[m]) for m in chosen])
    n, count = sizes.sum(), sum(weights[m].sum() / m.sum() for m in chosen)
    mean = np.average(values, weights=weights)
    squares = sum((weights[m] * (values[m] - own) ** 2).sum() for m, own in zip(chosen, means, strict=True))
    within, between = squares / (n - count), (sizes * (means - mean) ** 2).sum() / (count - 1)
    typical = (n - (sizes**2).sum() / n) / (count - 1)
    return math.log(1 - (between - within) / (between + (typical - 1) * within))


FIGURES: dict[str, tuple[Callable[..., float], Callable[..., agreement.Estimate]]] = {
    "nominal": (log_alpha("nominal"), lambda *data: krippendorff_alpha(*data, "nominal")),
    "ordinal": (log_alpha("ordinal"), lambda *data: krippendorff_alpha(*data, "ordinal")),
    "interval": (log_alpha("interval"), lambda *data: krippendorff_alpha(*data, "interval")),
    "kappa": (log_kappa, fleiss_kappa),
    "icc": (log_icc, intraclass_correlation),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_influence_of_a_rating_is_the_derivative_by_its_weight(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values, items, raters = ratings()
    log_ratio, measure = FIGURES[name]
    asked: list[Array] = []

    def variance(influence: Array, *labels: Array, heavy: bool) -> CrossedVariance:
        assert heavy
        asked.append(influence)
        return crossed_variance(influence, *labels, heavy=heavy)

    monkeypatch.setattr(agreement, "crossed_variance", variance)
    found = measure(values, items, raters)
    ones, step = np.ones(len(values)), 1e-5
    derivatives = [
        (log_ratio(values, items, ones + step * row) - log_ratio(values, items, ones - step * row)) / (2 * step)
        for row in np.eye(len(values))
    ]
    assert found.value == pytest.approx(1 - math.exp(log_ratio(values, items, ones)), abs=1e-12)
    assert asked[0] == pytest.approx(np.array(derivatives), abs=1e-8)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_bounds_are_symmetric_on_the_scale_of_the_f_ratio(
    name: str, level: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, items, raters = ratings(2)
    known = CrossedVariance(0.04, 0.01, 0.03, 7.5, "known")
    monkeypatch.setattr(agreement, "crossed_variance", lambda *_, **__: known)
    log_ratio, _ = FIGURES[name]
    ratio, size = math.exp(log_ratio(values, items, np.ones(len(values)))), len(values) / len(np.unique(items))
    measures = {"kappa": fleiss_kappa, "icc": intraclass_correlation}
    if name in measures:
        found = measures[name](values, items, raters, level=level)
    else:
        found = krippendorff_alpha(values, items, raters, name, level=level)

    def scale(a: float) -> float:
        return math.log((1 + (size - 1) * a) / (1 - a))

    assert found.standard_error == pytest.approx(0.2 * ratio)
    # The scale's derivative by a is size / ((1 + (size - 1) a) (1 - a)).
    reach = t.ppf((1 + level) / 2, 7.5) * 0.2 * ratio * size / ((1 + (size - 1) * (1 - ratio)) * ratio)
    assert scale(found.interval.upper) - scale(found.value) == pytest.approx(reach)
    assert scale(found.value) - scale(found.interval.lower) == pytest.approx(reach)
    assert found.interval.method == "known"
    assert found.interval.level == level


def test_agreement_below_chance_has_an_interval_that_ends_where_ratings_of_an_item_all_differ() -> None:
    items, raters = np.repeat(range(6), 2), np.tile(range(2), 6)
    found = krippendorff_alpha([0.0, 1.0] * 6, items, raters, "interval")
    assert found.value == pytest.approx(1 - 1 / (2 * 36 / (12 * 11)))
    assert -1 <= found.interval.lower <= found.value < found.interval.upper <= 1


def test_items_rated_once_count_for_the_icc_and_not_for_alpha() -> None:
    values, items, raters = [1.0, 2.0, 4.0, 4.0, 9.0], [1, 1, 2, 2, 3], [1, 2, 1, 2, 1]
    without = krippendorff_alpha(values[:4], items[:4], raters[:4], "interval")
    assert krippendorff_alpha(values, items, raters, "interval") == without
    arrays = np.array(values), np.array(items), np.ones(5)
    assert intraclass_correlation(values, items, raters).value == pytest.approx(1 - math.exp(log_icc(*arrays)))


def test_the_icc_needs_two_items_and_one_rated_twice() -> None:
    assert intraclass_correlation([1.0, 2.0, 4.0], [1, 1, 2], [1, 2, 1]).value < 1
    for items in ([1, 1, 1], [1, 2, 3]):
        with pytest.raises(OffscriptError, match="it needs two items, and one of them rated twice"):
            intraclass_correlation([1.0, 2.0, 4.0], items, [1, 2, 1])
    with pytest.raises(OffscriptError, match="all ratings are the same"):
        intraclass_correlation([2.0] * 4, [1, 1, 2, 2], [1, 2, 1, 2])
    unanimous = intraclass_correlation([2.0, 2.0, 3.0, 3.0], [1, 1, 2, 2], [1, 2, 1, 2], level=0.9)
    assert (unanimous.value, unanimous.standard_error, unanimous.interval.width) == (1.0, 0.0, 0.0)
    assert (unanimous.interval.method, unanimous.interval.level) == ("all ratings agree", 0.9)
    with pytest.raises(OffscriptError, match="no finite number"):
        intraclass_correlation([2.0, math.inf], [1, 1], [1, 2])


@pytest.mark.parametrize("measure", [fleiss_kappa, lambda *data: krippendorff_alpha(*data, "nominal")])
def test_labels_may_be_words(measure: Callable[..., agreement.Estimate]) -> None:
    items, raters = [1, 1, 2, 2, 3, 3], [1, 2, 1, 2, 1, 2]
    words, numbers = ["no", "no", "yes", "no", "yes", "yes"], [0, 0, 7, 0, 7, 7]
    assert measure(words, items, raters) == measure(numbers, items, raters)
    assert measure(["no", "no", "yes", "yes"], items[:4], raters[:4]).value == 1


def by_hand(influence: Array, labels: Array, heavy: bool) -> tuple[float, float]:
    """Variance and degrees of freedom of sums by label."""
    sums = [influence[labels == label].sum() for label in np.unique(labels)]
    sizes = [int((labels == label).sum()) for label in np.unique(labels)]
    k, squares = len(sums), sum(each**2 for each in sums)
    freedom = max(1.0, sum(sizes) ** 2 / sum(size**2 for size in sizes) - 1)
    spread = sum(each**4 for each in sums) - squares**2 / k
    if heavy and spread > 0:
        freedom = min(freedom, max(1.0, 2 * squares**2 / spread))
    return squares * k / (k - 1), freedom


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_crossed_variances_by_hand(seed: int, heavy: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    items, raters = rng.integers(0, 2 + seed, n), rng.integers(0, 3, n)
    items[:2], raters[:2] = (0, 1), (0, 1)
    influence = rng.standard_t(3, n)
    influence -= influence.mean()
    found = crossed_variance(influence, items, raters, heavy=heavy)
    (one, one_freedom), (other, other_freedom) = (by_hand(influence, each, heavy) for each in (items, raters))
    single = (influence**2).sum() * n / (n - 1)
    total = max(one + other - single, one, other)
    assert found.items == pytest.approx(one)
    assert found.raters == pytest.approx(other)
    assert found.total == pytest.approx(total)
    assert found.freedom == pytest.approx(total**2 / (one**2 / one_freedom + other**2 / other_freedom))
    assert found.method == "clustered by items and raters"


def test_two_clusters_are_enough_and_a_single_one_leaves_the_others() -> None:
    influence = np.array([-1.0, 0.5, 0.25, 0.25])
    both = crossed_variance(influence, [1, 1, 2, 2], [1, 2, 1, 2])
    assert both.method == "clustered by items and raters"
    assert both.items == pytest.approx(2 * 0.5**2 * 2)
    by_raters = crossed_variance(influence, [1, 1, 1, 1], [1, 1, 2, 2])
    assert by_raters == CrossedVariance(1.0, 0.0, 1.0, 1.0, "clustered by raters")
    by_items = crossed_variance(influence, [1, 1, 2, 2], [1, 1, 1, 1])
    assert by_items == CrossedVariance(1.0, 1.0, 0.0, 1.0, "clustered by items")
    nothing = crossed_variance(np.zeros(6), [1, 1, 2, 2, 3, 3], [1, 2, 1, 2, 1, 2])
    assert (nothing.total, nothing.freedom) == (0.0, 1.0)
    fewer = crossed_variance(np.zeros(6), [1, 2, 3, 1, 2, 3], [1, 1, 1, 2, 2, 2], heavy=True)
    assert fewer.freedom == 1.0


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_means_and_differences_of_crossed_ratings_by_students_t(level: float) -> None:
    first, items, raters = ratings(3)
    second = ratings(4)[0][: len(first)]
    own = items[: len(second)], raters[: len(second)]
    mean = crossed_mean(first, items, raters, level=level)
    known = crossed_variance((first - first.mean()) / len(first), items, raters)
    reach = t.ppf((1 + level) / 2, known.freedom) * math.sqrt(known.total)
    assert mean == crossed_interval(
        float(first.mean()), (first - first.mean()) / len(first), items, raters, level=level
    )
    assert mean.standard_error == pytest.approx(math.sqrt(known.total))
    assert [mean.interval.lower, mean.interval.upper] == pytest.approx([mean.value - reach, mean.value + reach])
    difference, parts = crossed_difference(first, second, (items, own[0] + 50), (raters, own[1]), level=level)
    influence = np.concatenate([(first - first.mean()) / len(first), -(second - second.mean()) / len(second)])
    labels = np.concatenate([items, own[0] + 50]), np.concatenate([raters, own[1]])
    assert parts[:4] == pytest.approx(crossed_variance(influence, *labels)[:4])
    error = math.sqrt(parts.total)
    assert difference.value == pytest.approx(first.mean() - second.mean())
    assert difference.p_value == pytest.approx(2 * t.sf(abs(difference.value) / error, parts.freedom))
    reach = t.ppf((1 + level) / 2, parts.freedom) * error
    assert difference.interval.upper - difference.value == pytest.approx(reach)
    assert difference.value - difference.interval.lower == pytest.approx(reach)


def test_one_item_per_system_is_the_system_itself() -> None:
    first, second = [1.0, 2.0, 4.0], [2.0, 2.0, 3.0]
    difference, known = crossed_difference(first, second, ([1] * 3, [2] * 3), ([1, 2, 3], [1, 2, 3]))
    assert known.method == "clustered by raters"
    by_rater = [(a - 7 / 3) / 3 - (b - 7 / 3) / 3 for a, b in zip(first, second, strict=True)]
    assert known.total == pytest.approx(sum(each**2 for each in by_rater) * 3 / 2)
    assert difference.value == pytest.approx(0.0, abs=1e-12)
    _, two = crossed_difference(first, second, ([1, 1, 2], [3] * 3), ([1, 2, 3], [1, 2, 3]))
    assert two.method == "clustered by items and raters"


def test_ratings_that_never_vary_differ_surely_or_not_at_all() -> None:
    labels = ([1, 2], [1, 2]), ([1, 2], [1, 2])
    for second, p_value in (([3.0, 3.0], 1.0), ([2.0, 2.0], 0.0)):
        difference, _ = crossed_difference([3.0, 3.0], second, *labels)
        assert difference.p_value == p_value
        assert difference.interval.width == 0


def test_planned_raters_by_hand() -> None:
    known = CrossedVariance(total=0.05, items=0.01, raters=0.04, freedom=9.0, method="")
    # 0.8 and 0.95 take 0.8416 + 1.9600 standard errors: the variance may be (difference / 2.8016)².
    allowed = (0.5 / 2.801585) ** 2
    planned = raters_needed(known, 20, 30, 0.5)
    assert planned.raters == math.ceil(20 * 0.04 / (allowed - 0.01))
    assert planned.items == math.inf  # the raters alone leave more doubt than is allowed
    more = raters_needed(known, 20, 30, 0.5, power=0.5, level=0.9)
    allowed = (0.5 / 1.644854) ** 2
    assert (more.raters, more.items) == (math.ceil(0.8 / (allowed - 0.01)), math.ceil(0.3 / (allowed - 0.04)))
    assert raters_needed(known, 2, 2, 100.0) == (2.0, 2.0)
    shared = CrossedVariance(total=0.04, items=0.05, raters=0.06, freedom=9.0, method="")
    allowed = (1.0 / 2.801585) ** 2
    assert raters_needed(shared, 10, 10, 1.0) == (math.ceil(0.6 / allowed), math.ceil(0.5 / allowed))
    for difference in (0.0, -1.0, math.nan):
        with pytest.raises(OffscriptError, match="ask for one above 0"):
            raters_needed(known, 2, 2, difference)
