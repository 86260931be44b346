"""The inference model as a stance model: what supports a claim agrees with it, what refutes it disagrees."""

import re
from collections.abc import Sequence

import numpy as np

from offscript._types import FloatArray
from offscript.factcheck.inference.corrections import corrected
from offscript.factcheck.inference.examples import LABELS
from offscript.factcheck.inference.model import InferenceModel, inference_model
from offscript.factcheck.stance.registry import StanceKind
from offscript.factcheck.stance.tokens import STOP_WORDS

NAME = "offscript/inference"
TOGETHER = 3  # sentences of a document that are read as one text
PREFIX = 6  # letters by which words are compared
NEITHER = LABELS.index("neither")
_WORD = re.compile(r"\w+")


class InferenceStance:
    """Judges sentences one by one, and of documents the sentences that share most words with the claim as one text.

    What neither supports nor refutes discusses the claim as far as it shares its words, and is unrelated for the rest.
    """

    def __init__(self, model: InferenceModel | None = None, *, name: str = NAME) -> None:
        self._model, self.name = model or inference_model(), name

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        """Stance probabilities of single sentences; [sentences, 4]."""
        probabilities = self._model.probabilities([(claim, sentence) for sentence in sentences])
        shares = shared_words(claim, sentences)
        return _stances(corrected(claim, sentences, probabilities, shares), shares)

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        """Stance probabilities of documents, each given as its sentences; [documents, 4]."""
        texts = [" ".join(most_like(claim, sentences, TOGETHER)) for sentences in documents]
        shares = shared_words(claim, texts)
        stances = np.tile([0.0, 0.0, 0.0, 1.0], (len(texts), 1))
        related = np.flatnonzero(shares > 0)
        if related.size:
            probabilities = self._model.probabilities([(claim, texts[place]) for place in related])
            stances[related] = _stances(probabilities, shares[related])
        return stances


def most_like(claim: str, sentences: Sequence[str], most: int) -> list[str]:
    """Of the sentences those that share most words with the claim, in their order; none that shares no word."""
    shares = shared_words(claim, sentences)
    chosen = np.argsort(-shares, kind="stable")[:most]
    return [sentences[place] for place in sorted(chosen.tolist()) if shares[place] > 0]


def shared_words(claim: str, texts: Sequence[str]) -> FloatArray:
    """The share of the claim's telling words that each text holds, by their first letters; [texts]."""
    words = {word[:PREFIX] for word in _WORD.findall(claim.lower()) if word not in STOP_WORDS}
    words = words or {word[:PREFIX] for word in _WORD.findall(claim.lower())}
    counts = [sum(word in text for word in words) for text in map(str.lower, texts)]
    return np.array(counts, dtype=np.float64) / max(len(words), 1)


def _stances(probabilities: FloatArray, shares: FloatArray) -> FloatArray:
    """Columns agree, disagree, discuss, unrelated from the probabilities of `LABELS` and shares of words."""
    neither = probabilities[:, NEITHER]
    return np.column_stack([probabilities[:, :NEITHER], neither * shares, neither * (1 - shares)])


INFERENCE = StanceKind(lambda folder, name: InferenceStance(inference_model(folder), name=name))
