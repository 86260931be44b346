"""JSON records, one a line: offscript's own layout, SciFact's and FEVER's."""

from collections.abc import Callable, Iterator
from typing import Any

from offscript._specification import nearest
from offscript.corpora.lines import Lines
from offscript.corpora.prose import decode_brackets
from offscript.errors import OffscriptError
from offscript.factcheck.documents.document import Document, document_of_sentences

Record = dict[str, Any]
OPTIONAL_FIELDS = ("title", "url", "date")


class RecordError(Exception):
    """What is wrong with a record; the reader adds the file and the line."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


def read_records(lines: Lines, convert: Callable[[Record], Document | None]) -> Iterator[Document]:
    """Documents of a file with one JSON object a line; records that `convert` gives None for are left out."""
    for record in lines.records():
        try:
            document = convert(record)
        except RecordError as fault:
            raise lines.fault(str(fault), next=fault.hint) from fault
        if document is not None:
            yield document


def plain_document(record: Record) -> Document:
    """A record with id and text, and maybe title, url and date; `_id` serves as id too, as in BEIR's collections."""
    id = _id(record, "_id" if "_id" in record and "id" not in record else "id")
    title, url, date = (_text(record, name) if record.get(name) is not None else "" for name in OPTIONAL_FIELDS)
    return Document(id, title, _text(record, "text"), url, date)


def scifact_document(record: Record) -> Document:
    """A record of SciFact's corpus.jsonl: doc_id, title, and the abstract as a list of sentences."""
    sentences = record.get("abstract")
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        raise RecordError("field 'abstract' is not a list of sentences")
    return document_of_sentences(_id(record, "doc_id"), _text(record, "title"), sentences)


def fever_document(record: Record) -> Document | None:
    """A record of FEVER's wiki-pages: id, and `lines` of number, sentence and links, divided by tabs.

    Sentence n of the document is line n of the page. Each file begins with a record of no page, which is left out.
    """
    if not record.get("id"):
        return None
    sentences = [line.split("\t")[1] if "\t" in line else "" for line in _text(record, "lines").split("\n")]
    id = _id(record, "id")
    return document_of_sentences(
        id, decode_brackets(id.replace("_", " ")), [decode_brackets(sentence) for sentence in sentences]
    )


def _id(record: Record, field: str) -> str:
    value = record.get(field)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not _text(record, field):
        raise RecordError(f"field {field!r} is empty", "give every document an id")
    return _text(record, field)


def _text(record: Record, field: str) -> str:
    if field not in record:
        raise RecordError(f"no field {field!r}", nearest(field, record) if record else "")
    value = record[field]
    if not isinstance(value, str):
        raise RecordError(f"field {field!r} is not text but {type(value).__name__}")
    return value


def record_fault(source: str, number: int, fault: RecordError) -> OffscriptError:
    """The error for a record of something that is not a file."""
    return OffscriptError(f"{source}, record {number}: {fault}", next=fault.hint)
