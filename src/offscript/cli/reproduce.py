"""`offscript reproduce`: a paper's table beside the paper's values, or the recipe of a figure that was cited."""

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offscript.cli._options import Device, Json, Out, Quiet, Seed

if TYPE_CHECKING:
    from offscript.cli._progress import TrainingBar
    from offscript.experiments.reproduce import Reproduction
    from offscript.measures.signature import Signature

_HINT = "set OFFSCRIPT_DATA to the folder with the data sets, or choose another scale"


def reproduce(
    experiment: Annotated[
        str | None,
        typer.Argument(help="PAPER/TABLE, a YAML file or a figure's signature; without it, a list."),
    ] = None,
    scale: Annotated[str, typer.Option(help="quick (minutes on two cores), standard or paper.")] = "quick",
    on: Annotated[str, typer.Option(help="here, local (processes), ray, or ray://HOST:PORT.")] = "here",
    out: Out = Path("runs/reproduce"),
    seed: Seed = 1,
    device: Device = "cpu",
    runs: Annotated[
        Path, typer.Option(help="Where the figure of a signature is looked for, three folders deep.")
    ] = Path(),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment of the papers; print their statements, what is found here, and whether they agree.

    Example: offscript reproduce regret/table-1 --scale quick
    """
    from offscript.audits.workers import HERE, Place
    from offscript.cli._progress import counting
    from offscript.errors import OffscriptError
    from offscript.experiments.experiment import read_experiment, why_not
    from offscript.experiments.reproduce import reproduce as run
    from offscript.experiments.reproduce import store_reproduction
    from offscript.experiments.standing import standing_of, write_standing
    from offscript.measures.signature import parse_signature

    if experiment is None:
        _list(as_json=as_json)
        return
    if (asked := parse_signature(experiment)) is not None:
        _find(asked, runs, as_json=as_json)
        return
    read = read_experiment(experiment, scale)
    if (reason := why_not(experiment, scale)) is not None and scale != "paper":
        raise OffscriptError(f"{experiment} cannot be run here at scale {scale}", why=reason, next=_HINT)
    observer = _Observer(quiet=quiet)
    place = Place(on, device=device, observer=observer)
    total = sum(read.runs_of(variant) for variant in read.variants)
    bars = on == HERE and sys.stderr.isatty()  # of the trainings
    began = time.monotonic()
    with counting(f"{experiment} on {on}", total, quiet=quiet or bars) as count, observer:
        found = run(read, out, seed=seed, place=place, finished=lambda number: count(1))
    folder = out / read.name / scale
    standing = standing_of(found, scale, time.monotonic() - began)
    written = [*store_reproduction(found, folder, scale), write_standing(standing, folder), *_draw(found, folder)]
    _show(found, [str(path) for path in written], as_json=as_json)


def _find(asked: "Signature", runs: Path, *, as_json: bool) -> None:
    """The stored figure of a signature: its value, its recipe, and the command that measures it again."""
    import json

    from offscript.audits.citation import figure_of
    from offscript.measures.words import with_interval
    from offscript.report.page import command_for

    results, entry, record, settings = figure_of(asked.fits, runs)
    command = None if record is None else command_for(record, entry.question, settings)
    if as_json:
        document = {"figure": entry.to_json(), "results": str(results), "command": command}
        typer.echo(json.dumps(document, ensure_ascii=False))
        return
    typer.echo(f"{entry.question}.{entry.name} {with_interval(entry)}")
    typer.echo(f"results  {results}")
    if command is not None:
        typer.echo(f"again    {command}")
    typer.echo(json.dumps(entry.recipe, indent=2, ensure_ascii=False))


def _draw(found: "Reproduction", folder: Path) -> list[Path]:
    """Every chart as an SVG file beside the results."""
    from offscript.report.figures import charts_of_reproduction
    from offscript.report.vega import save_chart

    charts = {folder / f"{name.replace(' ', '-')}.svg": chart for name, chart in charts_of_reproduction(found).items()}
    for path, chart in charts.items():
        save_chart(chart, path)
    return list(charts)


def _list(*, as_json: bool) -> None:
    """Every table and figure, how its claims stand, at which scales it can be run here, and why not at others."""
    import json

    from offscript.cli._results import show_rows
    from offscript.experiments.experiment import SCALES, read_experiment, why_not
    from offscript.experiments.standing import standings
    from offscript.experiments.tables import experiments

    known = standings()
    read = [read_experiment(name, "quick") for name in experiments()]
    here = [{scale: why_not(each.name, scale) for scale in SCALES} for each in read]
    if as_json:
        rows = [
            {
                "experiment": each.name,
                "paper": each.paper,
                "about": each.title,
                "covers": each.covers,
                "why_not": reasons,
                "standing": known[each.name].model_dump() if each.name in known else None,
            }
            for each, reasons in zip(read, here, strict=True)
        ]
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    show_rows(
        [
            {
                "experiment": each.name,
                "paper": each.paper,
                "about": each.title,
                "stands for": "; ".join(f"{paper}: {', '.join(covered)}" for paper, covered in each.covers.items()),
                "claims": known[each.name].summary if each.name in known else "not run",
                "took": known[each.name].time if each.name in known else "",
                "runs here at": ", ".join(scale for scale, reason in reasons.items() if reason is None),
                "and not at": "; ".join(
                    f"{scale}: {reason}" for scale, reason in reasons.items() if reason is not None
                ),
            }
            for each, reasons in zip(read, here, strict=True)
        ]
    )


def _show(found: "Reproduction", written: list[str], *, as_json: bool) -> None:
    import json

    from offscript.cli._results import show_rows
    from offscript.experiments.standing import needed

    runs = found.experiment.seeds
    statements = [
        {
            "the paper says": each.claim,
            "tested as": each.statement,
            "here": each.found,
            "verdict": each.verdict,
            "would decide it": needed(each.verdict, each.shortfall, runs),
        }
        for each in found.statements
    ]
    figures = {name: entry.to_json() for name, entry in found.figures.items()}
    if as_json:
        document = {
            "experiment": found.experiment.name,
            "paper": found.experiment.paper,
            "title": found.experiment.title,
            "statements": statements,
            "figures": figures,
            "results": written,
        }
        typer.echo(json.dumps(document, ensure_ascii=False))
        return
    typer.echo(f"{found.experiment.name}: {found.experiment.title} ({found.experiment.paper})")
    show_rows(
        [
            {
                "figure": name,
                "value": f"{entry.value:.4g}",
                "interval": f"{entry.interval.lower:.4g} … {entry.interval.upper:.4g}",
            }
            for name, entry in found.figures.items()
        ]
    )
    show_rows(statements)
    for path in written:
        typer.echo(path)


class _Observer:
    """Says on standard error which variant is trained or measured, and for how long."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._ends = quiet, ExitStack()

    def __enter__(self) -> "_Observer":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def training(self, variant: str) -> "TrainingBar":
        from offscript.cli._progress import TrainingBar

        self._ends.close()
        bar = TrainingBar(f"train {variant}", quiet=self._quiet)
        self._ends.callback(bar.end)
        return bar

    def measuring(self, variant: str, question: str, *, stored: bool) -> None:
        from offscript.cli._progress import Lines

        self._ends.close()
        if self._quiet:
            return
        note = " (at hand from an earlier run)" if stored else ""
        typer.echo(f"{variant}: {question}{note}", err=True)
        if not stored:
            self._ends.enter_context(Lines(f"{variant}: {question}", quiet=False, everywhere=True))

    def end(self) -> None:
        """Nothing is trained or measured any more."""
        self._ends.close()
