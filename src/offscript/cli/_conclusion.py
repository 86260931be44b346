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


Audited = tuple["Record", Path, "Against | None"]
"""An audit, its page, and the comparison with a second model where there is one."""


def conclude_all(
    audited: Sequence[Audited],
    out: Path,
    gates: Sequence["Gate"],
    *,
    summary: Path | None,
    as_json: bool,
    seed: int = 1,
) -> None:
    """Show every audit, and of several one page with all of them; end with 1 where a gate fails.

    Args:
        audited: The audits.
        out: Where the page of several goes.
        gates: Checked for each.
        summary: A Markdown file to add to.
        as_json: One object; of several audits by the names of their models.
        seed: Resamples the differences between models.
    """
    import json

    shown, failed = {}, []
    for record, page, pair in audited:
        results = _summarised(record, gates, pair, summary)
        failed += results
        shown[record.model] = _shown(record, page, pair, results, as_json=as_json)
    if len(audited) > 1:
        together = _write_all([record for record, _, _ in audited], out / "models.html", seed)
        if as_json:
            typer.echo(json.dumps({"models": shown, "page": str(together)}, ensure_ascii=False))
        else:
            typer.echo(f"page     {together} (all models)")
    elif as_json:
        typer.echo(json.dumps(next(iter(shown.values())), ensure_ascii=False))
    end(failed)


def _write_all(records: Sequence["Record"], page: Path, seed: int) -> Path:
    """One page with a table of all models, each compared with the first."""
    from offscript.audits.comparison import compare_runs, read_runs
    from offscript.report.comparison import write_comparison

    write_comparison(compare_runs(read_runs([record.results for record in records]), seed=seed), page)
    return page


def _summarised(
    record: "Record", gates: Sequence["Gate"], pair: "Against | None", summary: Path | None
) -> list["GateResult"]:
    """The gates of one audit, after its summary is written."""
    from offscript.audits.gates import check_gates
    from offscript.report.summary import add_summary, audit_summary, comparison_summary

    figures = {f"{entry.question}.{entry.name}": entry for answer in record.answers for entry in answer.measurements}
    results = check_gates(gates, figures)
    if summary is not None:
        add_summary(summary, audit_summary(record, results))
        if pair is not None:
            add_summary(summary, comparison_summary(pair.comparison, {}))
    return results


def _shown(
    record: "Record", page: Path, pair: "Against | None", results: Sequence["GateResult"], *, as_json: bool
) -> dict[str, Any]:
    """Print one audit, or return it as JSON."""
    if pair is None:
        return _show(record, page, results, as_json=as_json)
    return _show_pair(pair, page, results, as_json=as_json)


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


def _show_pair(pair: "Against", page: Path, results: Sequence["GateResult"], *, as_json: bool) -> dict[str, Any]:
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
        return {**document, "page": str(page), "gates": gates_as_json(results), "comparison": compared}
    typer.echo(f"{model} against {pair.comparison.runs[0].label}: {finding}")
    for contrast in headlines(pair.comparison):
        typer.echo(f"{contrast.figure} {told(contrast)}: {contrast.verdict}")
    for answer in pair_answers(pair.record):
        typer.echo(f"{answer.title} {finding_of(answer.name, answer.measurements)}")
    for title, reason in pair.record.left_out:
        typer.echo(f"{title} Skipped: {reason}.")
    typer.echo(f"results  {pair.base.results}\nresults  {pair.record.results}")
    typer.echo(f"page     {both}\npage     {page} ({model} alone)")
    return {}


def _show(record: "Record", page: Path, results: Sequence["GateResult"], *, as_json: bool) -> dict[str, Any]:
    import json

    from offscript.audits.store import harness_document
    from offscript.report.figures import findings_of

    if as_json:
        document = json.loads(record.results.read_text(encoding="utf-8"))
        measured = harness_document([entry for answer in record.answers for entry in answer.measurements])
        document |= {part: measured[part] for part in ("results", "higher_is_better", "measurements")}  # today's names
        return {**document, "page": str(page), "gates": gates_as_json(results)}
    findings = findings_of({answer.name: answer.measurements for answer in record.answers})
    for answer in record.answers:
        if (finding := findings[answer.name]) is not None:
            typer.echo(f"{answer.title} {finding}")
    for title, reason in record.left_out:
        typer.echo(f"{title} Skipped: {reason}.")
    typer.echo(f"results  {record.results}")
    typer.echo(f"page     {page}")
    return {}
