"""Rows of differences and correlations."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from coverage_table.cases import POPULATIONS, Case, FloatArray, covered
from offscript.statistics import (
    correlation_interval,
    curve_difference,
    differences_from_best,
    independent_difference,
    mean_interval,
    paired_differences,
)


def differences_rows() -> Iterator[Case]:
    """Paired and independent differences, and differences of curves."""
    for n in (4, 8, 30, 100):
        for name in ("normal", "exponential"):

            def paired(rng: np.random.Generator, repeats: int, n: int = n, name: str = name) -> float:
                draw, _ = POPULATIONS[name]
                held = []
                for _ in range(repeats):
                    shared, first, second = (draw(rng, (n, 1)) for _ in range(3))
                    held += paired_differences(shared + first, shared + second / 2, generator=rng, resamples=300)
                truth = POPULATIONS[name][1] / 2
                return covered([difference.interval for difference in held], truth)

            yield Case("paired difference (`paired_differences`)", f"{n} pairs", name, paired, 0.5)

    for sizes in ((12, 12), (30, 30), (12, 100)):
        for name in ("normal", "exponential"):
            run = partial(_independent, sizes=sizes, name=name)
            told = " and of ".join(str(size) for size in dict.fromkeys(sizes))
            yield Case("difference of two figures (`independent_difference`)", f"means of {told} values", name, run)
    for n in (10, 50):
        run = partial(_from_best, n=n)
        yield Case(
            "all differences from the best (`differences_from_best`)", f"{n} items", "4 equal systems", run, 0.25
        )

    def curves(rng: np.random.Generator, repeats: int) -> float:
        held = []
        for _ in range(repeats):
            level = rng.normal(0, 0.05, 50)
            settings = [np.clip(level + rng.normal(place, 0.1, (1, 50)), 0, 1) for place in (0.3, 0.5, 0.7)]
            both = [
                (np.concatenate(settings), np.concatenate(settings) / 2 + rng.normal(0, 0.1, (3, 50))) for _ in (1, 2)
            ]
            points = np.linspace(0.35, 0.65, 20)
            held.append(curve_difference(points, *both, generator=rng, resamples=200).interval)
        return covered(held, 0.0)

    yield Case("difference of curves (`curve_difference`)", "50 items, 3 settings", "equal curves", curves, 0.25)


def _independent(
    rng: np.random.Generator, repeats: int, sizes: tuple[int, int] = (8, 8), name: str = "exponential"
) -> float:
    draw, _ = POPULATIONS[name]
    estimates = [[mean_interval(draw(rng, size)) for size in sizes] for _ in range(repeats)]
    return covered([independent_difference(*pair).interval for pair in estimates], 0.0)


def _from_best(rng: np.random.Generator, repeats: int, n: int = 10) -> float:
    """How often all intervals together hold the truth."""
    held = 0
    for _ in range(repeats):
        values = rng.normal(0, 1, (n, 1)) + rng.normal(0, 1, (n, 4))
        _, found = differences_from_best(values, generator=rng, resamples=300)
        held += all(0.0 in difference.interval for difference in found)
    return held / repeats


def correlations_rows() -> Iterator[Case]:
    """Pearson's and Spearman's correlation."""
    for kind, sizes in (("pearson", (6, 20)), ("spearman", (10, 30))):
        for n in sizes:
            for name in ("normal", "exponential"):

                def run(
                    rng: np.random.Generator, repeats: int, n: int = n, name: str = name, kind: str = kind
                ) -> float:
                    draw, _ = POPULATIONS[name]

                    def pair(size: int) -> tuple[FloatArray, FloatArray]:
                        first = draw(rng, size)
                        return first, 0.6 * first + 0.8 * draw(rng, size)

                    truth = 0.6 if kind == "pearson" else correlation_of_ranks(*pair(200_000))
                    return covered([correlation_interval(*pair(n), kind=kind).interval for _ in range(repeats)], truth)

                yield Case(f"correlation, {kind} (`correlation_interval`)", f"{n} pairs", name, run, 0.5)


def correlation_of_ranks(first: FloatArray, second: FloatArray) -> float:
    """Spearman's correlation of many values."""
    return float(np.corrcoef(first.argsort().argsort(), second.argsort().argsort())[0, 1])
