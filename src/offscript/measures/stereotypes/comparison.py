"""Two systems on the same tests: is the difference between their scores more than chance?"""

from dataclasses import dataclass

import numpy as np

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.measures.stereotypes.judgements import Judgements
from offscript.measures.stereotypes.scores import METHOD, icat, outcomes_of, sums_by_term, term_means
from offscript.statistics import RESAMPLES, Difference, differences_of_draws, two_stage_draws


@dataclass(frozen=True)
class ScoreDifferences:
    """First minus second system, for each score."""

    lms: Difference
    ss: Difference
    icat: Difference


def compare(
    first: Judgements, second: Judgements, *, seed: int, resamples: int = RESAMPLES, level: float = 0.95
) -> ScoreDifferences:
    """The paired test: each resample of terms and examples is the same for both systems."""
    if [test.id for test in first.tests] != [test.id for test in second.tests]:
        raise OffscriptError("the two systems judged different tests", next="judge the same data with both")
    pairs = outcomes_of(first)[:, :, None] * outcomes_of(second)[:, None, :]  # [tests, 6, 6]
    _, counts = sums_by_term(first, pairs)
    flat = counts.reshape(len(counts), -1)
    value = _differences(flat[None])[0]
    draws = two_stage_draws(_differences, flat, resamples, np.random.default_rng(seed))  # [resamples, 3]
    return ScoreDifferences(*differences_of_draws(value, draws, level=level, method=f"paired {METHOD}"))


def _differences(counts: FloatArray) -> FloatArray:
    """lms, ss and icat of the first minus those of the second, [resamples, 3], from pairs [resamples, terms, 36]."""
    pairs = counts.reshape(*counts.shape[:2], 6, 6)
    (first_ss, first_lms), (second_ss, second_lms) = (
        term_means(pairs.sum(axis=other)).mean(axis=1).T for other in (3, 2)
    )
    icats = icat(first_lms, first_ss) - icat(second_lms, second_ss)
    return np.stack([first_lms - second_lms, first_ss - second_ss, icats], axis=1)
