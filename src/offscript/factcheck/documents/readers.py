"""Readers: a source of any known layout becomes a stream of documents."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AliasChoices, BeforeValidator, Field

from offscript._specification import nearest
from offscript.corpora.lines import Lines, check_file, is_folder, kind_of
from offscript.corpora.prose import decode_brackets
from offscript.corpora.records import Identifier, Schema, Texts, checked, fault_at, is_hub, read_hub, read_records
from offscript.errors import OffscriptError
from offscript.factcheck.documents.collections import (
    read_cranfield,
    read_npl,
    read_scifact_csv,
    read_trec,
    read_wikipedia,
)
from offscript.factcheck.documents.document import Document, document_of_sentences

Format = Literal["auto", "jsonl", "text", "wikipedia", "cranfield", "trec", "npl", "scifact", "fever"]
_SNIFFED = 1 << 12
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


def read_documents(source: str | Path, *, format: Format = "auto") -> Iterator[Document]:
    """Documents of one source, one at a time.

    Args:
        source: `hf:NAME[:CONFIG[:SPLIT]]`, a folder, whose files are read in the order of their names, or a file,
            plain or compressed (.gz, .xz, .bz2, .zst).
        format: "auto" goes by the file's name and first characters: JSON records (id, title, text, url, date; or
            SciFact's or FEVER's), a Wikipedia XML dump, a Cranfield-style (`.I`) or TREC-style (`<DOC>`) collection,
            SciFact as CSV, else a text that is one document.

    Returns:
        The documents; a damaged file raises an `OffscriptError` that names file and line.
    """
    if format not in get_args(Format):
        raise OffscriptError(f"unknown format {format!r}", next=nearest(format, get_args(Format)))
    if is_hub(source):
        records = enumerate(read_hub(str(source)), start=1)
        return (checked(PlainRecord, each, fault_at(f"{source}, record {n}")).document() for n, (_, each) in records)
    path = Path(source)
    if is_folder(path):
        return _from_folder(path, format)
    check_file(path, "check the name, or write hf:NAME", noun="file or folder")
    return _from_file(path, path.name, format)


def _from_folder(folder: Path, format: Format) -> Iterator[Document]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    if not files:
        raise OffscriptError(f"{folder} holds no file", next="name a folder with documents")
    return itertools.chain.from_iterable(
        _from_file(path, path.relative_to(folder).as_posix(), format) for path in files
    )


def _from_file(path: Path, name: str, format: Format) -> Iterator[Document]:
    """Documents of one file; `name` is the id of a text that is one document."""
    lines = Lines(path)
    readers: Mapping[str, Callable[[], Iterable[Document]]] = {
        "jsonl": lambda: _from_records(lines, PlainRecord),
        "fever": lambda: _from_records(lines, FeverRecord),
        "scifact": lambda: read_scifact_csv(lines) if kind_of(path) == ".csv" else _from_records(lines, SciFactRecord),
        "wikipedia": lambda: read_wikipedia(path),
        "cranfield": lambda: read_cranfield(lines),
        "trec": lambda: read_trec(lines),
        "npl": lambda: read_npl(lines),
        "text": lambda: [Document(name, Path(name).stem, lines.whole())],
    }
    yield from readers[_guessed(path) if format == "auto" else format]()


def _from_records(lines: Lines, schema: type[PlainRecord | SciFactRecord | FeverRecord]) -> Iterator[Document]:
    for record in read_records(lines, schema):
        if (document := record.document()) is not None:
            yield document


def _guessed(path: Path) -> str:
    kind = kind_of(path)
    if kind == ".xml":
        return "wikipedia"
    first = next((line for line in Lines(path) if line.strip()), "").lstrip()[:_SNIFFED]
    if kind in (".jsonl", ".ndjson", ".json"):
        return _guessed_record(first)
    if kind == ".csv" and first.startswith("doc_id,title,abstract"):
        return "scifact"
    if first.startswith(".I "):
        return "cranfield"
    return "trec" if first.startswith("<DOC>") else "text"


def _guessed_record(start: str) -> str:
    """The layout of a JSON record by the names of its fields."""
    if '"doc_id"' in start and '"abstract"' in start:
        return "scifact"
    return "fever" if '"lines"' in start and '"id"' in start else "jsonl"
