"""Which examples are learnt from when: a function of the seed alone, so that a run can go on anywhere."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDS = 10
Batch = tuple[str, NDArray[np.int64]]
"""A task's name and the numbers of its examples."""


def epoch_batches(lengths: Mapping[str, Sequence[int]], size: int, *, seed: int, epoch: int) -> list[Batch]:
    """Ten rounds over the tasks in random order, a tenth of each a round (chapter 3.2.4); batches of like lengths."""
    generator = np.random.default_rng([seed, epoch])
    tenths = {name: np.array_split(generator.permutation(len(own)), ROUNDS) for name, own in lengths.items()}
    batches: list[Batch] = []
    for number in range(ROUNDS):
        for name in generator.permutation(list(lengths)):
            batches += [(str(name), rows) for rows in _batched(tenths[name][number], lengths[name], size, generator)]
    return batches


def _batched(
    rows: NDArray[np.int64], lengths: Sequence[int], size: int, generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Rows sorted by length and cut into batches, which come in random order."""
    ordered = rows[np.argsort([lengths[row] for row in rows], kind="stable")]
    batches = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return [batches[place] for place in generator.permutation(len(batches))]
