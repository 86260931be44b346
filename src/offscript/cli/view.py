"""`offscript view`: the stored audits below a folder, in the browser."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from offscript.errors import OffscriptError, missing_package


def view(
    folder: Annotated[Path, typer.Argument(help="Folder with audits in it or below it.")] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    browser: Annotated[bool, typer.Option(help="Open the list in the browser.")] = True,
) -> None:
    """List the audits below a folder in the browser, for this machine alone; Ctrl-C ends it.

    Example: offscript view runs
    """
    try:
        from offscript.web.application import create_audit_application
        from offscript.web.server import run
    except ModuleNotFoundError as error:
        raise missing_package("offscript view", str(error.name), extra="web") from error
    from offscript.cli.serve import THIS_MACHINE, listening

    if not folder.is_dir():
        raise OffscriptError(
            f"there is no folder {folder}", next="name one that holds audits, such as --out of an audit"
        )
    with listening(THIS_MACHINE[0], port) as listener:
        address = f"http://{THIS_MACHINE[0]}:{listener.getsockname()[1]}/audits"
        typer.echo(f"offscript shows the audits below {folder} at {address} (Ctrl-C ends it)", err=True)
        if browser and sys.stderr.isatty():
            import webbrowser

            webbrowser.open(address)  # the socket is open: the request waits until it is served
        run(create_audit_application(folder.resolve(), hosts=THIS_MACHINE), listener)
