"""Readers: files and Hub datasets become a stream of sentences, one at a time."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from offscript._specification import nearest
from offscript.corpora.lines import MAX_LINE_BYTES, Lines, check_file, kind_of
from offscript.corpora.records import fault_at, is_hub, read_hub, read_objects, table_rows, text_field
from offscript.errors import OffscriptError

Format = Literal["auto", "text", "jsonl", "wikitext", "csv"]
_FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tokens": "wikitext"}


def read_sentences(
    source: str | Path,
    *,
    format: Format = "auto",
    field: str = "text",
    headings: bool = False,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[str]:
    """Sentences of one source, stripped, blank ones left out.

    Args:
        source: A file, plain or compressed (.gz, .xz, .bz2, .zst), or `hf:NAME[:CONFIG[:SPLIT]]`.
        format: "auto" goes by the file's name: .jsonl, .ndjson and .json hold one record per line, .csv holds rows
            under a header, .tokens is WikiText, anything else is text with one sentence per line.
        field: The JSON field or the column that holds the sentence.
        headings: Whether to keep WikiText's ` = Title = ` lines.
        max_line_bytes: The longest line that is accepted.

    Returns:
        The sentences, read as they are asked for.
    """
    if format not in get_args(Format):
        raise OffscriptError(f"unknown format {format!r}", next=nearest(format, get_args(Format)))
    if max_line_bytes < 1:
        raise OffscriptError(f"max_line_bytes is {max_line_bytes}", next="give 1 or more")
    if is_hub(source):
        records = enumerate(read_hub(str(source)), start=1)
        hub_texts = (text_field(record, field, fault_at(f"{source}, record {n}")) for n, (_, record) in records)
        return _non_blank(hub_texts, str(source))
    path = check_file(Path(source), "check the name, or write hf:NAME for a Hub dataset")
    lines = Lines(path, max_line_bytes)
    texts: Iterable[str] = lines
    match _FORMATS.get(kind_of(path), "text") if format == "auto" else format:
        case "jsonl":
            texts = (text_field(record, field, lines.fault) for record in read_objects(lines))
        case "csv":
            texts = _from_csv(lines, field)
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
    """Sentences of several sources, one source after the other; every file must exist before the first is read.

    Args:
        sources: One source, or several, as in `read_sentences`.
        format: See `read_sentences`.
        field: See `read_sentences`.
        headings: See `read_sentences`.
        max_line_bytes: See `read_sentences`.

    Returns:
        The sentences of all sources.
    """
    listed = [sources] if isinstance(sources, str | Path) else list(sources)
    if not listed:
        raise OffscriptError(
            "cannot read a corpus: no source of text is given", next="name at least one file or hf:NAME"
        )
    return itertools.chain.from_iterable(
        [
            read_sentences(source, format=format, field=field, headings=headings, max_line_bytes=max_line_bytes)
            for source in listed
        ]
    )


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


def _from_csv(lines: Lines, field: str) -> Iterator[str]:
    rows = table_rows(lines)
    header = next(rows, [])
    if field not in header:
        raise lines.fault(f"no column {field!r}", next=nearest(field, header) if header else "begin with a header")
    column = header.index(field)
    yield from (row[column] for row in rows)
