"""A row of the table: a method at a size, on a population whose figure is known."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offscript.statistics import Curve, Interval

FloatArray = npt.NDArray[np.float64]
Draw = Callable[..., FloatArray]
RANGE = (0.93, 0.97)
SEED = 1
POPULATIONS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, size: rng.normal(2.0, 1.0, size), 2.0),
    "exponential": (lambda rng, size: rng.exponential(1.0, size), 1.0),
    "gamma(4)": (lambda rng, size: rng.gamma(4.0, 1.0, size), 4.0),
    "beta(1, 8)": (lambda rng, size: rng.beta(1.0, 8.0, size), 1 / 9),
    "log-normal(0.8)": (lambda rng, size: rng.lognormal(0.0, 0.8, size), math.exp(0.32)),
}


@dataclass(frozen=True)
class Case:
    """One row: a method at a size, on a population; `run` gives the share of intervals that hold the truth."""

    figure: str
    size: str
    population: str
    run: Callable[[np.random.Generator, int], float]
    share: float = 1.0  # of the repeats, for those that cannot be made in one call
    comparison: bool = False  # no method of offscript: what a method is better than

    def coverage(self, repeats: int) -> float:
        """The share, from a generator of its own."""
        return self.run(np.random.default_rng(SEED), max(100, round(repeats * self.share)))


def covered_along(curve: Curve, truth: float) -> float:
    """The share of a curve's intervals that hold the truth."""
    return float(np.mean((np.array(curve.lower) <= truth) & (truth <= np.array(curve.upper))))


def covered(intervals: list[Interval], truth: float) -> float:
    """The share of intervals that hold the truth."""
    return float(np.mean([truth in interval for interval in intervals]))
