"""`offscript report`: the page again, from stored results."""

from pathlib import Path
from typing import Annotated

import typer

from offscript.cli._conclusion import FailOn, Summary, conclude_all
from offscript.cli._options import Json, out_file


def report(
    run: Annotated[Path, typer.Argument(help="A results file, a model's folder, or the --out folder of an audit.")],
    out: Annotated[Path | None, out_file("Where the page goes; beside the results by default.")] = None,
    fail_on: FailOn = None,
    summary: Summary = None,
    as_json: Json = False,
) -> None:
    """Write an audit's page again; nothing is measured.

    Example: offscript report runs/audit
    """
    from offscript.audits.against import is_against, read_against
    from offscript.audits.audit import newest_audit, read_record
    from offscript.audits.gates import parse_gate
    from offscript.report.page import write_page

    gates = [parse_gate(text) for text in fail_on or ()]
    record = read_record(newest_audit(run))
    page = out or record.results.with_name("audit.html")
    pair = read_against(record) if is_against(record) else None
    write_page(record, page)
    conclude_all([(record, page, pair)], page.parent, gates, summary=summary, as_json=as_json)
