"""The pages: enter a claim, see what was found, read a document."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from offscript.web.checks import Checks
from offscript.web.claims import read_claim
from offscript.web.manual import show_manual
from offscript.web.reading import TELLING, show_reading
from offscript.web.rendering import STATIC_FILES, render
from offscript.web.results import show_results

EXAMPLES = (
    "The capital of Australia is Sydney.",
    "Germany borders Denmark.",
    "Gold is a chemical element with the symbol Au.",
)

router = APIRouter(include_in_schema=False)


@router.get("/")
async def start(request: Request) -> Response:
    """Where a claim is entered."""
    return render(request, "start.html.j2", examples=EXAMPLES)


@router.get("/check")
async def check(request: Request, claim: Annotated[str, Query()] = "") -> Response:
    """What was found for a claim."""
    checks: Checks = request.app.state.checks
    found = await checks.of(read_claim(claim))
    return render(request, "results.html.j2", results=show_results(found))


@router.get("/document")
async def document(
    request: Request, claim: str, document: Annotated[int, Query(ge=0, le=10_000)], order: str = TELLING
) -> Response:
    """One document of a check."""
    checks: Checks = request.app.state.checks
    found = await checks.of(read_claim(claim))
    reading = await checks.beside(lambda: show_reading(found, document, order, request.app.state.cues))
    return render(request, "document.html.j2", reading=reading)


@router.get("/api")
async def manual(request: Request) -> Response:
    """The API described, from its own schema."""
    return render(request, "manual.html.j2", manual=show_manual(request.app.openapi()))


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """Style, script and icon; no other file can be asked for."""
    if name not in STATIC_FILES:
        raise HTTPException(404)
    path, kind = STATIC_FILES[name]
    return FileResponse(path, media_type=kind, headers={"cache-control": "max-age=3600"})
