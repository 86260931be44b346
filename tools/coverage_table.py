"""Write docs/coverage.md: how often the interval of every method holds the truth, at the smallest sizes it accepts.

    python tools/coverage_table.py [--repeats 2000] [--only mean] [--out docs/coverage.md]

Each row draws samples from a population whose figure is known, and counts the 95 % intervals that contain it.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from offscript.statistics import (
    Classification,
    Curve,
    Interval,
    Unbiased,
    bootstrap,
    classification_differences,
    classification_scores,
    clustered_proportion_interval,
    correlation_interval,
    crossed_difference,
    crossed_mean,
    curve_difference,
    estimates_of_draws,
    f1_scores,
    independent_difference,
    intraclass_correlation,
    jackknife,
    krippendorff_alpha,
    leave_out_errors,
    leave_out_profile,
    mean_by_length,
    mean_interval,
    paired_differences,
    perplexity_interval,
    proportion_interval,
    rate_interval,
    ratio_of_means_by_length,
    share_difference,
    student_interval,
    two_stage_draws,
)

FloatArray = npt.NDArray[np.float64]
Draw = Callable[..., FloatArray]
RANGE = (0.93, 0.97)
SEED = 1

POPULATIONS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, size: rng.normal(2.0, 1.0, size), 2.0),
    "exponential": (lambda rng, size: rng.exponential(1.0, size), 1.0),
    "gamma(4)": (lambda rng, size: rng.gamma(4.0, 1.0, size), 4.0),
    "beta(1, 8)": (lambda rng, size: rng.beta(1.0, 8.0, size), 1 / 9),
    "log-normal(0.8)": (lambda rng, size: rng.lognormal(0.0, 0.8, size), math.exp(0.32)),
}


@dataclass(frozen=True)
class Case:
    """One row: a method at a size, on a population; `run` gives the share of intervals that hold the truth."""

    figure: str
    size: str
    population: str
    run: Callable[[np.random.Generator, int], float]
    share: float = 1.0  # of the repeats, for those that cannot be made in one call
    comparison: bool = False  # no method of offscript: what a method is better than

    def coverage(self, repeats: int) -> float:
        """The share, from a generator of its own."""
        return self.run(np.random.default_rng(SEED), max(100, round(repeats * self.share)))


def main() -> None:
    """Run all, print each, write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--only", default="", help="rows whose figure contains this")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    rows = []
    for case in cases():
        if asked.only not in case.figure:
            continue
        began = time.monotonic()
        share = case.coverage(asked.repeats)
        rows.append((case, share))
        mark = "" if RANGE[0] <= share <= RANGE[1] else " <"
        print(f"{case.figure:42} {case.size:28} {case.population:34} {share:.3f}{mark}", end="", file=sys.stderr)
        print(f"  {time.monotonic() - began:.1f} s", file=sys.stderr)
    table = page(rows, asked.repeats)
    if asked.out:
        asked.out.write_text(table, encoding="utf-8")
    else:
        print(table)


def page(rows: list[tuple[Case, float]], repeats: int) -> str:
    """The page as Markdown."""
    lines = [
        "# How often the intervals cover",
        "",
        "Made by `make coverage` (`tools/coverage_table.py`): samples from populations whose figure is known, and",
        f"how often the 95 % interval contains it. {repeats:,} samples per row, fewer where each must be resampled by",
        "itself, so that the shares are good to about a hundredth. Each method stands at the smallest size it accepts",
        "and at larger ones; below that size it refuses. Rows outside 93 to 97 % are in bold, with the reason below.",
        "",
        "| figure | size | population | covers |",
        "|---|---|---|---|",
    ]
    for case, share in rows:
        told = f"{100 * share:.1f} %"
        lines.append(
            f"| {case.figure} | {case.size} | {case.population} | "
            f"{told if RANGE[0] <= share <= RANGE[1] else f'**{told}**'} |"
        )
    return "\n".join([*lines, "", *NOTES, ""])


NOTES = [
    "Above 97 %, wide by design: shares are discrete, so that no interval covers 95 % at every share; rates, macro",
    "averages and correlations of few items take the wider of two intervals, and the difference of two figures adds",
    "two such intervals up; the calibration error of a calibrated model is 0, at the edge of what it can be; terms and",
    "examples are both resampled; the jackknife overstates how far counts of distinct words vary; distances leave room",
    "for their bias.",
    "",
    "Below 93 %: correlations of very skewed values, and the naive interval of ratings, which takes the ratings of one",
    "rater or of one item for independent; it is no method of offscript and stands there for comparison.",
]


