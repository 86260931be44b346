"""Means of columns with Student's t intervals that allow for skewness (Hall 1992)."""

import math

import numpy as np
from scipy.special import stdtrit

from offscript.measures._resampling import FloatArray


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
    quantile = float(stdtrit(n - 1, (1 + level) / 2))
    lower = means - errors * _hall_inverse(quantile, scaled_skewness)
    upper = means - errors * _hall_inverse(-quantile, scaled_skewness)
    return means, np.where(infinite, math.inf, errors), lower, upper


def _hall_inverse(quantile: float, skewness: FloatArray) -> FloatArray:
    symmetric = np.abs(skewness) < 1e-6
    scale = np.where(symmetric, 1.0, skewness)
    inverse = 3 / scale * (np.cbrt(1 + scale * (quantile - scale / 6)) - 1)
    return np.where(symmetric, quantile, inverse)
