"""Deciding only where it is safe: the confidence from which on few verdicts are wrong."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray

NEVER = 1.01  # a confidence that no verdict reaches
CERTAINTY = 0.9
FIRST, STEP = 0.06, 0.01  # the surest share of the claims that is tried first, and how much more each time

WORST, ENOUGH = 1.5, 20


def risk_threshold(
    confidence: FloatArray,
    wrong: NDArray[np.bool_],
    collections: Sequence[str],
    risk: float,
    *,
    certainty: float = CERTAINTY,
) -> float:
    """The lowest confidence from which on verdicts are wrong at most at the rate `risk`, by an upper bound.

    Every collection counts the same, however many claims it has. The surest claims are tried first, then more and more
    until the bound exceeds the risk: tests in a fixed order need no correction for their number (Learn then Test,
    fixed-sequence testing). It also stops where a single collection with at least `ENOUGH` decided claims errs more
    than `WORST` times the risk: an average over all of them says too little about the next one. The bound is that of a
    binomial rate (Clopper and Pearson) among the decided claims, for as many claims as the unequal weights leave. It
    holds for claims like those that were given, and says nothing about others.

    Args:
        confidence: Of the likelier of the two verdicts, for every claim [claims].
        wrong: Whether that verdict is wrong [claims].
        collections: Where each claim is from [claims].
        risk: The highest rate of wrong verdicts among those decided.
        certainty: How sure the bound is.

    Returns:
        The threshold, or `NEVER` where no confidence is safe enough.
    """
    owners = np.unique(np.asarray(collections), return_inverse=True)[1]
    weights = 1.0 / np.bincount(owners)[owners]
    safe = NEVER
    for threshold in np.quantile(confidence, 1 - np.arange(FIRST, 1 + STEP, STEP).clip(max=1.0)):
        decided = confidence >= threshold
        if _bound(wrong[decided], weights[decided], certainty) > risk:
            break
        if _worst(wrong[decided], owners[decided]) > WORST * risk:
            break
        safe = float(threshold)
    return safe


def _worst(wrong: NDArray[np.bool_], owners: NDArray[np.int64]) -> float:
    """The highest share of what is wrong in any collection that has enough decided claims to tell."""
    counts, errors = np.bincount(owners), np.bincount(owners, weights=wrong)
    enough = counts >= ENOUGH
    return float((errors[enough] / counts[enough]).max()) if enough.any() else 0.0


def _bound(wrong: NDArray[np.bool_], weights: FloatArray, certainty: float) -> float:
    """Upper bound of the weighted share of what is wrong."""
    from scipy.stats import beta  # slow to import, and a check fits nothing

    weights = weights / weights.sum()
    rate, effective = float(weights @ wrong), float(1.0 / (weights**2).sum())
    errors = rate * effective
    return float(beta.ppf(certainty, errors + 1.0, max(effective - errors, 1e-9)))
