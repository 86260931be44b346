"""One study as a service: every participant has a link, and nothing about them is kept but their answers."""

from collections.abc import Sequence
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from offscript import __version__
from offscript.errors import OffscriptError
from offscript.studies.associations import AssociationStore
from offscript.studies.design import read_design
from offscript.studies.store import RatingStore
from offscript.web.files import static
from offscript.web.security import CACHE_CONTROL, EVERY_HOST, HEADERS, Guard
from offscript.web.studies import associations, participation, rating
from offscript.web.studies.rendering import PAGE_POLICY, render


def create_study_application(folder: Path, *, hosts: Sequence[str] = EVERY_HOST) -> FastAPI:
    """The application for any ASGI server.

    Args:
        folder: The study, as `offscript study` wrote it. Several processes may serve it at once.
        hosts: The names that the service answers to; see `create_application`.

    Returns:
        The application.
    """
    design = read_design(folder)
    application = FastAPI(title="offscript study", version=__version__, openapi_url=None, redirect_slashes=False)
    kinds = {"rating": (RatingStore, rating.router), "associations": (AssociationStore, associations.router)}
    store, router = kinds[design.kind]
    application.state.store = store(folder)
    application.include_router(participation.router)
    application.include_router(router)
    application.add_api_route("/static/{name}", static, include_in_schema=False)
    application.add_exception_handler(OffscriptError, _refused)
    application.add_exception_handler(HTTPException, _not_served)
    application.add_exception_handler(Exception, _failed)
    application.add_middleware(Guard, hosts=hosts)
    return application


async def _refused(request: Request, fault: Exception) -> Response:
    return render(request, "study_error.html.j2", status=422, line=str(fault))


async def _not_served(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    told = "There is no such page. Your link may be incomplete, or the data behind it was deleted."
    line = told if fault.status_code == 404 else str(fault.detail)
    return render(request, "study_error.html.j2", status=fault.status_code, line=line)


async def _failed(request: Request, _: Exception) -> Response:
    line = "Something went wrong on our side. Nothing that you answered is lost; please reload the page."
    answer = render(request, "study_error.html.j2", status=500, line=line)
    answer.headers.update({**HEADERS, "cache-control": CACHE_CONTROL, "content-security-policy": PAGE_POLICY})
    return answer