def cases() -> Iterator[Case]:
    """Every public method."""
    yield from _means()
    yield from _shares()
    yield from _clustered_shares()
    yield from _rates()
    yield from _ratings()
    yield from _ratios()
    yield from _differences()
    yield from _correlations()
    yield from _classifications()
    yield from _resampled()
    yield from _left_out()


def _hits(curve: Curve, truth: float) -> float:
    return float(np.mean((np.array(curve.lower) <= truth) & (truth <= np.array(curve.upper))))


def _held(intervals: list[Interval], truth: float) -> float:
    return float(np.mean([truth in interval for interval in intervals]))


def _means() -> Iterator[Case]:
    for n in (4, 8, 30, 100):
        for name, (draw, truth) in POPULATIONS.items():
            if name == "log-normal(0.8)" and n < 30:
                continue

            def run(
                rng: np.random.Generator, repeats: int, n: int = n, draw: Draw = draw, truth: float = truth
            ) -> float:
                return _hits(mean_by_length(draw(rng, (n, repeats))).by_length, truth)

            yield Case("mean (`mean_interval`, `mean_by_length`)", f"{n} values", name, run)
    for groups in (10, 30):

        def clustered(rng: np.random.Generator, repeats: int, groups: int = groups) -> float:
            numbers = np.repeat(np.arange(groups), 5)
            samples = rng.normal(0, 1, (repeats, groups))[:, numbers] + rng.normal(0, 1, (repeats, 5 * groups))
            return _held([mean_interval(sample, groups=numbers).interval for sample in samples], 0.0)

        yield Case(
            "mean of values in groups", f"{groups} groups of 5", "half of the variance between groups", clustered
        )
    for n in (2, 3, 5):

        def over_runs(rng: np.random.Generator, repeats: int, n: int = n) -> float:
            return _held([student_interval(sample).interval for sample in rng.normal(0, 1, (repeats, n))], 0.0)

        yield Case("mean over runs (`student_interval`)", f"{n} runs", "normal", over_runs)


def _shares() -> Iterator[Case]:
    for n in (2, 10, 20, 100, 1000):

        def every(_rng: np.random.Generator, _repeats: int, n: int = n) -> float:
            return float(np.mean([_share_coverage(n, share) for share in np.linspace(0.01, 0.5, 50)]))

        yield Case("share (`proportion_interval`)", f"{n} trials", "average over shares .01 to .5", every)

    def rare(rng: np.random.Generator, repeats: int) -> float:
        return _hits(mean_by_length((rng.random((20, repeats)) < 0.01).astype(float)).by_length, 0.01)

    yield Case("mean of 0/1 values (`mean_interval`)", "20 values", "share .01", rare)


def _clustered_shares() -> Iterator[Case]:
    def draw(rng: np.random.Generator, texts: int) -> tuple[FloatArray, FloatArray]:
        """Texts of 1 to 8 sentences that share their mood: .7 of them are right in all."""
        sizes = rng.integers(1, 9, texts)
        return rng.binomial(sizes, rng.beta(2.8, 1.2, texts)).astype(float), sizes.astype(float)

    for texts in (10, 50):

        def clustered(rng: np.random.Generator, repeats: int, texts: int = texts) -> float:
            return _held([clustered_proportion_interval(*draw(rng, texts)).interval for _ in range(repeats)], 0.7)

        def paired(rng: np.random.Generator, repeats: int, texts: int = texts) -> float:
            return _held([share_difference(draw(rng, texts), draw(rng, texts)).interval for _ in range(repeats)], 0.0)

        size = f"{texts} texts"
        yield Case("share in clusters (`clustered_proportion_interval`)", size, "1 to 8 sentences", clustered)
        yield Case("difference of shares (`share_difference`)", size, "1 to 8 sentences", paired)


def _share_coverage(n: int, share: float) -> float:
    """Exact, from the binomial distribution."""
    from scipy.stats import binom

    counts = np.arange(n + 1)
    held = [share in proportion_interval(int(count), n).interval for count in counts]
    return float(binom.pmf(counts, n, share)[held].sum())


def _rates() -> Iterator[Case]:
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


