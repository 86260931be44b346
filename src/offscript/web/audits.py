"""Stored audits, listed and shown."""

import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from offscript.audits.audit import audits_below, read_record
from offscript.report.page import render_page
from offscript.web.pages import render

# An audit's page brings its script and style with it. It runs cut off from the service: no origin, no requests.
AUDIT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

router = APIRouter(include_in_schema=False, prefix="/audits")


class StoredAudit(NamedTuple):
    """An audit by a key that tells nothing of where it lies; its place is shown only on the user's own machine."""

    key: str
    model: str
    date: str
    place: str
    results: Path


def stored_audits(folder: Path) -> list[StoredAudit]:
    """The audits at or below a folder, newest first; results that cannot be read are left out."""
    listed = (_stored(path, folder) for path in audits_below(folder))
    return [entry for entry in listed if entry is not None]


def _stored(results: Path, folder: Path) -> StoredAudit | None:
    try:
        document = json.loads(results.read_text(encoding="utf-8"))
        date = datetime.fromtimestamp(float(document["date"]), timezone.utc).strftime("%Y-%m-%d %H:%M")
        model = str(document["model_name"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    place = results.relative_to(folder)
    key = hashlib.sha256(str(place).encode("utf-8", "replace")).hexdigest()[:16]
    return StoredAudit(key, model, date, str(place.parent), results)


@router.get("")
async def audits(request: Request) -> Response:
    """All audits."""
    state = request.app.state
    listed = await run_in_threadpool(stored_audits, state.audits)
    places = getattr(state, "places", False)
    return render(request, "audits.html.j2", listed=listed, places=places, folder=state.audits)


@router.get("/{key}")
async def audit(request: Request, key: str) -> Response:
    """The page of one audit, as `offscript report` writes it."""
    listed = await run_in_threadpool(stored_audits, request.app.state.audits)
    chosen = next((entry for entry in listed if entry.key == key), None)
    if chosen is None:
        raise HTTPException(404)
    page = await run_in_threadpool(lambda: render_page(read_record(chosen.results)))
    return HTMLResponse(page.encode("utf-8", "replace"), headers={"content-security-policy": AUDIT_POLICY})
