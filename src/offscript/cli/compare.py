"""`offscript compare`: several runs against the first, and which differences are real."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offscript.cli._conclusion import Summary, end, gates_as_json
from offscript.cli._options import Json, Seed, out_file

if TYPE_CHECKING:
    from offscript.audits.comparison import Comparison
    from offscript.audits.gates import GateResult

FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        help='Exit with 1 where a figure differs from the first run\'s by more, as in "likelihood.ppl>2"; '
        "NAME.lower and NAME.upper look at the bounds of the difference; worse: any figure is worse beyond chance.",
    ),
]
WORSE = "worse"


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Results files or folders of runs; the first is the measure.")],
    out: Annotated[Path, out_file("Where the page goes.")] = Path("comparison.html"),
    fail_on: FailOn = None,
    summary: Summary = None,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Compare stored runs with the first of them, in pairs where items are the same, and write one page.

    Example: offscript compare runs/first runs/second
    """
    from offscript.audits.comparison import compare_runs, read_runs
    from offscript.audits.gates import parse_gate
    from offscript.report.comparison import write_comparison
    from offscript.report.summary import add_summary, comparison_summary

    gates = [parse_gate(text) for text in fail_on or () if text != WORSE]
    found = compare_runs(read_runs(runs), seed=seed)
    judged = {run.label: _judged(found, run.label, gates, worse=WORSE in (fail_on or ())) for run in found.runs[1:]}
    write_comparison(found, out)
    if summary is not None:
        add_summary(summary, comparison_summary(found, judged))
    _show(found, out, judged, as_json=as_json)
    end([each for of_run in judged.values() for each in of_run])


def _judged(comparison: "Comparison", run: str, gates: list[Any], *, worse: bool) -> list["GateResult"]:
    """The gates compared with a run's differences; `worse` is a gate on every figure that is worse beyond chance."""
    from offscript.audits.gates import Gate, GateResult, check_gates

    contrasts = {contrast.figure: contrast for contrast in comparison.contrasts if contrast.run == run}
    found = check_gates(gates, contrasts)
    if worse:
        for contrast in contrasts.values():
            if contrast.verdict == WORSE:
                relation = "<" if contrast.first.higher_is_better else ">"
                found.append(GateResult(Gate(contrast.figure, "value", relation, 0.0), contrast, failed=True))
    return found


def _show(comparison: "Comparison", page: Path, judged: dict[str, list["GateResult"]], *, as_json: bool) -> None:
    import json

    from offscript.report.comparison import comparison_as_json, headlines, tally
    from offscript.report.differences import difference_finding, told

    if as_json:
        gates = {run: gates_as_json(of_run) for run, of_run in judged.items()}
        typer.echo(
            json.dumps({**comparison_as_json(comparison), "page": str(page), "gates": gates}, ensure_ascii=False)
        )
        return
    first = comparison.runs[0].label
    for run in comparison.runs[1:]:
        typer.echo(f"{run.label} against {first}: {difference_finding(comparison, run.label).headline}")
        typer.echo(f"{run.label}: {tally(comparison, run.label)}")
    for contrast in headlines(comparison):
        typer.echo(f"{contrast.run}: {contrast.figure} {told(contrast)}: {contrast.verdict}")
    typer.echo(f"page     {page}")