DESIGNS: dict[str, tuple[int, int, int]] = {
    "10 items, 10 raters": (10, 10, 10),
    "20 items, 8 raters": (20, 8, 20),
    "50 items, 20 raters": (50, 20, 50),
    "8 items, 60 raters": (8, 60, 8),
    "40 items, 30 raters of 10 each": (40, 30, 10),
    "200 items, 100 raters of 10 each": (200, 100, 10),
}
SPREADS = {"both alike": (0.5, 0.5), "items differ": (1.0, 0.2), "raters differ": (0.2, 1.0)}
"""How far items and raters vary; single ratings vary by 1 beside."""


def _crossed(
    rng: np.random.Generator, size: tuple[int, int, int], spread: tuple[float, float], points: bool
) -> list[Any]:
    """Ratings, items and raters; `points` rounds to a scale from 0 to 5."""
    items, raters, each = size
    item = np.concatenate([rng.permutation(items)[:each] for _ in range(raters)])
    rater = np.repeat(np.arange(raters), each)
    values = 2.5 + rng.normal(0, spread[0], items)[item] + rng.normal(0, spread[1], raters)[rater]
    values += rng.normal(0, 1, len(item))
    return [np.clip(np.floor(values + 0.5), 0, 5) if points else values, item, rater]


def _ratings() -> Iterator[Case]:
    """Ratings by raters of items, and beside it the interval that takes them for independent."""
    for name, size in DESIGNS.items():
        for told, spread in SPREADS.items():

            def clustered(
                rng: np.random.Generator,
                repeats: int,
                size: tuple[int, int, int] = size,
                spread: tuple[float, float] = spread,
                naive: bool = False,
            ) -> float:
                samples = [_crossed(rng, size, spread, points=True) for _ in range(repeats)]
                found = [mean_interval(each[0], share=False) if naive else crossed_mean(*each) for each in samples]
                return _held([each.interval for each in found], 2.5)

            yield Case("mean rating (`crossed_mean`)", name, told, clustered, 0.5)
            yield Case("the same, naive (`mean_interval`)", name, told, partial(clustered, naive=True), 0.5, True)
    for name in ("10 items, 10 raters", "40 items, 30 raters of 10 each"):
        run = partial(_rating_difference, size=DESIGNS[name])
        yield Case("difference of mean ratings (`crossed_difference`)", name, "the same raters", run, 0.5)
    for name in ("20 items, 8 raters", "50 items, 20 raters", "40 items, 30 raters of 10 each"):
        for measure in ("interval", "icc"):
            run = partial(_agreement, size=DESIGNS[name], measure=measure)
            known = "`intraclass_correlation`" if measure == "icc" else "`krippendorff_alpha`"
            yield Case(f"agreement ({known})", name, "both alike", run, 0.5)


def _rating_difference(rng: np.random.Generator, repeats: int, size: tuple[int, int, int] = (10, 10, 10)) -> float:
    held = []
    for _ in range(repeats):
        first, item, rater = _crossed(rng, size, (0.5, 0.5), points=False)
        second = first + rng.normal(0, 0.7, len(first)) + rng.normal(0, 0.5, size[0])[item]
        difference, _known = crossed_difference(first, second, (item, item), (rater, rater))
        held.append(difference.interval)
    return _held(held, 0.0)


def _agreement(
    rng: np.random.Generator, repeats: int, size: tuple[int, int, int] = (20, 8, 20), measure: str = "icc"
) -> float:
    held = []
    for _ in range(repeats):
        values, item, rater = _crossed(rng, size, (0.7, 0.5), points=False)
        held.append(
            intraclass_correlation(values, item, rater)
            if measure == "icc"
            else krippendorff_alpha(values, item, rater, "interval")
        )
    return _held([each.interval for each in held], 0.49 / (0.49 + 0.25 + 1))


def _ratios() -> Iterator[Case]:
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
                    return _hits(found.by_length, 1.0)

                kind = "in pairs" if paired else "independent"
                yield Case("ratio of means (`ratio_of_means_by_length`)", f"{n} sequences", f"{name}, {kind}", run, 0.5)


