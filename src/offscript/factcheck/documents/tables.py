"""Tables and JSON records as documents: a row is a document, and columns are chosen or known by their names."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offscript._specification import nearest
from offscript.corpora.lines import MAX_LINE_BYTES, Lines, kind_of
from offscript.corpora.records import Fault, fault_at, read_objects, table_rows
from offscript.errors import OffscriptError
from offscript.factcheck.documents.decoding import TextLines, decode, read_bytes
from offscript.factcheck.documents.document import Document

ROLES = ("id", "title", "text", "url", "date")
# Names by which a column is known without being chosen, best first.
_KNOWN = {
    "id": ("id", "_id", "doc_id", "docid", "document_id", "identifier"),
    "title": ("title", "headline", "name", "subject"),
    "text": ("text", "body", "content", "article", "abstract", "document", "description", "summary"),
    "url": ("url", "link", "source_url", "permalink"),
    "date": ("date", "published", "pubdate", "published_at", "created", "created_at", "timestamp"),
}
_LISTS = ("documents", "articles", "records", "items", "data", "rows", "results")


@dataclass(frozen=True)
class Columns:
    """Which column of a table, or field of a record, is what of a document: {"text": "body", …}; else known names."""

    chosen: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.chosen)

    def of(self, names: Iterable[str], fault: Fault) -> dict[str, str]:
        """For each role the name of its column; a column that was chosen and is not there is refused."""
        names = list(names)
        for role, name in self.chosen.items():
            if name not in names:
                raise fault(f"no column {name!r} for {role}", next=nearest(name, names))
        lower = {name.lower().strip(): name for name in reversed(names)}
        taken = set(self.chosen.values())
        known = {
            role: next((lower[each] for each in _KNOWN[role] if each in lower and lower[each] not in taken), "")
            for role in ROLES
        }
        return {role: name for role, name in {**known, **self.chosen}.items() if name}


def read_columns(choices: Sequence[str]) -> Columns:
    """Columns as `--column ROLE=NAME` gives them."""
    chosen: dict[str, str] = {}
    for choice in choices:
        role, sign, name = choice.partition("=")
        if role not in ROLES or not sign or not name:
            raise OffscriptError(f"--column {choice!r}", next=f"write ROLE=NAME, ROLE one of {', '.join(ROLES)}")
        chosen[role] = name
    return Columns(chosen)


def read_table(path: Path, name: str, columns: Columns) -> Iterator[Document]:
    """The rows of a CSV or TSV file under its header, as documents."""
    lines = _table_lines(path)
    places: dict[str, str] | None = None
    for number, row in enumerate(_rows(lines), start=1):
        places = columns.of(row, lines.fault) if places is None else places
        yield record_document(row, places, f"{name}#", number, lines.fault)


def record_rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV or TSV file under its header, in any encoding; one over 128 MB must be UTF-8."""
    return _rows(_table_lines(path))


def _table_lines(path: Path) -> Lines:
    return Lines(path) if path.stat().st_size > MAX_LINE_BYTES else TextLines(path, decode(read_bytes(path), path))


def _rows(lines: Lines) -> Iterator[dict[str, str]]:
    rows = table_rows(lines, delimiter=_delimiter(lines, kind_of(lines.path)))
    header = [each.strip() for each in next(rows, [])]
    if len(set(header)) < len(header):
        raise lines.fault("two columns of one name", next="name every column once")
    for row in rows:
        yield dict(zip(header, row, strict=True))


def _delimiter(lines: Lines, kind: str) -> str:
    """Tab in .tsv; else what divides the header most often."""
    if kind in (".tsv", ".tab"):
        return "\t"
    header = next((line for line in lines if line.strip()), "")
    return max(",;\t|", key=header.count)


def read_json_documents(path: Path, name: str, columns: Columns) -> Iterator[Document]:
    """Documents of a .json file: a list of records, an object that holds one, one record, or records line by line."""
    text = decode(read_bytes(path), path)
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise OffscriptError(f"{path}: not valid JSON", why="it is nested too deeply") from error
    except ValueError as error:
        if not text.lstrip().startswith("{") or "\n" not in text.strip():
            raise OffscriptError(f"{path}: not valid JSON", why=str(error)) from error
        records: Iterable[Any] = read_objects(TextLines(path, text))
    else:
        records = _records(value, path)
    for number, record in enumerate(records, start=1):
        fault = fault_at(f"{path}, record {number}")
        if not isinstance(record, dict):
            raise fault(f"not an object but {type(record).__name__}")
        places = columns.of(record, fault)
        yield record_document(record, places, f"{name}#" if "id" not in places else "", number, fault)


def _records(value: Any, path: Path) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        listed = next((value[each] for each in _LISTS if isinstance(value.get(each), list)), None)
        return [value] if listed is None else listed
    raise OffscriptError(f"{path}: not an object or list but {type(value).__name__}", next="give a list of records")


def record_document(
    record: Mapping[str, Any], places: Mapping[str, str], prefix: str, number: int, fault: Fault
) -> Document:
    """A record as a document: without a column of text, all of its values with their names."""
    values = {role: _text(record.get(name), role, fault) for role, name in places.items()}
    id = f"{prefix}{values.get('id') or number}"
    if "text" in values:
        return Document(id, values.get("title", ""), values["text"], values.get("url", ""), values.get("date", ""))
    shown = {
        name: value for name, value in record.items() if isinstance(value, str | int | float) and str(value).strip()
    }
    if not shown:
        raise fault("no text in it", next="choose a column with --column text=NAME")
    text = "; ".join(f"{name}: {value}" for name, value in shown.items())
    title = values.get("title") or str(next(iter(shown.values())))
    return Document(id, title, text, values.get("url", ""), values.get("date", ""))


def _text(value: Any, role: str, fault: Fault) -> str:
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return " ".join(value)
    if isinstance(value, dict | list):
        raise fault(f"{role} is not text but {type(value).__name__}", next=f"choose another with --column {role}=NAME")
    return str(value).strip()
