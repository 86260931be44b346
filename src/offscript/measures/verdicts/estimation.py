"""How right a fact checker is: accuracy, F1, FEVER score and calibration over judged claims."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._types import Count, FloatArray
from offscript.errors import OffscriptError
from offscript.factcheck.checked import Check, Verdict
from offscript.factcheck.claims import JudgedClaim, Place
from offscript.factcheck.pipelines import ClaimPipeline
from offscript.measures.measurement import Measurement, environment
from offscript.statistics import RESAMPLES, Classification, classification_scores, proportion_interval

QUESTION = "verdicts"
VERDICTS = tuple(Verdict)


@dataclass(frozen=True, kw_only=True)
class VerdictRun(Classification):
    """The verdicts on judged claims, which are independent of each other."""

    proven: NDArray[np.bool_]  # [claims], whether a whole set of evidence is among the first five sentences
    seconds: FloatArray  # [claims]

    @property
    def fever(self) -> NDArray[np.bool_]:
        """FEVER's stricter sense of right: what is supported or refuted must be proven, too; [claims]."""
        undecidable = np.equal(self.gold, VERDICTS.index(Verdict.unknown))
        return np.logical_and(self.right, np.logical_or(self.proven, undecidable))


def check_claims(checker: ClaimPipeline, claims: Sequence[JudgedClaim], *, progress: Count | None = None) -> VerdictRun:
    """Check every claim."""
    if not claims:
        raise OffscriptError("no claim to check", next="give at least one")
    checks = []
    for claim in claims:
        checks.append(checker.check(claim.claim))
        if progress is not None:
            progress(1)
    return VerdictRun(
        labels=tuple(verdict.value for verdict in VERDICTS),
        gold=np.array([VERDICTS.index(claim.label) for claim in claims]),
        predicted=np.array([VERDICTS.index(check.verdict) for check in checks]),
        probabilities=np.array([[check.probabilities[verdict] for verdict in VERDICTS] for check in checks]),
        proven=np.array([is_proven(claim.evidence, check) for claim, check in zip(claims, checks, strict=True)]),
        seconds=np.array([check.seconds for check in checks]),
    )


def is_proven(evidence: Sequence[frozenset[Place]], check: Check) -> bool:
    """Whether every place of some set is among the check's evidence; a place without a sentence asks for any."""
    shown: set[Place] = set()
    for found in check.evidence:
        id = check.documents[found.document].document.id
        shown |= {(id, found.sentence), (id, None)}
    return any(places <= shown for places in evidence)


def measure_verdicts(
    run: VerdictRun, *, recipe: Mapping[str, Any], seed: int = 1, resamples: int = RESAMPLES
) -> list[Measurement]:
    """`accuracy`, `macro_f1`, `f1.<label>`, `fever_score` and, from 100 claims on, `calibration_error`, with intervals.

    F1 is of the verdicts that occur among the right ones: with claims of two labels, as in lines 4 and 5 of Table 2.2,
    the macro average is over two.
    """
    began, n = time.perf_counter(), len(run.gold)
    figures = classification_scores(run, seed=seed, resamples=resamples)
    calibration = {name: figures.pop(name) for name in ("calibration_error",) if name in figures}
    figures |= {"fever_score": proportion_interval(int(run.fever.sum()), n), **calibration}
    per_item = {"accuracy": run.right, "fever_score": run.fever}
    shared: dict[str, Any] = {
        "n": n,
        "seed": seed,
        "seconds": float(run.seconds.sum()) + time.perf_counter() - began,
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
