"""Two baselines of Table 3.1 that see words alone: boosted trees on overlaps, and a perceptron on bags of words."""

import re
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn

from offscript._files import replacing, write_json
from offscript._types import FloatArray
from offscript.errors import missing_package
from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.registry import PairModel, StanceKind, read_json
from offscript.factcheck.stance.served import Reading, write_card
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.teaching.network import WEIGHTS, read_tensors, write_tensors
from offscript.factcheck.stance.teaching.recipe import StanceRecipe, training_pairs
from offscript.learning import Course, Loss, Observer, learn, seeded

REFUTING = tuple(
    "fake fraud hoax false deny denies not despite nope doubt doubts bogus debunk pranks retract".split()  # noqa: SIM905
)
"""The official baseline's list."""

CHARACTER_GRAMS, WORD_GRAMS = (2, 4, 8, 16), (2, 3, 4, 5, 6)
_EARLY, _FIRST = 100, 255
_WORD = re.compile(r"\w+")
_TREES, _ROUNDS = "trees.txt", 200
_WORDS_FILE, _SIZE, _READ_AT_ONCE = "words.json", 5000, 2000
_HIDDEN, _BATCH, _DROPOUT = 100, 500, 0.4

Network = TypeVar("Network", bound=nn.Module)
Bag = tuple[Tensor, Tensor, Tensor]
"""Word numbers, where each text begins, and the words' frequencies."""


class Boosting(PairModel):
    """Trees that vote on a document's stance (Table 3.1, row 1)."""

    def __init__(self, name: str, trees: Any) -> None:
        super().__init__(name)
        self._trees = trees

    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        if not pairs:
            return np.zeros((0, len(STANCES)))
        return np.asarray(self._trees.predict(overlap_features(pairs), num_threads=1), dtype=np.float64)


def train_boosting(recipe: StanceRecipe, folder: Path, **_: Any) -> Path:
    """200 rounds of trees, as the official baseline; they are written as text."""
    lightgbm = _lightgbm()
    pairs = training_pairs(recipe)
    labels = [STANCES.index(pair.label) for pair in pairs]
    settings = {
        "objective": "multiclass",
        "num_class": len(STANCES),
        "learning_rate": 0.1,
        "num_leaves": 31,
        "seed": recipe.seed,
        "deterministic": True,
        "num_threads": 1,
        "verbose": -1,
    }
    trees = lightgbm.train(settings, lightgbm.Dataset(overlap_features(pairs), labels), num_boost_round=_ROUNDS)
    made = folder / "model"
    with replacing(made / _TREES) as temporary:
        temporary.write_text(trees.model_to_string(), encoding="utf-8")
    write_card(made, "boosting", recipe.model_dump(), Reading())
    return made


def _load_boosting(folder: Path, name: str) -> Boosting:
    return Boosting(name, _lightgbm().Booster(model_str=(folder / _TREES).read_text(encoding="utf-8")))


BOOSTING = StanceKind(_load_boosting, train_boosting)


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as fault:
        raise missing_package("gradient boosting", "lightgbm", extra="stance") from fault
    return lightgbm


def overlap_features(pairs: Sequence[Pair]) -> FloatArray:
    """The official baseline's features [pairs, features]: overlap, refuting words, polarity, n-grams held."""
    claims, claim_of, documents, document_of = unique_texts(pairs)
    claim_words = [words_of(claim) for claim in claims]
    grams = [_grams(words) for words in claim_words]
    document_words = [words_of(document) for document in documents]
    sets, texts = [set(words) for words in document_words], [" ".join(words) for words in document_words]
    doubts = [sum(words.count(word) for word in REFUTING) % 2 for words in document_words]
    rows = np.empty((len(pairs), 1 + len(REFUTING) + 2 + 2 + 3 * len(CHARACTER_GRAMS) + 2 * len(WORD_GRAMS)))
    for row, (claim, document) in enumerate(zip(claim_of, document_of, strict=True)):
        words = claim_words[claim]
        indicators = [float(word in words) for word in REFUTING]
        rows[row] = [
            len(sets[document].intersection(words)) / max(1, len(sets[document].union(words))),
            *indicators,
            sum(indicators) % 2,
            doubts[document],
            *_held(grams[claim], words, texts[document], sets[document]),
        ]
    return rows


def _grams(words: Sequence[str]) -> tuple[list[list[str]], list[list[str]]]:
    """A claim's character grams and word grams by size."""
    text = " ".join(words)
    characters = [[text[place : place + size] for place in range(len(text) - size + 1)] for size in CHARACTER_GRAMS]
    sequences = [
        [" ".join(words[place : place + size]) for place in range(len(words) - size + 1)] for size in WORD_GRAMS
    ]
    return characters, sequences


