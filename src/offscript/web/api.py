"""The JSON API, and its OpenAPI schema as a page that needs neither a script nor another host."""

import json
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from offscript import __version__
from offscript.factcheck.checked import Check
from offscript.web.checks import LONGEST_CLAIM, Checks, read_claim

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


class Parameter(NamedTuple):
    """A parameter of a call, or a field of an object."""

    name: str
    type: str
    required: bool
    about: str


class Answer(NamedTuple):
    """What a call may answer with."""

    status: str
    type: str
    about: str


class Call(NamedTuple):
    """A method at a path."""

    method: str
    path: str
    summary: str
    about: str
    parameters: list[Parameter]
    body: str
    answers: list[Answer]


class Shape(NamedTuple):
    """An object that goes in or comes out, or the words that one value may be."""

    name: str
    about: str
    fields: list[Parameter]
    values: list[str]


class Manual(NamedTuple):
    """All calls and shapes."""

    title: str
    about: str
    calls: list[Call]
    shapes: list[Shape]


def show_manual(schema: dict[str, Any]) -> Manual:
    """The page of an OpenAPI 3.1 schema as FastAPI writes it."""
    shapes = schema.get("components", {}).get("schemas", {})
    return Manual(
        title=schema["info"]["title"],
        about=schema["info"].get("description", ""),
        calls=[
            _call(method, path, call, shapes)
            for path, calls in schema["paths"].items()
            for method, call in calls.items()
        ],
        shapes=[_shape(name, shape) for name, shape in shapes.items() if "ValidationError" not in name],
    )


def _call(method: str, path: str, call: dict[str, Any], shapes: dict[str, Any]) -> Call:
    content = call.get("requestBody", {}).get("content", {}).get("application/json", {})
    body = shapes.get(type_of(content.get("schema", {})), {})
    return Call(
        method=method.upper(),
        path=path,
        summary=call.get("summary", ""),
        about=call.get("description", ""),
        parameters=[
            Parameter(
                entry["name"], type_of(entry["schema"]), entry.get("required", False), entry.get("description", "")
            )
            for entry in call.get("parameters", [])
        ],
        body=json.dumps(body["example"], ensure_ascii=False) if "example" in body else "",
        answers=[
            Answer(status, type_of(_content(answer)), answer.get("description", ""))
            for status, answer in sorted(call["responses"].items())
        ],
    )


def _content(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return found


def _shape(name: str, shape: dict[str, Any]) -> Shape:
    required = shape.get("required", [])
    fields = [
        Parameter(field, type_of(schema), field in required, schema.get("description", ""))
        for field, schema in shape.get("properties", {}).items()
    ]
    return Shape(name, shape.get("description", ""), fields, [str(value) for value in shape.get("enum", [])])


def type_of(schema: dict[str, Any]) -> str:
    """A schema's type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(type_of(one) for one in schema["anyOf"])
    if "prefixItems" in schema or schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {})) or 'anything'}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"object of {type_of(values)}"
    return str(schema.get("type", ""))
