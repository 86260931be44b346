"""What a translation model is trained on: pairs of a source and a target, in batches of about as many tokens each."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from offscript.corpora.batching import Batch
from offscript.corpora.encoded import EncodedCorpus, encode_corpus
from offscript.corpora.parallel import SentencePair, keep_pairs, read_pairs
from offscript.corpora.permutation import Permutation, derived_seed
from offscript.corpora.pieces import PieceVocabulary
from offscript.corpora.vocabularies import Vocabulary
from offscript.errors import OffscriptError
from offscript.models.language_model import LanguageModel
from offscript.models.registry import load_model
from offscript.models.sources import Seq2SeqLanguageModel, Sources
from offscript.sampling.translation import translate
from offscript.statistics.translation import corpus_bleu
from offscript.training.recipe import PairFilters, PairSource, ParallelData, SharedVocabularySettings

Pairs = Callable[[], Iterator[SentencePair]]
"""A parallel corpus that can be read again and again."""

_SOURCE_STEP = 4
"""Pairs of equally long targets are sorted by the length of their source in steps of so many tokens."""


class ParallelBatches:
    """Batches of an encoded parallel corpus, of equally long targets where there are enough of them.

    Every epoch sorts the pairs by length and breaks ties anew, so that every epoch has the same number of batches.
    """

    def __init__(self, settings: ParallelData, seed: int, folder: Path) -> None:
        train, validation = (_pairs(listed, settings.filters) for listed in (settings.train, settings.validation))
        self.vocabulary = _vocabulary(settings, train)
        self._train = _Encoded(train, self.vocabulary, folder / "train", settings)
        self._validation = _Encoded(validation, self.vocabulary, folder / "validation", settings)
        self.steps_per_epoch, self._seed = len(self._train.starts), seed
        self.data_hash = hashlib.sha256((self._train.data_hash + self._validation.data_hash).encode()).hexdigest()
        self.scored = list(islice(validation(), settings.scored))
        self._order = lru_cache(maxsize=1)(self._shuffled)

    def batch(self, step: int) -> Batch:
        epoch, index = divmod(step, self.steps_per_epoch)
        return self._train.batch(self._order(epoch)[index])

    def validation(self) -> Iterator[Batch]:
        for rows in self._validation.cut(np.arange(len(self._validation))):
            yield self._validation.batch(rows)

    def _shuffled(self, epoch: int) -> list[NDArray[np.int64]]:
        batches = self._train.cut(_permuted(len(self._train), self._seed, epoch, "pairs"))
        return [batches[turn] for turn in _permuted(len(batches), self._seed, epoch, "batches").tolist()]


class _Encoded:
    """The two sides of a parallel corpus as ids, both closed by the end token."""

    def __init__(self, pairs: Pairs, vocabulary: Vocabulary, folder: Path, settings: ParallelData) -> None:
        self.sides = [
            encode_corpus((pair[side] for pair in pairs()), vocabulary, end=True, folder=folder / name)
            for side, name in enumerate(("source", "target"))
        ]
        self.data_hash = "".join(side.data_hash for side in self.sides)
        sources, targets = (_lengths(side) for side in self.sides)
        self._keys = targets * (1 << 20) + -(-sources // _SOURCE_STEP) * _SOURCE_STEP
        self._widths = np.maximum(targets, -(-sources // _SOURCE_STEP) * _SOURCE_STEP)
        if self._widths.max() > settings.batches.tokens:
            raise OffscriptError(
                f"a sentence of {self._widths.max()} tokens in batches of {settings.batches.tokens}",
                next="raise data.batches.tokens, or set data.filters.longest",
            )
        self._budget = settings.batches.tokens
        self.starts = self._starts(self._widths[np.argsort(self._keys, kind="stable")])

    def __len__(self) -> int:
        return len(self._keys)

    def cut(self, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Batches of row numbers: sorted by length, rows of equal length in the given order."""
        sorted_rows = order[np.argsort(self._keys[order], kind="stable")]
        return np.split(sorted_rows, self.starts[1:])

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        sources, targets = (Batch.of([side[row] for row in rows.tolist()]) for side in self.sides)
        return replace(targets, sources=sources)

    def _starts(self, widths: NDArray[np.int64]) -> list[int]:
        starts, widest = [0], 0
        for position, width in enumerate(widths.tolist()):
            widest = max(widest, width)
            if (position - starts[-1] + 1) * widest > self._budget:
                starts.append(position)
                widest = width
        return starts


def sources_of(batch: Batch) -> Sources:
    """The sources of a batch as a model reads them."""
    real = np.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
    return Sources(torch.from_numpy(batch.tokens), torch.from_numpy(real))


def validation_bleu(model: LanguageModel, pairs: Sequence[SentencePair]) -> float:
    """Corpus BLEU of greedy translations of some pairs."""
    assert isinstance(model, Seq2SeqLanguageModel)
    outputs = translate(model, [pair.source for pair in pairs])
    return corpus_bleu(outputs, [pair.target for pair in pairs]).score


def _pairs(sources: list[PairSource], filters: PairFilters) -> Pairs:
    def read() -> Iterator[SentencePair]:
        listed = (pair for each in sources for pair in read_pairs(each.path, each.targets, fields=each.fields))
        return keep_pairs(listed, longest=filters.longest, ratio=filters.ratio, repeats=not filters.drop_repeats)

    return read


def _vocabulary(settings: ParallelData, train: Pairs) -> Vocabulary:
    if isinstance(settings.vocabulary, SharedVocabularySettings):
        return load_model(settings.vocabulary.name).vocabulary
    return PieceVocabulary.learn((side for pair in train() for side in pair), settings.vocabulary.size)


def _lengths(corpus: EncodedCorpus) -> NDArray[np.int64]:
    return corpus.lengths_between(0, len(corpus)).astype(np.int64)


def _permuted(count: int, *purpose: int | str) -> NDArray[np.int64]:
    return Permutation(count, derived_seed(*purpose))(np.arange(count))
