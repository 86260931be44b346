"""SciFact's corpus as a CSV export: the abstract is a printed array of quoted sentences."""

import csv
import re
from collections.abc import Iterator

from offscript.corpora.lines import Lines
from offscript.factcheck.documents.document import Document, document_of_sentences

COLUMNS = ["doc_id", "title", "abstract"]
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)")


def read_scifact_csv(lines: Lines) -> Iterator[Document]:
    """Documents of corpus_*.csv with columns doc_id, title, abstract, …"""
    rows = csv.reader(lines)
    try:
        header = next(rows, [])
        if header[: len(COLUMNS)] != COLUMNS:
            raise lines.fault(f"columns {','.join(header)}", next=f"begin the file with {','.join(COLUMNS)}")
        for row in rows:
            if len(row) != len(header):
                raise lines.fault(
                    f"{len(row)} values under {len(header)} columns", next="quote values that hold commas"
                )
            yield document_of_sentences(row[0], row[1], printed_sentences(row[2]))
    except csv.Error as error:
        raise lines.fault("not valid CSV", why=str(error)) from error


def printed_sentences(printed: str) -> list[str]:
    """The strings of a printed array: quoted with either sign, divided by white space."""
    quoted = (single or double for single, double in _QUOTED.findall(printed))
    return [_ESCAPE.sub(_unescaped, text) for text in quoted]


def _unescaped(escape: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(escape[1], escape[1])
