"""Studentised intervals of distances between averaged distributions, and of differences of such distances.

A distance between averages over n sentences is too large by what sampling adds, and where the two distributions are
the same it has no linear term at all. Resampling sentences splits it into its linear part and the rest. The mean of the
rest is the bias, which is taken off.

The spread of a distance grows with the distance: between samples the gap and its standard error correlate by 0.7 to
0.9. A sample that comes out too small therefore also looks too sure, and most intervals that miss the truth end below
it. So every resample is divided by its own standard error (the studentised bootstrap), which comes from the influence
of single sentences and needs no further resampling. docs/conclusions.md compares its coverage with percentiles'.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from offscript._types import FloatArray
from offscript.measures._figures import Figure
from offscript.measures.distances import distances
from offscript.statistics import Curve, Estimate, Interval
from offscript.statistics.resampling import percentile_bounds, resampled, with_average

SMALL = 1e-12
METHOD = "studentised bootstrap over sentences, bias taken off"
_AT_ONCE = 1 << 17  # influences of sentences held at once: 1 MB stays in a core's cache, and takes a quarter less time


@dataclass(frozen=True)
class Split:
    """A figure by window, average last: its value in the sample, and resamples of its linear part and of the rest."""

    value: FloatArray  # [windows + 1]
    linear: FloatArray  # [resamples, windows + 1]
    rest: FloatArray  # [resamples, windows + 1]
    variance: FloatArray  # [windows + 1], of the linear part by the sentences' influences
    variances: FloatArray  # [resamples, windows + 1], the same in every resample
    groups: int

    @property
    def unbiased(self) -> FloatArray:
        """Without the bias of second order, which is the mean of what is not linear."""
        return np.asarray(self.value - self.rest.mean(axis=0))

    def errors_from(self, variances: FloatArray) -> FloatArray:
        """Standard errors, from variances of the linear part.

        The slope is taken where the sample lies, not at the truth, and that adds to the linear part twice the variance
        of the quadratic one: tr(HΣHΣ)/n² against half of it. It is taken off again; without that the intervals would be
        √3 times too wide where model and data are the same.
        """
        bend = self.rest.var(axis=0)
        return np.asarray(np.sqrt(np.maximum(variances - 2 * bend, 0.0) + bend))

    @property
    def standard_errors(self) -> FloatArray:
        """How far the unbiased figure may lie from the truth: [windows + 1]."""
        return self.errors_from(self.variance)

    @property
    def studentised(self) -> FloatArray:
        """How many of its own standard errors each resample lies from the sample: [resamples, windows + 1]."""
        errors = self.errors_from(self.variances)
        shifts = self.linear + self.rest - self.rest.mean(axis=0)
        return np.asarray(np.divide(shifts, errors, out=np.zeros_like(shifts), where=errors > SMALL))

    def tail(self, truth: float) -> int:
        """How many resamples lie at least as far out as the sample would, on its side, if the average were `truth`."""
        scores, error = self.studentised[:, -1], self.standard_errors[-1]
        seen = (self.unbiased[-1] - truth) / max(error, SMALL)
        return int((scores >= seen).sum() if seen > 0 else (scores <= seen).sum())

    def figure(self, level: float, limits: tuple[float, float]) -> Figure:
        """Value and curve within what the figure can be."""
        values, errors = self.unbiased, self.standard_errors
        first, last = percentile_bounds(self.studentised, level)
        lower, upper = values - last * errors, values - first * errors
        resolution = limits[1] * 3 / self.groups  # the rule of three, where every resample gives the same
        flat = upper - lower < SMALL
        lower, upper = np.where(flat, values - resolution, lower), np.where(flat, values + resolution, upper)
        upper = np.maximum(upper, limits[0] + errors)
        lower, upper, values = (np.clip(part, *limits) for part in (lower, upper, values))
        interval = Interval(float(lower[-1]), float(upper[-1]), level, METHOD)
        curve = Curve.of(values[:-1], (lower[:-1], upper[:-1]), level, METHOD)
        return Figure(Estimate(float(values[-1]), float(errors[-1]), interval), curve)


@dataclass(frozen=True)
class Resampled:
    """Both deviations of every distance and their gap, split under resampling of the sentences."""

    splits: Mapping[tuple[str, str], Split]

    @classmethod
    def of(
        cls,
        sums: Sequence[Tensor],
        sizes: Tensor,
        names: Sequence[str],
        generator: np.random.Generator,
        resamples: int,
    ) -> "Resampled":
        """From sums over groups of sentences.

        Args:
            sums: P_M|M, P_M|D and P_D|D, each [groups, windows, C].
            sizes: Sentences of each group.
            names: Distances.
            generator: Source of the resamples.
            resamples: How many.
        """
        statistic = _Statistic(sums, sizes, names)
        groups = len(sizes)
        whole = statistic(np.full((1, groups), 1 / groups))
        redrawn = resampled(statistic, [groups], resamples, generator)
        splits = {}
        for place, key in enumerate(statistic.keys):
            value, _, variance = whole[0, place]
            values, linear, variances = redrawn[:, place].transpose(1, 0, 2)
            splits[key] = Split(value, linear, values - value - linear, variance, variances, groups)
        return cls(splits)

    def deviation(self, side: str, name: str) -> Split:
        """After the model's own continuations (`model`) or after the text (`data`)."""
        return self.splits[side, name]

    def gap(self, name: str) -> Split:
        """The first less the second."""
        return self.splits["gap", name]


