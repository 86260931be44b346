"""Bags of words, and what the stance models share that are a network over them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

from offscript._files import write_json
from offscript._types import FloatArray
from offscript.factcheck.stance import storage
from offscript.factcheck.stance.features import Words, unique_texts
from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.recipe import StanceRecipe
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.two_level import Reading

_WORDS_FILE, _SIZE = "words.json", 5000
_READ_AT_ONCE = 2000

Network = TypeVar("Network", bound=nn.Module)
Bag = tuple[Tensor, Tensor, Tensor]
"""Word numbers, where each text begins, and the words' frequencies."""


class Bags:
    """Texts of pairs as bags of words, each different text once; a batch is what `nn.EmbeddingBag` takes."""

    def __init__(self, words: Words, pairs: Sequence[Pair]) -> None:
        claims, self.claim_of, documents, self.document_of = unique_texts(pairs)
        self.claims, self.documents = words.frequencies(claims), words.frequencies(documents)
        self.cosines = words.cosines(claims, documents, np.column_stack([self.claim_of, self.document_of]))

    def batch(self, rows: NDArray[np.int64]) -> tuple[Bag, Bag, Tensor]:
        """Bags of the claims and of the documents of some pairs, and their cosines [rows, 1]."""
        chosen = ((self.claims, self.claim_of), (self.documents, self.document_of))
        claims, documents = (_bag(matrix[which[rows]]) for matrix, which in chosen)
        return claims, documents, torch.from_numpy(self.cosines[rows, None])


class BagModel(ABC, Generic[Network]):
    """A `StanceModel` that is a network over the words it knows; a sentence is a short document."""

    def __init__(self, name: str, words: Words, network: Network) -> None:
        self._name, self._words, self._network = name, words, network.eval()

    @property
    def name(self) -> str:
        return self._name

    @abstractmethod
    def _probabilities(self, pairs: Sequence[Pair]) -> Tensor:
        """In the order of `STANCES` [pairs, 4]."""

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        return self.of_pairs([Pair(claim, tuple(sentences), "", "") for sentences in documents])

    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        """Stance probabilities [pairs, 4] of documents, each against its own claim."""
        answers = [np.zeros((0, len(STANCES)))]
        with torch.inference_mode():
            for start in range(0, len(pairs), _READ_AT_ONCE):
                answers.append(self._probabilities(pairs[start : start + _READ_AT_ONCE]).double().numpy())
        return np.concatenate(answers)

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        return self.of_documents(claim, [(sentence,) for sentence in sentences])


def words_of_pairs(pairs: Sequence[Pair]) -> Words:
    """The words that a network trained on the pairs knows."""
    claims, _, documents, _ = unique_texts(pairs)
    return Words.fitted([*claims, *documents], _SIZE)


def shuffled_batches(recipe: StanceRecipe, pairs: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Numbers of pairs, epoch after epoch, each in an order of its own."""
    generator = np.random.default_rng(recipe.seed)
    for _ in range(recipe.epochs):
        order = generator.permutation(pairs)
        for start in range(0, pairs, size):
            yield order[start : start + size]


def write_network(folder: Path, kind: str, recipe: StanceRecipe, words: Words, network: nn.Module) -> Path:
    """Weights, words with their inverse frequencies, and card; answers the folder."""
    storage.write_tensors(folder / storage.WEIGHTS, network.state_dict())
    write_json(folder / _WORDS_FILE, dict(zip(words.listed, words.inverse_frequencies.tolist(), strict=True)))
    storage.write_card(folder, kind, recipe, Reading(0.0, 0))
    return folder


def read_network(folder: Path, build: Callable[[int], Network]) -> tuple[Words, Network]:
    """What `write_network` wrote, into the network that is built for so many words."""
    written = storage.read_json(folder / _WORDS_FILE)
    words = Words(tuple(written), np.array(list(written.values()), dtype=np.float32))
    network = build(len(words.listed))
    network.load_state_dict(storage.read_tensors(folder / storage.WEIGHTS))
    return words, network


def _bag(matrix: sparse.csr_matrix) -> Bag:
    parts = (matrix.indices.astype(np.int64), matrix.indptr[:-1].astype(np.int64), matrix.data.astype(np.float32))
    numbers, starts, weights = (torch.from_numpy(part) for part in parts)
    return numbers, starts, weights
