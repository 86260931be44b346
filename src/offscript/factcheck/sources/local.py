"""The local index as a provider of documents."""

from pathlib import Path

from offscript.factcheck.index import Index, open_index
from offscript.factcheck.retrieval.models import DEFAULT_MODEL, retrieval_model
from offscript.factcheck.retrieval.searcher import Searcher
from offscript.factcheck.sources import Found, Kind
from offscript.factcheck.sources.ratings import Ratings


class LocalIndex:
    """Finds documents in an index by a retrieval model. Several threads may ask at once.

    Args:
        index: An index, or its folder.
        model: The retrieval model by name, as in `offscript ls retrieval`.
        ratings: Gives a document's kind by its address.
        kind: The kind of documents whose address is not rated.
    """

    def __init__(
        self,
        index: Index | Path | str,
        *,
        model: str = DEFAULT_MODEL,
        ratings: Ratings | None = None,
        kind: Kind = Kind.unrated,
    ) -> None:
        retrieval_model(model)
        self.index = index if isinstance(index, Index) else open_index(index)
        self.model, self.kind = model, kind
        self._ratings, self.searcher = ratings or Ratings(), Searcher(self.index)

    def find(self, query: str, k: int) -> list[Found]:
        return self.find_all([query], k)[0]

    def find_all(self, queries: list[str], k: int) -> list[list[Found]]:
        """As `find`, for many queries at once."""
        rankings = self.searcher.search_all(queries, k, model=self.model)
        return [[self._found(hit.document_id, hit.score) for hit in hits] for hits in rankings]

    def _found(self, id: str, score: float) -> Found:
        document = self.index.document(id)
        return Found(document, score, self._ratings.kind_of(document.url, self.kind))
