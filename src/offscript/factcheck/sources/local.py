"""The local index as a provider of documents."""

from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from offscript.factcheck.documents.document import Document
from offscript.factcheck.index import Index, open_index
from offscript.factcheck.retrieval.models import DEFAULT_MODEL, check_model
from offscript.factcheck.retrieval.searcher import Searcher
from offscript.factcheck.sources import Found, Kind, Scale
from offscript.factcheck.sources.ratings import Ratings

SHALLOWEST, DEEPER = 100, 8
"""How deep a ranking is searched for documents of one kind at first, and by how much deeper at each further try."""
_KINDS = tuple(Kind)
KEPT, SHORT = 4096, 5_000  # documents that are kept open, and characters that such a one may have


class LocalIndex:
    """Finds documents in an index by a retrieval model. Several threads may ask at once.

    Args:
        index: An index, or its folder.
        model: The retrieval model by name, as in `offscript ls retrieval`.
        ratings: Gives a document's kind by its address.
        kind: The kind of documents whose address is not rated.
    """

    scale = Scale.scores

    def __init__(
        self,
        index: Index | Path | str,
        *,
        model: str = DEFAULT_MODEL,
        ratings: Ratings | None = None,
        kind: Kind = Kind.unrated,
    ) -> None:
        check_model(model)
        self.index = index if isinstance(index, Index) else open_index(index)
        self.model, self.kind = model, kind
        self._ratings, self.searcher = ratings or Ratings(), Searcher(self.index)
        self._opened: dict[str, tuple[Document, Kind]] = {}

    def find(self, query: str, k: int) -> list[Found]:
        return self.find_all([query], k)[0]

    def find_kind(self, query: str, k: int, kind: Kind) -> list[Found]:
        """The k best documents of one kind of source, however many of others score higher."""
        wanted = self._kind_numbers == _KINDS.index(kind)
        if not wanted.any():
            return []
        depth = min(max(k, SHALLOWEST), len(wanted))
        while True:
            documents, scores = self.searcher.rank([query], depth, model=self.model)
            ranked = documents[0] >= 0
            places = np.flatnonzero(ranked & wanted[documents[0]])[:k]
            if len(places) == k or depth == len(wanted) or not ranked.all():
                return [self._found(self.searcher.id_of(int(documents[0, n])), float(scores[0, n])) for n in places]
            depth = min(depth * DEEPER, len(wanted))

    @cached_property
    def _kind_numbers(self) -> NDArray[np.int8]:
        """For every document the place of its kind among all kinds [documents]."""
        urls = (url for segment in self.index.segments for url in segment.urls())
        kinds: dict[str, int] = {"": _KINDS.index(self.kind)}
        numbers = [
            kinds[url] if url in kinds else kinds.setdefault(url, _KINDS.index(self._ratings.kind_of(url, self.kind)))
            for url in urls
        ]
        return np.array(numbers, dtype=np.int8)

    def find_all(self, queries: list[str], k: int) -> list[list[Found]]:
        """As `find`, for many queries at once."""
        rankings = self.searcher.search_all(queries, k, model=self.model)
        return [[self._found(hit.document_id, hit.score) for hit in hits] for hits in rankings]

    def _found(self, id: str, score: float) -> Found:
        document, kind = self._opened.get(id) or self._open(id)
        return Found(document, score, kind)

    def _open(self, id: str) -> tuple[Document, Kind]:
        """A document with its kind; short ones are kept, since claims about one thing find the same ones."""
        document = self.index.document(id)
        opened = document, self._ratings.kind_of(document.url, self.kind)
        if len(document.text) <= SHORT:
            if len(self._opened) >= KEPT:
                self._opened = {}
            self._opened[id] = opened
        return opened
