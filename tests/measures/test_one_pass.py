"""The distances that machine code computes in one pass, beside their definitions in double precision."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.special import log_softmax, rel_entr

from offscript._exponential import exponential
from offscript.measures._one_pass import _log, one_pass

LOGITS = st.one_of(st.floats(-120, 60, width=32), st.just(-math.inf))


@given(st.data(), st.integers(1, 9), st.integers(1, 70), st.integers(1, 4))
def test_equals_the_definitions(data: st.DataObject, rows: int, size: int, threads: int) -> None:
    p, q = (_distributions(data, rows, size) for _ in range(2))
    found = one_pass(p, q, [slice(row, row + 2) for row in range(0, rows, 2)], threads=threads)
    first, second = (np.exp(side.astype(np.float64)) for side in (p, q))
    middle = (first + second) / 2
    divergences = (rel_entr(first, middle) + rel_entr(second, middle)).sum(axis=1) / 2
    np.testing.assert_allclose(found["tv"], np.abs(first - second).sum(axis=1) / 2, atol=1e-6)
    np.testing.assert_allclose(found["js"], divergences, atol=1e-6)
    np.testing.assert_array_equal(found["gd"], p.argmax(axis=1) != q.argmax(axis=1))


def test_nan_comes_from_nan_alone() -> None:
    certain, excluded = np.array([[0, -math.inf, -math.inf]] * 2, dtype=np.float32), np.full((2, 3), -math.inf)
    spoilt = excluded.astype(np.float32)
    spoilt[0, 1], spoilt[1] = 0.0, [0.0, math.nan, -1.0]
    found = one_pass(certain, spoilt, [slice(2)], threads=1)
    assert found["tv"][0] == 1.0
    assert found["js"][0] == pytest.approx(math.log(2), rel=1e-7)
    assert np.isnan([found["tv"][1], found["js"][1]]).all()


@given(st.floats(-87, 0, width=32))
def test_exponentials_have_all_digits(x: float) -> None:
    assert exponential(np.float32(x)) == pytest.approx(math.exp(x), rel=1.5e-7)


@given(st.floats(2.0**-120, 2, width=32))
def test_logarithms_have_all_digits(x: float) -> None:
    assert _log(np.float32(x)) == pytest.approx(math.log(x), rel=1.5e-7, abs=1e-9)


def test_no_rows_and_no_tokens() -> None:
    for shape in ((0, 5), (3, 1)):
        nothing = np.zeros(shape, dtype=np.float32)
        assert {
            name: values.tolist() for name, values in one_pass(nothing, nothing, [slice(3)], threads=2).items()
        } == {name: [0.0] * shape[0] for name in ("tv", "js", "gd")}


def _distributions(data: st.DataObject, rows: int, size: int) -> NDArray[np.float32]:
    """Log-probabilities [rows, size] with zeros among the probabilities, one token of each row excepted."""
    logits = data.draw(arrays(np.float32, (rows, size), elements=LOGITS))
    logits[np.arange(rows), data.draw(arrays(np.int64, rows, elements=st.integers(0, size - 1)))] = 0.0
    return np.asarray(log_softmax(logits.astype(np.float64), axis=1), dtype=np.float32)
