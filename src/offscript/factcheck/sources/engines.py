"""Search engines on the web as providers of documents: Google's Custom Search and SearXNG, and the pages they list."""

import functools
import hashlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from offscript._specification import nearest
from offscript.errors import OffscriptError
from offscript.factcheck.documents.document import Document
from offscript.factcheck.sources import Found, Kind, Scale
from offscript.factcheck.sources.extraction import ExtractionError, Extractor, Page
from offscript.factcheck.sources.fetching import Fetched, Fetcher, FetchError
from offscript.factcheck.sources.ratings import Ratings

SIDE_BY_SIDE = 8
PAGE_KINDS = ("text/html", "application/xhtml+xml", "text/plain")
_log = logging.getLogger(__name__)
GOOGLE = "https://www.googleapis.com/customsearch/v1"
GOOGLE_KEY, GOOGLE_ENGINE = "GOOGLE_API_KEY", "GOOGLE_CSE_ID"
GOOGLE_PAGE, GOOGLE_MOST = 10, 100  # results an answer holds, and results there are at all
SITES_A_QUERY = 10  # Google reads 32 words of a query, and every site takes two
SEARXNG_ADDRESS = "SEARXNG_URL"
SEARXNG_MOST_PAGES = 5


class Listed(NamedTuple):
    """An entry of a search engine's list."""

    url: str
    title: str
    snippet: str
    date: str = ""


def read_pages(
    listed: Sequence[Listed], fetcher: Fetcher, ratings: Ratings, *, extractor: Extractor | None = None
) -> list[Found]:
    """The listed pages as documents in the engine's order; one that cannot be read is known by its snippet alone.

    The score falls with the place in the list, since engines do not tell theirs.
    """
    reading = extractor or _extractor()
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        documents = list(pool.map(lambda entry: _document(entry, fetcher, reading), listed))
    return [
        Found(document, 1 / (1 + place), ratings.kind_of(document.url))
        for place, document in enumerate(documents)
        if document.text
    ]


@functools.cache
def _extractor() -> Extractor:
    return Extractor()


def _document(entry: Listed, fetcher: Fetcher, extractor: Extractor) -> Document:
    id = f"web-{hashlib.sha256(entry.url.encode('utf-8', 'replace')).hexdigest()[:16]}"
    known = Document(id, entry.title, entry.snippet, entry.url, entry.date)
    try:
        fetched = fetcher.get(entry.url, accept=PAGE_KINDS)
        page = extractor.page_of(fetched.body, fetched.kind, fetched.url) if fetched.status == 200 else Page()
    except FetchError as fault:
        _log.info("%s is not read: %s", entry.url, fault)
        return known
    except ExtractionError as fault:
        _log.warning("%s is not read: %s", entry.url, fault)
        return known
    if not page.text:
        return known
    return Document(id, entry.title or page.title, page.text, fetched.url, page.date or entry.date)


class SearchEngine(Protocol):
    """Lists pages for a query."""

    def look_up(self, query: str, k: int) -> list[Listed]:
        """At most k entries, best first."""


class WebSearch:
    """What an engine lists, read page by page.

    Args:
        engine: Lists pages.
        fetcher: Gets them.
        ratings: Which kind a page's site is of, and which sites there are of a kind.
        most: Pages that are read for a query.
        site_queries: Queries that a search of one kind of source may take; each names ten sites of the table of
            ratings, the first ones first. An engine that was set up for a kind takes one.
    """

    scale = Scale.ranks

    def __init__(
        self,
        engine: SearchEngine,
        *,
        fetcher: Fetcher | None = None,
        ratings: Ratings | None = None,
        most: int = 10,
        site_queries: int = 3,
    ) -> None:
        self._engine, self._fetcher = engine, fetcher or Fetcher()
        self._ratings, self._most, self._site_queries = ratings or Ratings(), most, site_queries

    def find(self, query: str, k: int) -> list[Found]:
        if not query.strip():
            return []
        return read_pages(self._engine.look_up(query, min(k, self._most)), self._fetcher, self._ratings)

    def find_kind(self, query: str, k: int, kind: Kind) -> list[Found]:
        """Pages of one kind of source, by queries that are restricted to its sites; unrated sites are not searched.

        An engine that ignores the restriction adds nothing: what it lists of other kinds is left out.
        """
        if not query.strip():
            return []
        most = min(k, self._most)
        lists = [engine.look_up(asked, most) for engine, asked in self._restricted(query, kind)]
        entries = [entry for listed in zip_longest(*lists) for entry in listed if entry is not None]
        once = {entry.url: entry for entry in reversed(entries)}
        kept = [entry for entry in entries if once.pop(entry.url, None) is not None and self._is_of(entry, kind)]
        return [each for each in read_pages(kept[:most], self._fetcher, self._ratings) if each.kind is kind]

    def _is_of(self, entry: Listed, kind: Kind) -> bool:
        return self._ratings.kind_of(entry.url) is kind

    def _restricted(self, query: str, kind: Kind) -> list[tuple[SearchEngine, str]]:
        """The engine of a kind with the query as it is, or the general one with sites added to the query."""
        own = self._engine.of_kind(kind) if isinstance(self._engine, Google) else None
        if own is not None:
            return [(own, query)]
        sites = self._ratings.sites_of(kind)[: SITES_A_QUERY * self._site_queries]
        return [
            (self._engine, f"{query} ({' OR '.join(f'site:{site}' for site in sites[first : first + SITES_A_QUERY])})")
            for first in range(0, len(sites), SITES_A_QUERY)
        ]


