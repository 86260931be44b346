"""How often each *found* of a page is a false alarm: data in which nothing is wrong, through the real conclusions.

python benchmarks/false_alarms.py [--runs 400] [--only NAME …]

docs/conclusions.md names the hypothesis behind each sentence; tests/report/test_false_alarms.py holds the rates to 5 %.
The gap of exposure bias has a table of its own: benchmarks/exposure_gap.py.
"""

import argparse
from collections.abc import Callable

import numpy as np

from offscript._types import FloatArray
from offscript.corpora.associations import Association, AssociationTest
from offscript.corpora.vocabularies import WordVocabulary
from offscript.measures.exposure.estimation import measure_exposure
from offscript.measures.measurement import Measurement
from offscript.measures.stereotypes.judgements import judge
from offscript.measures.stereotypes.scores import score_group
from offscript.models.tabular import Tabular
from offscript.report.figures import findings_of
from offscript.statistics import (
    Estimate,
    clustered_proportion_interval,
    differences_from_best,
    holm,
    mean_interval,
    paired_differences,
    rate_interval,
    share_difference,
)

RUNS = 400
Page = dict[str, list[Measurement]]


def measured(name: str, estimate: Estimate, n: int) -> Measurement:
    """A figure of some question."""
    return Measurement.of(estimate, question="any", name=name, n=n, seed=1, seconds=0.0, recipe={})


def recovery(generator: np.random.Generator) -> Page:
    """Skewed losses whose mean is 0, after three kinds of prefixes that share the real ones."""
    real = generator.exponential(size=60)
    losses = {source: generator.exponential(size=60) - real for source in ("model", "shuffled", "random")}
    return {"recovery": [measured(f"bleu_gap.{source}", mean_interval(each), 60) for source, each in losses.items()]}


def recovery_with_an_oracle(generator: np.random.Generator) -> Page:
    """Skewed nats per token, in pairs that share their prefixes."""
    nats = 0.5 * generator.gamma(2.0, size=(100, 1)) + generator.gamma(2.0, size=(100, 4))
    losses = nats[:, :3] - nats[:, 3:]
    return {"recovery": [measured(f"nll_gap.s{place}", mean_interval(losses[:, place]), 100) for place in range(3)]}


def factuality(generator: np.random.Generator) -> Page:
    """Both samplers are right equally often about the same 80 prompts, some of which are easy; a third is undecided."""
    ease = generator.beta(2, 2, size=80)
    figures, counts = [], []
    for sampler in ("cool", "hot"):
        decided = generator.random(80) < 0.67
        right = decided & (generator.random(80) < ease)
        counts.append(((right, decided), (~decided, np.ones(80))))
        figures += [
            measured(f"{sampler}.prompted.{name}", clustered_proportion_interval(*each), 80)
            for name, each in zip(("supported_of_decided", "not_enough_info"), counts[-1], strict=True)
        ]
    for name, cool, hot in zip(("supported_of_decided", "not_enough_info"), *counts, strict=True):
        figures.append(measured(f"change.prompted.{name}", share_difference(hot, cool), int(min(cool[1].sum(), 80))))
    return {"factuality": figures}


def few_statements(generator: np.random.Generator) -> Page:
    """Of 10 statements nearly all are true, as often with both samplers."""
    counts = [(generator.random(10) < 0.9, np.ones(10)) for _ in range(2)]
    shares = [measured(f"{name}.prompted.not_enough_info", mean_interval(np.arange(9.0)), 10) for name in ("a", "b")]
    change = measured("change.prompted.supported_of_decided", share_difference(*counts), 10)
    unmoved = measured("change.prompted.not_enough_info", share_difference(counts[0], counts[0]), 10)
    return {"factuality": [*shares, change, unmoved]}


def stereotypes(generator: np.random.Generator) -> Page:
    """40 terms with six tests each; preferences differ from term to term, but are even on the whole."""
    tests, scores = [], {}
    for term in range(40):
        preference = generator.beta(4, 4)
        for number in range(6):
            name = f"{term}.{number}"
            three = [Association(f"{name}.{which}", "") for which in range(3)]
            tests.append(AssociationTest(name, "intrasentence", "race", str(term), "", *three))
            first = generator.random() < preference
            scores |= {f"{name}.0": 2.0 + first, f"{name}.1": 3.0 - first, f"{name}.2": 0.0}
    found = score_group(judge(tests, scores), generator=generator, resamples=300)
    estimates = {"ss": found.ss, "lms": found.lms, "icat": found.icat, "ties": found.icat}
    return {"stereotypes": [measured(name, estimate, 240) for name, estimate in estimates.items()]}


def calibration(generator: np.random.Generator) -> Page:
    """80 sequences of 5 to 30 tokens, easy and hard ones: the likeliest token is right as often as its probability."""
    counts = generator.integers(5, 31, size=80)
    within = np.arange(30) < counts[:, None]
    confidence = generator.beta(1.5, 2.0 + 2 * generator.random((80, 1)), size=(80, 30))
    right = generator.random((80, 30)) < confidence
    totals = {"right": right, "confidence": confidence, "overconfidence": confidence - right}
    figures = [
        measured(name, rate_interval((values * within).sum(axis=1), counts), 80) for name, values in totals.items()
    ]
    drift = generator.gamma(2.0, size=80) - generator.gamma(2.0, size=80)
    return {"calibration": [*figures, measured("entropy_drift", mean_interval(drift), 80)]}


