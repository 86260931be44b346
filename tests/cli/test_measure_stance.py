import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    rows = [
        {"claim": "Cats eat fish", "text": "Cats eat fish.", "label": "SUPPORTS"},
        {"claim": "Cats eat fish", "text": "Cats never eat fish.", "label": "REFUTES"},
        {"claim": "Paris is in France", "text": "Paris is in France.", "label": "SUPPORTS"},
        {"claim": "Paris is in France", "text": "Paris is not in France.", "label": "REFUTES"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_json_holds_the_named_figures(offscript: Command, pairs: Path) -> None:
    pairs.write_text(pairs.read_text() * 25)  # a calibration error needs 100 items
    found = offscript("measure", "stance", "lexical", "--data", pairs, "--json").json
    names = found["results"]["stance"]
    assert {"accuracy", "macro_f1", "f1.supported", "f1.refuted", "calibration_error"} <= names.keys()
    assert sum(map(sum, found["confusion"]["pairs"])) == 100


def test_two_models_are_compared_on_the_same_pairs(offscript: Command, pairs: Path) -> None:
    found = offscript("measure", "stance", "lexical", "--data", pairs, "--against", "lexical", "--json").json
    assert {row["p_value"] for row in found["comparison"]["differences"]} == {1.0}


def test_a_table_for_people(offscript: Command, pairs: Path) -> None:
    done = offscript("measure", "stance", "lexical", "--data", pairs, "--claim-alone")
    assert "stance.accuracy" in done.output
    assert "right, said" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lexical", "--data", "/nowhere"], "no such file or folder"),
        (["--data", "/nowhere"], "give exactly one"),
        (
            ["offscript/stanze", "--data", "PAIRS"],
            "no stance model 'offscript/stanze'; .* did you mean 'offscript/stance'",
        ),
    ],
)
def test_what_cannot_be_measured_is_said_in_a_line(
    offscript: Command, pairs: Path, arguments: list[str], message: str
) -> None:
    done = offscript("measure", "stance", *(pairs if each == "PAIRS" else each for each in arguments))
    assert (done.code, done.output) == (2, "")
    assert re.search(message, done.errors)
    assert done.errors.count("\n") == 1
