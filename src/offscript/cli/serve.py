"""`offscript serve`: claims checked in the browser and over HTTP."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offscript.errors import OffscriptError

if TYPE_CHECKING:
    from offscript.factcheck.checking import Checker
    from offscript.factcheck.language import Lexicons

THIS_MACHINE = ("127.0.0.1", "localhost")


def serve(
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    index: Annotated[
        list[Path] | None, typer.Option(help="Folder that `offscript index` wrote; without any the almanac is used.")
    ] = None,
    search: Annotated[
        list[str] | None, typer.Option(help="A search engine to ask: google or searxng, set in the environment.")
    ] = None,
    ratings: Annotated[Path | None, typer.Option(help="Table of web sites and how factual they are.")] = None,
    lexicons: Annotated[Path | None, typer.Option(help="Folder of lexicons for the language of documents.")] = None,
    at_once: Annotated[int, typer.Option(min=1, help="Checks that run at the same time.")] = 2,
) -> None:
    """Serve pages and a JSON API that check claims; Ctrl-C ends it."""
    try:
        import uvicorn

        from offscript.web.application import EVERY_HOST, create_application
    except ImportError as error:
        raise OffscriptError("serving needs more", why=str(error), next="pip install offscript[web]") from error
    from offscript.factcheck.language import cue_counts, default_lexicons, read_lexicons
    from offscript.web.checks import Limits

    chosen = read_lexicons(lexicons) if lexicons else default_lexicons()
    checker = _checker(index or [], search or [], ratings, chosen)
    application = create_application(
        checker,
        cues=lambda text: cue_counts(text, chosen),
        limits=Limits(at_once=at_once),
        hosts=THIS_MACHINE if host in THIS_MACHINE else EVERY_HOST,
    )
    with _listening(host, port) as listener:
        typer.echo(f"offscript listens at http://{host}:{listener.getsockname()[1]} (Ctrl-C ends it)", err=True)
        uvicorn.Server(uvicorn.Config(application, log_level="warning")).run(sockets=[listener])


def _checker(index: list[Path], search: list[str], ratings: Path | None, lexicons: "Lexicons") -> "Checker":
    """A checker on what was named, else on the almanac."""
    from offscript.factcheck.almanac import almanac_index
    from offscript.factcheck.checking import Checker
    from offscript.factcheck.language import language_scores
    from offscript.factcheck.sources.engines import web_search
    from offscript.factcheck.sources.local import LocalIndex
    from offscript.factcheck.sources.ratings import Ratings, read_ratings
    from offscript.factcheck.sources.source import Kind, Provider

    rated = read_ratings(ratings) if ratings else Ratings()
    providers: list[Provider] = [LocalIndex(folder, ratings=rated) for folder in index]
    providers += [web_search(name, ratings=rated) for name in search]
    if not providers:
        providers = [LocalIndex(almanac_index(), kind=Kind.high)]
    return Checker(providers, language=lambda text: language_scores(text, lexicons))


def _listening(host: str, port: int) -> socket.socket:
    """A socket at the address, so that one that is taken is told in a line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise OffscriptError(
            f"cannot listen at {host}:{port}", why=error.strerror or str(error), next="name another --port"
        ) from error
    return listener
