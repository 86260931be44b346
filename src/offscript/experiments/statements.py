"""What a paper says about its figures, and whether intervals measured here decide it."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from offscript.experiments.runs import difference
from offscript.measures.measurement import Measurement
from offscript.statistics import Curve, Interval

MISSING = ("not measured", "not measured")
FAR = 3.0
"""A value this many times the paper's, or this fraction of it, is pointed out."""


class _Statement(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    claim: str = Field("", description="what the paper says, in a sentence")

    @property
    def words(self) -> str:
        """The claim in a sentence; where none is written, what is tested."""
        return self.claim or str(self)


class Bound(_Statement):
    """The paper gives one figure, `VARIANT/QUESTION.NAME`, a value or a bound."""

    figure: str = Field(pattern=r"^[^/]+/[^/]+$")
    relation: Literal["below", "above", "about"]
    value: float
    tolerance: float = Field(0.0, ge=0, description="how far `about` reaches, as a share of the value")
    within: float = Field(0.0, ge=0, description="how far it reaches beyond that, in the figure's own unit")
    source: str

    def __str__(self) -> str:
        reach = f" ± {self.within:g}" if self.within else ""
        return f"{self.figure} {self.relation} {self.value:g}{reach} ({self.source})"

    def judged(self, found: Mapping[str, Measurement]) -> tuple[str, str]:
        """Our figure in words, and whether its interval decides the paper's statement."""
        if self.figure not in found:
            return MISSING
        entry, (low, high) = found[self.figure], self._range
        inside = low <= entry.interval.lower and entry.interval.upper <= high
        outside = entry.interval.upper < low or entry.interval.lower > high
        remark = far_off(entry.value, self.value) if self.relation == "about" and self.value else ""
        return told(entry) + remark, _decision(holds=inside, breaks=outside)

    def shortfall(self, found: Mapping[str, Measurement]) -> float | None:
        """How many times narrower our interval must be to decide; None where there is none."""
        if self.figure not in found:
            return None
        entry = found[self.figure]
        return narrower(entry.value, entry.interval, *self._range)

    @property
    def _range(self) -> tuple[float, float]:
        """Where the paper's statement is true."""
        reach = abs(self.value) * self.tolerance + self.within
        return {
            "below": (-math.inf, self.value),
            "above": (self.value, math.inf),
            "about": (self.value - reach, self.value + reach),
        }[self.relation]


class Ordering(_Statement):
    """The paper's figures fall, or rise, from step to step; its own values stand beside the steps.

    Steps are variants, or what takes the place of {} in the figure's name.
    """

    figure: str = Field(pattern=r"^[^/]+$|\{\}")
    order: Literal["falls", "rises"]
    along: dict[str, float | None] = Field(min_length=2)
    source: str

    def __str__(self) -> str:
        steps = " → ".join(name if value is None else f"{name} {value:g}" for name, value in self.along.items())
        return f"{self.figure} {self.order}: {steps} ({self.source})"

    def judged(self, found: Mapping[str, Measurement]) -> tuple[str, str]:
        """Our figures and the steps between neighbours; the order holds, or breaks, where those exclude zero."""
        measured = _steps(self.figure, list(self.along), found)
        if measured is None:
            return MISSING
        steps = self._differences(measured)
        shown = " → ".join(told(entry) for entry in measured)
        paired = ", ".join(f"[{step.lower:.2g}, {step.upper:.2g}]" for step in steps)
        holds, breaks = all(step.lower > 0 for step in steps), any(step.upper < 0 for step in steps)
        remarks = [
            far_off(entry.value, paper)
            for entry, paper in zip(measured, self.along.values(), strict=True)
            if paper is not None
        ]
        return f"{shown}; {self.order} by {paired}" + next(filter(None, remarks), ""), _decision(holds, breaks)

    def shortfall(self, found: Mapping[str, Measurement]) -> float | None:
        """How many times narrower the intervals of the steps must be to decide; None where there are none."""
        measured = _steps(self.figure, list(self.along), found)
        return None if measured is None else all_narrower(self._differences(measured), 0.0, math.inf)

    def _differences(self, measured: Sequence[Measurement]) -> list[Interval]:
        """The steps between neighbours, each positive in the paper's direction."""
        return [difference(*(pair if self.order == "falls" else reversed(pair))) for pair in pairwise(measured)]


class Equivalence(_Statement):
    """The paper's figures hardly differ: every two of them lie within δ of each other.

    Two one-sided tests at 2.5 % each: a 95 % interval of the difference inside (-δ, δ).
    """

    figure: str = Field(pattern=r"^[^/]+$|\{\}")
    among: list[str] = Field(min_length=2, description="variants, or what takes the place of {}")
    within: float = Field(gt=0, description="δ, in the figure's own unit")
    source: str

    def __str__(self) -> str:
        return f"{self.figure} differs by less than {self.within:g} among {', '.join(self.among)} ({self.source})"

    def judged(self, found: Mapping[str, Measurement]) -> tuple[str, str]:
        """Our figures and the largest difference of two."""
        measured = _steps(self.figure, self.among, found)
        if measured is None:
            return MISSING
        gaps = [difference(*pair) for pair in combinations(measured, 2)]
        widest = max(gaps, key=lambda gap: max(abs(gap.lower), abs(gap.upper)))
        holds = all(-self.within < gap.lower and gap.upper < self.within for gap in gaps)
        breaks = any(gap.lower > self.within or gap.upper < -self.within for gap in gaps)
        shown = ", ".join(told(entry) for entry in measured)
        return f"{shown}; largest difference [{widest.lower:.2g}, {widest.upper:.2g}]", _decision(holds, breaks)

    def shortfall(self, found: Mapping[str, Measurement]) -> float | None:
        """How many times narrower the intervals of the differences must be to decide; None where there are none."""
        measured = _steps(self.figure, self.among, found)
        if measured is None:
            return None
        gaps = [difference(*pair) for pair in combinations(measured, 2)]
        return all_narrower(gaps, -self.within, self.within)


class Trend(_Statement):
    """The paper's curve rises, falls or stays level with length: the slope of a straight line, per token."""

    figure: str = Field(pattern=r"^[^/]+/[^/]+$")
    trend: Literal["rises", "falls", "level"]
    within: float = Field(0.0, ge=0, description="the slope per token that still counts as level")
    source: str

    def __str__(self) -> str:
        limit = f" within {self.within:g} per token" if self.trend == "level" else ""
        return f"{self.figure} {self.trend} with length{limit} ({self.source})"

    def judged(self, found: Mapping[str, Measurement]) -> tuple[str, str]:
        """The slope of our curve and whether its interval decides the paper's statement."""
        curve = found[self.figure].by_position if self.figure in found else None
        if curve is None:
            return MISSING
        slope = slope_of(curve)
        if slope is None:
            return "fewer than three lengths have a finite interval", "undecided"
        value, interval = slope
        shown = f"{value:.2g} [{interval.lower:.2g}, {interval.upper:.2g}] per token"
        low, high = self._range
        holds = low < interval.lower and interval.upper < high
        return shown, _decision(holds, breaks=interval.upper < low or interval.lower > high)

    def shortfall(self, found: Mapping[str, Measurement]) -> float | None:
        """How many times narrower the interval of the slope must be to decide; None where there is none."""
        curve = found[self.figure].by_position if self.figure in found else None
        slope = None if curve is None else slope_of(curve)
        return None if slope is None else narrower(*slope, *self._range)

    @property
    def _range(self) -> tuple[float, float]:
        """Where the paper's statement is true."""
        return {"rises": (0.0, math.inf), "falls": (-math.inf, 0.0), "level": (-self.within, self.within)}[self.trend]


Expectation = Bound | Ordering | Equivalence | Trend
"""A statement that an experiment may hold under `expected`; its keys tell which."""


def slope_of(curve: Curve) -> tuple[float, Interval] | None:
    """The least-squares slope of a curve's points with an interval that is valid however the points depend.

    Neighbouring points share their sequences, so their errors are correlated by an unknown amount. The standard error
    of a weighted sum is at most the sum of the weighted standard errors, which is what the interval uses.

    Args:
        curve: A figure by length, with pointwise intervals.

    Returns:
        The slope per step and its interval; None where fewer than three points have a finite interval.
    """
    values, lower, upper = (np.array(each, float) for each in (curve.values, curve.lower, curve.upper))
    known = np.isfinite(lower) & np.isfinite(upper) & np.isfinite(values)
    if known.sum() < 3:
        return None
    positions = np.arange(len(values))[known] - np.arange(len(values))[known].mean()
    weights = positions / (positions**2).sum()
    below, above = values[known] - lower[known], upper[known] - values[known]
    slope = float(weights @ values[known])
    down = float(np.where(weights > 0, below, above) @ np.abs(weights))
    up = float(np.where(weights > 0, above, below) @ np.abs(weights))
    return slope, Interval(slope - down, slope + up, curve.level, "bound for any dependence")


def narrower(value: float, interval: Interval, low: float, high: float) -> float:
    """How many times narrower an interval around a value must be to lie within `low` and `high`, or outside.

    Args:
        value: The figure, which is taken for the truth.
        interval: Its interval.
        low: Where the statement begins to be true; may be infinite.
        high: Where it ends; may be infinite.

    Returns:
        The factor, at most 1 where the interval decides already; infinite for a value on the edge.
    """
    if value < low:
        reaches = [(interval.upper - value, low - value)]
    elif value > high:
        reaches = [(value - interval.lower, value - high)]
    else:
        reaches = [(value - interval.lower, value - low), (interval.upper - value, high - value)]
    return max(reach / room if room > 0 else math.inf for reach, room in reaches if room < math.inf)


def all_narrower(intervals: Sequence[Interval], low: float, high: float) -> float:
    """As `narrower`, of several: all must lie inside, or one of them outside. Their middles stand for the truth."""
    middles = [(interval.lower + interval.upper) / 2 for interval in intervals]
    if not all(map(math.isfinite, middles)):
        return math.inf
    factors = [narrower(value, each, low, high) for value, each in zip(middles, intervals, strict=True)]
    outside = [factor for value, factor in zip(middles, factors, strict=True) if not low <= value <= high]
    return min(outside) if outside else max(factors)


def told(entry: Measurement) -> str:
    """A figure with its interval, in four digits."""
    return f"{entry.value:.4g} [{entry.interval.lower:.4g}, {entry.interval.upper:.4g}]"


def far_off(value: float, paper: float) -> str:
    """A remark where our value is at least three times the paper's, or at most a third of it."""
    if value * paper <= 0 or not 1 / FAR < value / paper < FAR:
        ratio = f"{value / paper:.2g} times " if value * paper > 0 else "far from "
        return f"; {ratio}the paper's {paper:g}"
    return ""


def _steps(figure: str, names: Sequence[str], found: Mapping[str, Measurement]) -> list[Measurement] | None:
    """One figure per name, in order; None where one was not measured."""
    pattern = figure if "{}" in figure else f"{{}}/{figure}"
    entries = [found.get(pattern.replace("{}", name)) for name in names]
    measured = [entry for entry in entries if entry is not None]
    return measured if len(measured) == len(entries) else None


def _decision(holds: bool, breaks: bool) -> str:
    return "agrees" if holds else "disagrees" if breaks else "undecided"
