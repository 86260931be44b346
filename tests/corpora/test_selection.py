"""Selections: the k-th chosen index, whatever the pattern."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from offscript.corpora._selection import BLOCK, Selection


@given(size=st.integers(1, 5 * BLOCK), share=st.floats(0, 1), seed=st.integers(0, 2**32), piece=st.integers(1, 4))
def test_ranks_find_what_flatnonzero_finds(size: int, share: float, seed: int, piece: int) -> None:
    truths = np.random.default_rng(seed).random(size) < share
    selection = Selection(truths[start : start + piece * BLOCK] for start in range(0, size, piece * BLOCK))
    expected = np.flatnonzero(truths)
    assert len(selection) == len(expected)
    assert selection(np.arange(len(expected))).tolist() == expected.tolist()


def test_ranks_may_come_in_any_order() -> None:
    selection = Selection([np.array([False, True, True, False, True])])
    assert selection(np.array([2, 0, 1, 2])).tolist() == [4, 1, 2, 4]
