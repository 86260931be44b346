"""Pages of the web as documents: what search engines found, fetched side by side, their main text taken out."""

import functools
import hashlib
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from offscript.factcheck.documents.document import Document
from offscript.factcheck.sources import Found
from offscript.factcheck.sources.extraction import ExtractionError, Extractor, Page
from offscript.factcheck.sources.fetching import Fetcher, FetchError
from offscript.factcheck.sources.ratings import Ratings

SIDE_BY_SIDE = 8
PAGE_KINDS = ("text/html", "application/xhtml+xml", "text/plain")
_log = logging.getLogger(__name__)


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
