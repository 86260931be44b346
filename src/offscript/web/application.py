"""The service: pages and a JSON API around one checker."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from offscript import __version__
from offscript.errors import OffscriptError
from offscript.factcheck.pipelines import ClaimChecker
from offscript.web import api, jobs, pages, texts
from offscript.web.checks import Checks, Limits, OverloadedError
from offscript.web.files import static
from offscript.web.pages import render
from offscript.web.reading import Cues
from offscript.web.security import CACHE_CONTROL, EVERY_HOST, HEADERS, Guard

DESCRIPTION = "Checks claims against the documents that this service was started with."


def create_application(
    checker: ClaimChecker,
    *,
    cues: Cues | None = None,
    limits: Limits | None = None,
    hosts: Sequence[str] = EVERY_HOST,
    audits: Path | None = None,
) -> FastAPI:
    """The application for any ASGI server.

    Args:
        checker: What checks a claim, such as `offscript.factcheck.build_checker()`; several threads use it at once.
        cues: Gives for a text its cues by lexicon and how often each occurs, for the clouds of words; none without it.
        limits: How much is checked at once and how much may wait.
        hosts: The names that the service answers to. A service for this machine alone should name them, so that no
            other site can reach it through a visitor's browser by a name that resolves to this machine.
        audits: A folder of stored audits to be shown, too.

    Returns:
        The application; `offscript serve` runs it with a bound on connections and a deadline for headers.
    """
    limits = limits or Limits()
    checks = Checks(checker, limits)
    local = limits.checks_a_minute is None  # else a check asks a search engine, and visitors are counted
    running = jobs.Jobs(checks, allowed=local)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        running.close()
        checks.close()

    application = FastAPI(
        title="offscript",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    application.state.checks, application.state.cues = checks, cues or (lambda text: {})
    application.state.jobs, application.state.searchable = running, local
    application.include_router(api.router)
    application.include_router(jobs.router)
    application.include_router(texts.api_router)
    application.include_router(texts.pages_router)
    application.include_router(pages.router)
    _show_audits(application, audits)
    _explain_faults(application)
    application.add_middleware(
        Guard, hosts=hosts, checks_a_minute=limits.checks_a_minute, sends_away=lambda: checks.is_overloaded
    )
    return application


def create_audit_application(folder: Path, *, hosts: Sequence[str] = EVERY_HOST) -> FastAPI:
    """An application that shows the audits below a folder, with their places, and checks nothing.

    Args:
        folder: Where audits are stored.
        hosts: The names that the service answers to; see `create_application`.

    Returns:
        The application; `offscript view` runs it for this machine alone.
    """
    application = FastAPI(title="offscript audits", version=__version__, openapi_url=None, redirect_slashes=False)
    application.add_api_route("/", _to_audits, include_in_schema=False)
    application.add_api_route("/static/{name}", static, include_in_schema=False)
    application.state.places = True
    _show_audits(application, folder)
    _explain_faults(application)
    application.add_middleware(Guard, hosts=hosts)
    return application


async def _to_audits() -> Response:
    return RedirectResponse("/audits")


def _show_audits(application: FastAPI, folder: Path | None) -> None:
    application.state.audits = folder
    if folder is not None:
        from offscript.web.audits import router

        application.include_router(router)


def _explain_faults(application: FastAPI) -> None:
    application.add_exception_handler(OffscriptError, _refused)
    application.add_exception_handler(RequestValidationError, _misread)
    application.add_exception_handler(HTTPException, _not_served)
    application.add_exception_handler(Exception, _failed)


async def _refused(request: Request, fault: Exception) -> Response:
    overloaded = isinstance(fault, OverloadedError)
    answer = _told(request, 503 if overloaded else 422, str(fault))
    if overloaded:
        answer.headers["retry-after"] = "2"
    return answer


async def _misread(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, RequestValidationError)
    found = fault.errors()[0]
    place = ".".join(str(part) for part in found["loc"][1:]) or "the request"
    return _told(request, 422, f"{place}: {found['msg'][:200]}")


async def _not_served(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    told = "there is no such page" if fault.status_code == 404 else str(fault.detail)
    return _told(request, fault.status_code, told)


async def _failed(request: Request, fault: Exception) -> Response:
    """For faults of the program itself, which are answered from outside the guard; the log has the rest."""
    answer = _told(request, 500, f"this did not work: {type(fault).__name__}; the log of the service says more")
    answer.headers.update({**HEADERS, "cache-control": CACHE_CONTROL})
    return answer


def _told(request: Request, status: int, line: str) -> Response:
    """One clear line, as JSON to programs and as a page to people."""
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": line}, status_code=status)
    return render(request, "error.html.j2", status=status, line=line)
