"""Rows of what is resampled or left out."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from coverage_table.cases import Case, FloatArray, covered
from offscript.statistics import (
    Unbiased,
    bootstrap,
    estimates_of_draws,
    jackknife,
    leave_out_errors,
    leave_out_profile,
    two_stage_draws,
)


def resampled_rows() -> Iterator[Case]:
    """The bootstrap, plain and in two stages."""
    for n in (50, 200):

        def percentile(rng: np.random.Generator, repeats: int, n: int = n) -> float:
            samples = rng.gamma(4.0, 1.0, (repeats, n))
            found = [
                bootstrap(lambda weights, sample=sample: weights @ sample, [n], generator=rng, resamples=300)
                for sample in samples
            ]
            return covered([each.interval for each in found], 4.0)

        yield Case("any function of weights (`bootstrap`)", f"{n} items", "mean of gamma(4)", percentile, 0.5)
    for terms in (3, 10, 40):

        def two_stages(rng: np.random.Generator, repeats: int, terms: int = terms) -> float:
            held = []
            for _ in range(repeats):
                shares = rng.beta(8, 8, terms)
                wins = rng.binomial(20, shares).astype(float)
                counts = np.column_stack([wins, 20 - wins])

                def statistic(block: FloatArray) -> FloatArray:
                    return np.asarray((block[..., 0] / block.sum(axis=-1)).mean(axis=-1, keepdims=True))

                draws = two_stage_draws(statistic, counts, 300, rng)
                [estimate] = estimates_of_draws(statistic(counts[None])[0], draws, level=0.95, method="")
                held.append(estimate.interval)
            return covered(held, 0.5)

        yield Case(
            "groups and their items (`two_stage_draws`)", f"{terms} groups of 20", "beta(8, 8) shares", two_stages, 0.25
        )


def left_out_rows() -> Iterator[Case]:
    """The jackknife, and distances of averages."""
    tokens = np.arange(1, 201)
    frequencies = 1 / tokens / (1 / tokens).sum()

    def distinct(sample: npt.NDArray[np.int64]) -> float:
        return len(np.unique(sample)) / sample.size

    for n in (3, 20, 100):

        def share_of_distinct(rng: np.random.Generator, repeats: int, n: int = n) -> float:
            samples = rng.choice(200, (repeats, n, 10), p=frequencies)
            truth = float(np.mean([distinct(sample) for sample in samples]))
            found = [
                jackknife(lambda kept, sample=sample: np.array([distinct(sample[kept])]), n)[0].interval
                for sample in samples
            ]
            return covered(found, truth)

        yield Case("figure of a whole set (`jackknife`)", f"{n} sentences", "distinct words", share_of_distinct, 0.25)

    def distance(rng: np.random.Generator, repeats: int, n: int = 500) -> float:
        reference = np.full(20, 1 / 20)
        shifted, held = reference * np.linspace(0.7, 1.3, 20), []
        truth = float(0.5 * np.abs(shifted - reference).sum())
        for _ in range(repeats):
            sums = np.stack([np.bincount(part, minlength=20) for part in rng.choice(20, (50, n // 50), p=shifted)])
            without = 0.5 * np.abs((sums.sum(axis=0) - sums) / (n - n // 50) - reference).sum(axis=1)
            value = np.array([0.5 * np.abs(sums.sum(axis=0) / n - reference).sum()])
            halves, quarters = (_distance_of_parts(sums, count, reference) for count in (2, 4))
            errors = leave_out_errors(value, [without[:, None]])
            unbiased = Unbiased.where_it_matters(value, halves, quarters, float(errors[-1]))
            held.append(leave_out_profile(value, errors, 50, level=0.95, unbiased=unbiased).average.interval)
        return covered(held, truth)

    for n in (100, 200, 500, 2000):
        yield Case("distance of averages (`leave_out_profile`)", f"{n} tokens of 20", "counted", partial(distance, n=n))


def _distance_of_parts(sums: npt.NDArray[np.int64], count: int, reference: FloatArray) -> FloatArray:
    """The distance of each of `count` parts of the sample, on average: [1]."""
    parts = [sums[np.arange(len(sums)) % count == part].sum(axis=0) for part in range(count)]
    return np.array([np.mean([0.5 * np.abs(part / part.sum() - reference).sum() for part in parts])])
