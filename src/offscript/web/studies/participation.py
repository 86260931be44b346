"""What every study has: a start page, consent, deletion."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from offscript.studies.store import Database
from offscript.web.studies.rendering import go_to, render

router = APIRouter(include_in_schema=False)


def store_of(request: Request) -> Any:
    """The study's store."""
    return request.app.state.store


async def role_of(request: Request, code: str) -> str:
    """What the owner of a link does; a page that is not there for a link that is not known."""
    role = await run_in_threadpool(store_of(request).role, code)
    if role is None or code.startswith("import:"):
        raise HTTPException(404)
    return str(role)


@router.get("/")
async def start(request: Request) -> Response:
    """For whoever comes without a link."""
    return render(request, "study_start.html.j2")


@router.post("/join")
async def join(request: Request) -> Response:
    """A link of one's own, where the study is open to all."""
    store: Database = store_of(request)
    if not store.design.open or store.design.kind != "rating":
        raise HTTPException(404)
    codes = await run_in_threadpool(store.invite, 1)
    return go_to(f"/s/{codes[0]}")


@router.post("/s/{code}/consent")
async def consent(request: Request, code: str) -> Response:
    """Agree to take part."""
    await role_of(request, code)
    await run_in_threadpool(store_of(request).consent, code)
    return go_to(f"/s/{code}")


@router.get("/s/{code}/delete")
async def ask_deletion(request: Request, code: str) -> Response:
    """Ask before everything is deleted."""
    await role_of(request, code)
    return render(request, "study_delete.html.j2", code=code, done=False)


@router.post("/s/{code}/delete")
async def delete(request: Request, code: str) -> Response:
    """Delete a participant with all that they answered."""
    await role_of(request, code)
    await run_in_threadpool(store_of(request).forget, code)
    return render(request, "study_delete.html.j2", code=code, done=True)
