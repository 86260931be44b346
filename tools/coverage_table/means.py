"""Rows of means, shares, rates and ratios."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from coverage_table.cases import POPULATIONS, Case, Draw, FloatArray, covered, covered_along
from offscript.statistics import (
    clustered_proportion_interval,
    mean_by_length,
    mean_interval,
    perplexity_interval,
    proportion_interval,
    rate_interval,
    ratio_of_means_by_length,
    share_difference,
    student_interval,
)


def means_rows() -> Iterator[Case]:
    """Means of values, of values in groups, and over runs."""
    for n in (4, 8, 30, 100):
        for name, (draw, truth) in POPULATIONS.items():
            if name == "log-normal(0.8)" and n < 30:
                continue

            def run(
                rng: np.random.Generator, repeats: int, n: int = n, draw: Draw = draw, truth: float = truth
            ) -> float:
                return covered_along(mean_by_length(draw(rng, (n, repeats))).by_length, truth)

            yield Case("mean (`mean_interval`, `mean_by_length`)", f"{n} values", name, run)
    for groups in (10, 30):

        def clustered(rng: np.random.Generator, repeats: int, groups: int = groups) -> float:
            numbers = np.repeat(np.arange(groups), 5)
            samples = rng.normal(0, 1, (repeats, groups))[:, numbers] + rng.normal(0, 1, (repeats, 5 * groups))
            return covered([mean_interval(sample, groups=numbers).interval for sample in samples], 0.0)

        yield Case(
            "mean of values in groups", f"{groups} groups of 5", "half of the variance between groups", clustered
        )
    for n in (2, 3, 5):

        def over_runs(rng: np.random.Generator, repeats: int, n: int = n) -> float:
            return covered([student_interval(sample).interval for sample in rng.normal(0, 1, (repeats, n))], 0.0)

        yield Case("mean over runs (`student_interval`)", f"{n} runs", "normal", over_runs)


def shares_rows() -> Iterator[Case]:
    """Shares, exact over the binomial distribution, and means of 0/1 values."""
    for n in (1, 2, 10, 20, 100, 1000):

        def every(_rng: np.random.Generator, _repeats: int, n: int = n) -> float:
            return float(np.mean([_share_coverage(n, share) for share in np.linspace(0.01, 0.5, 50)]))

        yield Case(
            "share (`proportion_interval`)",
            f"{n} {'trial' if n == 1 else 'trials'}",
            "average over shares .01 to .5",
            every,
        )

    def rare(rng: np.random.Generator, repeats: int) -> float:
        return covered_along(mean_by_length((rng.random((20, repeats)) < 0.01).astype(float)).by_length, 0.01)

    yield Case("mean of 0/1 values (`mean_interval`)", "20 values", "share .01", rare)


def clustered_shares_rows() -> Iterator[Case]:
    """Shares of sentences that come in texts, and their differences."""

    def draw(rng: np.random.Generator, texts: int) -> tuple[FloatArray, FloatArray]:
        """Texts of 1 to 8 sentences that share their mood: .7 of them are right in all."""
        sizes = rng.integers(1, 9, texts)
        return rng.binomial(sizes, rng.beta(2.8, 1.2, texts)).astype(float), sizes.astype(float)

    for texts in (10, 50):

        def clustered(rng: np.random.Generator, repeats: int, texts: int = texts) -> float:
            return covered([clustered_proportion_interval(*draw(rng, texts)).interval for _ in range(repeats)], 0.7)

        def paired(rng: np.random.Generator, repeats: int, texts: int = texts) -> float:
            return covered([share_difference(draw(rng, texts), draw(rng, texts)).interval for _ in range(repeats)], 0.0)

        size = f"{texts} texts"
        yield Case("share in clusters (`clustered_proportion_interval`)", size, "1 to 8 sentences", clustered)
        yield Case("difference of shares (`share_difference`)", size, "1 to 8 sentences", paired)


def _share_coverage(n: int, share: float) -> float:
    """Exact, from the binomial distribution."""
    from scipy.stats import binom

    counts = np.arange(n + 1)
    held = [share in proportion_interval(int(count), n).interval for count in counts]
    return float(binom.pmf(counts, n, share)[held].sum())


def rates_rows() -> Iterator[Case]:
    """Rates per token and perplexities."""
    for n in (4, 10, 30, 100):

        def run(rng: np.random.Generator, repeats: int, n: int = n, perplexity: bool = False) -> float:
            held = 0
            for _ in range(repeats):
                counts = rng.integers(5, 40, n).astype(float)
                totals = rng.gamma(3.0 * counts, 1.0)
                found = perplexity_interval(totals, counts) if perplexity else rate_interval(totals, counts)
                held += (math.exp(3.0) if perplexity else 3.0) in found.interval
            return held / repeats

        yield Case("rate per token (`rate_interval`)", f"{n} sequences", "nats of 5 to 39 tokens", run)
        if n in (4, 30):
            yield Case(
                "perplexity (`perplexity_interval`)", f"{n} sequences", "the same", partial(run, perplexity=True)
            )


def ratios_rows() -> Iterator[Case]:
    """Ratios of means, independent and in pairs."""
    for n in (4, 10, 30, 100):
        for name in ("exponential", "gamma(4)", "beta(1, 8)"):
            for paired in (False, True):

                def run(
                    rng: np.random.Generator, repeats: int, n: int = n, name: str = name, paired: bool = paired
                ) -> float:
                    draw, _ = POPULATIONS[name]
                    shared = draw(rng, (n, repeats)) if paired else 0.0
                    top, bottom = shared + draw(rng, (n, repeats)), shared + draw(rng, (n, repeats))
                    found = ratio_of_means_by_length(top, bottom, generator=rng, paired=paired, resamples=400)
                    return covered_along(found.by_length, 1.0)

                kind = "in pairs" if paired else "independent"
                yield Case("ratio of means (`ratio_of_means_by_length`)", f"{n} sequences", f"{name}, {kind}", run, 0.5)
