import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offscript.cli.app import app
from offscript.errors import OffscriptError


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


def test_json_holds_the_named_figures(pairs: Path) -> None:
    done = CliRunner().invoke(app, ["measure", "stance", "lexical", "--data", str(pairs), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    names = found["results"]["stance"]
    assert {"accuracy", "macro_f1", "f1.supported", "f1.refuted", "calibration_error"} <= names.keys()
    assert sum(map(sum, found["confusion"]["pairs"])) == 4


def test_two_models_are_compared_on_the_same_pairs(pairs: Path) -> None:
    command = ["measure", "stance", "lexical", "--data", str(pairs), "--against", "lexical", "--json"]
    found = json.loads(CliRunner().invoke(app, command).stdout)
    assert {row["p_value"] for row in found["comparison"]["differences"]} == {1.0}


def test_a_table_for_people(pairs: Path) -> None:
    done = CliRunner().invoke(app, ["measure", "stance", "lexical", "--data", str(pairs), "--claim-alone"])
    assert "stance.accuracy" in done.stdout
    assert "right, said" in done.stdout


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["lexical", "--data", "/nowhere"], "no such file or folder"),
        (["--data", "/nowhere"], "nothing or too much"),
        (
            ["offscript/stanze", "--data", "PAIRS"],
            "no stance model 'offscript/stanze'; .* did you mean 'offscript/stance'",
        ),
    ],
)
def test_what_cannot_be_measured_is_said_in_a_line(pairs: Path, command: list[str], message: str) -> None:
    filled = [str(pairs) if part == "PAIRS" else part for part in command]
    with pytest.raises(OffscriptError, match=message):
        CliRunner().invoke(app, ["measure", "stance", *filled], catch_exceptions=False)
