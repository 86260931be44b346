"""Collections of documents: Cranfield's layout (also CISI's), TREC's, NPL's, SciFact's as CSV, Wikipedia's dumps."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import quote
from xml.parsers import expat

from pydantic import BeforeValidator

from offscript.corpora.lines import MAX_LINE_BYTES, Lines, open_bytes
from offscript.corpora.records import Identifier, Schema, read_rows
from offscript.errors import OffscriptError
from offscript.factcheck.documents.document import Document, document_of_sentences
from offscript.factcheck.documents.markup import Elements, plain_text, without_tags

_CRANFIELD_TAG = re.compile(r"\.([A-Z])(?:\s+(.*))?\s*$")
_TREC_FIELDS = {name: Elements(name) for name in ("DOCNO", "TITLE", "HEADLINE", "TEXT", "DATE")}
_STOPS = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in "'\""}
_ESCAPE = re.compile(r"\\(.)")
_ARTICLES = "0"  # the name space of articles
# The elements of a dump that count, and the one that each stands in.
_KEPT = {
    **dict.fromkeys(("title", "ns", "id", "redirect"), "page"),
    **dict.fromkeys(("text", "timestamp"), "revision"),
    "base": "siteinfo",
}
_XML_BLOCK = 1 << 16
_LONGEST_TAG = 1 << 20
_DEEPEST_ELEMENT = 64


class _Text:
    """Lines of one record, which may be together as long as the longest line."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._parts, self._size = lines, list[str](), 0

    def add(self, line: str) -> None:
        """Add a line."""
        self._parts.append(line)
        self._size += len(line)
        if self._size > self._lines.max_line_bytes:
            most = self._lines.max_line_bytes
            raise self._lines.fault(f"a record longer than {most:,} characters", next="end every record")

    def __str__(self) -> str:
        return "".join(self._parts)


def read_cranfield(lines: Lines) -> Iterator[Document]:
    """Records that begin with `.I id`; of their fields the title `.T` and the text `.W` count, the others do not."""
    id, field = "", ""
    fields = {"T": _Text(lines), "W": _Text(lines)}
    for line in lines:
        tag = _CRANFIELD_TAG.match(line)
        if tag and tag[1] == "I":
            if id:
                yield _cranfield_document(id, fields)
            id, fields, field = (tag[2] or "").strip(), {"T": _Text(lines), "W": _Text(lines)}, ""
            if not id:
                raise lines.fault("no id after .I", next="write .I and a number")
        elif tag and not tag[2]:
            field = tag[1]
        elif not id and line.strip():
            raise lines.fault("text before the first .I", next="begin every record with .I and a number")
        elif field in fields:
            fields[field].add(line)
    if id:
        yield _cranfield_document(id, fields)


def _cranfield_document(id: str, fields: dict[str, _Text]) -> Document:
    return Document(id, " ".join(str(fields["T"]).split()), str(fields["W"]).strip())


def read_npl(lines: Lines) -> Iterator[Document]:
    """Records of an id line, text lines and a line with `/` alone."""
    id, text = "", _Text(lines)
    for line in lines:
        if line.strip() == "/":
            if id:
                yield Document(id, text=str(text).strip())
            id, text = "", _Text(lines)
        elif id:
            text.add(line)
        else:
            id = line.strip()
    if id:
        raise lines.fault("the last record has no end", next="end every record with a line that holds / alone")


def read_trec(lines: Lines) -> Iterator[Document]:
    """`<DOC>` records with `<DOCNO>`, and `<TEXT>`, `<TITLE>` or `<HEADLINE>`, and `<DATE>` where they have them."""
    record: _Text | None = None
    for line in lines:
        start = line.strip()
        if start.startswith("<DOC>"):
            if record is not None:
                raise lines.fault("<DOC> within <DOC>", next="end every record with </DOC>")
            record = _Text(lines)
        if record is None:
            if start:
                raise lines.fault("text outside <DOC>", next="put every record between <DOC> and </DOC>")
            continue
        record.add(line)
        if start.endswith("</DOC>"):
            yield _trec_document(str(record), lines)
            record = None
    if record is not None:
        raise lines.fault("the last record has no </DOC>")


def _trec_document(record: str, lines: Lines) -> Document:
    fields = {
        name: without_tags("\n".join(elements.contents(record)), " ").strip() for name, elements in _TREC_FIELDS.items()
    }
    if not fields["DOCNO"]:
        raise lines.fault("a record without <DOCNO>", next="give every record a <DOCNO>")
    title = fields["TITLE"] or fields["HEADLINE"]
    return Document(fields["DOCNO"], " ".join(title.split()), fields["TEXT"], date=fields["DATE"])


