"""Readers: a source of any known layout becomes a stream of documents."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AliasChoices, BeforeValidator, Field

from offscript._specification import nearest
from offscript.corpora.lines import Lines, check_file, is_folder, kind_of
from offscript.corpora.prose import decode_brackets
from offscript.corpora.records import (
    Identifier,
    Schema,
    Texts,
    checked,
    fault_at,
    is_hub,
    read_hub,
    read_objects,
    read_records,
)
from offscript.errors import OffscriptError
from offscript.factcheck.documents.collections import (
    read_cranfield,
    read_npl,
    read_scifact_csv,
    read_trec,
    read_wikipedia,
)
from offscript.factcheck.documents.decoding import decode, first_bytes, read_bytes
from offscript.factcheck.documents.document import Document, document_of_sentences
from offscript.factcheck.documents.extracted import read_html, read_pdf, read_zim
from offscript.factcheck.documents.mail import read_mbox, read_message
from offscript.factcheck.documents.packages import read_docx, read_epub
from offscript.factcheck.documents.prose import markdown_document, plain_document
from offscript.factcheck.documents.tables import Columns, read_json_documents, read_table, record_document

Format = Literal[
    "auto", "jsonl", "text", "markdown", "html", "pdf", "docx", "epub", "mbox", "eml", "csv", "json", "zim",
    "wikipedia", "cranfield", "trec", "npl", "scifact", "fever",
]  # fmt: skip
_SNIFFED = 1 << 12
_SUFFIXES = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".mbox", ".mbx"), "mbox"),
    **{f".{name}": name for name in ("pdf", "docx", "epub", "eml", "zim")},
    ".xml": "wikipedia",
}
# What a file of another name begins with.
_BEGINNINGS = {"%pdf-": "pdf", ".i ": "cranfield", "<doc>": "trec", "<!doctype html": "html", "<html": "html"}
_Optional = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


class PlainRecord(Schema):
    """A document in offscript's own layout; `_id` serves as id too, as in BEIR's collections."""

    id: Identifier = Field(validation_alias=AliasChoices("id", "_id"))
    title: _Optional = ""
    text: str
    url: _Optional = ""
    date: _Optional = ""

    def document(self) -> Document:
        """The document."""
        return Document(self.id, self.title, self.text, self.url, self.date)


class SciFactRecord(Schema):
    """A record of SciFact's corpus.jsonl, whose abstract comes in sentences."""

    doc_id: Identifier
    title: str
    abstract: Texts

    def document(self) -> Document:
        """The document."""
        return document_of_sentences(self.doc_id, self.title, self.abstract)


class FeverRecord(Schema):
    """A page of FEVER's wiki-pages: `lines` hold number, sentence and links, divided by tabs.

    Sentence n of the document is line n of the page. Each file begins with a record of no page, which is left out.
    """

    id: str
    lines: str

    def document(self) -> Document | None:
        """The document, if the record is a page."""
        if not self.id:
            return None
        sentences = [line.split("\t", 2)[1] if "\t" in line else "" for line in self.lines.split("\n")]
        title = decode_brackets(self.id.replace("_", " "))
        return document_of_sentences(self.id, title, [decode_brackets(sentence) for sentence in sentences])


def read_documents(
    source: str | Path, *, format: Format = "auto", columns: Columns | None = None
) -> Iterator[Document]:
    """Documents of one source, one at a time.

    Args:
        source: `hf:NAME[:CONFIG[:SPLIT]]`, a folder, whose files are read in the order of their names, or a file,
            plain or compressed (.gz, .xz, .bz2, .zst).
        format: "auto" goes by the file's name and first characters: JSON records (id, title, text, url, date; or
            SciFact's or FEVER's), tables, HTML, PDF, Word, EPUB, Markdown, mail, a Wikipedia XML dump or ZIM file, a
            Cranfield-style (`.I`) or TREC-style (`<DOC>`) collection, SciFact as CSV, else a text that is one document.
        columns: Which columns of tables and fields of JSON records hold what; by default they are known by name.

    Returns:
        The documents; a damaged file raises an `OffscriptError` that names file and line. To skip such files and go on,
        see `read_files`.
    """
    check_format(format)
    if is_hub(source):
        records = enumerate(read_hub(str(source)), start=1)
        return (checked(PlainRecord, each, fault_at(f"{source}, record {n}")).document() for n, (_, each) in records)
    files = files_of(Path(source))
    return itertools.chain.from_iterable(
        read_file(path, name, format=format, columns=columns) for name, path in files.items()
    )


