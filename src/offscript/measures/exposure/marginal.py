"""Marginal generation deviation (eq. 5) and the rate of exposure bias EB-M (eq. 6), at every history length.

The marginal of the token after l others is an average over sequences (eq. 2-4): of predicted distributions, or, where
there are only sentences, of the tokens that stand there. Averages are kept for groups of sequences, so that memory does
not grow with their number and the jackknife can leave one group out at a time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from offscript._types import FloatArray
from offscript.measures._figures import Figure
from offscript.measures.distances import DISTANCES, distances
from offscript.measures.exposure.conditional import INDICATOR
from offscript.sampling.randomness import Seed
from offscript.statistics import RESAMPLES, Unbiased, bootstrap_by_length, leave_out_errors, leave_out_profile, ratio

GROUPS = 100
LARGEST = 1 << 26  # probabilities that one average may hold: 256 MB in single precision
LARGEST_DOUBLE = 1 << 22
FEWEST_GROUPS = 10
RESAMPLED_AT_ONCE = 1 << 22
LARGE = 1000  # tokens from which a sum for each group is faster than one call for all


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
        self.add_probabilities(rows, columns, log_probs.exp())

    def add_probabilities(self, rows: slice, columns: slice, probabilities: Tensor) -> None:
        """The same, from probabilities.

        Over large vocabularies each group, which is consecutive, is one sum: to convert every probability to the
        precision of the sums and add them row by row took three times as long.
        """
        if self.sums.shape[2] < LARGE:
            self.sums[:, columns].index_add_(0, self._group[rows], probabilities.to(self.sums))
            return
        numbers, sizes = self._group[rows].unique_consecutive(return_counts=True)
        parts = probabilities.split(sizes.tolist())
        for number, part in zip(numbers.tolist(), parts, strict=True):
            self.sums[number, columns] += part.sum(dim=0).to(self.sums)

    def count(self, tokens: Tensor) -> None:
        """The tokens [n, lengths] that stand after each history: sample and count (eq. 2)."""
        lengths, size = self.sums.shape[1:]
        places = (self._group.unsqueeze(1) * lengths + torch.arange(lengths)) * size + tokens
        self.sums.view(-1).scatter_add_(0, places.flatten(), torch.ones_like(places.flatten(), dtype=self.sums.dtype))

    def weighted(self, weights: Tensor, place: int) -> Tensor:
        """The marginal at one length for each row of group weights [rows, groups]: [rows, V]."""
        return (weights @ self.sums[:, place].double()) / (weights @ self.sizes).unsqueeze(1)

    def most_probable(self, weights: Tensor, place: int) -> Tensor:
        """The marginal's most probable token at one length for each row of group weights [rows, groups]: [rows].

        Whatever the weights, a token that no group finds likelier than the likeliest of all is never the first.
        """
        sums = self.sums[:, place]  # [groups, V]
        first = int(sums.sum(dim=0).argmax())
        contends = (sums > sums[:, first, None]).any(dim=0)
        contends[first] = True
        tokens = contends.nonzero().squeeze(1)
        return tokens[(weights @ sums[:, tokens].double()).argmax(dim=1)]


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
    """`mgd_model.d`, `mgd_data.d` and their ratio `eb_m.d` for every distance d.

    A distance between averages over n sequences is too large, by what sampling adds. Where that is more than half a
    standard error the interval allows for it, and where it is more than three it is taken off.
    """
    figures: dict[str, Figure] = {}
    subsets = _Subsets.of(marginals)
    for name, tables in _replicated(marginals, subsets, [name for name in names if name != INDICATOR]).items():
        figures |= _figures_of(name, *tables, subsets, level)
    if INDICATOR in names:
        figures |= _indicator_figures(marginals, seed=seed, level=level, resamples=resamples)
    return figures


@dataclass(frozen=True)
class _Subsets:
    """Sets of groups, one per row: all of them, all but one, the halves, the quarters.

    Paired sequences leave together; else the groups of the data leave first, then those of the model.
    """

    model: Tensor  # [rows, groups of the model's sequences], 1 for those in the set
    data: Tensor  # [rows, groups of the data's sequences]
    left_out: tuple[slice, ...]  # rows, one slice for each independent sample
    halves: slice
    quarters: slice

    @classmethod
    def of(cls, marginals: Marginals) -> "_Subsets":
        model, data = len(marginals.model_on_model.sizes), len(marginals.data_on_data.sizes)
        if marginals.paired:
            rows = [(_all_but_one(model), _all_but_one(data))]
        else:
            rows = [(torch.ones(data, model), _all_but_one(data)), (_all_but_one(model), torch.ones(model, data))]
        parts = [(_parts(model, count), _parts(data, count)) for count in (2, 4)]
        everything = [(torch.ones(1, model), torch.ones(1, data)), *rows, *parts]
        ends = np.cumsum([len(side) for side, _ in everything]).tolist()
        slices = [slice(*pair) for pair in pairwise(ends)]
        of_model, of_data = (torch.cat(sides).double() for sides in zip(*everything, strict=True))
        return cls(of_model, of_data, tuple(slices[:-2]), slices[-2], slices[-1])

    @property
    def groups(self) -> int:
        """How many groups the smaller sample has."""
        return min(self.model.shape[1], self.data.shape[1])


def _all_but_one(groups: int) -> Tensor:
    return 1.0 - torch.eye(groups)


def _parts(groups: int, count: int) -> Tensor:
    """Disjoint sets of neighbouring groups, [count, groups]; none where some would be empty."""
    if groups < count:
        return torch.empty(0, groups)
    return torch.nn.functional.one_hot(torch.arange(groups) * count // groups, count).t().float()


def _replicated(
    marginals: Marginals, subsets: _Subsets, names: Sequence[str]
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """MGD on model and on data histories for each of the subsets: [rows, lengths]."""
    found: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in names}
    for place in range(marginals.lengths):
        truth = marginals.data_on_data.weighted(subsets.data, place).log()
        on_model = distances(marginals.model_on_model.weighted(subsets.model, place).log(), truth, names)
        on_data = distances(marginals.model_on_data.weighted(subsets.data, place).log(), truth, names)
        for name, columns in found.items():
            columns.append((on_model[name], on_data[name]))
    return {name: _tables(columns) for name, columns in found.items()}


def _tables(columns: Sequence[tuple[Tensor, Tensor]]) -> tuple[FloatArray, FloatArray]:
    on_model, on_data = (torch.stack(parts, dim=1).numpy() for parts in zip(*columns, strict=True))
    return on_model, on_data


def _figures_of(
    name: str, on_model: FloatArray, on_data: FloatArray, subsets: _Subsets, level: float
) -> dict[str, Figure]:
    """The three figures of one distance from its values [rows, lengths] for each of the subsets."""
    figures, known = {}, []
    for source, table in (("model", on_model), ("data", on_data)):
        errors = leave_out_errors(table[0], [table[rows] for rows in subsets.left_out])
        unbiased = _unbiased(table, errors, subsets)
        profile = leave_out_profile(
            table[0], errors, subsets.groups, level=level, highest=DISTANCES[name].range[1], unbiased=unbiased
        )
        figures[f"mgd_{source}.{name}"] = Figure.of(profile)
        known.append(unbiased)
    bias = ratio(on_model, on_data)
    errors = leave_out_errors(bias[0], [bias[rows] for rows in subsets.left_out], logarithmic=True)
    both = [
        Unbiased.known(table[0]) if unbiased is None else unbiased
        for table, unbiased in zip((on_model, on_data), known, strict=True)
    ]
    unbiased = None if known == [None, None] else both[0].over(both[1])
    profile = leave_out_profile(bias[0], errors, subsets.groups, level=level, logarithmic=True, unbiased=unbiased)
    return {f"eb_m.{name}": Figure.of(profile), **figures}


def _unbiased(table: FloatArray, errors: FloatArray, subsets: _Subsets) -> Unbiased | None:
    """The figure without its bias, where that matters."""
    whole, halves, quarters = table[0], table[subsets.halves], table[subsets.quarters]
    if not len(quarters) or not np.isfinite(table).all():
        return None
    return Unbiased.where_it_matters(whole, halves.mean(axis=0), quarters.mean(axis=0), float(errors[-1]))


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
            truth = marginals.data_on_data.most_probable(of_data, place)
            on_model[part, place] = marginals.model_on_model.most_probable(of_model, place) != truth
            on_data[part, place] = marginals.model_on_data.most_probable(of_data, place) != truth
    return on_model, on_data
