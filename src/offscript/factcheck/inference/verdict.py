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
from scipy.special import log_softmax, softmax

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.factcheck._perceptron import Perceptron, fit_perceptron
from offscript.factcheck.checked import CheckedDocument, Reading, Verdict
from offscript.factcheck.inference.abstention import risk_threshold
from offscript.factcheck.inference.claim_kinds import STATEMENT, claim_kind
from offscript.factcheck.inference.context import in_document
from offscript.factcheck.inference.entities import named_shares, title_shares
from offscript.factcheck.inference.numbers import compared, quantifiers_differ
from offscript.factcheck.inference.reading import TOGETHER
from offscript.factcheck.inference.stance import shared_words
from offscript.factcheck.sources import Kind
from offscript.factcheck.stance.stance import Stance
from offscript.factcheck.verdict import TRUST, VERDICTS, VerdictModel

FEATURES = (
    "best agree, log odds",
    "best disagree, log odds",
    "second agree",
    "second disagree",
    "best agree by shared words",
    "best disagree by shared words",
    "best agree by shared names",
    "best disagree by shared names",
    "best agree by named title",
    "best disagree by named title",
    "agree of the sentence with most shared words",
    "disagree of the sentence with most shared words",
    "together agree",
    "together disagree",
    "together agree, log odds",
    "together disagree, log odds",
    "agree − disagree of the most telling",
    "most shared words",
    "most shared names",
    "names that no sentence has",
    "words that the most telling sentences lack",
    "numbers that fit",
    "numbers that differ",
    "differing numbers where it agrees",
    "quantifiers that differ",
    "documents",
)
MOST_DOCUMENTS = 10
CERTAIN = 8.0  # the largest log odds
DECISIVE = 0.8
"""From this probability on a single sentence settles a side, and what sentences say together does not count."""
PENALTY = 60.0
NEITHER = VERDICTS.index(Verdict.unknown)
FOLDS = 5
SEARCHED = ("fever", "almanac", "outside")
RISKS = (0.05, 0.1, 0.15, 0.2)


@dataclass(frozen=True)
class InferenceVerdicts(VerdictModel):
    """Probabilities of the three verdicts from inferences on sentences and documents.

    A document counts by its source, not by its title: a sentence says by its own words, or by the title put before it,
    what it is about. `risks` holds for some rates of error the confidence from which on a verdict keeps to it, and
    `curve` how often verdicts of each confidence were right on collections that were left out.
    """

    risks: Mapping[str, float] = field(default_factory=dict)
    curve: tuple[Mapping[str, float], ...] = ()

    def probabilities(self, claim: str, reading: Reading) -> dict[Verdict, float]:
        """Calibrated, in the order of `Verdict`; where nothing was read, nothing is known."""
        features = verdict_features(claim, reading)
        if not features.any():
            return {verdict: float(verdict is Verdict.unknown) for verdict in VERDICTS}
        found = self.weights.probabilities(features[None])[0]
        return dict(zip(VERDICTS, found.tolist(), strict=True))

    def not_judged(self, claim: str) -> str:
        """A question, a command, an opinion, several sentences or none; nothing for a statement."""
        kind = claim_kind(claim)
        return "" if kind == STATEMENT else kind

    def document_weights(self, claim: str, documents: Sequence[CheckedDocument]) -> FloatArray:
        """How much each document's word counts [documents]."""
        del claim
        return np.array([TRUST[document.kind] for document in documents])

    def stances_by_kind(self, documents: Sequence[CheckedDocument]) -> dict[Kind, Stance]:
        """Nothing: single sentences decide, and an average over documents that say nothing would tell another story."""
        del documents
        return {}

    def reliability(self) -> tuple[Mapping[str, float], ...]:
        """How often verdicts of each confidence were right on collections that were left out."""
        return self.curve

    def at_risk(self, risk: float) -> "InferenceVerdicts":
        """The same model, deciding only where at most this share of its decisions is wrong."""
        try:
            return dataclasses.replace(self, threshold=self.risks[f"{risk:g}"])
        except KeyError as error:
            known = ", ".join(self.risks)
            raise OffscriptError(f"no threshold for a risk of {risk:g}", next=f"choose one of {known}") from error

    def to_json(self) -> dict[str, Any]:
        """Threshold, risks and weights."""
        known = {"calibrated_on": list(self.calibrated_on), "reliability": [dict(each) for each in self.curve]}
        return {"threshold": self.threshold, "risks": dict(self.risks), **known, **self.weights.to_json()}

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> "InferenceVerdicts":
        """What `to_json` wrote."""
        try:
            weights = Perceptron.from_json(written, [verdict.value for verdict in VERDICTS], FEATURES)
            names, curve = tuple(written["calibrated_on"]), tuple(written["reliability"])
            return cls(weights, float(written["threshold"]), names, dict(written["risks"]), curve)
        except (KeyError, TypeError, ValueError) as error:
            raise OffscriptError("not a verdict model", why=repr(error), next="fit it again") from error


