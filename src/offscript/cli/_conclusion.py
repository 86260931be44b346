"""How an audit ends on the command line: what was found, the summary, and the gates that decide the exit code."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from offscript.audits.against import Against
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


def conclude(
    record: "Record",
    page: Path,
    gates: Sequence["Gate"],
    *,
    pair: "Against | None" = None,
    summary: Path | None,
    as_json: bool,
) -> None:
    """Show an audit, or that of a pair of models, write its summary, and end with 1 where a gate fails."""
    from offscript.audits.gates import check_gates
    from offscript.report.summary import add_summary, audit_summary, comparison_summary

    figures = {f"{entry.question}.{entry.name}": entry for answer in record.answers for entry in answer.measurements}
    results = check_gates(gates, figures)
    if summary is not None:
        add_summary(summary, audit_summary(record, results))
        if pair is not None:
            add_summary(summary, comparison_summary(pair.comparison, {}))
    if pair is None:
        _show(record, page, results, as_json=as_json)
    else:
        _show_pair(pair, page, results, as_json=as_json)
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


def _show_pair(pair: "Against", page: Path, results: Sequence["GateResult"], *, as_json: bool) -> None:
    """Write the page of two models, and say what differs."""
    import json

    from offscript.report.against import pair_answers, write_against
    from offscript.report.comparison import comparison_as_json, headlines
    from offscript.report.differences import difference_finding, told
    from offscript.report.figures import finding_of

    both, model = page.with_name("against.html"), pair.comparison.runs[1].label
    write_against(pair, both)
    finding = difference_finding(pair.comparison, model)
    if as_json:
        document = json.loads(pair.record.results.read_text(encoding="utf-8"))
        compared = {**comparison_as_json(pair.comparison), "finding": str(finding), "page": str(both)}
        shown = {**document, "page": str(page), "gates": gates_as_json(results), "comparison": compared}
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    typer.echo(f"{model} against {pair.comparison.runs[0].label}: {finding}")
    for contrast in headlines(pair.comparison):
        typer.echo(f"{contrast.figure} {told(contrast)}: {contrast.verdict}")
    for answer in pair_answers(pair.record):
        typer.echo(f"{answer.title} {finding_of(answer.name, answer.measurements)}")
    for title, reason in pair.record.left_out:
        typer.echo(f"{title} Skipped: {reason}.")
    typer.echo(f"results  {pair.base.results}\nresults  {pair.record.results}")
    typer.echo(f"page     {both}\npage     {page} ({model} alone)")


def _show(record: "Record", page: Path, results: Sequence["GateResult"], *, as_json: bool) -> None:
    import json

    from offscript.audits.store import harness_document
    from offscript.report.figures import findings_of

    if as_json:
        document = json.loads(record.results.read_text(encoding="utf-8"))
        measured = harness_document([entry for answer in record.answers for entry in answer.measurements])
        document |= {part: measured[part] for part in ("results", "higher_is_better", "measurements")}  # today's names
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
