"""From documents to a verdict as in FAKTA: averaged stances (section 2.2.5), and a threshold on the retrieval score."""

import dataclasses
import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np

from offscript.errors import OffscriptError
from offscript.factcheck._logistic import Logistic
from offscript.factcheck.checked import CheckedDocument, Verdict
from offscript.factcheck.sources import Scale
from offscript.factcheck.stance.stance import UNRELATED, Stance

VERDICTS = tuple(Verdict)
FEATURES = ("|agree − disagree|", "log(score / threshold)")
_TINY, _FAR = 1e-9, 5.0


@dataclass(frozen=True)
class Aggregate:
    """All that the verdict rests on: the mean stance of the documents, and the best retrieval score on each scale."""

    stance: Stance
    best: Mapping[Scale, float]


def aggregate(documents: Sequence[CheckedDocument], best: Mapping[Scale, float]) -> Aggregate:
    """The stances of all documents averaged, whatever their kind; nothing found is unrelated."""
    if not documents:
        return Aggregate(UNRELATED, best)
    mean = np.mean([document.stance.probabilities for document in documents], axis=0)
    return Aggregate(Stance(*mean.tolist()), best)


@dataclass(frozen=True)
class Rule:
    """FAKTA's decision, and what it is worth.

    NOT ENOUGH INFO if the most relevant document scores below a threshold (section 2.3), else the larger of the mean
    agreement and the mean disagreement decides. The thesis states no confidence; here it is the share of development
    claims with the same verdict and the same figures that were right, by logistic regression.

    Attributes:
        thresholds: For scores of a retrieval model, and for ranks; the provider whose best document exceeds its
            threshold by most counts.
        calibration: For each verdict, the probabilities of all verdicts where the rule gives that one.
        compelled: Whether the rule has to decide: claims are known to be true or false (lines 4 and 5 of Table 2.2).
    """

    thresholds: Mapping[Scale, float]
    calibration: Mapping[Verdict, Logistic] = field(default_factory=dict)
    compelled: bool = False

    def decide(self, found: Aggregate) -> Verdict:
        """The verdict."""
        if not self.compelled and self.margin(found) < 0:
            return Verdict.unknown
        if not found.best and not self.compelled:
            return Verdict.unknown
        return Verdict.supported if found.stance.agree >= found.stance.disagree else Verdict.refuted

    def margin(self, found: Aggregate) -> float:
        """log(score / threshold) of the most relevant document, bounded; negative where it is not relevant enough."""
        ratios = [score / max(self.thresholds[scale], _TINY) for scale, score in found.best.items()]
        return min(max(math.log(max(ratios, default=0.0) + _TINY), -_FAR), _FAR)

    def probabilities(self, found: Aggregate, verdict: Verdict) -> dict[Verdict, float]:
        """Of the three verdicts, where the rule has given this one."""
        if verdict not in self.calibration:
            return {each: float(each is verdict) for each in VERDICTS}
        chances = self.calibration[verdict].probabilities(np.array([self.features(found)]))[0]
        if self.compelled:
            chances = chances * [1.0, 1.0, 0.0]
        return dict(zip(VERDICTS, (chances / chances.sum()).tolist(), strict=True))

    def features(self, found: Aggregate) -> list[float]:
        """What confidence goes by, in the order of `FEATURES`."""
        return [abs(found.stance.agree - found.stance.disagree), self.margin(found)]

    def forced(self) -> "Rule":
        """The same rule for claims that are known to be true or false."""
        return dataclasses.replace(self, compelled=True)

    def to_json(self) -> dict[str, Any]:
        """Thresholds and calibration."""
        return {
            "thresholds": {scale.value: value for scale, value in self.thresholds.items()},
            "calibration": {verdict.value: fitted.to_json() for verdict, fitted in self.calibration.items()},
        }

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> "Rule":
        """What `to_json` wrote."""
        labels = [verdict.value for verdict in VERDICTS]
        try:
            thresholds = {Scale(name): float(value) for name, value in written["thresholds"].items()}
            fitted = written["calibration"].items()
            calibration = {Verdict(name): Logistic.from_json(each, labels, FEATURES) for name, each in fitted}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise OffscriptError("not a rule of FAKTA", why=repr(error), next="fit it again") from error
        return cls(thresholds, calibration)


@functools.cache
def shipped_rule() -> Rule:
    """The rule that was fitted on FEVER's development claims with the stance model `offscript/fakta`."""
    file = resources.files("offscript.assets") / "verdicts" / "offscript-fakta.json"
    return Rule.from_json(json.loads(file.read_text(encoding="utf-8")))
