"""The pages: enter a claim, see what was found, read a document. Whatever is put into a template is escaped."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from offscript import __version__
from offscript.web.api import show_manual
from offscript.web.checks import LONGEST_CLAIM, Checks, read_claim
from offscript.web.files import environment, static
from offscript.web.reading import TELLING, show_reading
from offscript.web.results import show_calibration, show_results

EXAMPLES = (
    "The capital of Australia is Sydney.",
    "Germany borders Denmark.",
    "Gold is a chemical element with the symbol Au.",
)
router = APIRouter(include_in_schema=False)
router.add_api_route("/static/{name}", static)


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page; text that is no valid Unicode is shown with replacement characters."""
    state = request.app.state
    common = {
        "version": __version__,
        "longest_claim": LONGEST_CLAIM,
        "audits": state.audits is not None,
        "checks": hasattr(state, "checks"),
    }
    text = environment().get_template(template).render(**common, **values)
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status)


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


@router.get("/calibration")
async def calibration(request: Request) -> Response:
    """How often verdicts of each confidence were right."""
    checks: Checks = request.app.state.checks
    return render(request, "calibration.html.j2", **show_calibration(checks.checker))


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
