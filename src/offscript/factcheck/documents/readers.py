"""Readers: a source of any known layout becomes a stream of documents."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

from offscript._specification import nearest
from offscript.corpora.lines import COMPRESSIONS, Lines
from offscript.errors import OffscriptError
from offscript.factcheck.documents.collections import read_cranfield, read_npl, read_trec
from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.hub import HUB_PREFIX, read_hub
from offscript.factcheck.documents.records import fever_document, plain_document, read_records, scifact_document
from offscript.factcheck.documents.scifact import read_scifact_csv
from offscript.factcheck.documents.wikipedia import read_wikipedia

Format = Literal["auto", "jsonl", "text", "wikipedia", "cranfield", "trec", "npl", "scifact", "fever"]
SNIFFED_BYTES = 1 << 12


def read_documents(source: str | Path, *, format: Format = "auto") -> Iterator[Document]:
    """Documents of one source, one at a time.

    A source is `hf:NAME[:CONFIG[:SPLIT]]`, a folder, whose files are read in the order of their names, or a file,
    plain or compressed (.gz, .xz, .zst; Wikipedia dumps .bz2). `format` "auto" goes by the file's name and first
    characters: JSON records (id, title, text, url, date; or SciFact's or FEVER's), a Wikipedia XML dump, a
    Cranfield-style (`.I`) or TREC-style (`<DOC>`) collection, SciFact as CSV, else a text that is one document.
    """
    if format not in get_args(Format):
        raise OffscriptError(f"unknown format {format!r}", next=nearest(format, get_args(Format)))
    if isinstance(source, str) and source.startswith(HUB_PREFIX):
        return read_hub(source)
    path = Path(source)
    if not path.exists():
        raise OffscriptError(f"no such file or folder: {path}", next="check the name, or write hf:NAME")
    if path.is_dir():
        return _from_folder(path, format)
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
        "jsonl": lambda: read_records(lines, plain_document),
        "fever": lambda: read_records(lines, fever_document),
        "scifact": lambda: read_scifact_csv(lines) if _kind(path) == ".csv" else read_records(lines, scifact_document),
        "wikipedia": lambda: read_wikipedia(path),
        "cranfield": lambda: read_cranfield(lines),
        "trec": lambda: read_trec(lines),
        "npl": lambda: read_npl(lines),
        "text": lambda: [Document(name, Path(name).stem, "".join(lines))],
    }
    yield from readers[_guessed(path) if format == "auto" else format]()


def _kind(path: Path) -> str:
    """The suffix that says what is in the file, compression aside."""
    return Path(path.stem if path.suffix in (*COMPRESSIONS, ".bz2") else path.name).suffix.lower()


def _guessed(path: Path) -> str:
    kind = _kind(path)
    if kind == ".xml":
        return "wikipedia"
    first = next((line for line in Lines(path) if line.strip()), "").lstrip()[:SNIFFED_BYTES]
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
