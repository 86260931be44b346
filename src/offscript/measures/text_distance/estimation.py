"""Distance between two sets of vectors: the divergence frontier over many clusterings, and a classifier's accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure
from offscript.measures.measurement import P_VALUE
from offscript.statistics import Estimate, Interval, jackknife, mean_interval, proportion_interval, within
from offscript.statistics.estimates import student_quantile

SCALE = 5.0
"""c of MAUVE: distances of the frontier are exp(−c · KL)."""

CLUSTERINGS, EXCHANGES = 8, 500
_KEPT, _WIDEST = 0.9, 50  # share of the variance that principal components keep, and how many at most
_PER_CLUSTER = 10  # texts of both sets for each cluster
_MOST_CLUSTERS = 50
_ROUNDS = 30
_MIXTURES = np.linspace(0.01, 0.99, 49)
_RIDGE = 0.1

Labels = NDArray[np.int64]


class Distance(NamedTuple):
    """The figures, the frontier as points (KL from generated, KL from real), and the classifier's scores."""

    figures: dict[str, Figure]
    frontier: FloatArray  # [points, 2]
    scores: FloatArray  # [2 n], NaN for those that it learned from; generated first, above 0 means generated


@dataclass(frozen=True)
class Histograms:
    """How often each cluster occurs: what a clustering leaves of two sets of vectors."""

    labels: Labels  # [2 n], generated first
    clusters: int

    def shares(self, generated: NDArray[np.bool_], kept: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Of both sides over the clusters, with ½ added to each count (Krichevsky and Trofimov, 1981)."""
        sides = []
        for side in (generated, ~generated):
            counts = np.bincount(self.labels[side & kept], minlength=self.clusters) + 0.5
            sides.append(counts / counts.sum())
        return sides[0], sides[1]


def divergence_frontier(first: FloatArray, second: FloatArray) -> FloatArray:
    """KL(first ‖ r) and KL(second ‖ r) for mixtures r = λ · first + (1 − λ) · second; [points, 2]."""
    mixed = _MIXTURES[:, None] * first + (1 - _MIXTURES[:, None]) * second
    return np.stack([_kl(first, mixed), _kl(second, mixed)], axis=1)


def _kl(chances: FloatArray, mixed: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(chances > 0, chances * np.log(chances / mixed), 0.0)
    total: FloatArray = terms.sum(axis=1)
    return total


def mauve(first: FloatArray, second: FloatArray) -> float:
    """The area below the divergence frontier (Pillutla et al., 2021): 1 for equal distributions, near 0 for disjoint.

    Points (exp(−c KL(q ‖ r)), exp(−c KL(p ‖ r))) over the mixtures r, with (1, 0) and (0, 1) at the ends.

    Args:
        first: Shares of the clusters in one set.
        second: Those in the other.

    Returns:
        A number between 0 and 1.
    """
    points = np.exp(-SCALE * divergence_frontier(first, second))
    x = np.concatenate([[0.0], points[:, 0], [1.0]])
    y = np.concatenate([[1.0], points[:, 1], [0.0]])
    return float(np.clip((np.diff(x) * (y[1:] + y[:-1]) / 2).sum(), 0, 1))


def cluster(vectors: FloatArray, clusters: int, generator: np.random.Generator) -> Labels:
    """k-means with k-means++ (Arthur and Vassilvitskii, 2007).

    Args:
        vectors: What is clustered [n, width].
        clusters: How many.
        generator: Chooses the first centres.

    Returns:
        The number of each vector's cluster.
    """
    centres = vectors[generator.integers(len(vectors))][None]
    for _ in range(1, clusters):
        nearest = _squared(vectors, centres).min(axis=1)
        total = nearest.sum()
        chances = nearest / total if total > 0 else np.full(len(vectors), 1 / len(vectors))
        centres = np.concatenate([centres, vectors[generator.choice(len(vectors), p=chances)][None]])
    labels = np.full(len(vectors), -1)
    for _ in range(_ROUNDS):
        nearest_centre = _squared(vectors, centres).argmin(axis=1)
        if (nearest_centre == labels).all():
            break
        labels = nearest_centre
        for number in np.unique(labels):
            centres[number] = vectors[labels == number].mean(axis=0)
    return labels


def _squared(vectors: FloatArray, centres: FloatArray) -> FloatArray:
    squares = (vectors**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None] - 2 * vectors @ centres.T
    distances: FloatArray = np.maximum(squares, 0.0)
    return distances


def principal(vectors: FloatArray) -> FloatArray:
    """The principal components that keep 90 % of the variance, 50 at most, scaled as they are."""
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    shares = np.cumsum(sizes**2) / max(float((sizes**2).sum()), 1e-300)
    count = min(int(np.searchsorted(shares, _KEPT)) + 1, _WIDEST, len(sizes))
    components: FloatArray = left[:, :count] * sizes[:count]
    return components


def measure_distance(
    generated: FloatArray,
    real: FloatArray,
    *,
    seed: int,
    clusterings: int = CLUSTERINGS,
    clusters: int | None = None,
    exchanges: int = EXCHANGES,
) -> Distance:
    """Compare two sets of vectors, whose i-th members belong together (they continue one prompt).

    Args:
        generated: Vectors of the model's texts [n, width].
        real: Those of real texts [n, width].
        seed: Clusterings, exchanges and the classifier's halves.
        clusterings: How many k-means runs the score is averaged over.
        clusters: Clusters of each; a tenth of the texts by default, 50 at most.
        exchanges: Times that random pairs change sides, for the p-value.

    Returns:
        `mauve`, its mean over the clusterings, with an interval over texts and clusterings; `mauve_same`, what it is
        for texts that differ by chance alone; `mauve_p`, the share of exchanges that come out as low; `told_apart`,
        the accuracy of a linear classifier on texts that it did not learn from.
    """
    n = len(generated)
    if n != len(real) or n < 20:
        raise OffscriptError(
            f"cannot compare {n} generated and {len(real)} real texts",
            why="clusters and the classifier need 20 pairs",
            next="give more --samples",
        )
    draws = np.random.default_rng(seed)
    vectors = principal(np.concatenate([generated, real]))
    count = clusters or max(2, min(2 * n // _PER_CLUSTER, _MOST_CLUSTERS))
    made = [Histograms(cluster(vectors, count, draws), count) for _ in range(clusterings)]
    figures, frontier = _frontier_figures(made, n, exchanges, draws)
    told, scores = _told_apart(vectors, n, draws)
    return Distance({**figures, "told_apart": told}, frontier, scores)


def _frontier_figures(
    made: Sequence[Histograms], n: int, exchanges: int, draws: np.random.Generator
) -> tuple[dict[str, Figure], FloatArray]:
    sides, everything = np.arange(2 * n) < n, np.ones(2 * n, dtype=bool)

    def scores(generated: NDArray[np.bool_], kept: NDArray[np.bool_]) -> FloatArray:
        return np.array([mauve(*each.shares(generated, kept)) for each in made])

    values = scores(sides, everything)
    (average,) = jackknife(lambda kept: scores(sides, np.tile(kept, 2)).mean(keepdims=True), n)
    between = float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    error = float(np.hypot(average.standard_error, between))
    reach = student_quantile(len(made) + 11, 0.975) * error
    method = "jackknife over texts, and spread over clusterings"
    score = Estimate(average.value, error, Interval(average.value - reach, average.value + reach, 0.95, method))
    swapped = []
    for _ in range(exchanges):
        changed = draws.random(n) < 0.5  # pairs whose members change sides: under the null nothing tells them apart
        swapped.append(scores(np.concatenate([~changed, changed]), everything).mean())
    same = np.array(swapped)
    beyond = int((same <= average.value + 1e-12).sum())
    around = proportion_interval(beyond, exchanges)
    p_value = (beyond + 1) / (exchanges + 1)
    bounds = Interval(around.interval.lower, max(around.interval.upper, p_value), 0.95, P_VALUE)
    figures = {
        "mauve": Figure(within(score, 0, 1)),
        "mauve_same": Figure(within(mean_interval(same, share=False), 0, 1)),
        "mauve_p": Figure(Estimate(p_value, around.standard_error, bounds)),
    }
    pairs = [divergence_frontier(*each.shares(sides, everything)) for each in made]
    return figures, np.mean(pairs, axis=0)


def _told_apart(vectors: FloatArray, n: int, draws: np.random.Generator) -> tuple[Figure, FloatArray]:
    """Accuracy of a linear discriminant on the half of the pairs that it did not learn from.

    w = (Σ + ρ · tr(Σ) / d · I)⁻¹ (m₁ − m₀), with the border half way between the means: each pair is held out whole, so
    that a prompt never stands on both sides. Each held-out pair counts once: its two texts are not independent.
    """
    learned = np.zeros(n, dtype=bool)
    learned[draws.permutation(n)[: n // 2]] = True
    sides = [vectors[:n], vectors[n:]]
    means = [side[learned].mean(axis=0) for side in sides]
    centred = np.concatenate([side[learned] - mean for side, mean in zip(sides, means, strict=True)])
    spread = centred.T @ centred / max(1, len(centred) - 2)
    ridge = _RIDGE * max(float(np.trace(spread)) / len(spread), 1e-12)
    weights = np.linalg.solve(spread + ridge * np.eye(len(spread)), means[0] - means[1])
    scores = (vectors - (means[0] + means[1]) / 2) @ weights
    right = (2 + np.sign(scores[:n]) - np.sign(scores[n:])) / 4  # of both texts of a pair; a score of 0 is half right
    estimate = within(mean_interval(right[~learned], share=False), 0, 1)
    return Figure(estimate, None, right[~learned]), np.where(np.tile(learned, 2), np.nan, scores)
