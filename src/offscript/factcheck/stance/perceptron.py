"""Features and a perceptron (Riedel et al. 2017, Table 3.1, row 3): term frequencies of both texts and their cosine."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

from offscript._files import write_json
from offscript.factcheck.stance import storage
from offscript.factcheck.stance.features import FloatArray, Words, unique_texts
from offscript.factcheck.stance.pairs import Pair, read_pairs, sampled
from offscript.factcheck.stance.recipe import StanceRecipe
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.two_level import Reading

_WORDS_FILE = "words.json"
_SIZE, _HIDDEN, _BATCH, _DROPOUT = 5000, 100, 500, 0.4


class Bags:
    """Texts of pairs as bags of words, each different text once; a batch is what `nn.EmbeddingBag` takes."""

    def __init__(self, words: Words, pairs: Sequence[Pair]) -> None:
        claims, self.claim_of, documents, self.document_of = unique_texts(pairs)
        self.claims, self.documents = words.frequencies(claims), words.frequencies(documents)
        self.cosines = words.cosines(self.claims[self.claim_of], self.documents[self.document_of])

    def batch(self, rows: NDArray[np.int64]) -> tuple["Bag", "Bag", Tensor]:
        """Bags of the claims and of the documents of some pairs, and their cosines [rows, 1]."""
        chosen = ((self.claims, self.claim_of), (self.documents, self.document_of))
        claims, documents = (_bag(matrix[which[rows]]) for matrix, which in chosen)
        return claims, documents, torch.from_numpy(self.cosines[rows, None])


Bag = tuple[Tensor, Tensor, Tensor]
"""Word numbers, where each text begins, and the words' frequencies."""


class PerceptronNetwork(nn.Module):
    """W·[tf(claim); tf(document); cosine], ReLU, and a linear layer: sparse products instead of 10,001 inputs."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.claim = nn.EmbeddingBag(words, _HIDDEN, mode="sum")
        self.document = nn.EmbeddingBag(words, _HIDDEN, mode="sum")
        self.cosine = nn.Linear(1, _HIDDEN)
        self.answer = nn.Linear(_HIDDEN, len(STANCES))
        for bag in (self.claim, self.document):
            nn.init.normal_(bag.weight, std=0.1)

    def forward(self, claims: Bag, documents: Bag, cosines: Tensor) -> Tensor:
        """Scores [rows, 4]."""
        sums = [bag(given[0], given[1], per_sample_weights=given[2]) for bag, given in self._bags(claims, documents)]
        hidden = (sums[0] + sums[1] + self.cosine(cosines)).relu()
        scores: Tensor = self.answer(nn.functional.dropout(hidden, _DROPOUT, training=self.training))
        return scores

    def _bags(self, claims: Bag, documents: Bag) -> Iterator[tuple[nn.EmbeddingBag, Bag]]:
        yield self.claim, claims
        yield self.document, documents


class Perceptron:
    """A `StanceModel`; a sentence is a short document."""

    def __init__(self, name: str, words: Words, network: PerceptronNetwork) -> None:
        self._name, self._words, self._network = name, words, network.eval()

    @property
    def name(self) -> str:
        return self._name

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        if not documents:
            return np.zeros((0, len(STANCES)))
        bags = Bags(self._words, [Pair(claim, tuple(sentences), "", "") for sentences in documents])
        with torch.inference_mode():
            scores: Tensor = self._network(*bags.batch(np.arange(len(documents))))
        return scores.softmax(dim=1).double().numpy()

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        return self.of_documents(claim, [(sentence,) for sentence in sentences])


def train_perceptron(recipe: StanceRecipe, folder: Path) -> Path:
    """Adam on the cross-entropy; words and frequencies are those of the training part."""
    pairs = sampled(read_pairs(f"{recipe.folder / 'fnc-1'},split=train").pairs, recipe.limit, recipe.seed)
    claims, _, documents, _ = unique_texts(pairs)
    words = Words.fitted([*claims, *documents], _SIZE)
    bags, labels = Bags(words, pairs), torch.tensor([STANCES.index(pair.label) for pair in pairs])
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)  # noqa: TID251 (layers and dropout know no generator)
        network = PerceptronNetwork(len(words.listed))
        optimiser = torch.optim.Adam(network.parameters(), lr=recipe.head_learning_rate, weight_decay=1e-5)
        generator = np.random.default_rng(recipe.seed)
        for _ in range(recipe.epochs):
            order = generator.permutation(len(pairs))
            for start in range(0, len(order), _BATCH):
                rows = order[start : start + _BATCH]
                loss = nn.functional.cross_entropy(network(*bags.batch(rows)), labels[rows])
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 5.0)
                optimiser.step()
    made = folder / "model"
    storage.write_tensors(made / storage.WEIGHTS, network.state_dict())
    write_json(made / _WORDS_FILE, dict(zip(words.listed, words.inverse_frequencies.tolist(), strict=True)))
    storage.write_card(made, "features", recipe, Reading(0.0, 0))
    return made


def load(folder: Path, *, name: str) -> Perceptron:
    """What `train_perceptron` wrote."""
    words = read_words(folder / _WORDS_FILE)
    network = PerceptronNetwork(len(words.listed))
    network.load_state_dict(storage.read_tensors(folder / storage.WEIGHTS))
    return Perceptron(name, words, network)


def read_words(path: Path) -> Words:
    """Words and their inverse frequencies, as they were written."""
    written = storage.read_json(path)
    return Words(tuple(written), np.array(list(written.values()), dtype=np.float32))


def _bag(matrix: sparse.csr_matrix) -> Bag:
    parts = (matrix.indices.astype(np.int64), matrix.indptr[:-1].astype(np.int64), matrix.data.astype(np.float32))
    numbers, starts, weights = (torch.from_numpy(part) for part in parts)
    return numbers, starts, weights