@functools.cache
def inference_verdicts() -> InferenceVerdicts:
    """The verdict model that ships with the inference model."""
    file = resources.files("offscript.assets") / "verdicts" / "offscript-inference.json"
    return InferenceVerdicts.from_json(json.loads(file.read_text(encoding="utf-8")))


def verdict_features(claim: str, reading: Reading) -> FloatArray:
    """What the verdict goes by, in the order of `FEATURES`; [features]."""
    read = {
        sentence.text: (document, sentence)
        for document in reversed(reading.documents)
        for sentence in document.sentences
        if sentence.stance.unrelated < 1.0
    }
    judged = list(read.values())[::-1]
    if not judged:
        return np.zeros(len(FEATURES))
    trust = np.array([TRUST[document.kind] for document, _ in judged])[:, None]
    told = trust * np.array([sentence.stance.probabilities[:2] for _, sentence in judged])  # [sentences, 2]
    titles = [document.document.title for document, _ in judged]
    texts = [
        in_document(title, document.sentences[0].text, sentence.text)
        for title, (document, sentence) in zip(titles, judged, strict=True)
    ]
    shares, names, named = shared_words(claim, texts), named_shares(claim, texts), title_shares(claim, titles)
    telling = np.argsort(-(told.sum(axis=1) * shares), kind="stable")[:TOGETHER]
    first, nearest = told[telling[0]], told[int(np.argmax(shares))]
    best, second = (np.sort(np.vstack([told, np.zeros((2, 2))]), axis=0)[-place] for place in (1, 2))
    whole, lead = _together(best, reading), texts[int(telling[0])]
    fits, differs = compared(claim, lead)
    return np.array([
        *_log_odds(best),
        *second,
        *(told * shares[:, None]).max(axis=0),
        *(told * names[:, None]).max(axis=0),
        *(told * named[:, None]).max(axis=0),
        *nearest,
        *whole,
        *_log_odds(whole),
        first[0] - first[1],
        shares.max(),
        names.max(),
        1 - named_shares(claim, [" ".join(texts)])[0],
        1 - shared_words(claim, [" ".join(texts[place] for place in telling)])[0],
        fits,
        differs,
        differs * first[0],
        float(quantifiers_differ(claim, lead)),
        min(len(reading.documents), MOST_DOCUMENTS) / MOST_DOCUMENTS,
    ])  # fmt: skip


def _together(best: FloatArray, reading: Reading) -> FloatArray:
    """Agreement and disagreement of the best sentences read together, or of a single one that settles it.

    The encoder is good at single sentences and poor at several: given "The capital of Australia is Canberra." and
    "Sydney is a city in Australia.", it takes Sydney for the capital. So several count only where no single sentence,
    or one on either side, settles the claim. That lowers the loss on collections left out from .820 to .818.
    """
    return best if (best >= DECISIVE).sum() == 1 else np.array(reading.together.probabilities[:2])


