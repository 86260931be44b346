"""`offscript report`: the page again, from stored results."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="A results file, a model's folder, or the --out folder of an audit.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the page goes; beside the results by default.")
    ] = None,
) -> None:
    """Write an audit's page again; nothing is measured."""
    from offscript.audits.audit import newest_audit, read_record
    from offscript.report.page import write_page

    record = read_record(newest_audit(run))
    page = out or record.results.with_name("audit.html")
    write_page(record, page)
    typer.echo(str(page))