def _differences() -> Iterator[Case]:
    for n in (4, 8, 30, 100):
        for name in ("normal", "exponential"):

            def paired(rng: np.random.Generator, repeats: int, n: int = n, name: str = name) -> float:
                draw, _ = POPULATIONS[name]
                held = []
                for _ in range(repeats):
                    shared, first, second = (draw(rng, (n, 1)) for _ in range(3))
                    held += paired_differences(shared + first, shared + second / 2, generator=rng, resamples=300)
                truth = POPULATIONS[name][1] / 2
                return _held([difference.interval for difference in held], truth)

            yield Case("paired difference (`paired_differences`)", f"{n} pairs", name, paired, 0.5)

    def independent(rng: np.random.Generator, repeats: int, n: int = 8, name: str = "exponential") -> float:
        draw, _ = POPULATIONS[name]
        estimates = [[mean_interval(draw(rng, n)) for _ in range(2)] for _ in range(repeats)]
        return _held([independent_difference(*pair).interval for pair in estimates], 0.0)

    for n in (4, 8, 30):
        for name in ("normal", "exponential"):
            run = partial(independent, n=n, name=name)
            yield Case("difference of two figures (`independent_difference`)", f"means of {n} values", name, run)

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
        return _held(held, 0.0)

    yield Case("difference of curves (`curve_difference`)", "50 items, 3 settings", "equal curves", curves, 0.25)


def _correlations() -> Iterator[Case]:
    for kind, sizes in (("pearson", (4, 6, 20)), ("spearman", (10, 30))):
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
                    return _held([correlation_interval(*pair(n), kind=kind).interval for _ in range(repeats)], truth)

                yield Case(f"correlation, {kind} (`correlation_interval`)", f"{n} pairs", name, run, 0.5)


def correlation_of_ranks(first: FloatArray, second: FloatArray) -> float:
    """Spearman's correlation of many values."""
    return float(np.corrcoef(first.argsort().argsort(), second.argsort().argsort())[0, 1])


JOINT = np.array([0.5, 0.3, 0.2])[:, None] * np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.2, 0.2, 0.6]])
"""How often each of three labels is right and predicted."""


