"""The JSON API."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from offscript import __version__
from offscript.factcheck.checked import Check
from offscript.web.checks import Checks
from offscript.web.claims import LONGEST_CLAIM, read_claim

router = APIRouter(prefix="/api", tags=["check"])


class Claim(BaseModel):
    """What is to be checked."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"claim": "The capital of Australia is Sydney."}}
    )
    claim: str = Field(description=f"One sentence that can be true or false, of at most {LONGEST_CLAIM} characters.")


class Fault(BaseModel):
    """Why there is no answer."""

    error: str = Field(description="One line: what is wrong, why, and what to do.")


class Status(BaseModel):
    """How the service stands."""

    version: str
    unfinished: int = Field(description="Checks that run or wait for their turn.")


ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": Check, "description": "The verdict, and the documents and sentences that it rests on."},
    422: {"model": Fault, "description": "The claim cannot be checked."},
    503: {"model": Fault, "description": "Too much to do; try again in a moment."},
}


@router.get("/check", summary="Check a claim", responses=ANSWERS)
async def check_by_address(
    request: Request, claim: Annotated[str, Query(description="One sentence that can be true or false.")]
) -> Response:
    """The same as the other way to ask, with the claim in the address."""
    return await _answer(request, claim)


@router.post("/check", summary="Check a claim", responses=ANSWERS)
async def check_by_body(request: Request, body: Claim) -> Response:
    """Find documents, judge their stance to the claim sentence by sentence, and give a verdict."""
    return await _answer(request, body.claim)


@router.get("/status", summary="Ask how the service stands")
async def status(request: Request) -> Status:
    """Answers at once, also while checks are running."""
    checks: Checks = request.app.state.checks
    return Status(version=__version__, unfinished=checks.unfinished)


async def _answer(request: Request, text: str) -> Response:
    checks: Checks = request.app.state.checks
    check = await checks.of(read_claim(text))
    return Response(json.dumps(check.to_json(), allow_nan=False), media_type="application/json")
