"""The verbs, gathered."""

from typing import Annotated

import typer

from offscript import __version__
from offscript._plugins import load_plugins
from offscript.cli import (
    audit,
    check,
    compare,
    data,
    generate,
    index,
    init,
    ls,
    mcp,
    measure,
    report,
    reproduce,
    serve,
    study,
    sweep,
    train,
    view,
)
from offscript.cli._usage import OneLineUsage

app = typer.Typer(
    cls=OneLineUsage,
    help="Find out where a language model goes off script: from its data, human text, fairness and the facts.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("audit")(audit.audit)
app.command("report")(report.report)
app.command("view")(view.view)
app.command("compare")(compare.compare)
app.command("reproduce")(reproduce.reproduce)
app.command("sweep")(sweep.sweep)
app.command("train")(train.train)
app.command("generate")(generate.generate)
app.command("index")(index.index)
app.command("check")(check.check)
app.command("serve")(serve.serve)
app.command("mcp")(mcp.mcp)
app.command("ls")(ls.ls)
app.command("data")(data.data)
app.command("init")(init.init)
app.add_typer(measure.app, name="measure")
app.add_typer(study.app, name="study")


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


def _load_plugins(places: list[str]) -> list[str]:
    load_plugins(places)
    return places


@app.callback()
def _common(
    plugin: Annotated[
        list[str],
        typer.Option(
            help="A .py file or module that adds models, samplers or questions; may be repeated.",
            metavar="MODULE_OR_FILE",
            callback=_load_plugins,
            is_eager=True,
        ),
    ] = [],  # noqa: B006 (typer reads it)
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback if offscript crashes.")] = False,
) -> None:
    del plugin, version, debug
