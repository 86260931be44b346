"""Wikipedia's XML dumps, page by page, in memory that does not grow."""

import bz2
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from urllib.parse import quote
from xml.etree import ElementTree

from offscript.errors import OffscriptError
from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.wikitext import plain_text

ARTICLES = "0"  # the name space of articles


def read_wikipedia(path: Path) -> Iterator[Document]:
    """The articles of a dump (.xml, .xml.bz2, .xml.gz) without redirects, their markup taken away."""
    title, base = "", ""
    try:
        with _opened(path) as stream:
            for _, element in ElementTree.iterparse(stream, events=("end",)):
                name = _local(element)
                if name == "base":
                    base = (element.text or "").rpartition("/")[0]
                elif name == "page":
                    title = _child(element, "title")
                    if _child(element, "ns") == ARTICLES and not _has(element, "redirect"):
                        yield _document(element, title, base)
                    element.clear()
    except ElementTree.ParseError as error:
        line, column = error.position
        raise OffscriptError(
            f"{path}, line {line}, column {column}: not valid XML", why=_after(title), next="fetch the dump again"
        ) from error
    except (OSError, EOFError) as error:
        raise OffscriptError(
            f"{path} cannot be read on", why=f"{error}{_after(title)}", next="fetch the dump again"
        ) from error


def _opened(path: Path) -> IO[bytes]:
    match path.suffix:
        case ".bz2":
            return bz2.open(path, "rb")
        case ".gz":
            return gzip.open(path, "rb")  # type: ignore[return-value]
        case _:
            return path.open("rb")


def _document(page: ElementTree.Element, title: str, base: str) -> Document:
    revision = next(child for child in page if _local(child) == "revision")
    url = f"{base}/{quote(title.replace(' ', '_'))}" if base else ""
    return Document(_child(page, "id"), title, plain_text(_child(revision, "text")), url, _child(revision, "timestamp"))


def _local(element: ElementTree.Element) -> str:
    """The element's name without the name space, which changes with the dump's version."""
    return element.tag.rpartition("}")[2]


def _has(element: ElementTree.Element, name: str) -> bool:
    return any(_local(child) == name for child in element)


def _child(element: ElementTree.Element, name: str) -> str:
    return next((child.text or "" for child in element if _local(child) == name), "")


def _after(title: str) -> str:
    return f" after page {title!r}" if title else " before the first page"
