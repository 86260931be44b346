"""What a figure is known to be: a value, its standard error, its interval; a curve of values; a difference.

Also the checks on values that every interval makes, and the quantiles that intervals are read from.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError

LEAST = 4
"""A mean, a rate or a ratio of fewer values gets no interval: none would cover."""

Bounds = tuple[FloatArray, FloatArray, FloatArray]  # standard errors, lower, upper: each [lengths + 1], average last


@dataclass(frozen=True)
class Interval:
    """Bounds that hold the true value with probability `level`, and the method that gave them."""

    lower: float
    upper: float
    level: float
    method: str

    def __post_init__(self) -> None:
        _check_level(self.level)
        if not self.lower <= self.upper:  # also refuses NaN
            raise OffscriptError(
                f"cannot make an interval from {self.lower} to {self.upper}", why="its bounds are not a range"
            )

    @classmethod
    def exact(cls, value: float) -> "Interval":
        """The interval of a figure found by enumeration."""
        return cls(value, value, 1.0, "exact")

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    @property
    def width(self) -> float:
        """Distance between the bounds; 0 where both are the same infinity."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower


@dataclass(frozen=True)
class Estimate:
    """A figure, its standard error and its interval."""

    value: float
    standard_error: float
    interval: Interval


@dataclass(frozen=True)
class Difference(Estimate):
    """First minus second; `p_value` is two-sided for the hypothesis of no difference."""

    p_value: float


@dataclass(frozen=True)
class Curve:
    """A figure at every length or position, each with its own (pointwise) interval."""

    values: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    level: float
    method: str

    def __post_init__(self) -> None:
        _check_level(self.level)
        if not len(self.values) == len(self.lower) == len(self.upper):
            raise OffscriptError("cannot make a curve whose values and bounds differ in number")
        if any(math.isnan(number) for number in (*self.values, *self.lower, *self.upper)):
            raise OffscriptError("cannot make a curve that holds NaN", why="every point needs a value and an interval")

    @classmethod
    def exact(cls, values: Sequence[float]) -> "Curve":
        """The curve of figures found by enumeration."""
        points = tuple(float(value) for value in values)
        return cls(points, points, points, 1.0, "exact")

    @classmethod
    def of(cls, values: FloatArray, bounds: tuple[FloatArray, FloatArray], level: float, method: str) -> "Curve":
        """From arrays [lengths]."""
        lower, upper = bounds
        return cls(tuple(values.tolist()), tuple(lower.tolist()), tuple(upper.tolist()), level, method)

    @classmethod
    def along(cls, points: "Sequence[Estimate]") -> "Curve":
        """From one estimate per length, all made alike."""
        return cls(
            tuple(point.value for point in points),
            tuple(point.interval.lower for point in points),
            tuple(point.interval.upper for point in points),
            points[0].interval.level,
            points[0].interval.method,
        )


@dataclass(frozen=True)
class Profile:
    """A figure at every length, and its average over the lengths with an interval of its own."""

    average: Estimate
    by_length: Curve


def within(estimate: Estimate, lower: float, upper: float = math.inf) -> Estimate:
    """The estimate with its interval cut to what its figure can be.

    Args:
        estimate: An estimate whose interval may be too wide.
        lower: The smallest value that the figure can have.
        upper: The largest.

    Returns:
        The same estimate with a shorter interval.
    """
    known = estimate.interval
    bounds = max(float(lower), known.lower), min(float(upper), known.upper)
    return Estimate(estimate.value, estimate.standard_error, Interval(*bounds, known.level, known.method))


def samples_for_width(pilot: Estimate, n: int, width: float) -> int:
    """How many samples shrink a pilot estimate from `n` samples to an interval of `width`: errors fall as 1/√n.

    Args:
        pilot: An estimate from few samples.
        n: How many samples it is from.
        width: The wanted width of the interval.

    Returns:
        The number of samples to plan for.
    """
    if not 0 < width < math.inf:
        raise OffscriptError(f"cannot plan an interval of width {width}", next="ask for a width above 0")
    if math.isinf(pilot.standard_error):
        raise OffscriptError("no number of samples can be planned", why="the pilot's standard error is infinite")
    needed = n * (2 * normal_quantile((1 + pilot.interval.level) / 2) * pilot.standard_error / width) ** 2
    return max(2, math.ceil(needed))


def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal distribution."""
    from scipy.special import ndtri  # late: scipy takes a quarter of a second to import

    return float(ndtri(probability))


def student_quantile(freedom: float, probability: float) -> float:
    """Quantile of Student's t with `freedom` degrees of freedom."""
    return float(student_quantiles(np.array(freedom), probability))


def student_quantiles(freedom: FloatArray, probability: float) -> FloatArray:
    """Quantiles of Student's t, for each number of degrees of freedom."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, probability))


def student_freedoms(quantiles: FloatArray, probability: float) -> FloatArray:
    """Degrees of freedom with which Student's t has these quantiles."""
    from scipy.special import stdtridf

    return np.asarray(stdtridf(probability, quantiles))


def student_tails(freedom: int, distance: float) -> float:
    """Probability that a value of Student's t lies at least `distance` from 0, on either side."""
    from scipy.special import stdtr

    return 2 * float(stdtr(freedom, -abs(distance)))


def normal_tails(distance: float) -> float:
    """Probability that a standard normal value lies at least `distance` from 0, on either side."""
    from scipy.special import ndtr

    return 2 * float(ndtr(-abs(distance)))


def require_samples(n: int, least: int) -> None:
    """Refuse an interval from too few samples to cover."""
    if n < least:
        raise OffscriptError(f"need at least {least} samples for an interval, got {n}", next="give more samples")


def as_vector(values: npt.ArrayLike, *, least: int = 2) -> FloatArray:
    """Values [n] that an interval can be made from: at least so many, none NaN."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise OffscriptError(f"cannot average values of shape {array.shape}", next="give one value per sequence")
    return as_table(array[:, None], least=least)[:, 0]


def as_table(values: npt.ArrayLike, *, least: int = 2) -> FloatArray:
    """Values [n, lengths] that intervals can be made from: at least so many rows, none NaN."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise OffscriptError(
            f"cannot average values of shape {array.shape}", next="give one row per sequence, one column per length"
        )
    require_samples(len(array), least)
    if np.isnan(array).any():
        raise OffscriptError(f"{int(np.isnan(array).sum())} of {array.size} values are NaN", next="look at the model")
    if np.isposinf(array).any() and np.isneginf(array).any():
        raise OffscriptError("cannot average values that hold inf and -inf", why="their mean is undefined")
    return array


def single(
    value: FloatArray, error: FloatArray, lower: FloatArray, upper: FloatArray, level: float, method: str
) -> Estimate:
    """From arrays whose first entry is the figure's."""
    return Estimate(float(value[0]), float(error[0]), Interval(float(lower[0]), float(upper[0]), level, method))


def profile(values: FloatArray, bounds: Bounds, level: float, method: str) -> Profile:
    """From values and bounds [lengths + 1] whose last entry is the average."""
    errors, lower, upper = bounds
    curve = Curve.of(values[:-1], (lower[:-1], upper[:-1]), level, method)
    return Profile(single(values[-1:], errors[-1:], lower[-1:], upper[-1:], level, method), curve)


def _check_level(level: float) -> None:
    if not 0 < level <= 1:
        raise OffscriptError(f"cannot use a level of {level}", next="give a level above 0 and at most 1, such as 0.95")
