"""OpenSearch for collections beyond one machine: the same models, the same hits, the same documents."""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.documents.document import Document
from offscript.factcheck.retrieval.models import DEFAULT_MODEL
from offscript.factcheck.retrieval.opensearch_requests import STORED, bulk_lines, index_body, search_body
from offscript.factcheck.retrieval.searcher import Hit
from offscript.factcheck.sources.ratings import Ratings
from offscript.factcheck.sources.source import Found, Kind

BULK = 500
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,100}")


def opensearch_client(address: str, **settings: Any) -> Any:
    """An `opensearchpy.OpenSearch` for `https://USER:PASSWORD@HOST:9200`; settings are the client's own."""
    try:
        from opensearchpy import OpenSearch
    except ImportError as error:
        raise OffscriptError(
            "OpenSearch needs its client",
            why="opensearch-py is not installed",
            next="pip install offscript[opensearch]",
        ) from error
    return OpenSearch(address, **{"timeout": 30, "max_retries": 3, "retry_on_timeout": True, **settings})


class OpenSearchIndex:
    """An index on an OpenSearch cluster, as a searcher and as a provider of documents.

    `client` is an `opensearchpy.OpenSearch`. `models` are those the index was or will be made with; the first serves
    where none is named. Shards exchange their statistics before they score, so that results do not depend on them.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        models: Sequence[str] = (DEFAULT_MODEL,),
        analyzer: Analyzer | None = None,
        ratings: Ratings | None = None,
        kind: Kind = Kind.unrated,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise OffscriptError(f"{name!r} cannot name an index", next="use lower-case letters, digits, _ . and -")
        if not models:
            raise OffscriptError("an index without a retrieval model", next=f"name one such as {DEFAULT_MODEL}")
        self._client, self.name, self.models = client, name, tuple(models)
        self._analyzer, self._ratings, self._kind = analyzer or Analyzer(), ratings or Ratings(), kind

    def create(self, *, shards: int = 1, replicas: int = 0) -> None:
        """Make the index; one of that name that is there already is an error."""
        body = index_body(self.models, self._analyzer, shards=shards, replicas=replicas)
        with _told():
            self._client.indices.create(index=self.name, body=body)

    def add(self, documents: Iterable[Document]) -> int:
        """Add documents, each in the place of one with its id, and make them found; returns how many."""
        count = 0
        with _told():
            for batch in _batches(documents):
                answer = self._client.bulk(body=bulk_lines(self.name, batch))
                if answer["errors"]:
                    raise OffscriptError(f"OpenSearch did not take in {_first_fault(answer)}")
                count += len(batch)
            self._client.indices.refresh(index=self.name)
        return count

    def search(self, query: str, k: int = 10, *, model: str | None = None) -> list[Hit]:
        """The k best documents, best first."""
        return [Hit(hit["_id"], hit["_score"]) for hit in self._hits(query, k, model, source=False)]

    def find(self, query: str, k: int) -> list[Found]:
        hits = self._hits(query, k, None, source=True)
        found = ((_document(hit["_id"], hit["_source"]), hit["_score"]) for hit in hits)
        return [Found(document, score, self._ratings.kind_of(document.url, self._kind)) for document, score in found]

    def _hits(self, query: str, k: int, model: str | None, *, source: bool) -> list[dict[str, Any]]:
        chosen = model or self.models[0]
        if chosen not in self.models:
            raise OffscriptError(f"{self.name} has no field for {chosen!r}", next=f"it has {', '.join(self.models)}")
        if not query.strip():
            return []
        body = {**search_body(query, k, chosen), "_source": [*STORED, "starts"] if source else False}
        with _told():
            answer = self._client.search(index=self.name, body=body, search_type="dfs_query_then_fetch")
        hits: list[dict[str, Any]] = answer["hits"]["hits"]
        return hits


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    stream = iter(documents)
    while batch := list(itertools.islice(stream, BULK)):
        yield batch


def _first_fault(answer: dict[str, Any]) -> str:
    faulty = next(item["index"] for item in answer["items"] if "error" in item["index"])
    return f"document {faulty['_id']!r}: {faulty['error'].get('reason', '')}"[:300]


def _document(id: str, source: dict[str, Any]) -> Document:
    starts = source.get("starts")
    fields = {name: source.get(name) or "" for name in STORED}
    return Document(id, **fields, starts=None if starts is None else tuple(starts))


@contextmanager
def _told() -> Iterator[None]:
    """Faults of the cluster in one line."""
    from opensearchpy.exceptions import ConnectionError as Unreachable
    from opensearchpy.exceptions import TransportError

    try:
        yield
    except Unreachable as fault:
        raise OffscriptError("OpenSearch cannot be reached", why=str(fault.error)[:300]) from fault
    except TransportError as fault:
        raise OffscriptError(f"OpenSearch answered {fault.status_code}", why=str(fault.error)[:300]) from fault
