"""`offscript sweep`: a grid of models, algorithms, data sizes, seeds and samplers, on one machine or many."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offscript.cli._options import Device, Json, Out, Quiet

if TYPE_CHECKING:
    from offscript.experiments.sweep import Swept


def sweep(
    grid: Annotated[Path, typer.Argument(help="A YAML file: what all points share, and the axes of the grid.")],
    on: Annotated[str, typer.Option(help="local (processes), ray, or ray://HOST:PORT.")] = "local",
    out: Out = Path("runs/sweep"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of points where the grid names none.")] = 1,
    device: Device = "cpu",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run every cell of a grid. What an earlier run finished is not run again; lost workers' cells are.

    Example: offscript sweep grid.yaml --out runs/sweep
    """
    from offscript.cli._progress import counting
    from offscript.experiments.sweep import read_sweep, run_sweep, store_sweep

    read = read_sweep(grid, seed=seed)
    with counting(f"{grid.stem} on {on}", len(read.points), quiet=quiet) as count:
        points = run_sweep(read, out, on=on, device=device, finished=lambda number: count(1))
    written = store_sweep(points, out)
    _show(points, [str(path) for path in written], as_json=as_json)
    if (page := _page(written, out)) is not None and not as_json:
        typer.echo(f"page     {page}")


def _page(written: list[Path], out: Path) -> Path | None:
    """One page that compares every point with the first; none where there is one point, or no figure in common."""
    from offscript.audits.comparison import compare_runs, read_runs, share_figures
    from offscript.report.comparison import write_comparison

    if len(written) < 2 or not share_figures(runs := read_runs(written)):
        return None
    write_comparison(compare_runs(runs), out / "comparison.html")
    return out / "comparison.html"


def _show(points: list["Swept"], written: list[str], *, as_json: bool) -> None:
    import json

    from offscript.cli._results import show_rows

    if as_json:
        rows = [
            {"point": point.labels, "measurements": [entry.to_json() for entry in point.measurements], "results": path}
            for point, path in zip(points, written, strict=True)
        ]
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    show_rows(
        [
            {
                **point.labels,
                "figure": f"{entry.question}.{entry.name}",
                "value": f"{entry.value:.4g}",
                "interval": f"{entry.interval.lower:.4g} … {entry.interval.upper:.4g}",
            }
            for point in points
            for entry in point.measurements
        ]
    )
    for path in written:
        typer.echo(path)