def _held(
    grams: tuple[list[list[str]], list[list[str]]], words: Sequence[str], text: str, known: set[str]
) -> list[float]:
    """How many words and grams of a claim the text holds, and how many stand near its beginning."""
    first = text[:_FIRST]
    held: list[float] = [sum(word in known for word in words), sum(word in first for word in words)]
    characters, sequences = grams
    for listed in characters:
        held += [sum(gram in part for gram in listed) for part in (text, text[:_EARLY], first)]
    for listed in sequences:
        held += [sum(gram in part for gram in listed) for part in (text, first)]
    return held


def words_of(text: str) -> list[str]:
    """Lower-cased words."""
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class Words:
    """The most frequent words of training text with their inverse document frequencies; no other text is looked at."""

    listed: tuple[str, ...]
    inverse_frequencies: NDArray[np.float32]  # [words]

    @classmethod
    def fitted(cls, texts: Iterable[str], size: int) -> "Words":
        """idf = log((1 + n) / (1 + n_t)) + 1."""
        occurrences: Counter[str] = Counter()
        documents: Counter[str] = Counter()
        number = 0
        for text in texts:
            words = words_of(text)
            occurrences.update(words)
            documents.update(set(words))
            number += 1
        listed = tuple(word for word, _ in sorted(occurrences.items(), key=lambda each: (-each[1], each[0]))[:size])
        counts = np.array([documents[word] for word in listed])
        return cls(listed, (np.log((1 + number) / (1 + counts)) + 1).astype(np.float32))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """A word's place in the list."""
        return {word: number for number, word in enumerate(self.listed)}

    def frequencies(self, texts: Sequence[str]) -> sparse.csr_matrix:
        """Term frequencies [texts, words], each row of length 1."""
        known = self.numbers
        counted = [Counter(known[word] for word in words_of(text) if word in known) for text in texts]
        return _unit_rows(_table(counted, len(self.listed)))

    def cosines(self, first: Sequence[str], second: Sequence[str], pairs: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosines of the TF-IDF vectors of texts `first[i]` and `second[j]` for each row (i, j) of `pairs`.

        Words that are not listed count as the rarest, so that the names of a new topic tell what belongs to it.
        """
        rarest = float(self.inverse_frequencies.max(initial=1.0))
        known = defaultdict(lambda: rarest, zip(self.listed, self.inverse_frequencies.tolist(), strict=True))
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        counted = [[Counter(words_of(text)) for text in texts] for texts in (first, second)]
        weighed = [[{numbers[word]: n * known[word] for word, n in each.items()} for each in one] for one in counted]
        sides = [_unit_rows(_table(one, len(numbers)))[which] for one, which in zip(weighed, pairs.T, strict=True)]
        return np.asarray(sides[0].multiply(sides[1]).sum(axis=1), dtype=np.float32).ravel()


def unique_texts(pairs: Sequence[Pair]) -> tuple[list[str], NDArray[np.int64], list[str], NDArray[np.int64]]:
    """Different claims and the number of each pair's; the same of documents."""
    claims, documents = {pair.claim: None for pair in pairs}, {pair.sentences: None for pair in pairs}
    claim_numbers = {claim: number for number, claim in enumerate(claims)}
    document_numbers = {document: number for number, document in enumerate(documents)}
    return (
        list(claims),
        np.array([claim_numbers[pair.claim] for pair in pairs]),
        [" ".join(sentences) for sentences in documents],
        np.array([document_numbers[pair.sentences] for pair in pairs]),
    )


def _table(rows: Sequence[Mapping[int, float]], width: int) -> sparse.csr_matrix:
    """Rows of values by column as a matrix [rows, width]."""
    offsets = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row], dtype=np.int64)
    values = np.array([value for row in rows for value in row.values()], dtype=np.float32)
    return sparse.csr_matrix((values, columns, offsets), shape=(len(rows), width))


def _unit_rows(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / np.maximum(lengths, 1e-9).astype(np.float32)) @ matrix)


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


class BagModel(PairModel, Generic[Network]):
    """A stance model that is a network over the words it knows."""

    def __init__(self, name: str, words: Words, network: Network) -> None:
        super().__init__(name)
        self._words, self._network = words, network.eval()

    @abstractmethod
    def _probabilities(self, pairs: Sequence[Pair]) -> Tensor:
        """In the order of `STANCES` [pairs, 4]."""

    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        answers = [np.zeros((0, len(STANCES)))]
        with torch.inference_mode():
            for start in range(0, len(pairs), _READ_AT_ONCE):
                answers.append(self._probabilities(pairs[start : start + _READ_AT_ONCE]).double().numpy())
        return np.concatenate(answers)


