"""Fit FAKTA's rule to development claims: the thresholds of section 2.3, and what its verdicts are worth."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.factcheck._logistic import Logistic, fit_logistic
from offscript.factcheck.checked import Verdict
from offscript.factcheck.fakta.aggregation import FEATURES, VERDICTS, Aggregate, Rule
from offscript.factcheck.sources import Scale
from offscript.statistics import f1_scores

_STEPS = 200
_FEWEST = 20


def fit_rule(claims: Mapping[Scale, Sequence[Aggregate]], answers: Sequence[Verdict]) -> Rule:
    """The rule with the highest macro-F1 on development claims.

    Args:
        claims: What was found for each claim, by the scale of the scores: the same claims on every scale.
        answers: Their right verdicts.

    Returns:
        A rule with a threshold for each scale, calibrated on the claims of the first one.
    """
    if not answers or any(len(own) != len(answers) for own in claims.values()):
        raise OffscriptError("every scale needs one aggregate per answer", next="weigh the same claims on each scale")
    thresholds = {scale: best_threshold(own, answers, scale) for scale, own in claims.items()}
    rule = Rule(thresholds)
    first = next(iter(claims.values()))
    return Rule(thresholds, _calibration(rule, first, answers))


def best_threshold(claims: Sequence[Aggregate], answers: Sequence[Verdict], scale: Scale) -> float:
    """The threshold on the best document's score with the highest macro-F1, the smallest of several.

    The thesis does not say what it tunes for. By accuracy, NOT ENOUGH INFO would never be given on FEVER, where the
    score says little about whether a claim can be decided.
    """
    scores = np.array([found.best.get(scale, 0.0) for found in claims])
    agrees = np.array([found.stance.agree >= found.stance.disagree for found in claims])
    numbers = np.array([VERDICTS.index(answer) for answer in answers])
    decided = np.where(agrees, VERDICTS.index(Verdict.supported), VERDICTS.index(Verdict.refuted))
    grid = np.unique(np.quantile(scores, np.linspace(0, 1, _STEPS)))
    unknown = VERDICTS.index(Verdict.unknown)
    tables = np.stack([_confusion(numbers, np.where(scores < value, unknown, decided)) for value in grid])
    occurring = tables[0].sum(axis=1) > 0
    return float(f"{grid[int(np.argmax(f1_scores(tables)[:, occurring].mean(axis=1)))]:.6g}")


def _confusion(right: NDArray[np.int64], said: NDArray[np.int64]) -> FloatArray:
    table = np.zeros((len(VERDICTS), len(VERDICTS)))
    np.add.at(table, (right, said), 1)
    return table


def _calibration(rule: Rule, claims: Sequence[Aggregate], answers: Sequence[Verdict]) -> dict[Verdict, Logistic]:
    """For each verdict of the rule, the right answers by `FEATURES`; a verdict that is hardly given has none."""
    labels = [verdict.value for verdict in VERDICTS]
    verdicts = [rule.decide(found) for found in claims]
    fitted = {}
    for verdict in VERDICTS:
        places = [place for place, given in enumerate(verdicts) if given is verdict]
        if len(places) >= _FEWEST:
            table = np.array([rule.features(claims[place]) for place in places])
            numbers = np.array([VERDICTS.index(answers[place]) for place in places], dtype=np.int64)
            fitted[verdict] = fit_logistic(table, numbers, labels, FEATURES)
    return fitted