def fit_inference_verdicts(
    table: FloatArray,
    answers: Sequence[int],
    collections: Sequence[str],
    *,
    shares: Mapping[str, float] | None = None,
    searched: Sequence[str] = SEARCHED,
    risks: Sequence[float] = RISKS,
) -> InferenceVerdicts:
    """Weights by maximum likelihood; temperature and thresholds by what each collection gets from the others' weights.

    A confidence has to mean something for claims from elsewhere. So each collection in turn is left out, weights are
    fitted to the others, and what they say of it decides how far confidences are drawn together, and from which
    confidence on a risk is kept to. Of the few collections whose evidence was searched for, a fifth is left out at a
    time: without the others nothing would be known of such evidence.

    Args:
        table: Features of claims [claims, features].
        answers: Numbers of the right verdicts in `Verdict`'s order [claims].
        collections: Where each claim is from [claims].
        shares: How much a collection counts beside the others, 1 for those that are not named.
        searched: Collections whose evidence was searched for.
        risks: Rates of error to find thresholds for.

    Returns:
        The fitted model.
    """
    gold, owners = np.asarray(answers, dtype=np.int64), np.asarray(collections)
    mass = _masses(owners, shares or {})
    weights = _fitted(table, gold, mass)
    elsewhere = np.zeros((len(gold), len(VERDICTS)))
    folds = np.where(np.isin(owners, searched), np.arange(len(owners)) % FOLDS, -1)
    left_out = [(folds == fold) for fold in range(FOLDS)] + [owners == name for name in np.unique(owners[folds < 0])]
    for out in left_out:
        if out.any():
            others = weights if out.all() else _fitted(table[~out], gold[~out], mass[~out])
            elsewhere[out] = np.log(others.probabilities(table[out]))
    temperature = _temperature(elsewhere, gold, mass)
    probabilities = softmax(elsewhere / temperature, axis=1)
    leading, confidence = probabilities[:, :2].argmax(axis=1), probabilities[:, :2].max(axis=1)
    thresholds = {
        f"{risk:g}": round(risk_threshold(confidence, leading != gold, collections, risk), 4) for risk in risks
    }
    cooled = weights.cooled(temperature)
    own = cooled.probabilities(table)
    threshold = _best_threshold(own[:, :2].max(axis=1), own[:, :2].argmax(axis=1), gold, mass)
    names = tuple(str(name) for name in np.unique(owners))
    right = np.where(confidence >= threshold, leading, NEITHER) == gold
    surest = np.where(confidence >= threshold, confidence, probabilities[:, NEITHER])
    return InferenceVerdicts(cooled, threshold, names, thresholds, _curve(surest, right, mass))


def _curve(confidence: FloatArray, right: NDArray[np.bool_], mass: FloatArray) -> tuple[Mapping[str, float], ...]:
    """Mean confidence and share of right verdicts in tenths of confidence."""
    tenths = np.minimum((confidence * 10).astype(int), 9)
    found = []
    for tenth in np.unique(tenths):
        own = tenths == tenth
        means = [float(np.average(each[own], weights=mass[own])) for each in (confidence, right)]
        found.append({"confidence": round(means[0], 4), "right": round(means[1], 4), "count": int(own.sum())})
    return tuple(found)


def _masses(owners: NDArray[Any], shares: Mapping[str, float]) -> FloatArray:
    """Weights of claims by which every collection counts by its share, whatever its size; their mean is 1 [claims]."""
    names, places, counts = np.unique(owners, return_inverse=True, return_counts=True)
    wanted = np.array([shares.get(str(name), 1.0) for name in names])
    masses: FloatArray = (wanted / counts)[places] * len(owners) / wanted.sum()
    return masses


def _fitted(table: FloatArray, gold: NDArray[np.int64], mass: FloatArray) -> Perceptron:
    labels = [verdict.value for verdict in VERDICTS]
    return fit_perceptron(table, gold, labels, FEATURES, row_weights=mass, penalty=PENALTY)


def _temperature(scores: FloatArray, gold: NDArray[np.int64], mass: FloatArray) -> float:
    """By which log probabilities are divided so that the right answers are likeliest."""
    from scipy.optimize import minimize_scalar  # slow to import, and a check fits nothing

    def loss(temperature: float) -> float:
        return -float(mass @ log_softmax(scores / temperature, axis=1)[np.arange(len(gold)), gold])

    return float(minimize_scalar(loss, bounds=(0.5, 5.0), method="bounded").x)


def _best_threshold(
    confidence: FloatArray, leading: NDArray[np.int64], gold: NDArray[np.int64], mass: FloatArray
) -> float:
    """The threshold with most right answers, the smallest of several; a verdict is never less likely than not."""
    grid = np.linspace(0.5, 0.8, 31)
    right = [float(mass @ (np.where(confidence >= threshold, leading, 2) == gold)) for threshold in grid]
    return float(grid[int(np.argmax(right))].round(3))


def _log_odds(probabilities: FloatArray) -> FloatArray:
    """Log odds from −1 to 1, so that .99 and .999 differ."""
    bounded = np.clip(probabilities, 1e-6, 1 - 1e-6)
    return np.clip(np.log(bounded / (1 - bounded)), -CERTAIN, CERTAIN) / CERTAIN
