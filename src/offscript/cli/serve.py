"""`offscript serve`: claims checked in the browser and over HTTP."""

import json
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offscript.cli._checkers import Indexes, Ratings, StanceName
from offscript.errors import OffscriptError

if TYPE_CHECKING:
    from fastapi import FastAPI

SETTINGS = "OFFSCRIPT_SERVE"  # how the processes of a service learn what was asked for
WARM_UP = "The first check loads and compiles what later ones use."
KEEP_ALIVE = 75  # seconds: more than clients and proxies keep a connection they do not use
THIS_MACHINE = ("127.0.0.1", "localhost")


def serve(
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    index: Indexes = None,
    search: Annotated[
        list[str] | None, typer.Option(help="A search engine to ask too: google or searxng, set in the environment.")
    ] = None,
    stance: StanceName = None,
    ratings: Ratings = None,
    lexicons: Annotated[Path | None, typer.Option(help="Folder of lexicons for the language of documents.")] = None,
    audits: Annotated[Path | None, typer.Option(help="Folder of stored audits to show, too.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the work, about one a core.")] = 1,
) -> None:
    """Serve pages and a JSON API that check claims; Ctrl-C ends it."""
    try:
        import uvicorn
    except ImportError as error:
        raise OffscriptError("serving needs more", why=str(error), next="pip install offscript[web]") from error
    settings = {
        "index": [str(folder) for folder in index or []],
        "search": search or [],
        "stance": stance,
        "ratings": str(ratings) if ratings else None,
        "lexicons": str(lexicons) if lexicons else None,
        "audits": str(audits) if audits else None,
        "hosts": THIS_MACHINE if host in THIS_MACHINE else None,
    }
    application = application_of(settings)
    with _listening(host, port) as listener:
        typer.echo(f"offscript listens at http://{host}:{listener.getsockname()[1]} (Ctrl-C ends it)", err=True)
        common: dict[str, Any] = {"fd": listener.fileno(), "log_level": "warning", "timeout_keep_alive": KEEP_ALIVE}
        if workers == 1:
            uvicorn.run(application, **common)
            return
        os.environ[SETTINGS] = json.dumps(settings)
        uvicorn.run(f"{__name__}:application_of_environment", factory=True, workers=workers, **common)


def application_of_environment() -> "FastAPI":
    """The application of one of several processes."""
    return application_of(json.loads(os.environ[SETTINGS]))


def application_of(settings: dict[str, Any]) -> "FastAPI":
    """The application that the flags describe."""
    from offscript.cli._checkers import checker_on
    from offscript.factcheck.checking import Checker, query_words
    from offscript.factcheck.language import cue_counts, default_lexicons, language_scores, read_lexicons
    from offscript.factcheck.queries import query_of
    from offscript.factcheck.sources.engines import web_search
    from offscript.factcheck.sources.ratings import read_ratings
    from offscript.web.application import EVERY_HOST, create_application

    ratings = Path(settings["ratings"]) if settings["ratings"] else None
    lexicons = read_lexicons(settings["lexicons"]) if settings["lexicons"] else default_lexicons()
    local = checker_on([Path(folder) for folder in settings["index"]], settings["stance"], ratings)
    local.check(WARM_UP)
    rated = read_ratings(ratings) if ratings else None
    checker = Checker(
        [*local.providers, *(web_search(name, ratings=rated) for name in settings["search"])],
        stance=local.stance,
        query=query_of if settings["search"] else query_words,  # search engines want few words
        language=lambda text: language_scores(text, lexicons),
    )
    return create_application(
        checker,
        cues=lambda text: cue_counts(text, lexicons),
        hosts=settings["hosts"] or EVERY_HOST,
        audits=Path(settings["audits"]) if settings["audits"] else None,
    )


def _listening(host: str, port: int) -> socket.socket:
    """A socket at the address, so that one that is taken is told in a line."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise OffscriptError(
            f"cannot listen at {host}:{port}", why=error.strerror or str(error), next="name another --port"
        ) from error
    return listener