def words_of_pairs(pairs: Sequence[Pair]) -> Words:
    """The words that a network trained on the pairs knows."""
    claims, _, documents, _ = unique_texts(pairs)
    return Words.fitted([*claims, *documents], _SIZE)


def teach_in_batches(
    loss: Callable[[NDArray[np.int64]], Tensor],
    optimiser: torch.optim.Optimizer,
    recipe: StanceRecipe,
    *,
    pairs: int,
    size: int,
    observer: Observer | None,
    clip: float | None = None,
) -> None:
    """Lower a loss of the pairs with some numbers, epoch after epoch, each in an order of its own."""
    generator = np.random.default_rng(recipe.seed)
    orders = [generator.permutation(pairs) for _ in range(recipe.epochs)]
    batches = [order[start : start + size] for order in orders for start in range(0, pairs, size)]

    def step_loss(step: int) -> Loss:
        return Loss(loss(batches[step]), read=len(batches[step]))

    learn(Course(len(batches), optimiser, step_loss, clip=clip, unit="pairs"), observer=observer)


def write_network(folder: Path, kind: str, recipe: StanceRecipe, words: Words, network: nn.Module) -> Path:
    """Weights, words with their inverse frequencies, and card; answers the folder."""
    write_tensors(folder / WEIGHTS, network.state_dict())
    write_json(folder / _WORDS_FILE, dict(zip(words.listed, words.inverse_frequencies.tolist(), strict=True)))
    write_card(folder, kind, recipe.model_dump(), Reading())
    return folder


def read_network(folder: Path, build: Callable[[int], Network]) -> tuple[Words, Network]:
    """What `write_network` wrote, into the network that is built for so many words."""
    written = read_json(folder / _WORDS_FILE)
    words = Words(tuple(written), np.array(list(written.values()), dtype=np.float32))
    network = build(len(words.listed))
    network.load_state_dict(read_tensors(folder / WEIGHTS))
    return words, network


class PerceptronNetwork(nn.Module):
    """W·[tf(claim); tf(document); cosine], ReLU, and a linear layer (Riedel et al. 2017, Table 3.1, row 3).

    Sparse products take the place of 10,001 inputs.
    """

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
        hidden = (bag_sums(self.claim, claims) + bag_sums(self.document, documents) + self.cosine(cosines)).relu()
        scores: Tensor = self.answer(nn.functional.dropout(hidden, _DROPOUT, training=self.training))
        return scores


class Perceptron(BagModel[PerceptronNetwork]):
    """The perceptron as a stance model."""

    def _probabilities(self, pairs: Sequence[Pair]) -> Tensor:
        scores: Tensor = self._network(*Bags(self._words, pairs).batch(np.arange(len(pairs))))
        return scores.softmax(dim=1)


def train_perceptron(recipe: StanceRecipe, folder: Path, *, observer: Observer | None = None, **_: Any) -> Path:
    """Adam on the cross-entropy; words and frequencies are those of the training part."""
    pairs = training_pairs(recipe)
    words = words_of_pairs(pairs)
    bags, labels = Bags(words, pairs), torch.tensor([STANCES.index(pair.label) for pair in pairs])
    with seeded(recipe.seed):
        network = PerceptronNetwork(len(words.listed))
        optimiser = torch.optim.Adam(network.parameters(), lr=recipe.head_learning_rate, weight_decay=1e-5)

        def loss(rows: NDArray[np.int64]) -> Tensor:
            return nn.functional.cross_entropy(network(*bags.batch(rows)), labels[rows])

        teach_in_batches(loss, optimiser, recipe, pairs=len(pairs), size=_BATCH, observer=observer, clip=5.0)
    return write_network(folder / "model", "features", recipe, words, network)


FEATURES = StanceKind(lambda folder, name: Perceptron(name, *read_network(folder, PerceptronNetwork)), train_perceptron)


def bag_sums(layer: nn.EmbeddingBag, bag: Bag) -> Tensor:
    """Each text's words added up, weighted by their frequencies [texts, width]."""
    sums: Tensor = layer(bag[0], bag[1], per_sample_weights=bag[2])
    return sums


def _bag(matrix: sparse.csr_matrix) -> Bag:
    parts = (matrix.indices.astype(np.int64), matrix.indptr[:-1].astype(np.int64), matrix.data.astype(np.float32))
    numbers, starts, weights = (torch.from_numpy(part) for part in parts)
    return numbers, starts, weights
