"""Pages of the web as documents: what search engines found, fetched side by side, their main text taken out."""

import hashlib
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from offscript.errors import missing_package
from offscript.factcheck.documents.document import Document
from offscript.factcheck.sources import Found
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


class Page(NamedTuple):
    """What a page says."""

    title: str
    text: str
    date: str


def read_pages(listed: Sequence[Listed], fetcher: Fetcher, ratings: Ratings) -> list[Found]:
    """The listed pages as documents in the engine's order; one that cannot be read is known by its snippet alone.

    The score falls with the place in the list, since engines do not tell theirs.
    """
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        documents = list(pool.map(lambda entry: _document(entry, fetcher), listed))
    return [
        Found(document, 1 / (1 + place), ratings.kind_of(document.url))
        for place, document in enumerate(documents)
        if document.text
    ]


def page_of(content: bytes, kind: str, url: str) -> Page:
    """Title, main text and date of a page; empty where there is none."""
    if kind == "text/plain":
        return Page("", content.decode("utf-8", "replace").strip(), "")
    try:
        import trafilatura
    except ImportError as error:
        raise missing_package("reading web pages", "trafilatura", extra="web") from error
    found = trafilatura.bare_extraction(content, url=url, include_comments=False, with_metadata=True)
    if found is None:
        return Page("", "", "")
    assert isinstance(found, trafilatura.settings.Document)
    return Page(found.title or "", found.text or "", found.date or "")


def _document(entry: Listed, fetcher: Fetcher) -> Document:
    id = f"web-{hashlib.sha256(entry.url.encode('utf-8', 'replace')).hexdigest()[:16]}"
    known = Document(id, entry.title, entry.snippet, entry.url, entry.date)
    try:
        fetched = fetcher.get(entry.url, accept=PAGE_KINDS)
    except FetchError as fault:
        _log.info("%s is not read: %s", entry.url, fault)
        return known
    page = page_of(fetched.body, fetched.kind, fetched.url) if fetched.status == 200 else Page("", "", "")
    if not page.text:
        return known
    return Document(id, entry.title or page.title, page.text, fetched.url, page.date or entry.date)
