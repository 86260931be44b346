"""Where a text to be checked comes from: a file of any known kind, standard input, or an address."""

import sys
from pathlib import Path
from typing import BinaryIO

from offscript.corpora.lines import MAX_LINE_BYTES, kind_of
from offscript.errors import OffscriptError, missing_package
from offscript.factcheck.documents.decoding import decode
from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.prose import markdown_document
from offscript.factcheck.documents.readers import read_documents

STANDARD_INPUT, INPUT = "-", "standard input"
_MARKED = (".md", ".markdown")


def read_text(source: str, *, raw: bool = False, stdin: BinaryIO | None = None) -> Document:
    """The text of a source.

    Args:
        source: A file (.md, .txt, .html, .pdf, .docx …), `-` for standard input, or an http or https address.
        raw: Keep the marks of Markdown, such as links and footnotes.
        stdin: Read in the place of standard input.

    Returns:
        One document; a file that holds several, such as a table, is refused.
    """
    if source == STANDARD_INPUT:
        content = (stdin or sys.stdin.buffer).read(MAX_LINE_BYTES + 1)
        if not content.strip():
            raise OffscriptError("nothing to check: standard input is empty", next="pipe a text into the command")
        text = decode(content, Path(INPUT))
        return Document(INPUT, "", text) if raw else markdown_document(INPUT, text)
    if source.startswith(("http://", "https://")):
        return _from_address(source)
    documents = read_documents(source, format="text" if raw and kind_of(Path(source)) in _MARKED else "auto")
    document = next(documents, None)
    if document is None:
        raise OffscriptError(f"{source} holds no text")
    if next(documents, None) is not None:
        raise OffscriptError(
            f"{source} holds several documents", next="name one text; claims of a table are checked with --file"
        )
    return document


def _from_address(url: str) -> Document:
    try:
        from offscript.factcheck.sources.fetching import Fetcher, FetchError
    except ModuleNotFoundError as error:
        raise missing_package("checking a web page", str(error.name), extra="web") from error
    from offscript.factcheck.sources.extraction import ExtractionError, Extractor

    fetcher, extractor = Fetcher(), Extractor(workers=1)
    try:
        fetched = fetcher.get(url)
        if fetched.status != 200:
            raise OffscriptError(f"{url} cannot be read", why=f"the answer has status {fetched.status}")
        page = extractor.page_of(fetched.body, fetched.kind, fetched.url)
    except (FetchError, ExtractionError) as error:
        raise OffscriptError(f"{url} cannot be read", why=str(error)) from error
    finally:
        extractor.close()
        fetcher.close()
    if not page.text.strip():
        raise OffscriptError(f"{url} holds no text", why="no main text was found")
    return Document(url, page.title, page.text, url, page.date)