class Google:
    """Google's Custom Search JSON API; new keys are no longer given out, and it ends on 1 January 2027.

    https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list
    """

    def __init__(self, key: str, engine: str, *, address: str = GOOGLE, fetcher: Fetcher | None = None) -> None:
        self._key, self._engine, self._address = key, engine, address
        self._fetcher = fetcher or Fetcher()

    @classmethod
    def from_environment(cls) -> "Google":
        """With `GOOGLE_API_KEY` and the search engine's id, `GOOGLE_CSE_ID`."""
        return cls(_from_environment(GOOGLE_KEY), _from_environment(GOOGLE_ENGINE))

    def of_kind(self, kind: Kind) -> "Google | None":
        """The search engine that was set up for the sites of one kind, if the environment names one.

        As in the thesis: `GOOGLE_CSE_ID_HIGH`, `GOOGLE_CSE_ID_MIXED`, `GOOGLE_CSE_ID_LOW`, `GOOGLE_CSE_ID_WIKIPEDIA`.
        """
        engine = os.environ.get(f"{GOOGLE_ENGINE}_{kind.name.upper()}", "").strip()
        return Google(self._key, engine, address=self._address, fetcher=self._fetcher) if engine else None

    def look_up(self, query: str, k: int) -> list[Listed]:
        listed: list[Listed] = []
        wanted = min(k, GOOGLE_MOST)
        while len(listed) < wanted:
            size = min(GOOGLE_PAGE, wanted - len(listed))
            parameters: dict[str, str | int] = {
                "key": self._key,
                "cx": self._engine,
                "q": query,
                "num": size,
                "start": len(listed) + 1,
            }
            answer = _asked("Google", self._fetcher, self._address, parameters, secret=self._key)
            items = _entries(answer, "items")
            listed += [Listed(item["link"], _text(item, "title"), _text(item, "snippet")) for item in items]
            if len(items) < size:
                break
        return _http_only(listed)[:wanted]


class SearXNG:
    """A SearXNG instance that the user runs or was given; its settings must allow the format `json`.

    https://docs.searxng.org/dev/search_api.html
    """

    def __init__(self, address: str, *, fetcher: Fetcher | None = None) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise OffscriptError(f"{address!r} is not an address of SearXNG", next="write https://HOST")
        self._address = f"{address.rstrip('/')}/search"
        self._fetcher = fetcher or Fetcher(allowed=frozenset({parts.hostname}))

    @classmethod
    def from_environment(cls) -> "SearXNG":
        """At `SEARXNG_URL`."""
        return cls(_from_environment(SEARXNG_ADDRESS))

    def look_up(self, query: str, k: int) -> list[Listed]:
        listed: dict[str, Listed] = {}
        for page in range(1, SEARXNG_MOST_PAGES + 1):
            answer = _asked("SearXNG", self._fetcher, self._address, {"q": query, "format": "json", "pageno": page})
            results = _entries(answer, "results")
            known = len(listed)
            for one in results:
                listed.setdefault(
                    one["url"],
                    Listed(one["url"], _text(one, "title"), _text(one, "content"), _text(one, "publishedDate")[:10]),
                )
            if len(listed) >= k or len(listed) == known:
                break
        return _http_only(list(listed.values()))[:k]


ENGINES: dict[str, Callable[[], SearchEngine]] = {
    "google": Google.from_environment,
    "searxng": SearXNG.from_environment,
}


def web_search(name: str, *, ratings: Ratings | None = None) -> WebSearch:
    """The provider of a name, its key or address taken from the environment."""
    if name not in ENGINES:
        raise OffscriptError(f"unknown search engine {name!r}", next=nearest(name, ENGINES))
    return WebSearch(ENGINES[name](), ratings=ratings)


def _from_environment(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise OffscriptError(f"{variable} is not set", next=f"export {variable}=… and try again")
    return value


def _asked(
    engine: str, fetcher: Fetcher, address: str, parameters: dict[str, str | int], *, secret: str = ""
) -> dict[str, Any]:
    """The engine's answer; a fault is told in one line that does not give the key away."""
    try:
        fetched = fetcher.get(address, parameters)
    except FetchError as fault:
        told = str(fault).replace(secret, "…") if secret else str(fault)
        raise OffscriptError(f"{engine} cannot be asked", why=told) from None
    answer = _json(fetched)
    if fetched.status != 200 or answer is None:
        raise OffscriptError(f"{engine} answered {fetched.status}", why=_reason(answer), next=_advice(engine, fetched))
    return answer


def _json(fetched: Fetched) -> dict[str, Any] | None:
    try:
        answer = json.loads(fetched.body)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _reason(answer: dict[str, Any] | None) -> str:
    """Google's `{"error": {"message": …}}`, SearXNG's `{"error": …}`."""
    if answer is None:
        return "its answer is no JSON object"
    error = answer.get("error", "")
    told = error.get("message", "") if isinstance(error, dict) else error
    return str(told)[:200]


def _advice(engine: str, fetched: Fetched) -> str:
    if engine == "SearXNG" and fetched.status in (200, 403):
        return "allow json under search.formats in its settings.yml"
    return "try again later" if fetched.status == 429 or fetched.status >= 500 else "check the key and the address"


def _entries(answer: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """The entries that are objects with an address; engines that have nothing leave the field out."""
    address = {"items": "link", "results": "url"}[field]
    entries = answer.get(field)
    found = entries if isinstance(entries, list) else []
    return [one for one in found if isinstance(one, dict) and isinstance(one.get(address), str)]


def _text(entry: dict[str, Any], field: str) -> str:
    value = entry.get(field)
    return value if isinstance(value, str) else ""


def _http_only(listed: list[Listed]) -> list[Listed]:
    return [entry for entry in listed if entry.url.lower().startswith(("http://", "https://"))]
