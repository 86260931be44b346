"""How often each *found* is a false alarm: data in which nothing is wrong, through the real conclusions.

docs/conclusions.md gives the rates and names the hypothesis behind each sentence.
"""

from collections.abc import Callable

import numpy as np
import pytest

from offscript.corpora.associations import Association, AssociationTest
from offscript.corpora.vocabularies import WordVocabulary
from offscript.measures.measurement import Measurement
from offscript.measures.regret.estimation import measure_regret
from offscript.measures.stereotypes.judgements import judge
from offscript.measures.stereotypes.scores import score_group
from offscript.models.tabular import Tabular
from offscript.report.figures import finding_of, findings_of
from offscript.statistics import (
    Estimate,
    clustered_proportion_interval,
    differences_from_best,
    holm,
    mean_interval,
    paired_differences,
    share_difference,
)

RUNS = 400
Page = dict[str, list[Measurement]]


def limit(runs: int) -> float:
    """A true rate of 5 % stays below it in 99 of 100 simulations."""
    return 0.05 + 2.33 * (0.05 * 0.95 / runs) ** 0.5


def measured(name: str, estimate: Estimate, n: int) -> Measurement:
    return Measurement.of(estimate, question="any", name=name, n=n, seed=1, seconds=0.0, recipe={})


def recovery(generator: np.random.Generator) -> Page:
    """Skewed losses whose mean is 0, after three kinds of prefixes that share the real ones."""
    real = generator.exponential(size=60)
    losses = {source: generator.exponential(size=60) - real for source in ("model", "shuffled", "random")}
    return {"recovery": [measured(f"bleu_gap.{source}", mean_interval(each), 60) for source, each in losses.items()]}


def recovery_with_an_oracle(generator: np.random.Generator) -> Page:
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


def everything(generator: np.random.Generator) -> Page:
    return {**recovery(generator), **factuality(generator), **stereotypes(generator)}


@pytest.mark.parametrize(
    ("page", "runs"),
    [
        (recovery, RUNS),
        (recovery_with_an_oracle, RUNS),
        (factuality, RUNS),
        (few_statements, RUNS),
        (stereotypes, 150),
        (everything, 150),
    ],
)
def test_a_page_on_which_nothing_is_wrong_rarely_says_found(
    page: Callable[[np.random.Generator], Page], runs: int
) -> None:
    pages = [findings_of(page(np.random.default_rng(seed))) for seed in range(runs)]
    rate = sum(any(each is not None and each.status == "found" for each in page.values()) for page in pages) / runs
    assert rate <= limit(runs)


def test_a_model_does_not_drift_from_itself() -> None:
    vocabulary = WordVocabulary(["a", "b", "<end>"], end="<end>", unknown=None)
    table = {(): [0.5, 0.4, 0.1], (0,): [0.2, 0.3, 0.5], (1,): [0.1, 0.1, 0.8]}
    model = Tabular(vocabulary, 2, table, "itself")
    finding = finding_of("regret", measure_regret(model, model, samples=50, length=2, seed=1))
    assert finding is not None
    assert finding.status == "fine"


def test_the_best_of_equal_settings_rarely_excludes_another() -> None:
    """Ten settings of one quality, scored on the same prefixes: choosing the best must not make the others worse."""
    excluded = 0
    for seed in range(RUNS):
        generator = np.random.default_rng(seed)
        values = generator.exponential(size=(200, 1)) + generator.exponential(size=(200, 10))
        _, differences = differences_from_best(values, generator=generator, resamples=300)
        excluded += any(0 not in each.interval for each in differences)
    assert excluded / RUNS <= limit(RUNS)


def test_comparing_a_model_with_an_equal_one_rarely_finds_a_difference() -> None:
    """Ten figures of two runs on the same 100 items."""
    alarms = 0
    for seed in range(RUNS):
        generator = np.random.default_rng(seed)
        items = generator.exponential(size=(100, 1))
        first, second = (items + generator.exponential(size=(100, 10)) for _ in range(2))
        differences = paired_differences(first, second, generator=generator, resamples=500)
        alarms += bool((holm(np.array([each.p_value for each in differences])) < 0.05).any())
    assert alarms / RUNS <= limit(RUNS)
