"""HUSE: can text of a system be told from human text by people's ratings and the model's own probability together?

Hashimoto, Zhang and Liang (2019): twice the leave-one-out error of a 16-nearest-neighbour classifier on the mean rating
and the log-probability per token. 1 means indistinguishable, 0 always told apart. HUSE-Q sees the ratings alone;
HUSE-D = 1 + HUSE - HUSE-Q is what the lack of diversity takes away.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.statistics import Estimate, estimates_of_draws

NEIGHBOURS = 16
_REACH = 10  # so many times the neighbours are looked at, since resampling leaves items out
IntArray = npt.NDArray[np.int64]


class Huse(NamedTuple):
    """The three figures with intervals over items."""

    huse: Estimate
    huse_q: Estimate
    huse_d: Estimate


def estimate_huse(
    quality: FloatArray, log_probs: FloatArray, human: npt.NDArray[np.bool_], *, seed: int, resamples: int = 500
) -> Huse:
    """HUSE of one system's items and of as many human ones as there are; both kinds weigh the same.

    Args:
        quality: The mean rating of each item [n].
        log_probs: The model's mean log-probability per token of each item [n].
        human: Which items people wrote [n].
        seed: Of the resamples of items.
        resamples: How many.

    Returns:
        HUSE, HUSE-Q and HUSE-D.
    """
    fewest = min(int(human.sum()), int((~human).sum()))
    if fewest < NEIGHBOURS:
        raise OffscriptError(
            f"HUSE needs {NEIGHBOURS} items of each kind, got {fewest}", next="rate more items, human text included"
        )
    features = np.column_stack([_standardised(log_probs), _standardised(quality)])
    jitter = np.random.default_rng([seed, 1]).normal(0, 1e-6, features.shape)  # so that ties fall at random
    both, alone = (_nearest(features[:, columns] + jitter[:, columns]) for columns in ([0, 1], [1]))
    generator = np.random.default_rng([seed, 2])
    counts = [np.ones(len(human))] + [_resampled(human, generator) for _ in range(resamples)]
    draws = np.array([[_score(near, human, count) for near in (both, alone)] for count in counts])
    draws = np.column_stack([draws, 1 + draws[:, 0] - draws[:, 1]])
    return Huse(*estimates_of_draws(draws[0], draws[1:], level=0.95, method="bootstrap over items"))


def _standardised(values: FloatArray) -> FloatArray:
    spread = float(values.std())
    scaled: FloatArray = (values - values.mean()) / (spread or 1.0)
    return scaled


def _nearest(features: FloatArray) -> IntArray:
    """For each item the nearest others, nearest first, [n, reach]."""
    from scipy.spatial import cKDTree

    reach = min(len(features), _REACH * NEIGHBOURS + 1)
    _, near = cKDTree(features).query(features, k=reach)
    return np.asarray(near[:, 1:], dtype=np.int64)


def _resampled(human: npt.NDArray[np.bool_], generator: np.random.Generator) -> FloatArray:
    """How often each item is drawn, human items and others apart."""
    counts = np.zeros(len(human))
    for kind in (True, False):
        places = np.flatnonzero(human == kind)
        counts[places] = np.bincount(generator.integers(0, len(places), len(places)), minlength=len(places))
    return counts


def _score(near: IntArray, human: npt.NDArray[np.bool_], counts: FloatArray) -> float:
    """Twice the mean error of both kinds: items vote with their counts, and copies of one do not see each other."""
    weights = counts * np.where(human, 0.5 / human.mean(), 0.5 / (1 - human.mean()))
    votes = weights[near]  # [n, reach]
    before = votes.cumsum(axis=1) - votes
    votes = np.clip(NEIGHBOURS - before, 0, votes)
    share = (votes * human[near]).sum(axis=1) / np.maximum(votes.sum(axis=1), 1e-12)
    wrong = np.where(np.abs(share - 0.5) < 1e-9, 0.5, (share > 0.5) != human)
    errors = [np.average(wrong[human == kind], weights=counts[human == kind]) for kind in (True, False)]
    return float(errors[0] + errors[1])
