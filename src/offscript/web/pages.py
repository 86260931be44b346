"""The pages: enter a claim, see what was found, read a document. Whatever is put into a template is escaped."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

from offscript import __version__, report
from offscript.web.api import show_manual
from offscript.web.checks import LONGEST_CLAIM, Checks, read_claim
from offscript.web.reading import TELLING, show_reading
from offscript.web.results import show_results

_HERE = Path(__file__).parent
_REPORT = Path(report.__file__).parent
STATIC_FILES = {
    "page.css": (_REPORT / "templates" / "page.css", "text/css"),
    "web.css": (_HERE / "static" / "web.css", "text/css"),
    "web.js": (_HERE / "static" / "web.js", "text/javascript"),
    "study.css": (_HERE / "static" / "study.css", "text/css"),
    "study.js": (_HERE / "static" / "study.js", "text/javascript"),
    "icon.svg": (_HERE / "static" / "icon.svg", "image/svg+xml"),
}
EXAMPLES = (
    "The capital of Australia is Sydney.",
    "Germany borders Denmark.",
    "Gold is a chemical element with the symbol Au.",
)
router = APIRouter(include_in_schema=False)


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page; text that is no valid Unicode is shown with replacement characters."""
    common = {"version": __version__, "longest_claim": LONGEST_CLAIM, "audits": request.app.state.audits is not None}
    text = environment().get_template(template).render(**common, **values)
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status)


@cache
def environment() -> Environment:
    """The templates, all values escaped."""
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


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
