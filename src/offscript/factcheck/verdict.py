"""From stances to a verdict: averaged by kind of source, weighed into calibrated probabilities, with its evidence."""

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.factcheck._logistic import Logistic, fit_logistic
from offscript.factcheck._perceptron import Perceptron
from offscript.factcheck.checked import CheckedDocument, Evidence, Reading, Verdict
from offscript.factcheck.sources import Kind
from offscript.factcheck.stance.stance import STANCES, Stance
from offscript.factcheck.stance.tokens import tokens_of

VERDICTS = tuple(Verdict)
FEATURES = (
    "best agree",
    "best disagree",
    "second agree",
    "second disagree",
    "best agree, squared",
    "best disagree, squared",
    "agree − disagree of the most telling",
    "agree − disagree of the three most telling",
    "most related",
    "documents agree",
    "documents disagree",
)
TRUST: Mapping[Kind, float] = {
    Kind.wikipedia: 1.0,
    Kind.high: 1.0,
    Kind.unrated: 1.0,
    Kind.mixed: 0.6,
    Kind.low: 0.2,
}
"""How much a document of a source counts: the word of one of low factuality settles little."""

HEADLINE = 6  # content words
MOST_EVIDENCE = 5
"""FEVER looks at the first five sentences."""
MOST_UNRELATED = 0.5
DISCUSSED = 0.1
LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class VerdictModel:
    """Probabilities of the three verdicts from the stances of sentences and documents.

    A claim is supported or refuted when the likelier of the two has at least `threshold`, else there is not enough
    information: the threshold was tuned on development claims, as the thesis tunes its own (section 2.3).
    """

    weights: Logistic | Perceptron
    threshold: float
    calibrated_on: tuple[str, ...] = ("FEVER", "almanac")

    def probabilities(self, claim: str, reading: Reading) -> dict[Verdict, float]:
        """Calibrated, in the order of `Verdict`."""
        found = self.weights.probabilities(verdict_features(claim, reading.documents)[None])[0]
        return dict(zip(VERDICTS, found.tolist(), strict=True))

    def decide(self, probabilities: Mapping[Verdict, float]) -> Verdict:
        """The verdict."""
        leading = max((Verdict.supported, Verdict.refuted), key=lambda verdict: probabilities[verdict])
        return leading if probabilities[leading] >= self.threshold else Verdict.unknown

    def compelled(self) -> "VerdictModel":
        """The same model for claims that are known to be true or false: it has to decide."""
        return dataclasses.replace(self, weights=self.weights.without(Verdict.unknown.value), threshold=0.0)

    def not_judged(self, claim: str) -> str:
        """What a text is that this model does not judge; nothing for one that it does."""
        del claim
        return ""

    def document_weights(self, claim: str, documents: Sequence[CheckedDocument]) -> FloatArray:
        """How much each document's word counts [documents]."""
        return document_weights(claim, documents)

    def stances_by_kind(self, documents: Sequence[CheckedDocument]) -> dict[Kind, Stance]:
        """What is shown of the documents of each kind of source: the averages that the verdict goes by."""
        return stance_by_kind(documents)

    def reliability(self) -> tuple[Mapping[str, float], ...]:
        """How often verdicts of each confidence were right on claims that the weights had not seen; nothing if unknown.

        Each entry has `confidence`, `right` and `count`.
        """
        return ()

    def at_risk(self, risk: float) -> "VerdictModel":
        """The same model, deciding only where at most this share of its decisions is wrong."""
        raise OffscriptError(
            f"no threshold for a risk of {risk:g}",
            why="this stance model has none",
            next="use --stance offscript/inference",
        )

    def to_json(self) -> dict[str, Any]:
        """Threshold and weights."""
        return {"threshold": self.threshold, **self.weights.to_json()}

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> "VerdictModel":
        """What `to_json` wrote."""
        try:
            weights = Logistic.from_json(written, [verdict.value for verdict in VERDICTS], FEATURES)
            return cls(weights, float(written["threshold"]))
        except (KeyError, TypeError, ValueError) as error:
            raise OffscriptError("not a verdict model", why=repr(error), next="fit it again") from error


@functools.cache
def verdict_model(stance: str) -> VerdictModel:
    """The shipped model for a stance model's name; that of the lexical baseline for a name nobody fitted one for."""
    folder = resources.files("offscript.assets") / "verdicts"
    file = folder / f"{stance.replace('/', '-')}.json"
    chosen = file if file.is_file() else folder / "lexical.json"
    return VerdictModel.from_json(json.loads(chosen.read_text(encoding="utf-8")))


def fit_verdict_model(
    table: FloatArray, answers: Sequence[Verdict], *, row_weights: FloatArray | None = None
) -> VerdictModel:
    """Weights by maximum likelihood, and the threshold that gives most right answers. `table` [claims, features]."""
    numbers = np.array([VERDICTS.index(answer) for answer in answers], dtype=np.int64)
    labels = [verdict.value for verdict in VERDICTS]
    weights = fit_logistic(table, numbers, labels, FEATURES, row_weights=row_weights)
    return VerdictModel(weights, _best_threshold(weights.probabilities(table), numbers))


