"""Text comes in here: readers, vocabularies, filters, splits, encoded corpora and batches.

What may not enter: models, tensors, and anything that draws from global randomness.
"""

from offscript.corpora.batching import Batch, Batches, BucketedBatches, FixedBatches, PackedBatches
from offscript.corpora.encoded import EncodedCorpus, encode_corpus
from offscript.corpora.readers import read_corpus, read_sentences
from offscript.corpora.vocabularies import (
    CharacterVocabulary,
    HubVocabulary,
    Vocabulary,
    WordVocabulary,
    vocabulary_from,
)

__all__ = [
    "Batch",
    "Batches",
    "BucketedBatches",
    "CharacterVocabulary",
    "EncodedCorpus",
    "FixedBatches",
    "HubVocabulary",
    "PackedBatches",
    "Vocabulary",
    "WordVocabulary",
    "encode_corpus",
    "read_corpus",
    "read_sentences",
    "vocabulary_from",
]
