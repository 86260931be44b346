"""Marginal generation deviation (eq. 5) and the rate of exposure bias EB-M (eq. 6), at every history length.

The marginal of the token after l others is an average over sequences (eq. 2-4): of predicted distributions, or, where
there are only sentences, of the tokens that stand there. Averages are kept for groups of sequences, so that memory does
not grow with their number and the jackknife can leave one group out at a time.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from offscript.measures._figures import Figure
from offscript.measures._leave_out import leave_out_profile
from offscript.measures._resampling import FloatArray
from offscript.measures.conditional import INDICATOR
from offscript.measures.distances import DISTANCES, distances
from offscript.measures.intervals import RESAMPLES, bootstrap_by_length, ratio
from offscript.sampling.randomness import Seed

GROUPS = 100
LARGEST = 1 << 26  # probabilities that one average may hold: 256 MB in single precision
LARGEST_DOUBLE = 1 << 22
FEWEST_GROUPS = 10
RESAMPLED_AT_ONCE = 1 << 22


class Averages:
    """Sums of next-token distributions at every history length, over each group of consecutive sequences."""

    def __init__(self, sequences: int, lengths: int, size: int, *, groups: int = GROUPS) -> None:
        groups = min(sequences, groups, max(FEWEST_GROUPS, LARGEST // (lengths * size)))
        precision = torch.float64 if groups * lengths * size <= LARGEST_DOUBLE else torch.float32
        self.sums = torch.zeros(groups, lengths, size, dtype=precision)  # [groups, lengths, V]
        self._group = torch.arange(sequences) * groups // sequences  # [n]
        self.sizes = torch.bincount(self._group, minlength=groups).double()  # [groups]

    def add(self, rows: slice, columns: slice, log_probs: Tensor) -> None:
        """Predicted distributions [rows, columns, V] (eq. 3, 4)."""
        predicted = log_probs.exp().to(self.sums)
        self.sums[:, columns].index_add_(0, self._group[rows], predicted)

    def count(self, tokens: Tensor) -> None:
        """The tokens [n, lengths] that stand after each history: sample and count (eq. 2)."""
        lengths, size = self.sums.shape[1:]
        places = (self._group.unsqueeze(1) * lengths + torch.arange(lengths)) * size + tokens
        self.sums.view(-1).scatter_add_(0, places.flatten(), torch.ones_like(places.flatten(), dtype=self.sums.dtype))

    def at(self, place: int) -> tuple[Tensor, Tensor]:
        """The marginal at one length [V], and what it is without each group in turn [groups, V]."""
        sums = self.sums[:, place].double()
        total, sequences = sums.sum(dim=0), self.sizes.sum()
        without = (total - sums).clamp_min_(0.0) / (sequences - self.sizes).unsqueeze(1)
        return total / sequences, without

    def weighted(self, weights: Tensor, place: int) -> Tensor:
        """The marginal at one length for each row of group weights [rows, groups]: [rows, V]."""
        return (weights @ self.sums[:, place].double()) / (weights @ self.sizes).unsqueeze(1)


@dataclass(frozen=True)
class Marginals:
    """The three averages of eq. 2-4; the last two are over the same sequences.

    `paired` says that sequence i of the model and of the data were drawn with the same random numbers.
    """

    model_on_model: Averages  # P_M|M
    model_on_data: Averages  # P_M|D
    data_on_data: Averages  # P_D|D
    paired: bool

    @property
    def lengths(self) -> int:
        """How many history lengths there are."""
        return self.data_on_data.sums.shape[1]


def marginal_figures(
    marginals: Marginals,
    names: Sequence[str],
    *,
    seed: Seed,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> dict[str, Figure]:
    """`mgd_model.d`, `mgd_data.d` and their ratio `eb_m.d` for every distance d."""
    figures: dict[str, Figure] = {}
    smooth = [name for name in names if name != INDICATOR]
    tables = _replicated(marginals, smooth)
    for name, (on_model, on_data) in tables.items():
        bias, highest = ratio(on_model, on_data), DISTANCES[name].range[1]
        figures[f"eb_m.{name}"] = _jackknifed(bias, marginals, level, logarithmic=True)
        figures[f"mgd_model.{name}"] = _jackknifed(on_model, marginals, level, highest=highest)
        figures[f"mgd_data.{name}"] = _jackknifed(on_data, marginals, level, highest=highest)
    if INDICATOR in names:
        figures |= _indicator_figures(marginals, seed=seed, level=level, resamples=resamples)
    return figures


def _replicated(marginals: Marginals, names: Sequence[str]) -> dict[str, tuple[FloatArray, FloatArray]]:
    """MGD on model and on data histories: [1 + groups, lengths], of all sequences and without each group in turn."""
    found: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in names}
    for place in range(marginals.lengths):
        model_on_model, model_on_data, data_on_data = (stack.log() for stack in _stacks(marginals, place))
        on_model = distances(model_on_model, data_on_data, names)
        on_data = distances(model_on_data, data_on_data, names)
        for name, columns in found.items():
            columns.append((on_model[name], on_data[name]))
    return {name: _tables(columns) for name, columns in found.items()}


def _tables(columns: Sequence[tuple[Tensor, Tensor]]) -> tuple[FloatArray, FloatArray]:
    on_model, on_data = (torch.stack(parts, dim=1).numpy() for parts in zip(*columns, strict=True))
    return on_model, on_data


def _stacks(marginals: Marginals, place: int) -> tuple[Tensor, Tensor, Tensor]:
    """P_M|M, P_M|D and P_D|D at one length, as they are and without each group: [1 + groups, V] each.

    Paired sequences leave together; else the groups of the data leave first, then those of the model.
    """
    (mm, mm_without), (md, md_without), (dd, dd_without) = (
        average.at(place) for average in (marginals.model_on_model, marginals.model_on_data, marginals.data_on_data)
    )
    if marginals.paired:
        return torch.cat([mm[None], mm_without]), torch.cat([md[None], md_without]), torch.cat([dd[None], dd_without])
    model_groups, data_groups = len(mm_without), len(dd_without)
    return (
        torch.cat([mm.expand(1 + data_groups, -1), mm_without]),
        torch.cat([md[None], md_without, md.expand(model_groups, -1)]),
        torch.cat([dd[None], dd_without, dd.expand(model_groups, -1)]),
    )


def _jackknifed(
    table: FloatArray, marginals: Marginals, level: float, *, highest: float = math.inf, logarithmic: bool = False
) -> Figure:
    """From [1 + groups, lengths]: the first row is the figure, the others leave a group out."""
    samples = [table[1:]] if marginals.paired else np.split(table[1:], [len(marginals.data_on_data.sizes)])
    return Figure.of(leave_out_profile(table[0], samples, level=level, highest=highest, logarithmic=logarithmic))


def _indicator_figures(marginals: Marginals, *, seed: Seed, level: float, resamples: int) -> dict[str, Figure]:
    """Whether the most probable tokens differ: the jackknife of a step shows no doubt, resampling the groups does."""
    model_groups, data_groups = len(marginals.model_on_model.sizes), len(marginals.data_on_data.sizes)
    sizes = [data_groups] if marginals.paired else [data_groups, model_groups]

    def figure(statistic: Callable[[FloatArray, FloatArray], FloatArray]) -> Figure:
        def resampled(*weights: FloatArray) -> FloatArray:
            return statistic(*_greedy_deviations(marginals, weights[-1], weights[0]))

        generator = np.random.default_rng(seed)
        return Figure.of(bootstrap_by_length(resampled, sizes, generator=generator, resamples=resamples, level=level))

    return {
        f"eb_m.{INDICATOR}": figure(ratio),
        f"mgd_model.{INDICATOR}": figure(lambda on_model, on_data: on_model),
        f"mgd_data.{INDICATOR}": figure(lambda on_model, on_data: on_data),
    }


def _greedy_deviations(
    marginals: Marginals, model_weights: FloatArray, data_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """MGD by eq. 8 on model and on data histories for each row of weights [rows, groups]: [rows, lengths]."""
    rows = max(1, RESAMPLED_AT_ONCE // marginals.data_on_data.sums.shape[2])
    on_model, on_data = (np.empty((len(data_weights), marginals.lengths)) for _ in range(2))
    for first in range(0, len(data_weights), rows):
        part = slice(first, first + rows)
        of_model, of_data = (torch.from_numpy(weights[part]) for weights in (model_weights, data_weights))
        for place in range(marginals.lengths):
            truth = marginals.data_on_data.weighted(of_data, place).argmax(dim=1)
            on_model[part, place] = marginals.model_on_model.weighted(of_model, place).argmax(dim=1) != truth
            on_data[part, place] = marginals.model_on_data.weighted(of_data, place).argmax(dim=1) != truth
    return on_model, on_data
