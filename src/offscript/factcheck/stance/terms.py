"""Word pieces as terms: how rare each is, how much of a claim a sentence holds, and which sentences to read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from tokenizers import Tokenizer

from offscript._types import FloatArray

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
