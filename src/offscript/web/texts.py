"""A passage checked claim by claim: a page for what is selected elsewhere, its bookmarklet, and the same as an API."""

import json
import re
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from offscript.errors import OffscriptError
from offscript.factcheck.checked import Verdict
from offscript.factcheck.documents.document import Document
from offscript.factcheck.texts.checking import CheckedText, check_text, find_claims
from offscript.web.api import Fault
from offscript.web.checks import Checks
from offscript.web.pages import render
from offscript.web.results import VERDICT_CLASSES

LONGEST, MOST_CLAIMS = 4_000, 25  # characters and claims of a passage
_HOST = re.compile(r"[\w.-]+(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?")
_BOOKMARKLET = (
    "javascript:void(open({address}+'?text='+encodeURIComponent(String(getSelection()).trim().slice(0,{longest})),"
    "'_blank','noopener'))"
)
pages_router = APIRouter(include_in_schema=False)
api_router = APIRouter(prefix="/api", tags=["check"])


class Passage(BaseModel):
    """A passage of a few sentences."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"text": "Germany borders Denmark. Its capital is Bonn."}}
    )
    text: str = Field(description=f"At most {LONGEST:,} characters, with at most {MOST_CLAIMS} claims.")


class PassageClaim(BaseModel):
    """A claim as it was checked."""

    claim: str = Field(description="With names in the place of pronouns.")
    verdict: Verdict
    confidence: float
    evidence: list[dict[str, Any]] = Field(description="Sentences with their document, place and stance.")


class PassageSentence(BaseModel):
    """A sentence and the claims in it."""

    start: int
    end: int
    text: str
    worthiness: float = Field(description="The probability that it states something that can be checked.")
    not_checked: str = Field(description="Why it was not checked; empty where it was.")
    verdict: Verdict | None
    claims: list[PassageClaim]


class PassageTotal(BaseModel):
    """How many claims have a verdict, and their share."""

    count: int
    share: float
    interval: list[float]


class CheckedPassage(BaseModel):
    """A passage with the verdicts of its claims."""

    title: str
    not_checked: str = Field(description="Why nothing was checked, such as that it is not English.")
    claims: int
    totals: dict[str, PassageTotal]
    sentences: list[PassageSentence]


class Part(NamedTuple):
    """A sentence as the page shows it."""

    text: str
    verdict_class: str
    verdict: str
    claims: list[dict[str, Any]]
    note: str


@pages_router.get("/text")
async def text_page(request: Request, text: Annotated[str, Query()] = "") -> Response:
    """The claims of a passage with their verdicts; without one, a form and the bookmarklet."""
    if not text.strip():
        return render(
            request, "text.html.j2", text="", parts=[], totals=[], not_checked="", bookmarklet=bookmarklet(request)
        )
    checked = await _checked(request, text)
    return render(
        request,
        "text.html.j2",
        text=checked.text,
        parts=[_part(each) for each in checked.to_json()["sentences"]],
        totals=checked.totals(),
        not_checked=checked.not_checked,
        bookmarklet=bookmarklet(request),
    )


@api_router.post(
    "/text",
    summary="Check a passage",
    responses={
        200: {
            "model": CheckedPassage,
            "description": "The sentences, the claims of each with verdict and evidence, and totals with intervals.",
        },
        422: {"model": Fault, "description": "The passage cannot be checked."},
    },
)
async def check_passage(request: Request, body: Passage) -> Response:
    """Find the claims of a passage, make each stand alone, and check each."""
    checked = await _checked(request, body.text)
    return Response(json.dumps(checked.to_json(), allow_nan=False), media_type="application/json")


def bookmarklet(request: Request) -> str:
    """A link that opens this service with what is selected on any page; the browser keeps it among its bookmarks."""
    host = request.headers.get("host", "")
    address = f"{request.url.scheme}://{host if _HOST.fullmatch(host) else 'localhost'}/text"
    return _BOOKMARKLET.format(address=json.dumps(address).replace('"', "'"), longest=LONGEST)


async def _checked(request: Request, text: str) -> CheckedText:
    checks: Checks = request.app.state.checks
    if not request.app.state.searchable:
        raise OffscriptError(
            "passages are not checked here", why="every check asks a search engine", next="check one claim at a time"
        )
    if not text.strip():
        raise OffscriptError("the passage is empty", next="give some sentences")
    if len(text) > LONGEST:
        raise OffscriptError(f"the passage has {len(text):,} characters", next=f"select at most {LONGEST:,}")
    document = Document("passage", "", text.replace("\0", " "))

    def work() -> CheckedText:
        if (count := sum(len(each.claims) for each in find_claims(document))) > MOST_CLAIMS:
            raise OffscriptError(f"the passage has {count} claims", next=f"select fewer; {MOST_CLAIMS} are checked")
        return check_text(checks.checker, document)

    return await checks.beside(work)


def _part(sentence: dict[str, Any]) -> Part:
    verdict = sentence["verdict"]
    return Part(
        text=sentence["text"],
        verdict_class=VERDICT_CLASSES[verdict] if verdict else "",
        verdict=verdict or "",
        claims=[
            {**claim, "class": VERDICT_CLASSES[claim["verdict"]], "quotes": _telling(claim["evidence"])}
            for claim in sentence["claims"]
        ],
        note=sentence["not_checked"],
    )


def _telling(evidence: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sentence that decides, else the most telling one."""
    return [each for each in evidence if each["deciding"]][:1] or evidence[:1]
