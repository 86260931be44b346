"""Ids of prose as people write it, whatever the vocabulary."""

from offscript.corpora.prose import separate_punctuation
from offscript.corpora.vocabularies import Vocabulary, WordVocabulary


def encode_prose(vocabulary: Vocabulary, text: str) -> list[int]:
    """A vocabulary of words knows punctuation as words of its own, so there it is set apart first."""
    return vocabulary.encode(separate_punctuation(text) if isinstance(vocabulary, WordVocabulary) else text)
