"""Parallel corpora: pairs of a source and a target, from two text files, a table or JSON lines, and joint filters."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from offscript._specification import nearest
from offscript.corpora.filters import drop_repeats
from offscript.corpora.lines import Lines, check_file, kind_of
from offscript.corpora.readers import read_sentences
from offscript.corpora.records import read_objects, table_rows, text_field
from offscript.errors import OffscriptError

_TABLES = {".tsv": "\t", ".tab": "\t", ".csv": ","}
_RECORDS = (".jsonl", ".ndjson", ".json")
_DIVIDER = "\t"


class SentencePair(NamedTuple):
    """A source and its target."""

    source: str
    target: str


def read_pairs(
    path: str | Path, targets: str | Path | None = None, *, fields: tuple[str, str] = ("source", "target")
) -> Iterator[SentencePair]:
    """Pairs of a source and a target, stripped; a pair of two blanks is left out, one with a blank side is refused.

    Args:
        path: The file of sources, or one file of both: .tsv and .csv tables, .jsonl records; any may be compressed.
        targets: The file of targets, whose line n belongs to line n of the sources.
        fields: The columns or JSON fields of source and target. A .tsv file whose first row does not name them has no
            header: its first two columns are source and target.

    Returns:
        The pairs, read as they are asked for.
    """
    lines = Lines(check_file(Path(path)))
    if targets is not None:
        return _from_two(lines, Lines(check_file(Path(targets))))
    kind = kind_of(Path(path))
    if kind in _RECORDS:
        records = read_objects(lines)
        return _checked(
            ((text_field(each, fields[0], lines.fault), text_field(each, fields[1], lines.fault)) for each in records),
            lines,
        )
    if kind in _TABLES:
        return _checked(_from_table(lines, _TABLES[kind], fields), lines)
    raise OffscriptError(
        f"{path} holds one side of a parallel corpus",
        next="name the file of targets too, or give a .tsv or .jsonl file",
    )


def read_sources(path: str | Path, *, field: str = "source") -> Iterator[str]:
    """Sources alone: of a parallel corpus in one file, or the sentences of a text file.

    Args:
        path: A .tsv, .csv or .jsonl file with the field, or a text file with a source per line.
        field: The column or JSON field of the source.
    """
    if kind_of(Path(path)) in (*_TABLES, *_RECORDS):
        return (pair.source for pair in read_pairs(path, fields=(field, "target")))
    return read_sentences(path, format="text")


def keep_pairs(
    pairs: Iterable[SentencePair], *, longest: int | None = None, ratio: float | None = None, repeats: bool = True
) -> Iterator[SentencePair]:
    """Joint filters: a pair stays or goes as a whole.

    Args:
        pairs: The stream.
        longest: The most words of either side; None for no limit.
        ratio: The most words of one side for each word of the other; None for no limit.
        repeats: Whether to keep pairs that occurred before.
    """
    kept = (pair for pair in pairs if _fits(pair, longest, ratio))
    if repeats:
        return kept
    joined = drop_repeats(_DIVIDER.join(side.replace(_DIVIDER, " ") for side in pair) for pair in kept)
    return (SentencePair(*each.split(_DIVIDER)) for each in joined)


def _fits(pair: SentencePair, longest: int | None, ratio: float | None) -> bool:
    fewer, more = sorted(len(side.split()) for side in pair)
    return (longest is None or more <= longest) and (ratio is None or more <= ratio * fewer)


def _from_two(sources: Lines, targets: Lines) -> Iterator[SentencePair]:
    def both() -> Iterator[tuple[str, str]]:
        for source, target in zip_longest(sources, targets):
            if source is None or target is None:
                short, long = (sources, targets) if source is None else (targets, sources)
                raise OffscriptError(
                    f"{short.path} ends before {long.path} does, after line {short.number}",
                    why="line n of one file belongs to line n of the other",
                    next="give files of equal length",
                )
            yield source, target

    return _checked(both(), sources)


def _from_table(lines: Lines, delimiter: str, fields: tuple[str, str]) -> Iterator[tuple[str, str]]:
    rows = table_rows(lines, delimiter=delimiter, quoted=delimiter == ",")
    first = next(rows, [])
    named = all(name in first for name in fields)
    if not named and (delimiter == "," or len(first) < 2):
        missing = next((name for name in fields if name not in first), fields[0])
        raise lines.fault(f"no column {missing!r}", next=nearest(missing, first) if first else "begin with a header")
    places = tuple(first.index(name) for name in fields) if named else (0, 1)
    if not named:
        yield first[0], first[1]
    yield from ((row[places[0]], row[places[1]]) for row in rows)


def _checked(pairs: Iterable[tuple[str, str]], lines: Lines) -> Iterator[SentencePair]:
    empty = True
    for source, target in pairs:
        pair = SentencePair(source.strip(), target.strip())
        if all(pair):
            empty = False
            yield pair
        elif any(pair):
            side = "target" if pair.source else "source"
            raise lines.fault(f"a pair without a {side}", next="give both sides of every pair, or neither")
    if empty:
        raise OffscriptError(f"{lines.path} holds no pair", why="it is empty or blank", next="check the name")
