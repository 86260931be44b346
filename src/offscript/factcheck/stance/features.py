"""What the baselines see of a claim and a document: bags of words, overlaps, and words that refute."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from offscript._types import FloatArray
from offscript.factcheck.stance.pairs import Pair

REFUTING = tuple(
    "fake fraud hoax false deny denies not despite nope doubt doubts bogus debunk pranks retract".split()  # noqa: SIM905
)
"""The official baseline's list."""

CHARACTER_GRAMS, WORD_GRAMS = (2, 4, 8, 16), (2, 3, 4, 5, 6)
_EARLY, _FIRST = 100, 255
_WORD = re.compile(r"\w+")


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


def _table(rows: Sequence[Mapping[int, float]], width: int) -> sparse.csr_matrix:
    """Rows of values by column as a matrix [rows, width]."""
    offsets = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row], dtype=np.int64)
    values = np.array([value for row in rows for value in row.values()], dtype=np.float32)
    return sparse.csr_matrix((values, columns, offsets), shape=(len(rows), width))


def _unit_rows(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / np.maximum(lengths, 1e-9).astype(np.float32)) @ matrix)
