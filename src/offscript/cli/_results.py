"""Measurements on standard output: a table for people, one JSON object for programs."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement


def show(measurements: Sequence["Measurement"], *, as_json: bool, title: str = "", **extra: Any) -> None:
    """Print the measurements; `extra` goes beside `results` into the JSON object."""
    if as_json:
        from offscript.audits.store import harness_document

        typer.echo(json.dumps({**harness_document(measurements), **extra}, ensure_ascii=False))
        return
    if not measurements:
        return
    table = Table(title=Text(title) if title else None, title_justify="left")
    for heading in ("figure", "value", "interval", "n"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    for entry in measurements:
        bounds = f"{entry.interval.lower:.4g} … {entry.interval.upper:.4g} ({entry.interval.level:.0%})"
        table.add_row(Text(f"{entry.question}.{entry.name}"), f"{entry.value:.4g}", bounds, str(entry.n))
    Console().print(table)


def show_rows(rows: Sequence[Mapping[str, Any]], *, title: str = "") -> None:
    """A table of rows that share their keys."""
    table = Table(title=Text(title) if title else None, title_justify="left")
    for column in rows[0] if rows else ["nothing here"]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row.values()))
    Console().print(table)
