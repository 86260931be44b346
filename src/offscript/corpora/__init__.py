"""Text comes in here: one layer that reads every record file, vocabularies, filters, splits, encoded corpora, batches.

What may not enter: models, tensors, and anything that draws from global randomness.
"""

from offscript.corpora.batching import Batch, Batches, BucketedBatches, FixedBatches, PackedBatches
from offscript.corpora.encoded import EncodedCorpus, encode_corpus
from offscript.corpora.filters import (
    Split,
    cut_into_pieces,
    cut_to_length,
    drop_rare_words,
    drop_repeats,
    exclude,
    keep_lengths,
)
from offscript.corpora.lines import Lines
from offscript.corpora.prose import sentence_starts, separate_punctuation, split_sentences
from offscript.corpora.readers import read_corpus, read_sentences
from offscript.corpora.records import Schema, read_json, read_records, read_rows
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
    "Lines",
    "PackedBatches",
    "Schema",
    "Split",
    "Vocabulary",
    "WordVocabulary",
    "cut_into_pieces",
    "cut_to_length",
    "drop_rare_words",
    "drop_repeats",
    "encode_corpus",
    "exclude",
    "keep_lengths",
    "read_corpus",
    "read_json",
    "read_records",
    "read_rows",
    "read_sentences",
    "sentence_starts",
    "separate_punctuation",
    "split_sentences",
    "vocabulary_from",
]
