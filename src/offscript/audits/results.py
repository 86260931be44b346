"""The results file as pydantic models: lm-evaluation-harness's layout with an interval for each figure.

The published JSON schema is generated from these classes:

    python -m offscript.audits.results > docs/results.schema.json
"""

import json
import sys
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[float | Literal["inf", "-inf"], Field(description="Infinities are strings: JSON has none.")]
_NAME = r"^[a-z][a-z0-9_-]*$"
_QUESTIONS: dict[str, Any] = {"propertyNames": {"pattern": _NAME}}
_BY_LENGTH: dict[str, Any] = {r"^by_length\.": {"type": "array"}}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class StoredInterval(_Part):
    """Bounds, level and method; lists of bounds for a figure by length."""

    lower: Number | list[Number]
    upper: Number | list[Number]
    level: float = Field(gt=0, le=1)
    method: str


class Figures(_Part):
    """NAME, NAME_stderr, by_length.NAME from the first length on, and their intervals under ci."""

    model_config = ConfigDict(extra="allow", frozen=True, json_schema_extra={"patternProperties": _BY_LENGTH})
    __pydantic_extra__: dict[str, Number | list[Number]] = Field(init=False)

    alias: str
    ci: dict[str, StoredInterval]


class SampleCounts(_Part):
    """How many items there were, and how many were measured."""

    original: int = Field(ge=0)
    effective: int = Field(ge=0)


class Provenance(_Part):
    """How one figure came about; `recipe` is a key of `recipes`."""

    n: int = Field(ge=0)
    seed: int | None
    seconds: float = Field(ge=0)
    recipe: str


class AuditedQuestion(_Part):
    """A question of an audit as the page shows it."""

    name: str
    title: str
    questions: list[str] = Field(description="under which keys of `results` its figures are")
    exhibits: list[dict[str, Any]] = []
    settings: dict[str, Any] = Field(default={}, description="what it was asked with, where that was planned")


class AuditPart(_Part):
    """What a page needs beside the figures: the questions in order, their exhibits, and what was left out and why."""

    questions: list[AuditedQuestion]
    left_out: list[tuple[str, str]] = []


class Results(_Part):
    """One run's figures of one model."""

    model_config = ConfigDict(title="offscript results", frozen=True, populate_by_name=True)

    results: dict[str, Figures] = Field(json_schema_extra=_QUESTIONS)
    higher_is_better: dict[str, dict[str, bool | None]] = Field(json_schema_extra=_QUESTIONS)
    n_samples: dict[str, SampleCounts] = Field(alias="n-samples", json_schema_extra=_QUESTIONS)
    versions: dict[str, str] = Field(json_schema_extra=_QUESTIONS)
    measurements: dict[str, dict[str, Provenance]] = Field(json_schema_extra=_QUESTIONS)
    recipes: dict[str, dict[str, Any]]
    config: dict[str, Any]
    model_name: str = Field(min_length=1)
    date: float = Field(ge=0, le=1e11, description="seconds since 1970-01-01 UTC")
    audit: AuditPart | None = None


def results_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a results file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Results.model_json_schema(by_alias=True)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(results_schema(), indent=2) + "\n")
