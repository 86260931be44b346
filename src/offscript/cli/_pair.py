"""What the verbs that hold a model against an oracle share."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.models.language_model import LanguageModel

DEFAULT_LENGTH = 50

Samples = Annotated[int, typer.Option("--samples", help="Sequences drawn from each source.")]
Length = Annotated[int | None, typer.Option("--length", help="Tokens of a sequence; 50, or a table's own length.")]
Exact = Annotated[bool, typer.Option("--exact", help="By enumeration of every sequence, for small models.")]
Plot = Annotated[Path | None, typer.Option("--plot", help="Write the curves with their bands to .html, .svg or .png.")]
Plan = Annotated[float | None, typer.Option("--plan", help="Say how many samples intervals of this width would need.")]


def chosen_length(model: "LanguageModel", length: int | None) -> int:
    """The length asked for, else the one a table was written for, else 50."""
    from offscript.models.tabular import Tabular

    if length is not None:
        return length
    return model.length if isinstance(model, Tabular) else DEFAULT_LENGTH


def check_wishes(plot: Path | None, plan: float | None) -> None:
    """Refuse what `report` could not fulfil, before the work is done."""
    from offscript.errors import OffscriptError
    from offscript.report.vega import check_chart_path

    if plot is not None:
        check_chart_path(plot)
    if plan is not None and not plan > 0:
        raise OffscriptError(f"intervals of width {plan:g}", next="ask for a width above 0")


def report(
    found: Sequence["Measurement"], *, as_json: bool, title: str, plot: Path | None, plan: float | None, **extra: Any
) -> None:
    """Show the figures, write the chart and answer the plan, as asked."""
    from offscript.cli._results import show, show_rows

    if plot is not None:
        _save_plot(found, plot)
    if plan is not None:
        from offscript.measures.exposure import plan_samples

        extra["plan"] = {"width": plan, "samples": plan_samples(found, plan)}
    show(found, as_json=as_json, title=title, **extra)
    if plan is not None and not as_json:
        show_rows([{"figure": name, f"samples for width {plan:g}": n} for name, n in extra["plan"]["samples"].items()])


def _save_plot(found: Sequence["Measurement"], path: Path) -> None:
    from offscript.errors import OffscriptError
    from offscript.report.charts.by_question import charts_of
    from offscript.report.vega import save_chart, stacked

    charts = charts_of(found[0].question, found)
    if not charts:
        raise OffscriptError("nothing to draw", why="no figure is known at several lengths")
    save_chart(stacked(charts), path)
