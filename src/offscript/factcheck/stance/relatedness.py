"""The first level: is a document about the claim at all? A small network on how much of the claim it holds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.terms import Terms

FEATURES = ("best sentence", "second sentence", "document", "lead", "cosine", "adjacent", "claim pieces", "sentences")
_LEAD = 3


@dataclass(frozen=True)
class Relatedness:
    """Terms, and a perceptron with one hidden layer on standardised `FEATURES`."""

    terms: Terms
    mean: FloatArray  # [features]
    scale: FloatArray  # [features]
    hidden: FloatArray  # [features + 1, units]
    output: FloatArray  # [units + 1]

    def of(self, features: FloatArray) -> FloatArray:
        """Probabilities [pairs] that document and claim are related."""
        units = np.maximum(((features - self.mean) / self.scale) @ self.hidden[:-1] + self.hidden[-1], 0)
        scores: FloatArray = units @ self.output[:-1] + self.output[-1]
        return 1 / (1 + np.exp(-scores))

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Everything but the tokenizer, to be stored."""
        fields = {"mean": self.mean, "scale": self.scale, "hidden": self.hidden, "output": self.output}
        return {"weights": self.terms.weights} | {name: value.astype(np.float32) for name, value in fields.items()}


def document_features(terms: Terms, claims: Sequence[str], sentences: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """`FEATURES` [claims, 8] of one document for several claims, and the coverage [claims, sentences] they rest on."""
    if not sentences:
        return np.zeros((len(claims), len(FEATURES))), np.zeros((len(claims), 0))
    weights = terms.claim_weights(claims)  # [claims, pieces]
    counts = terms.matrix(sentences)  # [sentences, pieces]
    coverage = np.asarray((weights @ counts.sign().T).todense(), dtype=np.float64)
    whole, lead = counts.sum(axis=0), counts[:_LEAD].sum(axis=0)
    columns = [
        -np.sort(-coverage, axis=1)[:, 0],
        -np.sort(-coverage, axis=1)[:, min(1, len(sentences) - 1)],
        _held(weights, whole),
        _held(weights, lead),
        _cosines(terms, claims, whole),
        _adjacent(terms, claims, " ".join(sentences)),
        np.log1p(np.diff(weights.indptr)),
        np.full(len(claims), np.log1p(len(sentences))),
    ]
    return np.column_stack(columns), coverage


def features_of_pairs(terms: Terms, pairs: Sequence[Pair]) -> tuple[FloatArray, list[FloatArray]]:
    """`FEATURES` [pairs, 8], and every pair's coverage [sentences]; each document is read once for all its claims."""
    features, coverage = np.zeros((len(pairs), len(FEATURES))), [np.zeros(0)] * len(pairs)
    by_document: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        by_document[pair.sentences].append(number)
    for sentences, numbers in by_document.items():
        rows, covered = document_features(terms, [pairs[number].claim for number in numbers], sentences)
        features[numbers] = rows
        for number, row in zip(numbers, covered, strict=True):
            coverage[number] = row
    return features, coverage


def fit_relatedness(
    terms: Terms, features: FloatArray, related: NDArray[np.bool_], *, units: int = 16, steps: int = 600, seed: int = 1
) -> Relatedness:
    """Full-batch Adam on the log-loss."""
    import torch
    from torch.nn import functional

    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-6
    shown = torch.from_numpy((features - mean) / scale)
    answers = torch.from_numpy(related.astype(np.float64))
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(features.shape[1] + 1, units, generator=generator, dtype=torch.float64) * 0.3
    output = torch.randn(units + 1, generator=generator, dtype=torch.float64) * 0.3
    parameters = [hidden.requires_grad_(), output.requires_grad_()]
    optimiser = torch.optim.Adam(parameters, lr=0.02)
    for _ in range(steps):
        scores = (shown @ hidden[:-1] + hidden[-1]).relu() @ output[:-1] + output[-1]
        loss = functional.binary_cross_entropy_with_logits(scores, answers)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return Relatedness(terms, mean, scale, hidden.detach().numpy(), output.detach().numpy())


def _held(weights: NDArray[np.float64], counts: NDArray[np.float64]) -> FloatArray:
    return np.asarray(weights @ np.sign(np.asarray(counts)).T, dtype=np.float64).ravel()


def _cosines(terms: Terms, claims: Sequence[str], counts: NDArray[np.float64]) -> FloatArray:
    """Cosines of TF-IDF vectors."""
    document = np.asarray(counts).ravel() * terms.weights
    vectors = terms.matrix(claims).multiply(terms.weights).tocsr()
    lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()) * np.sqrt(document @ document)
    cosines: FloatArray = np.asarray(vectors @ document, dtype=np.float64).ravel() / np.maximum(lengths, 1e-9)
    return cosines


def _adjacent(terms: Terms, claims: Sequence[str], text: str) -> FloatArray:
    """The share of a claim's neighbouring pieces that the text holds side by side."""
    documents = terms.tokenizer.encode(text, add_special_tokens=False).ids
    known = set(pairwise(documents))
    shares = []
    for encoding in terms.tokenizer.encode_batch(list(claims), add_special_tokens=False):
        own = list(pairwise(encoding.ids))
        shares.append(sum(pair in known for pair in own) / max(1, len(own)))
    return np.array(shares)
