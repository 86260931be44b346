"""From inferences to a verdict: what the best sentences and documents say, weighed into calibrated probabilities."""

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.factcheck._logistic import Logistic, fit_logistic
from offscript.factcheck.checked import CheckedDocument, Verdict
from offscript.factcheck.inference.abstention import risk_threshold
from offscript.factcheck.inference.claim_kinds import STATEMENT, claim_kind
from offscript.factcheck.inference.numbers import compared
from offscript.factcheck.verdict import TRUST, VERDICTS, VerdictModel

FEATURES = (
    "best agree",
    "best disagree",
    "second agree",
    "second disagree",
    "best agree by shared words",
    "best disagree by shared words",
    "best agree, certain",
    "best disagree, certain",
    "agree of the sentence with most shared words",
    "disagree of the sentence with most shared words",
    "best agree of a document",
    "best disagree of a document",
    "agree of the first document",
    "disagree of the first document",
    "agree − disagree of the most telling",
    "most shared words",
    "numbers that fit",
    "numbers that differ",
)
CERTAIN = 8.0  # the largest log odds
RISKS = (0.05, 0.1, 0.15, 0.2)


@dataclass(frozen=True)
class InferenceVerdicts(VerdictModel):
    """Probabilities of the three verdicts from inferences on sentences and documents.

    A document counts by its source, not by its title: a sentence says by its own words, or by the title put before it,
    what it is about. `risks` holds for some rates of error the confidence from which on a verdict keeps to it.
    """

    risks: Mapping[str, float] = field(default_factory=dict)

    def features(self, claim: str, documents: Sequence[CheckedDocument]) -> FloatArray:
        """What the verdict goes by [features]."""
        return verdict_features(claim, documents)

    def probabilities(self, claim: str, documents: Sequence[CheckedDocument]) -> dict[Verdict, float]:
        """Calibrated, in the order of `Verdict`."""
        found = self.weights.probabilities(self.features(claim, documents)[None])[0]
        return dict(zip(VERDICTS, found.tolist(), strict=True))

    def not_judged(self, claim: str) -> str:
        """A question, a command, an opinion or several sentences; nothing for a statement."""
        kind = claim_kind(claim)
        return "" if kind == STATEMENT else kind

    def document_weights(self, claim: str, documents: Sequence[CheckedDocument]) -> FloatArray:
        """How much each document's word counts [documents]."""
        del claim
        return np.array([TRUST[document.kind] for document in documents])

    def at_risk(self, risk: float) -> "InferenceVerdicts":
        """The same model, deciding only where at most this share of its decisions is wrong."""
        try:
            return dataclasses.replace(self, threshold=self.risks[f"{risk:g}"])
        except KeyError as error:
            known = ", ".join(self.risks)
            raise OffscriptError(f"no threshold for a risk of {risk:g}", next=f"choose one of {known}") from error

    def to_json(self) -> dict[str, Any]:
        """Threshold, risks and weights."""
        return {"threshold": self.threshold, "risks": dict(self.risks), **self.weights.to_json()}

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> "InferenceVerdicts":
        """What `to_json` wrote."""
        try:
            weights = Logistic.from_json(written, [verdict.value for verdict in VERDICTS], FEATURES)
            return cls(weights, float(written["threshold"]), dict(written["risks"]))
        except (KeyError, TypeError, ValueError) as error:
            raise OffscriptError("not a verdict model", why=repr(error), next="fit it again") from error


@functools.cache
def inference_verdicts() -> InferenceVerdicts:
    """The verdict model that ships with the inference model."""
    file = resources.files("offscript.assets") / "verdicts" / "offscript-inference.json"
    return InferenceVerdicts.from_json(json.loads(file.read_text(encoding="utf-8")))


def verdict_features(claim: str, documents: Sequence[CheckedDocument]) -> FloatArray:
    """What the verdict goes by, in the order of `FEATURES`; [features]."""
    judged = [
        (document.kind, sentence)
        for document in documents
        for sentence in document.sentences
        if sentence.stance.unrelated < 1.0
    ]
    if not judged:
        return np.zeros(len(FEATURES))
    table = np.array([(TRUST[kind], *sentence.stance.probabilities) for kind, sentence in judged])
    told = table[:, 1:3] * table[:, :1]  # agree and disagree [sentences, 2]
    shares = table[:, 3] / np.maximum(table[:, 3] + table[:, 4], 1e-9)  # of the claim's words [sentences]
    best, second = (np.sort(np.vstack([told, np.zeros((2, 2))]), axis=0)[-place] for place in (1, 2))
    nearest, telling = told[int(np.argmax(shares))], told[int(np.argmax(told.sum(axis=1) * shares))]
    whole = np.array([TRUST[each.kind] * np.array(each.stance.probabilities[:2]) for each in documents])
    return np.array([
        *best,
        *second,
        *(told * shares[:, None]).max(axis=0),
        *_log_odds(best),
        *nearest,
        *whole.max(axis=0),
        *whole[0],
        telling[0] - telling[1],
        shares.max(),
        *compared(claim, judged[int(np.argmax(shares))][1].text),
    ])  # fmt: skip


def fit_inference_verdicts(
    table: FloatArray, answers: Sequence[int], collections: Sequence[str], *, risks: Sequence[float] = RISKS
) -> InferenceVerdicts:
    """Weights by maximum likelihood, every collection counting the same, and the thresholds for some risks.

    Args:
        table: Features of claims [claims, features].
        answers: Numbers of the right verdicts in `Verdict`'s order [claims].
        collections: Where each claim is from [claims].
        risks: Rates of error to find thresholds for.

    Returns:
        The fitted model.
    """
    gold, labels = np.asarray(answers, dtype=np.int64), [verdict.value for verdict in VERDICTS]
    owners = np.unique(np.asarray(collections), return_inverse=True)[1]
    mass = len(gold) / (owners.max() + 1) / np.bincount(owners)[owners]
    weights = fit_logistic(table, gold, labels, FEATURES, row_weights=mass, penalty=3.0)
    probabilities = weights.probabilities(table)
    leading, confidence = probabilities[:, :2].argmax(axis=1), probabilities[:, :2].max(axis=1)
    thresholds = {
        f"{risk:g}": round(risk_threshold(confidence, leading != gold, collections, risk), 4) for risk in risks
    }
    return InferenceVerdicts(weights, _best_threshold(confidence, leading, gold, mass), thresholds)


def _best_threshold(
    confidence: FloatArray, leading: NDArray[np.int64], gold: NDArray[np.int64], mass: FloatArray
) -> float:
    """The threshold with most right answers, the smallest of several."""
    grid = np.linspace(0.2, 0.8, 61)
    right = [float(mass @ (np.where(confidence >= threshold, leading, 2) == gold)) for threshold in grid]
    return float(grid[int(np.argmax(right))].round(3))


def _log_odds(probabilities: FloatArray) -> FloatArray:
    """Log odds from −1 to 1, so that .99 and .999 differ."""
    bounded = np.clip(probabilities, 1e-6, 1 - 1e-6)
    return np.clip(np.log(bounded / (1 - bounded)), -CERTAIN, CERTAIN) / CERTAIN
