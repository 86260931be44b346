"""Permutations: bijections for every size, every order equally likely, another one for every seed."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from offscript.corpora.permutation import Permutation, derived_seed
from offscript.errors import OffscriptError


def shuffled(n: int, seed: int) -> list[int]:
    return Permutation(n, seed)(np.arange(n)).tolist()


@pytest.mark.parametrize("n", [*range(70), 127, 128, 129, 1000, 4095, 4096, 4097, 100_003])
def test_every_index_comes_out_once(n: int) -> None:
    assert sorted(shuffled(n, seed=n)) == list(range(n))


@given(n=st.integers(1, 2**40), seed=st.integers(), data=st.data())
def test_an_index_goes_to_the_same_place_alone_and_in_company(n: int, seed: int, data: st.DataObject) -> None:
    indices = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=20, unique=True)))
    together = Permutation(n, seed)(indices)
    assert len(set(together.tolist())) == len(indices)
    assert 0 <= together.min() <= together.max() < n
    assert [Permutation(n, seed)(indices[i : i + 1])[0] for i in range(len(indices))] == together.tolist()


@pytest.mark.parametrize("n", [3, 4, 5])
def test_all_orders_of_a_few_things_are_equally_likely(n: int) -> None:
    counts = Counter(tuple(shuffled(n, seed)) for seed in range(10 * math.factorial(n)))
    assert chisquare([counts[order] for order in itertools.permutations(range(n))]).pvalue > 0.001


def test_places_and_distances_are_uniform_in_a_larger_order() -> None:
    orders = np.array([shuffled(50, seed) for seed in range(1000)])  # [seeds, 50]
    for place in (0, 1, 25, 49):
        assert chisquare(np.bincount(orders[:, place], minlength=50)).pvalue > 0.001
    distances = (orders[:, 1] - orders[:, 0]) % 50
    assert chisquare(np.bincount(distances, minlength=50)[1:]).pvalue > 0.001
    assert abs((orders == np.arange(50)).sum(axis=1).mean() - 1) < 0.12  # a random order has one fixed point on average


def test_a_large_order_does_not_follow_the_indices() -> None:
    order = np.array(shuffled(100_000, seed=1))
    assert abs(np.corrcoef(order, np.arange(100_000))[0, 1]) < 0.02
    assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < 0.02


def test_the_order_is_the_same_on_every_machine() -> None:
    assert shuffled(10, seed=0) == [6, 2, 9, 7, 3, 8, 4, 5, 0, 1]
    assert derived_seed(0, 1) != derived_seed(1, 0)


def test_indices_outside_and_sizes_below_zero_are_refused() -> None:
    with pytest.raises(IndexError):
        Permutation(3, 0)(np.array([3]))
    with pytest.raises(IndexError):
        Permutation(3, 0)(np.array([-1]))
    with pytest.raises(OffscriptError, match="-1 things"):
        Permutation(-1, 0)
    assert len(Permutation(0, 0)(np.arange(0))) == 0
