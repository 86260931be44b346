"""The exponential in single precision, as arithmetic that a compiled loop does for a vector of numbers at once."""

import math

import numpy as np

from offscript._compiled import elementwise

_f = np.float32
LOWEST = _f(-87.0)
"""Its exponential, 2e-38, stands for probability 0."""
LN2_HIGH, LN2_LOW = _f(0.693359375), _f(math.log(2) - 0.693359375)
_LOG2_E = _f(math.log2(math.e))
_ROUNDING = _f(1.5 * 2**23)  # adding it leaves an integer in the lowest bits


@elementwise
def exponential(x: np.float32) -> np.float32:
    """For x of -87 to 0: 2ⁿ times a polynomial in r = x - n log 2 (the coefficients are Cephes's)."""
    shifted = x * _LOG2_E + _ROUNDING
    n = shifted - _ROUNDING
    r = x - n * LN2_HIGH - n * LN2_LOW
    y = _f(1.9875691500e-4)
    y = y * r + _f(1.3981999507e-3)
    y = y * r + _f(8.3334519073e-3)
    y = y * r + _f(4.1665795894e-2)
    y = y * r + _f(1.6666665459e-1)
    y = y * r + _f(5.0000001201e-1)
    power = np.int32((np.float32(shifted).view(np.int32) + 127) << 23).view(np.float32)  # 2ⁿ
    return (y * (r * r) + r + _f(1)) * power
