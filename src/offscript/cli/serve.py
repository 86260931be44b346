"""`offscript serve`: claims checked in the browser and over HTTP."""

import ipaddress
import json
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from offscript._specification import split_specifications
from offscript.cli._checkers import Engines, Indexes, Lexicons, PipelineName, Ratings, StanceName
from offscript.errors import OffscriptError, missing_package
from offscript.factcheck.pipelines import Pipeline

if TYPE_CHECKING:
    from fastapi import FastAPI

SETTINGS = "OFFSCRIPT_SERVE"  # how the processes of a service learn what was asked for
WARM_UP = "The first check loads and compiles what later ones use."
THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
SEARCHES_A_MINUTE = 30  # of one address, where a check asks a search engine


def serve(
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    index: Indexes = None,
    search: Engines = None,
    stance: StanceName = None,
    ratings: Ratings = None,
    lexicons: Lexicons = None,
    pipeline: PipelineName = Pipeline.standard,
    audits: Annotated[Path | None, typer.Option(help="Folder of stored audits to show, too.")] = None,
    study: Annotated[Path | None, typer.Option(help="Serve this study (offscript study) and nothing else.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the work, about one per core.")] = 1,
) -> None:
    """Serve pages and a JSON API that check claims, or a study's pages; Ctrl-C ends it.

    Example: offscript serve --index index --port 8000
    """
    try:
        from offscript.web.server import run
    except ModuleNotFoundError as error:
        raise missing_package("offscript serve", str(error.name), extra="web") from error
    with listening(host, port) as listener:
        settings = {
            "index": [str(folder) for folder in index or []],
            "search": split_specifications(*(search or ())),
            "stance": stance,
            "ratings": str(ratings) if ratings else None,
            "lexicons": str(lexicons) if lexicons else None,
            "pipeline": pipeline.value,
            "audits": str(audits) if audits else None,
            "study": str(study) if study else None,
            "hosts": _own_names(host, listener),
        }
        application = application_of(settings)
        named = f"[{host}]" if ":" in host else host
        address = f"http://{named}:{listener.getsockname()[1]}"
        typer.echo(f"offscript listens at {address} (Ctrl-C ends it)", err=True)
        if study is not None:
            typer.echo(f"links: offscript study links {study} --address {address}", err=True)
        if workers == 1:
            run(application, listener)
            return
        os.environ[SETTINGS] = json.dumps(settings)
        run(f"{__name__}:application_of_environment", listener, workers=workers)


def application_of_environment() -> "FastAPI":
    """The application of one of several processes."""
    return application_of(json.loads(os.environ[SETTINGS]))


def application_of(settings: dict[str, Any]) -> "FastAPI":
    """The application that the flags describe."""
    if settings["study"]:
        return _study_application(settings)
    from offscript.factcheck.language import cue_counts, default_lexicons, read_lexicons
    from offscript.factcheck.pipelines import build_pipeline
    from offscript.web.application import create_application
    from offscript.web.checks import Limits
    from offscript.web.security import EVERY_HOST

    lexicons = _path(settings["lexicons"])
    cues = read_lexicons(lexicons) if lexicons else default_lexicons()
    checker = build_pipeline(
        settings["pipeline"],
        settings["index"],
        settings["stance"],
        _path(settings["ratings"]),
        engines=settings["search"],
        lexicons=lexicons,
        announce=lambda message: typer.echo(message, err=True),
    )
    if not settings["search"]:  # which would be asked, too
        checker.check(WARM_UP)
    return create_application(
        checker,
        cues=lambda text: cue_counts(text, cues),
        limits=Limits(checks_a_minute=SEARCHES_A_MINUTE if settings["search"] else None),
        hosts=settings["hosts"] or EVERY_HOST,
        audits=_path(settings["audits"]),
    )


def _study_application(settings: dict[str, Any]) -> "FastAPI":
    from offscript.web.security import EVERY_HOST
    from offscript.web.studies.application import create_study_application

    return create_study_application(Path(settings["study"]), hosts=settings["hosts"] or EVERY_HOST)


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _own_names(host: str, listener: socket.socket) -> list[str] | None:
    """The names of a service that only this machine can reach; None for one that others can, whatever they call it."""
    address = ipaddress.ip_address(listener.getsockname()[0].partition("%")[0])
    return [*THIS_MACHINE, host] if address.is_loopback else None


def listening(host: str, port: int) -> socket.socket:
    """A socket at the address, so that one that is taken is told in a line."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, UnicodeError, OverflowError) as error:
        listener.close()
        raise OffscriptError(
            f"cannot listen at {host}:{port}",
            why=getattr(error, "strerror", None) or str(error),
            next="name another --port",
        ) from error
    return listener
