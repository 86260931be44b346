"""Dense re-ranking: documents that were found by their words, ordered by meaning."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document
from offscript.factcheck.retrieval.searcher import Hit

Encoder = Callable[[Sequence[str]], NDArray[np.floating]]
"""Texts to vectors [texts, dimensions], such as the `encode` of a sentence-transformers model."""


def rerank(query: str, documents: Sequence[Document], encode: Encoder) -> list[Hit]:
    """The documents by falling cosine between the query's vector and theirs; equal ones keep their order."""
    if not documents:
        return []
    vectors = np.asarray(encode([query, *(document.searched for document in documents)]), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(documents) + 1:
        raise OffscriptError(
            f"the encoder gave an array of shape {vectors.shape} for {len(documents) + 1} texts",
            next="give an encoder that returns one vector a text",
        )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(norms == 0, 1, norms)
    cosines = unit[1:] @ unit[0]  # [documents]
    return [Hit(documents[place].id, float(cosines[place])) for place in np.argsort(-cosines, kind="stable")]