def check_format(format: str) -> None:
    """Refuse a format that there is not."""
    if format not in get_args(Format):
        raise OffscriptError(f"unknown format {format!r}", next=nearest(format, get_args(Format)))


def files_of(source: Path) -> dict[str, Path]:
    """The files of a folder by their names below it, in order; hidden ones are left out. Of a file, that file."""
    if not is_folder(source):
        check_file(source, "check the name, or write hf:NAME", noun="file or folder")
        return {source.name: source}
    files = {
        path.relative_to(source).as_posix(): path
        for path in sorted(source.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
    if not files:
        raise OffscriptError(f"{source} holds no file", next="name a folder with documents")
    return files


def read_file(path: Path, name: str, *, format: Format = "auto", columns: Columns | None = None) -> Iterator[Document]:
    """Documents of one file; `name` is the id of a file that is one document, and begins those of rows and chapters."""
    lines, columns = Lines(path), columns or Columns()
    readers: Mapping[str, Callable[[], Iterable[Document]]] = {
        "jsonl": partial(_from_json_lines, lines, name, columns),
        "fever": partial(_from_records, lines, FeverRecord),
        "scifact": partial(read_scifact_csv, lines)
        if kind_of(path) == ".csv"
        else partial(_from_records, lines, SciFactRecord),
        "wikipedia": partial(read_wikipedia, path),
        "cranfield": partial(read_cranfield, lines),
        "trec": partial(read_trec, lines),
        "npl": partial(read_npl, lines),
        "csv": partial(read_table, path, name, columns),
        "json": partial(read_json_documents, path, name, columns),
        "html": lambda: [read_html(path, name)],
        "pdf": lambda: [read_pdf(path, name)],
        "docx": lambda: [read_docx(path, name)],
        "epub": partial(read_epub, path, name),
        "zim": partial(read_zim, path, name),
        "mbox": partial(read_mbox, path, name),
        "eml": lambda: [read_message(path, name)],
        "markdown": lambda: [markdown_document(name, decode(read_bytes(path), path))],
        "text": lambda: [plain_document(name, decode(read_bytes(path), path))],
    }
    yield from readers[_guessed(path) if format == "auto" else format]()


def _from_records(lines: Lines, schema: type[PlainRecord | SciFactRecord | FeverRecord]) -> Iterator[Document]:
    for record in read_records(lines, schema):
        if (document := record.document()) is not None:
            yield document


def _from_json_lines(lines: Lines, name: str, columns: Columns) -> Iterator[Document]:
    """Records of offscript's own fields, or of chosen ones."""
    if not columns:
        yield from _from_records(lines, PlainRecord)
        return
    for number, record in enumerate(read_objects(lines), start=1):
        places = columns.of(record, lines.fault)
        yield record_document(record, places, "" if "id" in places else f"{name}#", number, lines.fault)


def _guessed(path: Path) -> str:
    kind = kind_of(path)
    if kind in _SUFFIXES:
        return _SUFFIXES[kind]
    content = first_bytes(path, _SNIFFED)
    start = content.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if kind in (".jsonl", ".ndjson", ".json"):
        return _guessed_record(start, "json" if kind == ".json" else "jsonl")
    if kind in (".csv", ".tsv", ".tab"):
        return "scifact" if start.startswith("doc_id,title,abstract") else "csv"
    return next((name for mark, name in _BEGINNINGS.items() if start[:20].lower().startswith(mark)), "text")


def _guessed_record(start: str, plain: str) -> str:
    """The layout of a JSON record by the names of its fields."""
    if '"doc_id"' in start and '"abstract"' in start:
        return "scifact"
    return "fever" if '"lines"' in start and '"id"' in start else plain
