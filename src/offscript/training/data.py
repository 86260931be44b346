"""What a training run reads: batches of a corpus, or fresh samples of another model."""

import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from offscript.corpora.batching import Batch, Batches, BucketedBatches, FixedBatches, PackedBatches
from offscript.corpora.encoded import EncodedCorpus, encode_corpus
from offscript.corpora.filters import (
    HALVES,
    Split,
    cut_into_pieces,
    drop_rare_words,
    drop_repeats,
    exclude,
    keep_lengths,
)
from offscript.corpora.permutation import Permutation, derived_seed
from offscript.corpora.prose import separate_punctuation, split_sentences
from offscript.corpora.readers import read_sentences
from offscript.corpora.vocabularies import CharacterVocabulary, HubVocabulary, Vocabulary, WordVocabulary
from offscript.errors import OffscriptError
from offscript.models.registry import load_model
from offscript.sampling.generation import generate, lengths_until
from offscript.training.parallel import ParallelBatches
from offscript.training.recipe import (
    BatchSettings,
    CharacterVocabularySettings,
    CorpusData,
    Filters,
    HubVocabularySettings,
    ParallelData,
    SampledData,
    SharedVocabularySettings,
    Source,
    VocabularySettings,
    WordVocabularySettings,
)

Sentences = Callable[[], Iterator[str]]
"""A corpus that can be read again and again."""

_TRAINING, _VALIDATION = 0, 1
_BLOCK_ROWS = 512
"""How many sequences are drawn at once: larger batches draw faster, whatever the training batch."""


class TrainingData(Protocol):
    """Batches that depend on the step alone, so that a resumed run sees what an uninterrupted one sees."""

    vocabulary: Vocabulary
    steps_per_epoch: int
    data_hash: str

    def batch(self, step: int) -> Batch:
        """The batch of a training step."""

    def validation(self) -> Iterator[Batch]:
        """Every validation batch, always the same ones."""


class CorpusBatches:
    """Batches of an encoded corpus, reshuffled each epoch; the ids are in a folder, not in memory."""

    def __init__(self, settings: CorpusData, seed: int, folder: Path) -> None:
        train, validation = sentences_of(settings)
        self.vocabulary = build_vocabulary(settings.vocabulary, train)
        encoded = [
            _encoded_part(name, part, self.vocabulary, folder)
            for name, part in (("train", train), ("validation", validation))
        ]
        self._train = _batches(encoded[0], settings.batches, seed, shuffle=True)
        self._validation = _batches(encoded[1], settings.batches, seed, shuffle=False)
        self.steps_per_epoch = len(self._train)
        self.data_hash = hashlib.sha256("".join(part.data_hash for part in encoded).encode()).hexdigest()

    def batch(self, step: int) -> Batch:
        return self._train.batch(*divmod(step, self.steps_per_epoch))

    def validation(self) -> Iterator[Batch]:
        for index in range(len(self._validation)):
            yield self._validation.batch(0, index)


