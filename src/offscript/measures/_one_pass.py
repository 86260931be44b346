"""The papers' three distances in one pass over tables of log-probabilities in single precision, on processors.

Torch takes a dozen passes for them, each of which costs as much as the arithmetic of all.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import elementwise, summing

Floats = NDArray[np.float32]

_f = np.float32
_LOWEST = _f(-87.0)  # its exponential, 2e-38, stands for probability 0
_LOG2_E = _f(math.log2(math.e))
_LN2_HIGH, _LN2_LOW = _f(0.693359375), _f(math.log(2) - 0.693359375)
_ROUNDING = _f(1.5 * 2**23)  # adding it leaves an integer in the lowest bits
_ROOT_HALF = 0x3F3504F3  # the bits of √½


NAMES = ("tv", "js", "gd")


def one_pass(log_p: Floats, log_q: Floats, slices: Sequence[slice], *, threads: int) -> dict[str, Floats]:
    """½ Σ |p - q|, ½ Σ (p log p + q log q - 2 m log m), and whether the most probable tokens differ, a row [rows, V].

    The first two are off by 1e-6 at most, and NaN only where a row holds NaN. `slices` are the rows to take at once: of
    either table what stays in a core's cache until all is computed.
    """
    found = {name: np.empty(len(log_p), dtype=np.float32) for name in NAMES}
    workers = min(threads, len(slices))

    def measure(first: int) -> None:
        for taken in slices[first::workers]:
            p, q = log_p[taken], log_q[taken]
            _sum(p, q, found["tv"][taken], found["js"][taken])
            found["gd"][taken] = p.argmax(-1) != q.argmax(-1)

    if workers == 1:
        measure(0)
    elif workers:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(measure, range(workers)))
    return found


@elementwise
def _exp(x: np.float32) -> np.float32:
    """For x of -87 to 0: 2ⁿ times a polynomial in r = x - n log 2 (the coefficients are Cephes's)."""
    shifted = x * _LOG2_E + _ROUNDING
    n = shifted - _ROUNDING
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    y = _f(1.9875691500e-4)
    y = y * r + _f(1.3981999507e-3)
    y = y * r + _f(8.3334519073e-3)
    y = y * r + _f(4.1665795894e-2)
    y = y * r + _f(1.6666665459e-1)
    y = y * r + _f(5.0000001201e-1)
    power = np.int32((np.float32(shifted).view(np.int32) + 127) << 23).view(np.float32)  # 2ⁿ
    return (y * (r * r) + r + _f(1)) * power


@elementwise
def _log(x: np.float32) -> np.float32:
    """For positive x: n log 2 and a polynomial in m = x / 2ⁿ - 1, √½ ≤ m + 1 < √2 (the coefficients are Cephes's)."""
    bits = np.float32(x).view(np.int32) - _ROOT_HALF
    n = _f(np.int32(bits >> 23))
    m = np.int32((bits & 0x007FFFFF) + _ROOT_HALF).view(np.float32) - _f(1)
    y = _f(7.0376836292e-2)
    y = y * m - _f(1.1514610310e-1)
    y = y * m + _f(1.1676998740e-1)
    y = y * m - _f(1.2420140846e-1)
    y = y * m + _f(1.4249322787e-1)
    y = y * m - _f(1.6668057665e-1)
    y = y * m + _f(2.0000714765e-1)
    y = y * m - _f(2.4999993993e-1)
    y = y * m + _f(3.3333331174e-1)
    square = m * m
    return m + (y * m * square + n * _LN2_LOW - _f(0.5) * square) + n * _LN2_HIGH


@summing
def _sum(log_p: Floats, log_q: Floats, variations: Floats, divergences: Floats) -> None:
    for row in range(len(log_p)):
        first, second = log_p[row], log_q[row]
        variation, divergence = _f(0), _f(0)
        for token in range(len(first)):
            a, b = first[token], second[token]
            a, b = _LOWEST if a < _LOWEST else a, _LOWEST if b < _LOWEST else b
            p, q = _exp(a), _exp(b)
            variation += abs(p - q)
            log_middle = _log(_f(0.5) * (p + q))
            divergence += p * (a - log_middle) + q * (b - log_middle)
        variations[row] = _f(0.5) * variation
        divergences[row] = _f(0.5) * divergence
