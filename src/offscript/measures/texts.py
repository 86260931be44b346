"""Sequences to be predicted, with what they were made from."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from offscript.corpora.vocabularies import Vocabulary
from offscript.errors import OffscriptError


@dataclass(frozen=True)
class Texts:
    """Sequences to be predicted, the end token included where the vocabulary has one, and how they were made."""

    tokens: list[list[int]]
    characters: list[int]
    recipe: dict[str, Any]

    @property
    def digest(self) -> str:
        """A hash of the ids."""
        return hashlib.sha256(repr(self.tokens).encode()).hexdigest()[:32]


def encode_texts(
    sentences: Iterable[str],
    vocabulary: Vocabulary,
    *,
    longest: int | None = None,
    recipe: dict[str, Any] | None = None,
) -> Texts:
    """Ids of every sentence, cut to `longest` tokens; a cut sentence is measured without an end.

    Args:
        sentences: Texts as strings.
        vocabulary: The vocabulary of the model that will read them.
        longest: The most tokens of a sentence; None for no limit.
        recipe: Where the sentences come from; it becomes part of every figure's recipe.

    Returns:
        The sentences as token ids, with what is needed to count characters.
    """
    tokens, characters = [], []
    ending = [] if vocabulary.end is None else [vocabulary.end]
    for sentence in sentences:
        ids = [*vocabulary.encode(sentence), *ending]
        if longest is not None and len(ids) > longest:
            ids = ids[:longest]
            sentence = vocabulary.decode(ids)
        if ids:
            tokens.append(ids)
            characters.append(len(sentence) + (ids[-1] == vocabulary.end))
    if len(tokens) < 2:
        raise OffscriptError(
            f"found {len(tokens)} sentences to measure", why="an interval needs at least two", next="give more text"
        )
    return Texts(tokens, characters, recipe or {})
