"""A rating study: one text at a time, with the thesis's scale."""

import math

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from offscript.errors import OffscriptError
from offscript.studies.design import ANCHORS
from offscript.web.studies.participation import role_of, store_of
from offscript.web.studies.rendering import form_of, go_to, render

router = APIRouter(include_in_schema=False)
STORED = (
    "your ratings, from 0 to 5",
    "for each text, for how many seconds the page was visible before you chose",
    "until you have rated a text, when it was shown to you",
    "a random number that stands for you",
)


@router.get("/s/{code}")
async def page(request: Request, code: str) -> Response:
    """Where a participant is: consent, the next text, or the end."""
    await role_of(request, code)
    store = store_of(request)
    if not await run_in_threadpool(store.consented, code):
        return render(request, "study_consent.html.j2", code=code, anchors=ANCHORS, stored=STORED, role="rate")
    step = await run_in_threadpool(store.next_step, code)
    if step is None:
        return render(request, "study_thanks.html.j2", code=code, answered=len(store.items) > 0)
    return render(request, "study_item.html.j2", code=code, step=step, anchors=ANCHORS)


@router.post("/s/{code}/rate")
async def rate(request: Request, code: str) -> Response:
    """Keep a rating; it is on disk when the answer goes out."""
    await role_of(request, code)
    form = await form_of(request)
    known = {str(anchor.value): anchor.value for anchor in ANCHORS}
    if form.get("rating") not in known:
        raise OffscriptError("no rating was chosen", next="go back and choose one of the six")
    value, seconds = known[form["rating"]], _seconds(form.get("seconds", ""))
    await run_in_threadpool(store_of(request).rate, code, form.get("item", ""), value, seconds)
    return go_to(f"/s/{code}")


@router.get("/overview/{owner}")
async def overview(request: Request, owner: str) -> Response:
    """How far the study is, for its owner."""
    store = store_of(request)
    if owner != store.design.owner:
        raise HTTPException(404)
    progress = await run_in_threadpool(store.progress)
    return render(request, "study_overview.html.j2", progress=progress, acceptance=None)


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None
