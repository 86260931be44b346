"""Readers: files and Hub datasets become a stream of sentences, one at a time."""

import csv
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from offscript._specification import nearest
from offscript.corpora.lines import COMPRESSIONS, MAX_LINE_BYTES, Lines
from offscript.errors import OffscriptError, missing_package

Format = Literal["auto", "text", "jsonl", "wikitext", "csv"]
HUB_PREFIX = "hf:"


def read_sentences(
    source: str | Path,
    *,
    format: Format = "auto",
    field: str = "text",
    headings: bool = False,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[str]:
    """Sentences of one source, stripped, blank ones left out.

    A source is a file, plain or compressed (.gz, .xz, .zst), or `hf:NAME[:CONFIG[:SPLIT]]`. `format` "auto" goes by
    the file's name: .jsonl, .ndjson and .json hold a record a line, .csv holds rows under a header, .tokens is
    WikiText, anything else is text with one sentence a line. `field` names the JSON field or the column;
    `headings` keeps WikiText's ` = Title = ` lines.
    """
    if format not in get_args(Format):
        raise OffscriptError(f"unknown format {format!r}", next=nearest(format, get_args(Format)))
    if max_line_bytes < 1:
        raise OffscriptError(f"max_line_bytes is {max_line_bytes}", next="give 1 or more")
    if isinstance(source, str) and source.startswith(HUB_PREFIX):
        return _non_blank(_from_hub(source, field), source)
    path = _existing_file(Path(source))
    lines = Lines(path, max_line_bytes)
    texts: Iterable[str] = lines
    match _guessed(path) if format == "auto" else format:
        case "jsonl":
            texts = _from_jsonl(lines, field)
        case "csv":
            texts = _from_csv(lines, field, max_line_bytes)
        case "wikitext" if not headings:
            texts = (line for line in lines if not _is_heading(line))
    return _non_blank(texts, str(path))


def read_corpus(
    sources: str | Path | Sequence[str | Path],
    *,
    format: Format = "auto",
    field: str = "text",
    headings: bool = False,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[str]:
    """Sentences of several sources, one source after the other; every file must exist before the first is read."""
    listed = [sources] if isinstance(sources, str | Path) else list(sources)
    if not listed:
        raise OffscriptError("no source of text", next="name at least one file or hf:NAME")
    return itertools.chain.from_iterable(
        [
            read_sentences(source, format=format, field=field, headings=headings, max_line_bytes=max_line_bytes)
            for source in listed
        ]
    )


def _existing_file(path: Path) -> Path:
    if path.is_dir():
        raise OffscriptError(f"{path} is a folder", next="name a file in it")
    if not path.exists():
        raise OffscriptError(f"no such file: {path}", next="check the name, or write hf:NAME for a Hub dataset")
    return path


def _guessed(path: Path) -> str:
    name = path.stem if path.suffix.lower() in COMPRESSIONS else path.name
    match Path(name).suffix.lower():
        case ".jsonl" | ".ndjson" | ".json":
            return "jsonl"
        case ".csv":
            return "csv"
        case ".tokens":
            return "wikitext"
        case _:
            return "text"


def _non_blank(texts: Iterable[str], name: str) -> Iterator[str]:
    empty = True
    for text in texts:
        if sentence := text.strip():
            empty = False
            yield sentence
    if empty:
        raise OffscriptError(f"{name} holds no sentence", why="it is empty or blank", next="check name and format")


def _is_heading(line: str) -> bool:
    """Whether a WikiText line is ` = Title = `, ` = = Section = = ` and so on: as many signs after as before."""
    words = line.split()
    before, after = (sum(1 for _ in itertools.takewhile("=".__eq__, side)) for side in (words, reversed(words)))
    return 0 < before == after < len(words) / 2


def _from_jsonl(lines: Lines, field: str) -> Iterator[str]:
    for record in lines.records():
        yield _text_of(record, field, lines.place)


def _from_csv(lines: Lines, field: str, max_row_length: int) -> Iterator[str]:
    feed = _RowFeed(lines, max_row_length)
    rows = csv.reader(feed, strict=True)
    column, width = 0, 0
    while (row := feed.next_row(rows)) is not None:
        if not row:
            continue
        if not width:
            _text_of(dict.fromkeys(row, ""), field, lines.place)
            column, width = row.index(field), len(row)
        elif len(row) != width:
            raise lines.fault(f"{len(row)} values under {width} columns", next="quote values that hold commas")
        else:
            yield row[column]


class _RowFeed:
    """Lines for `csv.reader`, which would take in a quote that is never closed to the end of the file."""

    def __init__(self, lines: Lines, max_row_length: int) -> None:
        self._lines, self._texts = lines, iter(lines)
        self._most, self._taken = max_row_length, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._texts)
        self._taken += len(line)
        if self._taken > self._most:
            raise self._lines.fault(f"a row longer than {self._most:,} characters", next="close the quote")
        return line

    def next_row(self, rows: Iterator[list[str]]) -> list[str] | None:
        """The next row, or None at the end."""
        self._taken, first = 0, self._lines.number + 1
        try:
            return next(rows, None)
        except csv.Error as error:
            raise self._lines.fault(
                f"not valid CSV in the row from line {first}",
                why=str(error),
                next="close the quote",
            ) from error


def _from_hub(source: str, field: str) -> Iterator[str]:
    name, config, split, *rest = (*source.removeprefix(HUB_PREFIX).split(":"), "", "")
    if not name or any(rest):
        raise OffscriptError(f"{source!r} names no dataset", next="write hf:NAME[:CONFIG[:SPLIT]]")
    try:
        import datasets
    except ImportError as error:
        raise missing_package(source, "datasets", extra="datasets") from error

    def texts() -> Iterator[str]:
        try:
            records = datasets.load_dataset(name, config or None, split=split or "train", streaming=True)
            for number, record in enumerate(records, start=1):
                yield _text_of(record, field, f"{source}, record {number}")
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            raise OffscriptError(
                f"{source} cannot be read", why=str(error), next="check its name, config and split"
            ) from error

    return texts()


def _text_of(record: Mapping[str, Any], field: str, place: str) -> str:
    if field not in record:
        raise OffscriptError(f"{place}: no field {field!r}", next=nearest(field, record) if record else "")
    text = record[field]
    if not isinstance(text, str):
        raise OffscriptError(f"{place}: field {field!r} is not text but {type(text).__name__}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise OffscriptError(f"{place}: field {field!r} holds half a character", why=error.reason) from error
    return text
