"""How an audit ends on the command line: what was found, the summary, and the gates that decide the exit code."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from offscript.audits.audit import Record
    from offscript.audits.gates import Gate, GateResult

FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        help='Exit with 1 where a figure is beyond, as in "exposure.eb_c.js>1.1"; NAME.lower and NAME.upper look at '
        "the bounds of its interval. May be given several times.",
    ),
]
Summary = Annotated[
    Path | None, typer.Option("--summary", help="Add a Markdown summary to a file, such as $GITHUB_STEP_SUMMARY.")
]


def conclude(record: "Record", page: Path, gates: Sequence["Gate"], *, summary: Path | None, as_json: bool) -> None:
    """Show an audit, write its summary, and end with 1 where a gate fails."""
    from offscript.audits.gates import check_gates
    from offscript.report.summary import add_summary, audit_summary

    figures = {f"{entry.question}.{entry.name}": entry for answer in record.answers for entry in answer.measurements}
    results = check_gates(gates, figures)
    if summary is not None:
        add_summary(summary, audit_summary(record, results))
    _show(record, page, results, as_json=as_json)
    end(results)


def end(results: Sequence["GateResult"]) -> None:
    """Say which gates failed, on standard error, and end with 1 if any did."""
    failed = [each for each in results if each.failed]
    for each in failed:
        typer.echo(f"offscript: {each} (--fail-on {str(each.gate)!r})", err=True)
    if failed:
        raise typer.Exit(1)


def gates_as_json(results: Sequence["GateResult"]) -> list[dict[str, Any]]:
    """Each gate, whether it failed, and what it saw."""
    return [{"gate": str(each.gate), "failed": each.failed, "found": str(each)} for each in results]


def _show(record: "Record", page: Path, results: Sequence["GateResult"], *, as_json: bool) -> None:
    import json

    from offscript.report.figures import findings_of

    if as_json:
        document = json.loads(record.results.read_text(encoding="utf-8"))
        shown = {**document, "page": str(page), "gates": gates_as_json(results)}
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    findings = findings_of({answer.name: answer.measurements for answer in record.answers})
    for answer in record.answers:
        if (finding := findings[answer.name]) is not None:
            typer.echo(f"{answer.title} {finding}")
    for title, reason in record.left_out:
        typer.echo(f"{title} Skipped: {reason}.")
    typer.echo(f"results  {record.results}")
    typer.echo(f"page     {page}")