class _Statistic:
    """For rows of weights: value, linear part and its variance of every figure, [rows, figures, 3, windows + 1]."""

    def __init__(self, sums: Sequence[Tensor], sizes: Tensor, names: Sequence[str]) -> None:
        self.names, self.keys = names, [(side, name) for name in names for side in ("model", "data", "gap")]
        self._joined = torch.stack([table.double() for table in sums], dim=1)  # [groups, 3, windows, C]
        self._flat, self._sizes = self._joined.flatten(1), sizes.double()
        self._whole = self._averages(torch.full((1, len(sizes)), 1 / len(sizes), dtype=torch.float64))
        self._by_window = [
            table.transpose(0, 1).contiguous() for table in self._joined.unbind(1)
        ]  # [windows, groups, C]
        self._slopes = {name: self._sides(name, self._whole) for name in names}

    def __call__(self, weights: FloatArray) -> FloatArray:
        rows = max(1, _AT_ONCE // (len(self._sizes) * self._joined.shape[2]))
        return np.concatenate([self._of(torch.from_numpy(part)) for part in _blocks(weights, rows)])

    def _averages(self, weights: Tensor) -> Tensor:
        averages = (weights @ self._flat) / (weights @ self._sizes)[:, None]
        return averages.view(len(weights), *self._joined.shape[1:])

    def _sides(self, name: str, averages: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Slopes of both deviations by both of their distributions, [rows, windows, C] each."""
        own, given, text = averages.unbind(1)
        return [slopes(name, side, text) for side in (own, given)]

    def _of(self, weights: Tensor) -> FloatArray:
        averages, found = self._averages(weights), []
        own, given, text = averages.unbind(1)
        shifts = averages - self._whole
        measured = [window_distances(side, text, self.names) for side in (own, given)]
        for name in self.names:
            values = [side[name] for side in measured]
            linear = [
                (shifts[:, side] * first + shifts[:, 2] * second).sum(-1).numpy()
                for side, (first, second) in enumerate(self._slopes[name])
            ]
            sides = enumerate(self._sides(name, averages))
            influences = [self._influences(side, first, second) for side, (first, second) in sides]
            for each in (values, linear, influences):
                each.append(each[0] - each[1])  # type: ignore[arg-type]
            for value, line, influence in zip(values, linear, influences, strict=True):
                parts = with_average(value), with_average(line), self._variances(influence, weights)
                found.append(np.stack(parts, axis=1))
        return np.stack(found, axis=1)

    def _influences(self, side: int, first: Tensor, second: Tensor) -> Tensor:
        """What every group adds to a deviation, to first order: [windows, groups, rows]."""
        own, text = self._by_window[side], self._by_window[2]
        return own @ first.permute(1, 2, 0) + text @ second.permute(1, 2, 0)

    def _variances(self, influences: Tensor, weights: Tensor) -> FloatArray:
        """Of averages, last that over the windows: [rows, windows + 1]; Σ w (x - s m)², multiplied out."""
        every = torch.cat([influences, influences.mean(dim=0, keepdim=True)])  # [windows + 1, groups, rows]
        totals = weights @ self._sizes  # [rows]
        weighed = every * weights.T
        means = weighed.sum(dim=1) / totals  # [windows + 1, rows]
        crossed = (self._sizes @ weighed) * means
        squares = weighed.mul_(every).sum(dim=1) - 2 * crossed + means.square() * (weights @ self._sizes.square())
        varied = squares.clamp_min_(0.0) / ((len(self._sizes) - 1) * totals.square())
        return varied.T.numpy()


def _blocks(table: FloatArray, rows: int) -> list[FloatArray]:
    return [table[first : first + rows] for first in range(0, len(table), rows)]


def window_distances(first: Tensor, second: Tensor, names: Sequence[str]) -> dict[str, FloatArray]:
    """Between distributions [rows, windows, C]: [rows, windows]."""
    measured = distances(first.log(), second.log(), names)
    return {name: values.numpy() for name, values in measured.items()}


def slopes(name: str, p: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """Derivatives of a distance by both distributions [..., C]; 0 where both are 0 and stay so."""
    if name == "tv":
        sign = (p - q).sign() / 2
        return sign, -sign
    if name == "js":
        middle = (p + q) / 2
        parts = [(side / middle).log() / 2 for side in (p, q)]
    else:
        scale = 4 * distances(p.log(), q.log(), [name])[name][..., None].clamp_min(SMALL)
        parts = [(1 - (other / side).sqrt()) / scale for side, other in ((p, q), (q, p))]
    first, second = (part.nan_to_num(0.0, 0.0, 0.0) for part in parts)
    return first, second
