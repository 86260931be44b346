"""Documents whose text is taken out by a process of its own: HTML, PDF, and the pages of ZIM files."""

import functools
from collections.abc import Iterator
from pathlib import Path

from offscript.errors import OffscriptError, missing_package, require_package
from offscript.factcheck.documents.decoding import read_bytes
from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.prose import LONGEST_TITLE, is_title
from offscript.factcheck.sources.extraction import PDF, ExtractionError, Extractor, Page

SECONDS = 120.0  # of one file; a book of a thousand pages takes half of that
MEMORY = 2 << 30
MOST_BYTES = 1 << 28
HTML = "text/html"


def read_html(path: Path, id: str) -> Document:
    """The main text of a page, without script, style and navigation."""
    return _document(path, id, HTML)


def read_pdf(path: Path, id: str) -> Document:
    """The text of a PDF file; scanned pages have none."""
    require_package(f"{path}: PDF", "pypdf", extra="documents")
    return _document(path, id, PDF)


def read_zim(path: Path, id: str) -> Iterator[Document]:
    """The pages of a Kiwix ZIM file, redirects left out."""
    try:
        from libzim.reader import Archive
    except ImportError as error:
        raise missing_package(f"{path}: ZIM", "libzim", extra="documents") from error
    try:
        archive = Archive(path)
        date = archive.get_metadata("Date").decode("utf-8", "replace") if "Date" in archive.metadata_keys else ""
        for number in range(archive.all_entry_count):
            entry = archive._get_entry_by_id(number)  # the library has no other way to list them
            if entry.is_redirect or not entry.get_item().mimetype.startswith(HTML):
                continue
            page = _extractor().page_of(bytes(entry.get_item().content), HTML, "http://zim.invalid/")
            if page.text:
                yield Document(f"{id}#{entry.path}", page.title or entry.title, page.text, date=page.date or date)
    except (RuntimeError, ValueError, ExtractionError) as error:  # libzim decodes names of entries
        raise OffscriptError(f"{path} cannot be read", why=str(error)) from error


def _document(path: Path, id: str, kind: str) -> Document:
    require_package(f"{path}: {'PDF' if kind == PDF else 'HTML'}", "trafilatura", extra="documents")
    content = read_bytes(path, MOST_BYTES)
    try:
        page = _extractor().page_of(content, kind, "http://file.invalid/")
    except ExtractionError as error:
        raise OffscriptError(f"{path} cannot be read", why=str(error)) from error
    if not page.text.strip():
        why = "its pages may be scanned" if kind == PDF else "it has no main text"
        raise OffscriptError(f"{path} holds no text", why=why)
    return Document(id, _title(page, id), page.text, date=page.date)


def _title(page: Page, id: str) -> str:
    """The page's own title, else its first line, else the file's name."""
    first = page.text.strip().partition("\n")[0].strip()
    return page.title[:LONGEST_TITLE] or (first if is_title(first) else Path(id).stem)


@functools.cache
def _extractor() -> Extractor:
    return Extractor(seconds=SECONDS, memory=MEMORY, workers=1)