class SampledBatches:
    """Batches drawn from a model: sequence i of the run is row i of one endless sample.

    With `distinct` the sample ends there, and every epoch goes through it in a new order.
    """

    def __init__(self, settings: SampledData, seed: int, device: str) -> None:
        self._settings, self._seed = settings, seed
        self._model = load_model(settings.model, device=device)
        self.vocabulary = self._model.vocabulary
        self.steps_per_epoch = max(1, (settings.distinct or settings.epoch) // settings.size)
        described = f"{self._model.weight_hash} {settings.model_dump_json()} {seed}"
        self.data_hash = hashlib.sha256(described.encode()).hexdigest()
        self._block = lru_cache(maxsize=2 if settings.distinct is None else None)(self._draw_block)

    def batch(self, step: int) -> Batch:
        size, distinct = self._settings.size, self._settings.distinct
        if distinct is None:
            return self._of_rows(_TRAINING, np.arange(step * size, (step + 1) * size))
        epoch, index = divmod(step, self.steps_per_epoch)
        order = Permutation(distinct, derived_seed(self._seed, epoch))
        return self._of_rows(_TRAINING, order(np.arange(index * size, min((index + 1) * size, distinct))))

    def validation(self) -> Iterator[Batch]:
        for first in range(0, self._settings.validation, self._settings.size):
            last = min(first + self._settings.size, self._settings.validation)
            yield self._of_rows(_VALIDATION, np.arange(first, last))

    def _of_rows(self, purpose: int, rows: NDArray[np.int64]) -> Batch:
        tokens = torch.empty(len(rows), self._settings.length, dtype=torch.long)
        blocks = rows // _BLOCK_ROWS
        for block in np.unique(blocks):
            here = blocks == block
            tokens[here] = self._block(purpose, int(block))[rows[here] - block * _BLOCK_ROWS]
        end = self.vocabulary.end if self._settings.stop_at_end else None
        return Batch(tokens.numpy(), lengths_until(tokens, end).numpy())

    def _draw_block(self, purpose: int, block: int) -> Tensor:
        drawn = generate(
            self._model,
            _BLOCK_ROWS,
            self._settings.length,
            seed=(self._seed, purpose),
            stop_at_end=self._settings.stop_at_end,
            first_row=block * _BLOCK_ROWS,
            batch_size=_BLOCK_ROWS,
        )
        return drawn.tokens


def open_data(
    settings: CorpusData | SampledData | ParallelData, seed: int, *, device: str, folder: Path
) -> TrainingData:
    """The batches that a recipe's data section describes; a corpus is encoded into the folder."""
    if isinstance(settings, ParallelData):
        return ParallelBatches(settings, seed, folder)
    if isinstance(settings, SampledData):
        return SampledBatches(settings, seed, device)
    return CorpusBatches(settings, seed, folder)


def sentences_of(settings: CorpusData) -> tuple[Sentences, Sentences]:
    """Training and validation sentences, filtered; without validation files they part by hash."""
    if settings.validation:
        return _filtered(settings.train, settings.filters), _filtered(settings.validation, settings.filters)
    whole, share = _filtered(settings.train, settings.filters), settings.validation_share
    split = Split({"train": 1 - share, "validation": share})
    return lambda: split.select(whole(), "train"), lambda: split.select(whole(), "validation")


def build_vocabulary(settings: VocabularySettings, train: Sentences) -> Vocabulary:
    """The vocabulary a recipe asks for, counted on the training sentences where it is counted."""
    match settings:
        case WordVocabularySettings():
            return WordVocabulary.count(train(), settings.size, lower=settings.lower)
        case CharacterVocabularySettings():
            return CharacterVocabulary() if settings.symbols == "text8" else CharacterVocabulary.count(train())
        case HubVocabularySettings():
            return HubVocabulary.load(settings.name)
        case SharedVocabularySettings():
            return load_model(settings.name).vocabulary


def _encoded_part(name: str, part: Sentences, vocabulary: Vocabulary, folder: Path) -> EncodedCorpus:
    try:
        return encode_corpus(part(), vocabulary, end=vocabulary.end is not None, folder=folder / name)
    except OffscriptError as fault:
        raise OffscriptError(f"{name}: {fault.what}", why=fault.why, next=fault.next) from fault


def _filtered(sources: list[Source], filters: Filters) -> Sentences:
    def read() -> Iterator[str]:
        return (sentence for source in sources for sentence in _read(source))

    def allowed() -> Iterator[str]:
        sentences = read()
        if filters.exclude:
            sentences = exclude(sentences, (sentence for source in filters.exclude for sentence in _read(source)))
        return drop_repeats(sentences) if filters.drop_repeats else sentences

    def kept() -> Iterator[str]:
        minimum = filters.minimum_frequency
        sentences = drop_rare_words(allowed, minimum) if minimum > 1 else allowed()
        return keep_lengths(sentences, filters.shortest, filters.longest)

    return kept


def _read(source: Source) -> Iterator[str]:
    texts = read_sentences(source.path, format=source.format, field=source.field)
    if source.pieces is not None:
        texts = cut_into_pieces(texts, source.pieces)
    for text in texts if source.half is None else HALVES.select(texts, source.half):
        for sentence in split_sentences(text) if source.split_sentences else [text]:
            yield separate_punctuation(sentence) if source.separate_punctuation else sentence


def _batches(corpus: EncodedCorpus, settings: BatchSettings, seed: int, *, shuffle: bool) -> Batches:
    if settings.kind == "packed":
        return PackedBatches(corpus, settings.length, settings.size, seed, shuffle=shuffle)
    if settings.kind == "fixed":
        return FixedBatches(corpus, settings.length, settings.size, seed, shuffle=shuffle)
    return BucketedBatches(corpus, settings.size, seed, max_length=settings.length, shuffle=shuffle)