def printed_sentences(printed: str) -> list[str]:
    """The strings of a printed array: quoted with either sign, divided by white space."""
    sentences, position, signs = [], 0, "'\""
    while sign := re.compile(f"[{signs}]").search(printed, position) if signs else None:
        end = _closing_quote(printed, sign[0], sign.end())
        if end is None:  # then no later one is closed either
            signs = signs.replace(sign[0], "")
        else:
            sentences.append(_ESCAPE.sub(_unescaped, printed[sign.end() : end]))
            position = end + 1
    return sentences


def _closing_quote(printed: str, quote: str, start: int) -> int | None:
    """Where a string ends; one pattern for all of it would keep a place to go back to for every escape."""
    stops = (stop.start() for stop in _STOPS[quote].finditer(printed, start) if stop[0] == quote)
    return next(stops, None)


def _unescaped(escape: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(escape[1], escape[1])


class SciFactRow(Schema):
    """A row of SciFact's corpus_*.csv, whose abstract is a printed array of quoted sentences."""

    doc_id: Identifier
    title: str
    abstract: Annotated[list[str], BeforeValidator(printed_sentences)]


def read_scifact_csv(lines: Lines) -> Iterator[Document]:
    """Documents of corpus_*.csv with columns doc_id, title, abstract, …"""
    for row in read_rows(lines, SciFactRow):
        yield document_of_sentences(row.doc_id, row.title, row.abstract)


def read_wikipedia(path: Path) -> Iterator[Document]:
    """The articles of a dump, plain or compressed, without redirects, their markup taken away."""
    dump = _Dump(path)
    try:
        with open_bytes(path) as stream:
            while block := stream.read(_XML_BLOCK):
                yield from dump.read(block)
            yield from dump.read(b"", last=True)
    except expat.ExpatError as error:
        raise OffscriptError(
            f"{path}, line {error.lineno}, column {error.offset}: not valid XML",
            why=dump.last_page,
            next="fetch the dump again",
        ) from error
    except OSError as error:
        raise OffscriptError(
            f"{path} cannot be read on", why=f"{error} {dump.last_page}", next="fetch the dump again"
        ) from error


class _Dump:
    """The pages of a dump. No tree is built: memory holds one page, however long or broken the file is."""

    def __init__(self, path: Path) -> None:
        self.last_page = "before the first page"
        self._path, self._base = path, ""
        self._names: list[str] = []  # of the open elements
        self._fields: dict[str, list[str]] = {}  # of the page
        self._field: list[str] | None = None
        self._size, self._silent = 0, 0
        self._documents: list[Document] = []
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._entity

    def read(self, block: bytes, last: bool = False) -> list[Document]:
        """The articles that end in this block."""
        self._documents = []
        self._silent += len(block)
        self._parser.Parse(block, last)
        if self._silent > _LONGEST_TAG:
            raise self._fault(f"a tag longer than {_LONGEST_TAG:,} bytes")
        return self._documents

    def _start(self, name: str, _: dict[str, str]) -> None:
        above, name = self._names[-1] if self._names else "", name.rpartition(":")[2]
        self._names.append(name)
        self._silent, self._field = 0, None
        if len(self._names) > _DEEPEST_ELEMENT:
            raise self._fault(f"elements nested more than {_DEEPEST_ELEMENT} deep")
        if name == "page":
            self._fields, self._size = {}, 0
        elif _KEPT.get(name) == above and name not in self._fields:
            self._field = self._fields[name] = []

    def _characters(self, text: str) -> None:
        self._silent = 0
        if self._field is not None:
            self._field.append(text)
            self._size += len(text)
            if self._size > MAX_LINE_BYTES:
                raise self._fault(f"a page longer than {MAX_LINE_BYTES:,} characters")

    def _end(self, _: str) -> None:
        self._silent, self._field = 0, None
        name = self._names.pop()
        if name == "base":
            self._base = self._text("base").rpartition("/")[0]
        elif name == "page":
            self._finish_page()

    def _finish_page(self) -> None:
        title = self._text("title")
        self.last_page = f"after page {title!r}"
        if self._text("ns") != _ARTICLES or "redirect" in self._fields:
            return
        if not self._text("id"):
            raise self._fault(f"page {title!r} has no <id>")
        url = f"{self._base}/{quote(title.replace(' ', '_'))}" if self._base else ""
        text = plain_text(self._text("text"))
        self._documents.append(Document(self._text("id"), title, text, url, self._text("timestamp")))

    def _text(self, name: str) -> str:
        return "".join(self._fields.get(name, ()))

    def _entity(self, name: str, *_: object) -> None:
        raise self._fault(f"the entity {name!r} is declared", "a dump has none, and they may unpack to anything")

    def _fault(self, what: str, why: str = "") -> OffscriptError:
        place = f"{self._path}, line {self._parser.CurrentLineNumber}"
        return OffscriptError(f"{place}: {what}", why=why or self.last_page, next="fetch the dump again")
