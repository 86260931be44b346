"""The gap MGD(M|M) - MGD(M|D) from counts over a partition of the vocabulary: its interval, its p-value, its ratio.

A few hundred sentences cannot estimate a distribution over 50,000 tokens, but they can over a hundred classes of them,
averaged over a window of positions. By the data-processing inequality and by convexity each deviation that is measured
so is a lower bound of the full one. The gap is the difference of two such bounds: what this partition sees of it.

Both deviations are too large by what sampling adds, and not by the same amount: P_M|D and P_D|D share their sentences,
P_M|M does not. What sampling adds is taken off, and the interval comes from resampled sentences (`studentised`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from offscript._types import FloatArray
from offscript.measures._figures import Figure
from offscript.measures.distances import DISTANCES
from offscript.measures.exposure.studentised import SMALL, Resampled, Split, window_distances
from offscript.measures.measurement import P_VALUE
from offscript.sampling.randomness import Seed
from offscript.statistics import RESAMPLES, Estimate, Interval, proportion_interval
from offscript.statistics.estimates import normal_quantile

GAP_DISTANCES = ("js",)
"""Distances whose gap has an interval that holds: finite over counted text, and smooth.

gd is a step and kl infinite at a zero. tv and hellinger have an edge where model and data agree, so that what sampling
adds cannot be told from the sample: in simulations the intervals of tv's gap held the truth in 70 % of runs.
"""

GROUPS = 500
"""Groups of consecutive sentences that are resampled; with fewer sentences each is its own."""

SINGLE, BANDS, FEWEST_COUNTS = 100, 12, 20.0
"""Tokens that are classes of their own, bands of rarer ones, and sightings that a class must expect in a window."""

WINDOWS, NARROWEST = 4, 5
"""Windows of positions at most, and positions that each has at least."""

CLEARLY = 4.0
"""Standard errors that MGD(M|D) must lie above 0 for a ratio to be made."""

SAME = 1.0
"""Up to so many standard errors above 0, MGD(M|D) does not tell the model from its data."""


@dataclass(frozen=True)
class Partition:
    """Classes of tokens: the most frequent singly, the others in bands of falling frequency."""

    singles: Tensor  # [S], tokens
    banded: Tensor  # [B], tokens of all bands but the largest
    bands: Tensor  # [B, R], 1 where a token lies in a band
    largest: int  # the band that holds most tokens, nearly all of a large vocabulary: what the others leave
    classes: Tensor  # [V], the class of each token

    @classmethod
    def of(cls, tokens: Tensor, size: int, expected: float) -> "Partition":
        """From the frequencies of text that is not measured.

        Args:
            tokens: That text, of any shape.
            size: Size of the vocabulary.
            expected: How many tokens a window will hold.
        """
        counts = torch.bincount(tokens.flatten().cpu(), minlength=size).double()
        shares = counts / counts.sum()
        order = torch.argsort(counts, descending=True, stable=True)
        least = FEWEST_COUNTS / expected
        singles = order[: min(SINGLE, size - 1)]
        singles = singles[shares[singles] >= least]
        rest = order[len(singles) :]
        remaining = float(shares[rest].sum())
        bands = int(min(BANDS, max(2, remaining / least), len(rest)))
        # half a sighting for every token, so that what was never seen has a place behind what was
        weights = counts[rest] + 0.5 / max(1, len(rest))
        above = (weights.cumsum(0) - weights) / weights.sum()
        band_of = (above * bands).long().clamp_(max=bands - 1)
        classes = torch.empty(size, dtype=torch.long)
        classes[singles] = torch.arange(len(singles))
        classes[rest] = len(singles) + band_of
        largest = int(torch.bincount(band_of, minlength=bands).argmax())
        listed = band_of != largest
        table = torch.nn.functional.one_hot(band_of[listed], bands).float()
        return cls(singles, rest[listed], table, largest, classes)

    def __len__(self) -> int:
        return len(self.singles) + self.bands.shape[1]

    def of_probabilities(self, probabilities: Tensor) -> Tensor:
        """Distributions [..., V] over the vocabulary as distributions [..., C] over the classes."""
        device = probabilities.device
        frequent, rare = (probabilities.index_select(-1, each.to(device)) for each in (self.singles, self.banded))
        classes = torch.cat([frequent, rare @ self.bands.to(probabilities)], dim=-1)
        classes[..., len(self.singles) + self.largest] = (1 - classes.sum(dim=-1)).clamp_min_(0.0)
        return classes


def windows_of(lengths: int) -> list[range]:
    """History lengths, counted from 0, in windows of nearly equal width."""
    count = min(max(1, lengths // NARROWEST), WINDOWS)
    edges = [lengths * number // count for number in range(count + 1)]
    return [range(first, end) for first, end in pairwise(edges)]


class Tables:
    """Distributions over the classes in each window, summed over groups of sentences: [groups, windows, C] each.

    `own` and `given` are predictions after the model's own histories and after the text; `drawn` and `text` are the
    tokens that stand there. The first two pair with the last two under an exchange of model and data.
    """

    def __init__(self, sentences: int, windows: Sequence[range], classes: int) -> None:
        groups = min(sentences, GROUPS)
        self.windows, self._group = windows, torch.arange(sentences) * groups // sentences
        self.sizes = torch.bincount(self._group, minlength=groups).double()  # [groups]
        self._window = torch.cat([torch.full((len(span),), number) for number, span in enumerate(windows)])
        self._share = torch.cat([torch.full((len(span),), 1 / len(span), dtype=torch.float64) for span in windows])
        shape = (groups, len(windows), classes)
        self.own, self.given, self.drawn, self.text = (torch.zeros(shape, dtype=torch.float64) for _ in range(4))

    def add(self, table: Tensor, rows: slice, columns: slice, values: Tensor) -> None:
        """Add distributions [rows, columns, C] to one of the tables."""
        weighed = values.double().cpu() * self._share[columns, None]
        by_window = torch.zeros(len(weighed), len(self.windows), weighed.shape[2], dtype=torch.float64)
        by_window.index_add_(1, self._window[columns], weighed)
        table.index_add_(0, self._group[rows], by_window)

    def count(self, table: Tensor, classes: Tensor) -> None:
        """Add tokens, given by their classes [sentences, lengths]."""
        _, windows, size = table.shape
        places = (self._group[:, None] * windows + self._window) * size + classes
        table.view(-1).index_add_(0, places.flatten(), self._share.expand(len(classes), -1).reshape(-1))


def gap_figures(
    tables: Tables,
    names: Sequence[str],
    *,
    seed: Seed,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> dict[str, Figure]:
    """`mgd_gap.d`, `mgd_gap_p.d`, `mgd_model.d`, `mgd_data.d` and, where MGD(M|D) is clear of noise, `eb_m.d`.

    Args:
        tables: What was predicted and what was counted.
        names: Distances of `GAP_DISTANCES`.
        seed: Of the resamples.
        level: Of the intervals.
        resamples: How often sentences are resampled, and how often model and data are exchanged.

    Returns:
        Figures with a curve over the windows each.
    """
    found = Resampled.of(
        [tables.own, tables.given, tables.text], tables.sizes, names, np.random.default_rng(seed), resamples
    )
    exchanges = _exchanged(tables, names, np.random.default_rng(seed), resamples)
    figures: dict[str, Figure] = {}
    for name in names:
        highest = DISTANCES[name].range[1]
        model, data = (found.deviation(side, name) for side in ("model", "data"))
        gap = found.gap(name)
        figures |= _gap_figure(name, gap, data, exchanges[name], level, highest)
        figures[f"mgd_model.{name}"] = model.figure(level, (0.0, highest))
        figures[f"mgd_data.{name}"] = data.figure(level, (0.0, highest))
        if (bias := _ratio_figure(model, data, level)) is not None:
            figures[f"eb_m.{name}"] = bias
    return figures


def _exchanged(
    tables: Tables, names: Sequence[str], generator: np.random.Generator, resamples: int
) -> dict[str, tuple[float, FloatArray]]:
    """The average gap as it is, and after model and data were exchanged in random sentences: [resamples].

    If the model draws what the text is drawn from, the two continuations of an anchor may change places, and with them
    what is predicted along them, without changing the distribution of anything: an exact test of that hypothesis.
    """
    swapped = [(tables.own, tables.given), (tables.given, tables.own), (tables.text, tables.drawn)]
    sides = torch.stack([first for first, _ in swapped], dim=1)
    change = torch.stack([second - first for first, second in swapped], dim=1)
    signs = generator.integers(0, 2, size=(resamples, len(sides)))
    signs[0] = 0  # as it is
    sums = sides.sum(dim=0).flatten() + torch.from_numpy(signs).double() @ change.flatten(1)
    own, given, text = (sums / tables.sizes.sum()).clamp_min_(0.0).view(resamples, *sides.shape[1:]).unbind(1)
    on_model, on_data = window_distances(own, text, names), window_distances(given, text, names)
    gaps = {name: (on_model[name] - on_data[name]).mean(axis=1) for name in names}
    return {name: (float(values[0]), values[1:]) for name, values in gaps.items()}


def _gap_figure(
    name: str, gap: Split, data: Split, exchanges: tuple[float, FloatArray], level: float, highest: float
) -> dict[str, Figure]:
    """The gap and its p-value, which say the same of 0.

    Where MGD(M|D) is within noise, model and data may be the same, and the exact test of that decides: resampling is
    too careful there, since distances between equal distributions have no linear part. Elsewhere the larger of both
    p-values counts, because the exchange tests more than a gap of 0.
    """
    observed, nulls = exchanges
    figure = gap.figure(level, (-highest, highest))
    above, below = int((nulls >= observed - SMALL).sum()), int((nulls <= observed + SMALL).sum())
    pairs = [(2 * min(above, below), len(nulls))]
    if not (same := bool(data.unbiased[-1] <= SAME * data.standard_errors[-1])):
        pairs.append((2 * gap.tail(0.0), len(gap.linear)))
    count, trials = max(pairs, key=lambda pair: (pair[0] + 1) / (pair[1] + 1))
    p_value = min(1.0, (count + 1) / (trials + 1))
    if same and (figure.estimate.value > 0) != (above < below):
        p_value = 1.0  # the exchange and the value without its bias do not agree on the side
    figure = Figure(_agreeing(figure.estimate, p_value, cut=same), figure.by_length)
    around = proportion_interval(min(count, trials), trials, level=level)
    bounds = Interval(around.interval.lower, max(around.interval.upper, p_value), level, P_VALUE)
    p_figure = Figure(Estimate(p_value, around.standard_error, bounds))
    return {f"mgd_gap.{name}": figure, f"mgd_gap_p.{name}": p_figure}


def _agreeing(gap: Estimate, p_value: float, *, cut: bool) -> Estimate:
    """The gap with an interval that holds 0 where the test cannot exclude it, and ends there where it does (`cut`)."""
    known = gap.interval
    lower, upper = known.lower, known.upper
    if p_value > 1 - known.level:
        lower, upper = min(lower, 0.0), max(upper, 0.0)
    elif cut:
        lower, upper = (max(lower, SMALL), upper) if gap.value > 0 else (lower, min(upper, -SMALL))
    return Estimate(gap.value, gap.standard_error, Interval(lower, upper, known.level, known.method))


def _ratio_figure(model: Split, data: Split, level: float) -> Figure | None:
    """MGD(M|M) / MGD(M|D) of the averages over the windows; None where the latter is not clear of noise."""
    top, bottom = model.unbiased[-1], data.unbiased[-1]
    if bottom <= CLEARLY * data.standard_errors[-1] or top <= 0:
        return None
    spread = _relative_error(model, data)
    value, factor = float(top / bottom), float(np.exp(normal_quantile((1 + level) / 2) * spread))
    interval = Interval(value / factor, value * factor, level, "resampled sentences, logarithmic")
    return Figure(Estimate(value, value * float(spread), interval))


def _relative_error(model: Split, data: Split) -> float:
    """Standard error of the logarithm of the ratio."""
    parts = []
    for side in (model, data):
        kept = side.standard_errors[-1] / max(float((side.linear + side.rest)[:, -1].std()), SMALL)
        parts.append((side.linear + side.rest)[:, -1] * kept / side.unbiased[-1])
    return float((parts[0] - parts[1]).std(ddof=1))
