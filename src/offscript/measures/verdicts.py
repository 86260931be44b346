"""How right a fact checker is: accuracy, F1, FEVER score and calibration over judged claims.

What a claim came to is kept once; every figure is a function of weights over claims, so all are resampled alike.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check, Verdict
from offscript.factcheck.checking import Checker
from offscript.factcheck.claims import JudgedClaim, Place
from offscript.factcheck.stance.scores import f1_scores
from offscript.measures._scores import Progress
from offscript.measures.measurement import Measurement, environment
from offscript.statistics import RESAMPLES, Estimate, bootstrap, proportion_interval

QUESTION = "verdicts"
VERDICTS = tuple(Verdict)
BINS = 10


@dataclass(frozen=True)
class Judged:
    """What was said of each claim and what was right, as numbers of `VERDICTS`."""

    gold: NDArray[np.int64]  # [claims]
    said: NDArray[np.int64]  # [claims]
    confidence: FloatArray  # [claims], of what was said
    proven: NDArray[np.bool_]  # [claims], whether a whole set of evidence is among the first five sentences
    seconds: FloatArray  # [claims]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Whether the verdict was right; [claims]."""
        return np.equal(self.gold, self.said)

    @property
    def fever(self) -> NDArray[np.bool_]:
        """FEVER's stricter sense: what is supported or refuted must be proven, too; [claims]."""
        undecidable = np.equal(self.gold, VERDICTS.index(Verdict.unknown))
        return np.logical_and(self.right, np.logical_or(self.proven, undecidable))

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Claims by right verdict and by what was said [3, 3]."""
        table: NDArray[np.int64] = _tables(self).sum(axis=0).astype(np.int64)
        return table


@dataclass(frozen=True)
class ReliabilityBin:
    """Claims whose verdicts had about the same confidence, and how many of these verdicts were right."""

    confidence: float
    right: Estimate
    claims: int


def judge(checker: Checker, claims: Sequence[JudgedClaim], *, progress: Progress | None = None) -> Judged:
    """Check every claim."""
    if not claims:
        raise OffscriptError("no claim to check", next="give at least one")
    rows = []
    for claim in claims:
        check = checker.check(claim.claim)
        rows.append((check.verdict, check.confidence, is_proven(claim.evidence, check), check.seconds))
        if progress is not None:
            progress(1)
    verdicts, confidence, proven, seconds = zip(*rows, strict=True)
    return Judged(
        gold=np.array([VERDICTS.index(claim.label) for claim in claims]),
        said=np.array([VERDICTS.index(verdict) for verdict in verdicts]),
        confidence=np.array(confidence),
        proven=np.array(proven),
        seconds=np.array(seconds),
    )


def is_proven(evidence: Sequence[frozenset[Place]], check: Check) -> bool:
    """Whether every place of some set is among the check's evidence; a place without a sentence asks for any."""
    shown: set[Place] = set()
    for found in check.evidence:
        id = check.documents[found.document].document.id
        shown |= {(id, found.sentence), (id, None)}
    return any(places <= shown for places in evidence)


def measure_verdicts(
    found: Judged, *, recipe: Mapping[str, Any], seed: int = 1, resamples: int = RESAMPLES
) -> list[Measurement]:
    """`accuracy`, `macro_f1`, `f1.<label>`, `fever_score` and `calibration_error`, with intervals over claims.

    F1 is of the verdicts that occur among the right ones: with claims of two labels, as in lines 4 and 5 of Table 2.2,
    the macro average is over two.
    """
    began, n = time.perf_counter(), len(found.gold)
    tables = _tables(found).reshape(n, -1)  # [claims, 9]
    known = np.unique(found.gold)
    gaps = _calibration_gaps(found)  # [claims, bins]

    def scores(weights: FloatArray) -> FloatArray:
        return f1_scores((weights @ tables).reshape(-1, len(VERDICTS), len(VERDICTS)))[:, known]

    def resampled(statistic: Callable[[FloatArray], FloatArray]) -> Estimate:
        return bootstrap(statistic, [n], generator=np.random.default_rng(seed), resamples=resamples)

    figures = {
        "accuracy": proportion_interval(int(found.right.sum()), n),
        "macro_f1": resampled(lambda weights: scores(weights).mean(axis=1)),
        **{f"f1.{VERDICTS[label].value}": resampled(_column(scores, place)) for place, label in enumerate(known)},
        "fever_score": proportion_interval(int(found.fever.sum()), n),
        "calibration_error": resampled(lambda weights: np.abs(weights @ gaps).sum(axis=1)),
    }
    per_item = {"accuracy": found.right, "fever_score": found.fever}
    shared = {
        "n": n,
        "seed": seed,
        "seconds": float(found.seconds.sum()) + time.perf_counter() - began,
        "recipe": {"measure": QUESTION, **recipe, **environment()},
    }
    return [
        Measurement.of(
            estimate,
            question=QUESTION,
            name=name,
            higher_is_better=name != "calibration_error",
            per_item=per_item.get(name),
            **shared,
        )
        for name, estimate in figures.items()
    ]


def reliability(found: Judged) -> list[ReliabilityBin]:
    """How often verdicts of about the same confidence are right, in ten bins of confidence; empty ones are left out."""
    bins = _bins(found.confidence)
    return [
        ReliabilityBin(
            float(found.confidence[inside].mean()),
            proportion_interval(int(found.right[inside].sum()), int(inside.sum())),
            int(inside.sum()),
        )
        for inside in (bins == number for number in range(BINS))
        if inside.any()
    ]


def _column(scores: Callable[[FloatArray], FloatArray], place: int) -> Callable[[FloatArray], FloatArray]:
    return lambda weights: scores(weights)[:, place]


def _tables(found: Judged) -> FloatArray:
    """Each claim's own confusion matrix [claims, 3, 3]."""
    tables = np.zeros((len(found.gold), len(VERDICTS), len(VERDICTS)))
    tables[np.arange(len(found.gold)), found.gold, found.said] = 1.0
    return tables


def _calibration_gaps(found: Judged) -> FloatArray:
    """Each claim's confidence minus its being right, in the column of its bin [claims, bins]."""
    gaps = np.zeros((len(found.gold), BINS))
    gaps[np.arange(len(found.gold)), _bins(found.confidence)] = found.confidence - found.right
    return gaps


def _bins(confidence: FloatArray) -> NDArray[np.int64]:
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
