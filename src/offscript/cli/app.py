"""The verbs, gathered."""

from typing import Annotated

import typer

from offscript import __version__
from offscript.cli import audit, check, compare, generate, index, ls, measure, report, reproduce, serve, sweep, train
from offscript.cli._usage import OneLineUsage

app = typer.Typer(
    cls=OneLineUsage,
    help="Find out where a language model goes off script: from its data, human text, fairness and the facts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("audit")(audit.audit)
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.command("reproduce")(reproduce.reproduce)
app.command("sweep")(sweep.sweep)
app.command("train")(train.train)
app.command("generate")(generate.generate)
app.command("index")(index.index)
app.command("check")(check.check)
app.command("serve")(serve.serve)
app.command("ls")(ls.ls)
app.add_typer(measure.app, name="measure")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    del version