def _items(rng: np.random.Generator, n: int, groups: int | None = None) -> Classification:
    """Items whose predictions follow JOINT; in groups, all of one gold label and half of the time of one prediction."""
    if groups is None:
        gold, predicted = np.divmod(rng.choice(9, n, p=JOINT.ravel()), 3)
        return Classification(labels=("a", "b", "c"), gold=gold, predicted=predicted)
    numbers = np.repeat(np.arange(groups), n // groups)
    whole, single = rng.choice(9, groups, p=JOINT.ravel()), rng.choice(9, len(numbers), p=JOINT.ravel())
    gold, predicted = np.divmod(np.where(rng.random(len(numbers)) < 0.5, whole[numbers], single), 3)
    return Classification(labels=("a", "b", "c"), gold=gold, predicted=predicted, groups=numbers)


def _score(
    rng: np.random.Generator, repeats: int, n: int = 20, groups: int | None = None, name: str = "accuracy"
) -> float:
    by_label = f1_scores(JOINT[None])[0]
    truths = {"accuracy": np.trace(JOINT), "macro_f1": by_label.mean(), "f1.a": by_label[0]}
    runs = (_items(rng, n, groups) for _ in range(repeats))
    found = [classification_scores(run, seed=1, resamples=200) for run in runs if len(np.unique(run.gold)) == 3]
    return _held([each[name].interval for each in found], float(truths[name]))


def _classifications() -> Iterator[Case]:
    for name, sizes in (("accuracy", (10, 100)), ("f1.a", (10, 20, 100)), ("macro_f1", (20, 50, 200))):
        for n in sizes:
            run = partial(_score, n=n, name=name)
            yield Case(f"{name} (`classification_scores`)", f"{n} items", "three labels", run, 0.25)
    for groups in (10, 40):
        for name in ("accuracy", "macro_f1"):
            run = partial(_score, n=10 * groups, groups=groups, name=name)
            yield Case(
                f"{name} by group (`classification_scores`)", f"{groups} groups of 10", "three labels", run, 0.25
            )

    for n in (20, 100, 500):
        for shift in (0.0, 0.05, 0.15):
            run = partial(_calibration, n=n, shift=shift)
            yield Case("calibration error (`classification_scores`)", f"{n} items", f"error {shift:g}", run, 0.15)

    for n in (50, 200):
        run = partial(_paired_accuracy, n=n)
        yield Case("paired accuracy (`classification_differences`)", f"{n} items", "equal models", run, 0.25)


def _calibration(rng: np.random.Generator, repeats: int, n: int = 100, shift: float = 0.0) -> float:
    held, truth = [], shift
    for _ in range(repeats):
        confidence = rng.uniform(0.4, 1, n)
        right = rng.random(n) < confidence - shift
        probabilities = np.column_stack([confidence, 1 - confidence])
        fields = {"gold": np.where(right, 0, 1), "predicted": np.zeros(n, dtype=np.int64)}
        run = Classification(labels=("a", "b"), probabilities=probabilities, **fields)
        held.append(classification_scores(run, seed=1, resamples=200)["calibration_error"].interval)
    return _held(held, truth)


def _paired_accuracy(rng: np.random.Generator, repeats: int, n: int = 50) -> float:
    held = []
    for _ in range(repeats):
        first, second = _items(rng, n), _items(rng, n)
        second = Classification(labels=first.labels, gold=first.gold, predicted=_same_gold(rng, first.gold))
        held.append(classification_differences(first, second, seed=1, resamples=200)["accuracy"].interval)
    return _held(held, 0.0)


def _same_gold(rng: np.random.Generator, gold: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    shares = JOINT / JOINT.sum(axis=1, keepdims=True)
    return np.array([rng.choice(3, p=shares[label]) for label in gold])


def _resampled() -> Iterator[Case]:
    for n in (50, 200):

        def percentile(rng: np.random.Generator, repeats: int, n: int = n) -> float:
            samples = rng.gamma(4.0, 1.0, (repeats, n))
            found = [
                bootstrap(lambda weights, sample=sample: weights @ sample, [n], generator=rng, resamples=300)
                for sample in samples
            ]
            return _held([each.interval for each in found], 4.0)

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
            return _held(held, 0.5)

        yield Case(
            "groups and their items (`two_stage_draws`)", f"{terms} groups of 20", "beta(8, 8) shares", two_stages, 0.25
        )


def _left_out() -> Iterator[Case]:
    tokens = np.arange(1, 201)
    frequencies = 1 / tokens / (1 / tokens).sum()

    def distinct(sample: npt.NDArray[np.int64]) -> float:
        return len(np.unique(sample)) / sample.size

    for n in (20, 100):

        def share_of_distinct(rng: np.random.Generator, repeats: int, n: int = n) -> float:
            samples = rng.choice(200, (repeats, n, 10), p=frequencies)
            truth = float(np.mean([distinct(sample) for sample in samples]))
            found = [
                jackknife(lambda kept, sample=sample: np.array([distinct(sample[kept])]), n)[0].interval
                for sample in samples
            ]
            return _held(found, truth)

        yield Case("figure of a whole set (`jackknife`)", f"{n} sentences", "distinct words", share_of_distinct, 0.25)

    def distance(rng: np.random.Generator, repeats: int, n: int = 500) -> float:
        reference = np.full(20, 1 / 20)
        shifted, held = reference * np.linspace(0.7, 1.3, 20), []
        truth = float(0.5 * np.abs(shifted - reference).sum())
        for _ in range(repeats):
            sums = np.stack([np.bincount(part, minlength=20) for part in rng.choice(20, (50, n // 50), p=shifted)])
            without = 0.5 * np.abs((sums.sum(axis=0) - sums) / (n - n // 50) - reference).sum(axis=1)
            value = np.array([0.5 * np.abs(sums.sum(axis=0) / n - reference).sum()])
            parts = [_distance_of_parts(sums, count, reference) for count in (2, 4)]
            errors = leave_out_errors(value, [without[:, None]])
            unbiased = Unbiased.extrapolated(value, *parts)
            allowed = Unbiased(value, unbiased.lower, value)
            held.append(leave_out_profile(value, errors, 50, level=0.95, unbiased=allowed).average.interval)
        return _held(held, truth)

    for n in (500, 2000):
        yield Case(
            "distance of averages (`leave_out_profile`)", f"{n} tokens of 20", "counted", partial(distance, n=n), 0.5
        )


def _distance_of_parts(sums: npt.NDArray[np.int64], count: int, reference: FloatArray) -> FloatArray:
    """The distance of each of `count` parts of the sample, on average: [1]."""
    parts = [sums[np.arange(len(sums)) % count == part].sum(axis=0) for part in range(count)]
    return np.array([np.mean([0.5 * np.abs(part / part.sum() - reference).sum() for part in parts])])


if __name__ == "__main__":
    main()
