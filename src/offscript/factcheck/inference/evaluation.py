"""Checks with the evidence given: an example's sentences are the one document that there is."""

from collections.abc import Sequence

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck._logistic import Logistic
from offscript.factcheck.checking import Checker
from offscript.factcheck.documents.document import document_of_sentences
from offscript.factcheck.inference.examples import Example
from offscript.factcheck.inference.verdict import FEATURES, InferenceVerdicts, verdict_features
from offscript.factcheck.sources import Found, Kind
from offscript.factcheck.stance.stance import StanceModel
from offscript.factcheck.verdict import VERDICTS

JUDGED = 6  # sentences of the evidence
UNDECIDED = InferenceVerdicts(
    Logistic(tuple(verdict.value for verdict in VERDICTS), FEATURES, np.zeros((len(VERDICTS), len(FEATURES) + 1))), 1.0
)
"""Knows nothing yet: for what is looked at before a verdict model is fitted."""


class GivenEvidence:
    """A provider that finds one example's evidence whatever it is asked."""

    def __init__(self, example: Example) -> None:
        self._document = document_of_sentences("evidence", example.title, list(example.evidence))

    def find(self, query: str, k: int) -> list[Found]:
        """The evidence."""
        del query, k
        return [Found(self._document, 1.0, Kind.unrated)]


def features_of_examples(stance: StanceModel, examples: Sequence[Example]) -> FloatArray:
    """What the verdict on each example goes by; [examples, features]."""
    rows = [verdict_features(each.claim, _checker(each, stance).read(each.claim)) for each in examples]
    return np.array(rows).reshape(len(examples), len(FEATURES))


def _checker(example: Example, stance: StanceModel) -> Checker:
    return Checker([GivenEvidence(example)], stance=stance, verdicts=UNDECIDED, language=lambda _: {}, sentences=JUDGED)
