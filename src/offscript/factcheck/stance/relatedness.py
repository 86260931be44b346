"""The first level: is a document about the claim at all? Word pieces as terms, and how much of a claim a text holds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from tokenizers import Tokenizer

from offscript._types import FloatArray
from offscript.factcheck.stance.pairs import Pair

FEATURES = ("best sentence", "second sentence", "document", "lead", "cosine", "adjacent", "claim pieces", "sentences")
_LEAD = 3

DOUBTING = frozenset(
    {
        *("hoax", "fake", "fraud", "bogus", "untrue", "false", "falsely", "debunk", "debunked", "debunks", "pranks"),
        *("deny", "denies", "denied", "denying", "refute", "refuted", "refutes", "retract", "retracted", "despite"),
        *("not", "no", "nope", "never", "doubt", "doubts", "doubtful", "unconfirmed", "confirmed", "confirms"),
        *("rumor", "rumors", "rumour", "claim", "claims", "claimed", "reportedly", "allegedly", "alleged"),
    }
)
"""Words that tell what a writer thinks of a claim; sentences that hold one are read first among equals."""


@dataclass(frozen=True)
class Terms:
    """A tokenizer's pieces, weighted by inverse document frequency; the frequencies are those of training text."""

    tokenizer: Tokenizer
    weights: NDArray[np.float32]  # [pieces]

    @classmethod
    def fitted(cls, tokenizer: Tokenizer, documents: Sequence[Sequence[str]]) -> "Terms":
        """log(n / n_t) of documents, each given as its sentences; pieces never seen weigh as if seen once."""
        frequencies = np.zeros(tokenizer.get_vocab_size())
        plain = cls(tokenizer, np.ones(tokenizer.get_vocab_size(), dtype=np.float32))
        for start in range(0, len(documents), 512):
            matrix = plain.matrix([" ".join(sentences) for sentences in documents[start : start + 512]])
            frequencies += np.asarray((matrix > 0).sum(axis=0)).ravel()
        weights = np.log((len(documents) + 1) / np.maximum(frequencies, 1)).clip(min=0)
        return cls(tokenizer, weights.astype(np.float32))

    def matrix(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """How often each piece occurs in each text [texts, pieces]."""
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        lengths = [len(encoding.ids) for encoding in encodings]
        columns = np.array([number for encoding in encodings for number in encoding.ids], dtype=np.int64)
        rows = np.repeat(np.arange(len(texts)), lengths)
        shape = (len(texts), len(self.weights))
        return sparse.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)

    def claim_weights(self, claims: Sequence[str]) -> sparse.csr_matrix:
        """Every claim's pieces by their share of its weight [claims, pieces]; rows sum to 1."""
        present = self.matrix(claims).sign().multiply(self.weights).tocsr()
        totals = np.maximum(np.asarray(present.sum(axis=1)).ravel(), 1e-6)
        return sparse.diags(1 / totals) @ present

    def coverage(self, claims: Sequence[str], sentences: Sequence[str]) -> FloatArray:
        """The share of each claim's weight that each sentence holds [claims, sentences]."""
        product = self.claim_weights(claims) @ self.matrix(sentences).sign().T
        return np.asarray(product.todense(), dtype=np.float64)


def choose_sentences(coverage: FloatArray, sentences: Sequence[str], budget: int) -> list[int]:
    """Numbers, in the document's order, of the sentences that hold most of the claim, within a budget of characters.

    A tenth is added for a word of `DOUBTING`, and a little for standing early, as news tell the main thing first. The
    best sentence is always chosen.
    """
    if not sentences:
        return []
    doubting = [not DOUBTING.isdisjoint(sentence.lower().split()) for sentence in sentences]
    early = 0.1 / (1 + np.arange(len(sentences)))
    order = np.argsort(-(coverage + 0.1 * np.array(doubting) + early), kind="stable")
    chosen, spent = [int(order[0])], len(sentences[order[0]])
    for number in order[1:]:
        if spent + len(sentences[number]) <= budget:
            chosen.append(int(number))
            spent += len(sentences[number])
    return sorted(chosen)


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
