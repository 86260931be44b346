"""Conditional generation deviation (eq. 7) and the rate of exposure bias EB-C (eq. 9), at every history length."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from offscript._types import Count
from offscript.measures._figures import Figure
from offscript.measures._scores import Scores, scores_along
from offscript.measures.distances import distances
from offscript.models.language_model import LanguageModel
from offscript.sampling.randomness import Seed
from offscript.statistics import (
    RESAMPLES,
    mean_by_length,
    pseudo_values,
    ratio_of_means_by_length,
)

INDICATOR = "gd"
"""The distance that is 0 or 1 (eq. 8)."""

Values = Mapping[str, NDArray[np.floating]]
"""By distance: what every sequence gave at every history length, [n, lengths]."""


class Deviations:
    """Distances between two models' predictions along sequences, kept for every sequence and history length."""

    def __init__(self, sequences: int, lengths: int, names: Sequence[str]) -> None:
        self._shape, self._names = (sequences, lengths), list(names)
        self.values: dict[str, NDArray[np.floating]] = {}

    def add(self, scores: Scores) -> None:
        """Measure one chunk; its first two tables are the model's and the oracle's."""
        model, oracle = scores.log_probs[:2]
        for name, found in distances(model, oracle, self._names).items():
            measured = found.cpu().numpy()
            kept = self.values.setdefault(name, np.empty(self._shape, dtype=measured.dtype))
            kept[scores.rows, scores.columns] = measured


def conditional_deviations(
    model: LanguageModel,
    oracle: LanguageModel,
    sequences: Tensor,
    names: Sequence[str],
    *,
    batch_size: int = 256,
    progress: Count | None = None,
) -> dict[str, NDArray[np.floating]]:
    """d(P_M(· | W_1…l), P_D(· | W_1…l)) for l = 1 … length-1 along sequences [n, length]: [n, length-1] a distance.

    One pass of each model serves every length and every distance; the last token is never read.
    """
    positions = range(1, sequences.shape[1])
    deviations = Deviations(len(sequences), len(positions), names)
    for scores in scores_along((model, oracle), sequences, positions, batch_size=batch_size, progress=progress):
        deviations.add(scores)
    return deviations.values


def deviation_figure(name: str, values: NDArray[np.floating], *, level: float = 0.95) -> Figure:
    """CGD (eq. 7) from one distance's values [n, lengths]: a mean at every length, and their average."""
    return Figure.of(mean_by_length(values, share=name == INDICATOR, level=level), values.mean(axis=1))


def conditional_figures(
    model_values: Values,
    data_values: Values,
    *,
    paired: bool,
    seed: Seed,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> dict[str, Figure]:
    """`cgd_model.d`, `cgd_data.d` and their ratio `eb_c.d` for every distance d measured on both sources of histories.

    `paired` says that row i of both was drawn with the same random numbers.
    """
    figures = {}
    for name, on_model in model_values.items():
        on_data = data_values[name]
        bias = ratio_of_means_by_length(
            on_model,
            on_data,
            generator=np.random.default_rng(seed),
            paired=paired,
            level=level,
            resamples=resamples,
        )
        together = pseudo_values(on_model, on_data) if paired else None
        figures[f"eb_c.{name}"] = Figure.of(bias, together)
        figures[f"cgd_model.{name}"] = deviation_figure(name, on_model, level=level)
        figures[f"cgd_data.{name}"] = deviation_figure(name, on_data, level=level)
    return figures
