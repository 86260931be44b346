"""Measurements on standard output: a table for people, one JSON object for programs."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement

_FRAME, _GAP = 1, 3
"""Characters of a table's frame: one at its left, and three more per column."""

_AT_BLANKS: Any = {"break_long_words": False, "break_on_hyphens": False}


def show(measurements: Sequence["Measurement"], *, as_json: bool, title: str = "", **extra: Any) -> None:
    """Print the measurements; `extra` goes beside `results` into the JSON object."""
    if as_json:
        from offscript.audits.store import harness_document

        typer.echo(json.dumps({**harness_document(measurements), **extra}, ensure_ascii=False))
        return
    rows = [
        {
            "figure": f"{entry.question}.{entry.name}",
            "value": f"{entry.value:.4g}",
            "interval": f"{entry.interval.lower:.4g} … {entry.interval.upper:.4g} ({entry.interval.level:.0%})",
            "n": str(entry.n),
        }
        for entry in measurements
    ]
    if rows:
        _print(rows, title=title, right=("value", "interval", "n"), whole=("figure", "interval"))


def show_rows(rows: Sequence[Mapping[str, Any]], *, title: str = "") -> None:
    """A table of rows that share their keys."""
    _print([{key: str(value) for key, value in row.items()} for row in rows], title=title)


def _print(
    rows: Sequence[Mapping[str, str]], *, title: str, right: Sequence[str] = (), whole: Sequence[str] = ()
) -> None:
    """A table as wide as the terminal at most; where words would have to be broken for that, a list."""
    console = Console()
    columns = {key: [row[key] for row in rows] for key in rows[0]} if rows else {"nothing here": []}
    widths = column_widths(columns, console.width, whole)
    if widths is None:
        _print_list(console, rows, title)
        return
    table = Table(title=Text(title) if title else None, title_justify="left")
    for key, width in widths.items():
        table.add_column(key, justify="right" if key in right else "left", width=width, overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row.values()))
    console.print(table)


def column_widths(columns: Mapping[str, Sequence[str]], total: int, whole: Sequence[str] = ()) -> dict[str, int] | None:
    """Widths of a table's columns such that it fits and no word is broken, or None where that cannot be.

    Args:
        columns: The cells of each column by its heading.
        total: Characters of the terminal.
        whole: Columns whose cells stay on one line.

    Returns:
        For each column the width of its longest cell, or less, but at least that of its longest word.
    """
    cells = {key: [key, *values] for key, values in columns.items()}
    widths = {key: max(_width(line) for cell in each for line in cell.split("\n")) for key, each in cells.items()}
    least = {
        key: widths[key] if key in whole else max(_width(word) for cell in each for word in cell.split() or [""])
        for key, each in cells.items()
    }
    room = total - _FRAME - _GAP * len(cells)
    if sum(least.values()) > room:
        return None
    while (excess := sum(widths.values()) - room) > 0:
        widest = max((key for key in widths if widths[key] > least[key]), key=lambda key: widths[key])
        next_widest = max((width for key, width in widths.items() if key != widest), default=0)
        step = max(1, widths[widest] - next_widest)
        widths[widest] -= min(step, excess, widths[widest] - least[widest])
    return widths


def _width(text: str) -> int:
    return Text(text).cell_len


def _print_list(console: Console, rows: Sequence[Mapping[str, str]], title: str) -> None:
    """Each row as its first cell on a line of its own, and the others below it."""
    if title:
        console.print(Text(title, style="italic"), soft_wrap=True)
    for row in rows:
        (_, first), *others = row.items()
        console.print(Text(first, style="bold"), soft_wrap=True)
        for line in (f"{key}: {value}" for key, value in others if value):
            wrapped = textwrap.fill(line, console.width, initial_indent="  ", subsequent_indent="    ", **_AT_BLANKS)
            console.print(Text(wrapped), soft_wrap=True)
