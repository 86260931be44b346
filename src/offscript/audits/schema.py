"""The JSON schema of a results file, as `docs/results.schema.json` publishes it.

python -m offscript.audits.schema > docs/results.schema.json
"""

import json
import sys
from typing import Any

from offscript.audits.store import BY_LENGTH

Schema = dict[str, Any]

_NUMBER: Schema = {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}
_NUMBERS: Schema = {"type": "array", "items": {"$ref": "#/$defs/number"}}
_QUESTION = "^[a-z][a-z0-9_-]*$"


def results_schema() -> Schema:
    """JSON Schema (2020-12) of what `write_results` writes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "offscript results",
        "description": "One run's figures of one model, in lm-evaluation-harness's layout, with an interval for each.",
        "type": "object",
        "required": [
            "results", "higher_is_better", "n-samples", "versions", "measurements", "recipes", "config", "model_name",
            "date",
        ],
        "properties": {
            "results": _by_question({"$ref": "#/$defs/figures"}),
            "higher_is_better": _by_question(_by_name({"type": ["boolean", "null"]})),
            "n-samples": _by_question({"$ref": "#/$defs/samples"}),
            "versions": _by_question({"type": "string"}),
            "measurements": _by_question(_by_name({"$ref": "#/$defs/provenance"})),
            "recipes": {"type": "object", "additionalProperties": {"type": "object"}},
            "config": {"type": "object", "required": ["model"], "properties": {"model": {"type": "string"}}},
            "model_name": {"type": "string", "minLength": 1},
            "date": {"type": "number", "description": "seconds since 1970-01-01 UTC"},
        },
        "$defs": _definitions(),
    }  # fmt: skip


def _definitions() -> Schema:
    by_length = "^" + BY_LENGTH.replace(".", r"\.")
    count: Schema = {"type": "integer", "minimum": 0}
    return {
        "number": {"description": "Infinities are strings: JSON has none.", **_NUMBER},
        "figures": {
            "description": "NAME, NAME_stderr, by_length.NAME from the first length on, and their intervals under ci.",
            "type": "object",
            "required": ["alias", "ci"],
            "properties": {"alias": {"type": "string"}, "ci": {"$ref": "#/$defs/intervals"}},
            "patternProperties": {by_length: _NUMBERS},
            "additionalProperties": {"$ref": "#/$defs/number"},
        },
        "intervals": {
            "type": "object",
            "patternProperties": {by_length: _interval(_NUMBERS)},
            "additionalProperties": _interval({"$ref": "#/$defs/number"}),
        },
        "samples": {
            "type": "object",
            "required": ["original", "effective"],
            "properties": {"original": count, "effective": count},
        },
        "provenance": {
            "type": "object",
            "required": ["n", "seed", "seconds", "recipe"],
            "properties": {
                "n": count,
                "seed": {"type": ["integer", "null"]},
                "seconds": {"type": "number", "minimum": 0},
                "recipe": {"type": "string", "description": "a key of recipes"},
            },
        },
    }


def _by_question(entry: Schema) -> Schema:
    return {"type": "object", "propertyNames": {"pattern": _QUESTION}, "additionalProperties": entry}


def _by_name(entry: Schema) -> Schema:
    return {"type": "object", "additionalProperties": entry}


def _interval(bound: Schema) -> Schema:
    return {
        "type": "object",
        "required": ["lower", "upper", "level", "method"],
        "properties": {
            "lower": bound,
            "upper": bound,
            "level": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "method": {"type": "string"},
        },
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(results_schema(), indent=2) + "\n")