def translation(generator: np.random.Generator) -> Page:
    """Of the content words of 60 references as many are kept after each kind of prefix as without one."""
    words = generator.integers(1, 12, size=60)
    ease = generator.beta(2, 2, size=60)
    kept = {kind: generator.binomial(words, ease) / words for kind in ("normal", "unrelated", "shuffled", "random")}
    figures = [measured("content.normal", mean_interval(kept["normal"]), 60)]
    for kind in ("unrelated", "shuffled", "random"):
        lost = mean_interval(kept["normal"] - kept[kind], share=False)
        figures.append(measured(f"content_gap.{kind}", lost, 60))
    return {"translation": figures}


def unbiased_pair() -> tuple[Tabular, Tabular]:
    """A model and its oracle that differ and draw other tokens, but deviate as much after either one's: EB-C is 1.

    After a, b and c the model is off by little, more and most. It draws a and c less often than its oracle, in shares
    that leave the mean deviation (js) what it is.
    """
    vocabulary = WordVocabulary(["a", "b", "c"], end=None, unknown=None)
    even, shares = np.array([0.5, 0.5]), (0.1, 0.2, 0.3)
    after = [np.array([0.5 + share, 0.5 - share]) for share in shares]
    low, middle, high = (jensen_shannon(even, each) for each in after)
    first = 0.2  # the oracle draws a in 0.4 of cases
    last = 0.4 - (0.4 - first) * (middle - low) / (high - middle)
    right, wrong = {(): [0.4, 0.2, 0.4]}, {(): [first, 1 - first - last, last]}
    for token, each in enumerate(after):
        right[token,], wrong[token,] = [*even, 0.0], [*each, 0.0]
    return Tabular(vocabulary, 2, wrong, "model"), Tabular(vocabulary, 2, right, "oracle")


def jensen_shannon(first: FloatArray, second: FloatArray) -> float:
    """The distance js of two distributions, in nats."""
    mean = (first + second) / 2
    return sum(float(each @ np.log(each / mean)) / 2 for each in (first, second))


def exposure(generator: np.random.Generator) -> Page:
    """A model without exposure bias against its oracle."""
    pair, seed = unbiased_pair(), int(generator.integers(2**31))
    drawn = measure_exposure(*pair, samples=100, length=2, seed=seed, distances=["js"], marginal=False, resamples=300)
    return {"exposure": drawn}


def everything(generator: np.random.Generator) -> Page:
    """Three questions, corrected together."""
    return {**recovery(generator), **factuality(generator), **stereotypes(generator)}


def page_alarms(page: Callable[[np.random.Generator], Page]) -> Callable[[int], bool]:
    """Whether the page of a seed says *found* anywhere."""

    def alarm(seed: int) -> bool:
        findings = findings_of(page(np.random.default_rng(seed))).values()
        return any(each is not None and each.status == "found" for each in findings)

    return alarm


def sampling(prefixes: int, settings: int = 10) -> Callable[[int], bool]:
    """Whether the best of settings of one quality, scored on the same prefixes, makes another one worse."""

    def alarm(seed: int) -> bool:
        generator = np.random.default_rng((seed, prefixes, settings))
        values = generator.exponential(size=(prefixes, 1)) + generator.exponential(size=(prefixes, settings))
        _, differences = differences_from_best(values, generator=generator, resamples=1000)
        return any(0 not in each.interval for each in differences)

    return alarm


def comparison(seed: int) -> bool:
    """Whether one of ten figures of two equal runs on the same 100 items is said to differ."""
    generator = np.random.default_rng(seed)
    items = generator.exponential(size=(100, 1))
    first, second = (items + generator.exponential(size=(100, 10)) for _ in range(2))
    differences = paired_differences(first, second, generator=generator, resamples=500)
    return bool((holm(np.array([each.p_value for each in differences])) < 0.05).any())


ALARMS: dict[str, Callable[[int], bool]] = {
    "recovery, without an oracle": page_alarms(recovery),
    "recovery, with one": page_alarms(recovery_with_an_oracle),
    "exposure, with an oracle": page_alarms(exposure),
    "calibration": page_alarms(calibration),
    "translation": page_alarms(translation),
    "factuality, 80 prompts": page_alarms(factuality),
    "factuality, 10 statements": page_alarms(few_statements),
    "stereotypes": page_alarms(stereotypes),
    "all of them on one page": page_alarms(everything),
    **{f"sampling, {prefixes} prefixes": sampling(prefixes) for prefixes in (50, 100, 300)},
    "compare": comparison,
}
"""By sentence, whether the data of a seed make it say that something is wrong."""


def rate(name: str, runs: int) -> float:
    """The share of seeds that are false alarms."""
    return sum(ALARMS[name](seed) for seed in range(runs)) / runs


def main() -> None:
    """Print one line per sentence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", nargs="+", choices=ALARMS, default=list(ALARMS), metavar="NAME")
    arguments = parser.parse_args()
    for name in arguments.only:
        found = rate(name, arguments.runs)
        error = (found * (1 - found) / arguments.runs) ** 0.5
        print(f"{name:30s} {arguments.runs:6d} runs {found:7.1%} ± {error:.1%}", flush=True)


if __name__ == "__main__":
    main()
