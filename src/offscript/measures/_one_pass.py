"""The papers' three distances in one pass over tables of log-probabilities in single precision, on processors.

Torch takes a dozen passes for them, each of which costs as much as the arithmetic of all.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import elementwise, summing
from offscript._exponential import LN2_HIGH, LN2_LOW, LOWEST, exponential

Floats = NDArray[np.float32]

_f = np.float32
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
    return m + (y * m * square + n * LN2_LOW - _f(0.5) * square) + n * LN2_HIGH


@summing
def _sum(log_p: Floats, log_q: Floats, variations: Floats, divergences: Floats) -> None:
    for row in range(len(log_p)):
        first, second = log_p[row], log_q[row]
        variation, divergence = _f(0), _f(0)
        for token in range(len(first)):
            a, b = first[token], second[token]
            a, b = LOWEST if a < LOWEST else a, LOWEST if b < LOWEST else b
            p, q = exponential(a), exponential(b)
            variation += abs(p - q)
            log_middle = _log(_f(0.5) * (p + q))
            divergence += p * (a - log_middle) + q * (b - log_middle)
        variations[row] = _f(0.5) * variation
        divergences[row] = _f(0.5) * divergence
