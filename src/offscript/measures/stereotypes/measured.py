"""The scores as measurements, named as in every results file."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from offscript.corpora.associations import AssociationTest
from offscript.measures.measurement import Measurement, environment
from offscript.measures.stereotypes.judgements import Judgements
from offscript.measures.stereotypes.scores import CatScores, Terms, score_group, score_groups
from offscript.statistics import Estimate, Interval, proportion_interval

QUESTION = "stereotypes"
_HIGHER_IS_BETTER = {"lms": True, "ss": None, "icat": True}  # an ideal ss is 50


def measure_stereotypes(
    judgements: Judgements, *, recipe: dict[str, Any], seed: int = 1, seconds: float = 0.0
) -> list[Measurement]:
    """`lms`, `ss` and `icat` of everything, and of each domain, task, and domain of a task.

    The items behind `lms` and `ss` are the terms, in alphabetical order: the scores are their means.
    `ties` is the percentage of tests whose stereotype and anti-stereotype score the same; where there are any,
    `ss_decided` is the stereotype score of the other tests.
    """
    whole = {"measure": QUESTION, **recipe, "data": data_recipe(judgements.tests), "seed": seed, **environment()}
    shared: dict[str, Any] = {"question": QUESTION, "seed": seed, "seconds": seconds, "recipe": whole}
    found = [
        measurement
        for name, scores in score_groups(judgements, seed=seed).items()
        for measurement in _of_group(f"{name}." if name else "", scores, shared)
    ]
    items = dict(zip(("ss", "lms"), Terms.of(judgements).means().T, strict=True))  # each [terms]
    found = [replace(entry, per_item=items.get(entry.name)) for entry in found]
    return [*found, *_of_ties(judgements, seed, shared)]


def data_recipe(tests: Sequence[AssociationTest]) -> dict[str, Any]:
    """A hash of the tests and their number."""
    return {"hash": hashlib.sha256(repr(list(tests)).encode()).hexdigest()[:32], "tests": len(tests)}


def _of_group(prefix: str, scores: CatScores, shared: dict[str, Any]) -> list[Measurement]:
    return [
        Measurement.of(getattr(scores, name), name=prefix + name, n=scores.tests, higher_is_better=better, **shared)
        for name, better in _HIGHER_IS_BETTER.items()
    ]


def _of_ties(judgements: Judgements, seed: int, shared: dict[str, Any]) -> list[Measurement]:
    tied = judgements.stereotype_ties
    share = _percent(proportion_interval(int(tied.sum()), len(judgements)))
    found = [Measurement.of(share, name="ties", n=len(judgements), higher_is_better=False, **shared)]
    decided = judgements.select(np.flatnonzero(~tied).tolist())
    if tied.any() and len(decided):
        scores = score_group(decided, generator=np.random.default_rng([seed, 1]))
        found.append(Measurement.of(scores.ss, name="ss_decided", n=len(decided), **shared))
    return found


def _percent(share: Estimate) -> Estimate:
    bounds = share.interval
    interval = Interval(100 * bounds.lower, 100 * bounds.upper, bounds.level, bounds.method)
    return Estimate(100 * share.value, 100 * share.standard_error, interval)
