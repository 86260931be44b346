"""Test collections: Cranfield's layout (also CISI's), TREC's and NPL's."""

import html
import re
from collections.abc import Iterator

from offscript.corpora.lines import Lines
from offscript.factcheck.documents.document import Document

_CRANFIELD_TAG = re.compile(r"\.([A-Z])(?:\s+(.*))?\s*$")
_TREC_FIELD = r"<{0}\b[^>]*>(.*?)</{0}\s*>"
_TAG = re.compile(r"</?[A-Za-z][^>]*>")


def read_cranfield(lines: Lines) -> Iterator[Document]:
    """Records that begin with `.I id`; of their fields the title `.T` and the text `.W` count, the others do not."""
    id, fields, field = "", {"T": "", "W": ""}, ""
    for line in lines:
        tag = _CRANFIELD_TAG.match(line)
        if tag and tag[1] == "I":
            if id:
                yield _cranfield_document(id, fields)
            id, fields, field = (tag[2] or "").strip(), {"T": "", "W": ""}, ""
            if not id:
                raise lines.fault("no id after .I", next="write .I and a number")
        elif tag and not tag[2]:
            field = tag[1]
        elif not id and line.strip():
            raise lines.fault("text before the first .I", next="begin every record with .I and a number")
        elif field in fields:
            fields[field] += line
    if id:
        yield _cranfield_document(id, fields)


def _cranfield_document(id: str, fields: dict[str, str]) -> Document:
    return Document(id, " ".join(fields["T"].split()), fields["W"].strip())


def read_npl(lines: Lines) -> Iterator[Document]:
    """Records of an id line, text lines and a line with `/` alone."""
    record: list[str] = []
    for line in lines:
        if line.strip() == "/":
            if record:
                yield Document(record[0].strip(), text="".join(record[1:]).strip())
            record = []
        elif record or line.strip():
            record.append(line)
    if record:
        raise lines.fault("the last record has no end", next="end every record with a line that holds / alone")


def read_trec(lines: Lines) -> Iterator[Document]:
    """`<DOC>` records with `<DOCNO>`, and `<TEXT>`, `<TITLE>` or `<HEADLINE>`, and `<DATE>` where they have them."""
    record: list[str] | None = None
    for line in lines:
        start = line.strip()
        if start.startswith("<DOC>"):
            if record is not None:
                raise lines.fault("<DOC> within <DOC>", next="end every record with </DOC>")
            record = []
        if record is None:
            if start:
                raise lines.fault("text outside <DOC>", next="put every record between <DOC> and </DOC>")
            continue
        record.append(line)
        if start.endswith("</DOC>"):
            yield _trec_document("".join(record), lines)
            record = None
    if record is not None:
        raise lines.fault("the last record has no </DOC>")


def _trec_document(record: str, lines: Lines) -> Document:
    id = _trec_field(record, "DOCNO")
    if not id:
        raise lines.fault("a record without <DOCNO>", next="give every record a <DOCNO>")
    title = _trec_field(record, "TITLE") or _trec_field(record, "HEADLINE")
    return Document(id, " ".join(title.split()), _trec_field(record, "TEXT"), date=_trec_field(record, "DATE"))


def _trec_field(record: str, name: str) -> str:
    found = re.findall(_TREC_FIELD.format(name), record, re.DOTALL | re.IGNORECASE)
    return html.unescape(_TAG.sub(" ", "\n".join(found))).strip()
