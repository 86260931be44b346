"""Intervals over items and raters: coverage, the naive interval's beside it, differences, power."""

import numpy as np
import pytest

from offscript.errors import OffscriptError
from offscript.statistics import crossed_difference, crossed_mean, crossed_variance, mean_interval, raters_needed


def crossed(
    rng: np.random.Generator, items: int, raters: int, spread: tuple[float, float, float]
) -> tuple[np.ndarray, ...]:
    item, rater = np.divmod(np.arange(items * raters), raters)
    noise = rng.normal(0, spread[2], len(item))
    return rng.normal(0, spread[0], items)[item] + rng.normal(0, spread[1], raters)[rater] + noise, item, rater


@pytest.mark.parametrize("spread", [(0.5, 0.5, 1.0), (1.0, 0.2, 1.0), (0.2, 1.0, 1.0)])
def test_clustered_intervals_cover_and_naive_ones_do_not(spread: tuple[float, float, float]) -> None:
    rng = np.random.default_rng(1)
    held = naive = 0
    for _ in range(1000):
        values, item, rater = crossed(rng, 20, 12, spread)
        held += 0.0 in crossed_mean(values, item, rater).interval
        naive += 0.0 in mean_interval(values, share=False).interval
    assert 930 - 15 <= held <= 970 + 15
    assert naive < 750


def test_differences_with_shared_raters_cover() -> None:
    rng, held = np.random.default_rng(2), 0
    for _ in range(600):
        severity = rng.normal(0, 1, 15)
        parts = []
        for _system in range(2):
            item, rater = np.divmod(np.arange(15 * 15), 15)
            values = rng.normal(0, 0.5, 15)[item] + severity[rater] + rng.normal(0, 1, 225)
            parts.append((values, item, rater))
        (first, item, rater), (second, *_) = parts
        difference, _ = crossed_difference(first, second, (item, item + 100), (rater, rater))
        held += 0.0 in difference.interval
        assert difference.interval.width < 1.7  # severity cancels: raters are the same
    assert 0.92 <= held / 600 <= 0.98


def test_so_many_raters_find_the_difference_as_often_as_planned() -> None:
    rng = np.random.default_rng(3)

    def study(raters: int, gap: float) -> tuple[float, object]:
        item, rater = np.divmod(np.arange(40 * raters), raters)
        taste = rng.normal(0, 0.6, (2, raters))
        texts = rng.normal(0, 0.05, (2, 40))
        first, second = (taste[k][rater] + texts[k][item] + rng.normal(0, 0.5, len(item)) for k in (0, 1))
        difference, known = crossed_difference(first + gap, second, (item, item + 100), (rater, rater))
        return difference.p_value, known

    needed = np.median([raters_needed(study(30, 0.0)[1], 30, 40, 0.3).raters for _ in range(40)])
    found = np.mean([study(int(needed), 0.3)[0] < 0.05 for _ in range(300)])
    assert 0.72 <= found <= 0.88


def test_items_alone_can_leave_a_difference_in_doubt() -> None:
    rng = np.random.default_rng(4)
    item, rater = np.divmod(np.arange(4 * 200), 200)
    first, second = (rng.normal(0, 1, 4)[item] + rng.normal(0, 0.1, 800) for _ in range(2))
    _, known = crossed_difference(first, second, (item, item + 10), (rater, rater))
    needed = raters_needed(known, 200, 4, 0.1)
    assert needed.raters == np.inf
    assert needed.items > 100


def test_one_rater_of_one_item_has_no_interval() -> None:
    with pytest.raises(OffscriptError, match="no interval from one rater of one item"):
        crossed_variance(np.zeros(2), [1, 1], [1, 1])
    assert crossed_mean([1.0, 2.0, 3.0], [1, 1, 1], [1, 2, 3]).interval.method == "clustered by raters"