def verdict_features(claim: str, documents: Sequence[CheckedDocument]) -> FloatArray:
    """What the verdict goes by, in the order of `FEATURES`; [features], all from −1 to 1."""
    if not any(document.sentences for document in documents):
        return np.zeros(len(FEATURES))
    weights = document_weights(claim, documents)
    stances = np.array([sentence.stance.probabilities for document in documents for sentence in document.sentences])
    told = np.repeat(weights, [len(document.sentences) for document in documents])[:, None] * stances[:, :2]
    telling = told[np.argsort(-told.sum(axis=1), kind="stable")[:3]]  # [3, 2]
    (agree, second_agree), (disagree, second_disagree) = (_two_best(column) for column in told.T)
    whole = (weights[:, None] * [document.stance.probabilities[:2] for document in documents]).sum(axis=0)
    return np.array(
        [
            agree,
            disagree,
            second_agree,
            second_disagree,
            agree**2,
            disagree**2,
            telling[0, 0] - telling[0, 1],
            telling[:, 0].mean() - telling[:, 1].mean(),
            1 - stances[:, 3].min(),
            *(whole / max(weights.sum(), 1.0)),
        ]
    )


def document_weights(claim: str, documents: Sequence[CheckedDocument]) -> FloatArray:
    """How much each document's word counts: by its source and by how much of its title the claim names; [documents]."""
    asked = tokens_of(claim).keys
    return np.array([TRUST[document.kind] * _named(document.document.title, asked) for document in documents])


def _named(title: str, asked: frozenset[str]) -> float:
    """The share of the title's words, without what it has in brackets, that the claim holds.

    1 of no title, and of a long one: that is a headline and names no subject.
    """
    words = tokens_of(title.partition(" (")[0]).keys
    return len(words & asked) / len(words) if 0 < len(words) < HEADLINE else 1.0


def stance_by_kind(documents: Sequence[CheckedDocument]) -> dict[Kind, Stance]:
    """The stances of the documents averaged over those of each kind of source (section 2.2.5)."""
    by_kind: dict[Kind, list[tuple[float, ...]]] = {}
    for document in documents:
        by_kind.setdefault(document.kind, []).append(document.stance.probabilities)
    means = {kind: np.mean(stances, axis=0).tolist() for kind, stances in by_kind.items()}
    return {kind: Stance(**dict(zip(STANCES, means[kind], strict=True))) for kind in Kind if kind in means}


def _two_best(values: FloatArray) -> tuple[float, float]:
    best, second = np.sort(np.append(values, 0.0))[::-1][:2]
    return float(best), float(second)


def _best_threshold(probabilities: FloatArray, answers: NDArray[np.int64]) -> float:
    """The threshold with most right answers, the smallest of several."""
    leading, chance = probabilities[:, :2].argmax(axis=1), probabilities[:, :2].max(axis=1)
    grid = np.linspace(0.2, 0.8, 61)
    right = [np.mean(np.where(chance >= threshold, leading, 2) == answers) for threshold in grid]
    return float(grid[int(np.argmax(right))].round(3))


def telling_sentences(
    documents: Sequence[CheckedDocument],
    weights: NDArray[np.float64],
    *,
    leaning: float = 0.0,
    most: int = MOST_EVIDENCE,
) -> tuple[Evidence, ...]:
    """At most so many sentences, the most telling first; none that is more likely unrelated than not.

    `weights` [documents] say how much each document's word counts. `leaning` from −1 (refuted) to 1 (supported) favours
    the sentences that speak for that verdict, so that what is shown first is what the verdict rests on.
    """
    places = [
        (number, sentence)
        for number, document in enumerate(documents)
        for sentence in document.sentences
        if sentence.stance.unrelated <= MOST_UNRELATED
    ]
    strengths = np.array([weights[number] * _strength(sentence.stance, leaning) for number, sentence in places])
    order = np.argsort(-strengths, kind="stable")[:most]
    return tuple(Evidence(places[place][0], places[place][1].number) for place in order if strengths[place] > 0)


def evidence_of_verdict(
    documents: Sequence[CheckedDocument], weights: NDArray[np.float64], verdict: Verdict, *, leaning: float = 0.0
) -> tuple[tuple[Evidence, ...], Evidence | None]:
    """The most telling sentences, and among them the one that decides, which every verdict that decides has.

    Args:
        documents: What was read.
        weights: How much each document's word counts [documents].
        verdict: What it came to.
        leaning: From −1 (refuted) to 1 (supported): how far the probabilities lean.

    Returns:
        The evidence, and the deciding sentence, none where the verdict is open.
    """
    evidence = telling_sentences(documents, weights, leaning=leaning)
    deciding = deciding_sentence(documents, weights, verdict)
    if deciding is not None and deciding not in evidence:
        evidence = (deciding, *evidence[: MOST_EVIDENCE - 1])
    return evidence, deciding


def deciding_sentence(
    documents: Sequence[CheckedDocument], weights: NDArray[np.float64], verdict: Verdict
) -> Evidence | None:
    """Of all sentences that were read the one that speaks most for the verdict; none where that is open.

    A verdict may rest on sentences that tell little one by one, such as a name in one and `It` in the next. Then the
    one that is nearest to the claim is marked. Of two that take the side equally, that which has more of the claim's
    words decides: what a sentence does not side with, it discusses as far as it shares the claim's words.
    """
    if verdict is Verdict.unknown:
        return None
    supported = verdict is Verdict.supported
    best, chosen = 0.0, None
    for number, document in enumerate(documents):
        for sentence in document.sentences:
            stance = sentence.stance
            side, other = (stance.agree, stance.disagree) if supported else (stance.disagree, stance.agree)
            shared = stance.discuss / max(stance.discuss + stance.unrelated, LEAST_SHARE)
            told = (side if side > other else DISCUSSED * side) * (1 + shared) + DISCUSSED**2 * stance.discuss
            if weights[number] * told > best:
                best, chosen = float(weights[number] * told), Evidence(number, sentence.number)
    return chosen


def _strength(stance: Stance, leaning: float) -> float:
    """Agreement and disagreement, each by how far the verdict leans its way; discussion for want of both."""
    return stance.agree * (1 + leaning) + stance.disagree * (1 - leaning) + DISCUSSED * stance.discuss
