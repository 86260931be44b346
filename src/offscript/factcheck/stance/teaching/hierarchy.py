"""FAKTA's hierarchy (chapter 2.2.3; Xu et al. 2018): related or not, then the stance; bags of words and convolutions.

A domain classifier behind a reversed gradient keeps what FEVER and FNC-1 share (Table 3.1, row 5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.registry import StanceKind, read_card
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.teaching.baselines import (
    Bag,
    BagModel,
    Bags,
    Words,
    bag_sums,
    read_network,
    teach_in_batches,
    unique_texts,
    words_of,
    words_of_pairs,
    write_network,
)
from offscript.factcheck.stance.teaching.recipe import FirstLevel, StanceRecipe, fever_pairs, training_pairs
from offscript.learning import Observer, seeded

_BATCH = 64
_EMBEDDING, _FILTERS, _WIDTHS, _HIDDEN = 48, 48, (2, 3, 4), 96
_SIMILAR, _USUAL_COSINE = 8, 0.1
_SPREAD = 0.1  # of the first word vectors; at torch's 1 their noise drowns the cosine
_CLAIM_WORDS, _TEXT_WORDS = 20, 80


class ReversedGradient(torch.autograd.Function):
    """The identity, whose gradient is multiplied by −λ (Ganin & Lempitsky 2015)."""

    @staticmethod
    def forward(context: Any, values: Tensor, factor: float) -> Tensor:
        """The values as they are."""
        context.factor = factor
        return values.view_as(values)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """The gradient turned round."""
        return -context.factor * gradient, None


class Convolutions(nn.Module):
    """Widths 2, 3 and 4 over word embeddings, the maximum over places of each filter."""

    def __init__(self) -> None:
        super().__init__()
        self.widths = nn.ModuleList(nn.Conv1d(_EMBEDDING, _FILTERS, width) for width in _WIDTHS)

    def forward(self, embedded: Tensor) -> Tensor:
        """[rows, embedding, time] to [rows, widths · filters]."""
        return torch.cat([layer(embedded).relu().amax(dim=2) for layer in self.widths], dim=1)


class HierarchyNetwork(nn.Module):
    """Two levels on one set of features: related or not, then the stance; the domain is told from the same features.

    The first level rests on bags of words and convolutions as in the thesis, or on the cosine alone: on FNC-1, whose
    training texts each occur many times, a first level that reads words learns unrelated texts by heart.
    """

    def __init__(self, words: int, first_level: FirstLevel = "likeness") -> None:
        super().__init__()
        self.first_level = first_level
        self.words = nn.Embedding(words + 1, _EMBEDDING, padding_idx=0)
        self.claim, self.text = Convolutions(), Convolutions()
        self.claim_bag = nn.EmbeddingBag(words, _HIDDEN, mode="sum")
        self.text_bag = nn.EmbeddingBag(words, _HIDDEN, mode="sum")
        convolved = 2 * len(_WIDTHS) * _FILTERS
        self.shared = nn.Linear(convolved + _HIDDEN + 1, _HIDDEN)
        self.related = (
            nn.Linear(_HIDDEN, 2)
            if first_level == "words"
            else nn.Sequential(nn.Linear(1, _SIMILAR), nn.ReLU(), nn.Linear(_SIMILAR, 2))
        )
        self.stance, self.domain = nn.Linear(_HIDDEN, 3), nn.Linear(_HIDDEN, 2)
        with torch.no_grad():
            for table in (self.words, self.claim_bag, self.text_bag):
                table.weight.mul_(_SPREAD)

    def features(self, batch: "TextBatch") -> Tensor:
        """What stance and domain rest on [rows, hidden]."""
        convolved = [
            layer(self.words(numbers).transpose(1, 2))
            for layer, numbers in ((self.claim, batch.claims), (self.text, batch.texts))
        ]
        bags = bag_sums(self.claim_bag, batch.claim_bag) + bag_sums(self.text_bag, batch.text_bag)
        together = torch.cat([*convolved, bags.relu(), batch.cosines], dim=1)
        hidden: Tensor = nn.functional.dropout(self.shared(together).relu(), 0.3, training=self.training)
        return hidden

    def relatedness(self, batch: "TextBatch", features: Tensor) -> Tensor:
        """Scores [rows, 2] of being unrelated and related."""
        scores: Tensor = self.related(features if self.first_level == "words" else batch.cosines / _USUAL_COSINE)
        return scores

    def probabilities(self, batch: "TextBatch") -> Tensor:
        """p(related) · p(stance | related), and p(unrelated), in the order of `STANCES` [rows, 4]."""
        features = self.features(batch)
        related = self.relatedness(batch, features).softmax(dim=1)
        return torch.cat([self.stance(features).softmax(dim=1) * related[:, 1:], related[:, :1]], dim=1)


@dataclass(frozen=True)
class TextBatch:
    """Word numbers [rows, time] of claims and texts (0 where there is no word), their bags and cosines."""

    claims: Tensor
    texts: Tensor
    claim_bag: Bag
    text_bag: Bag
    cosines: Tensor


class Texts:
    """Pairs as word numbers and bags, each different text once."""

    def __init__(self, words: Words, pairs: Sequence[Pair]) -> None:
        self._bags = Bags(words, pairs)
        claims, _, documents, _ = unique_texts(pairs)
        self._claims = _numbered(words, claims, _CLAIM_WORDS)
        self._documents = _numbered(words, documents, _TEXT_WORDS)

    def batch(self, rows: NDArray[np.int64]) -> TextBatch:
        """Some of the pairs."""
        claims = torch.from_numpy(self._claims[self._bags.claim_of[rows]])
        texts = torch.from_numpy(self._documents[self._bags.document_of[rows]])
        return TextBatch(claims, texts, *self._bags.batch(rows))


class Hierarchy(BagModel[HierarchyNetwork]):
    """The hierarchy as a stance model."""

    def _probabilities(self, pairs: Sequence[Pair]) -> Tensor:
        return self._network.probabilities(Texts(self._words, pairs).batch(np.arange(len(pairs))))


def train_hierarchy(recipe: StanceRecipe, folder: Path, *, observer: Observer | None = None, **_: Any) -> Path:
    """FNC-1's pairs, and beside them at most as many of FEVER's where the recipe adapts from it."""
    target = training_pairs(recipe)
    source = fever_pairs(recipe, recipe.adapted_from) if recipe.adaptation else []
    pairs = [*target, *source]
    words = words_of_pairs(pairs)
    texts, labels = Texts(words, pairs), torch.tensor([STANCES.index(pair.label) for pair in pairs])
    domains = (torch.arange(len(pairs)) >= len(target)).long()
    with seeded(recipe.seed):
        network = HierarchyNetwork(len(words.listed), recipe.first_level)
        optimiser = torch.optim.Adam(network.parameters(), lr=recipe.head_learning_rate)

        def loss(rows: NDArray[np.int64]) -> Tensor:
            return _loss(network, texts.batch(rows), labels[rows], domains[rows], recipe.adaptation)

        teach_in_batches(loss, optimiser, recipe, pairs=len(pairs), size=_BATCH, observer=observer)
    return write_network(folder / "model", "hierarchy", recipe, words, network)


def _load_hierarchy(folder: Path, name: str) -> Hierarchy:
    first_level: FirstLevel = read_card(folder)["recipe"].get("first_level", "likeness")
    return Hierarchy(name, *read_network(folder, lambda words: HierarchyNetwork(words, first_level)))


HIERARCHY = StanceKind(_load_hierarchy, train_hierarchy)


def _loss(network: HierarchyNetwork, batch: TextBatch, labels: Tensor, domains: Tensor, adaptation: float) -> Tensor:
    """Both levels' cross-entropy, the second over related pairs alone, and the domain's behind a reversed gradient."""
    features = network.features(batch)
    related = labels != STANCES.index("unrelated")
    loss = nn.functional.cross_entropy(network.relatedness(batch, features), related.long())
    if related.any():
        loss = loss + nn.functional.cross_entropy(network.stance(features[related]), labels[related])
    if adaptation:
        turned = ReversedGradient.apply(features, adaptation)  # type: ignore[no-untyped-call]
        loss = loss + nn.functional.cross_entropy(network.domain(turned), domains)
    return loss


def _numbered(words: Words, texts: Sequence[str], longest: int) -> NDArray[np.int64]:
    """Word numbers from 1 [texts, longest]; unknown words are left out, 0 fills up."""
    table = np.zeros((len(texts), longest), dtype=np.int64)
    for row, text in enumerate(texts):
        known = [words.numbers[word] + 1 for word in words_of(text) if word in words.numbers][:longest]
        table[row, : len(known)] = known
    return table
