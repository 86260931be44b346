"""Features and a perceptron (Riedel et al. 2017, Table 3.1, row 3): term frequencies of both texts and their cosine."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from offscript.factcheck.stance.bags import (
    Bag,
    BagModel,
    Bags,
    read_network,
    shuffled_batches,
    words_of_pairs,
    write_network,
)
from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.recipe import StanceRecipe, training_pairs
from offscript.factcheck.stance.stance import STANCES

_HIDDEN, _BATCH, _DROPOUT = 100, 500, 0.4


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


class Perceptron(BagModel[PerceptronNetwork]):
    """The perceptron as a `StanceModel`."""

    def _probabilities(self, pairs: Sequence[Pair]) -> Tensor:
        scores: Tensor = self._network(*Bags(self._words, pairs).batch(np.arange(len(pairs))))
        return scores.softmax(dim=1)


def train_perceptron(recipe: StanceRecipe, folder: Path) -> Path:
    """Adam on the cross-entropy; words and frequencies are those of the training part."""
    pairs = training_pairs(recipe)
    words = words_of_pairs(pairs)
    bags, labels = Bags(words, pairs), torch.tensor([STANCES.index(pair.label) for pair in pairs])
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)  # noqa: TID251 (layers and dropout know no generator)
        network = PerceptronNetwork(len(words.listed))
        optimiser = torch.optim.Adam(network.parameters(), lr=recipe.head_learning_rate, weight_decay=1e-5)
        for rows in shuffled_batches(recipe, len(pairs), _BATCH):
            loss = nn.functional.cross_entropy(network(*bags.batch(rows)), labels[rows])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimiser.step()
    return write_network(folder / "model", "features", recipe, words, network)


def load(folder: Path, *, name: str) -> Perceptron:
    """What `train_perceptron` wrote."""
    return Perceptron(name, *read_network(folder, PerceptronNetwork))
