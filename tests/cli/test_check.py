"""`offscript check` and `offscript measure verdicts` as a user meets them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from offscript.cli import main
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index

Command = Callable[..., tuple[int, str, str]]
CLAIMS = [
    {"id": 1, "claim": "The capital of Australia is Canberra.", "label": "SUPPORTS", "evidence": ["a"]},
    {"id": 2, "claim": "The capital of Australia is Sydney.", "label": "REFUTES", "evidence": [["a", 0]]},
    {"id": 3, "claim": "Colourless green ideas sleep furiously.", "label": "NOT ENOUGH INFO", "evidence": []},
]


@pytest.fixture
def offscript(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["offscript", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return run


@pytest.fixture
def index(tmp_path: Path) -> str:
    documents = [
        Document("a", "Australia", "The capital of Australia is Canberra. It lies inland."),
        Document("b", "Brazil", "The capital of Brazil is Brasilia."),
    ]
    build_index(documents, tmp_path / "index")
    return str(tmp_path / "index")


@pytest.fixture
def claims(tmp_path: Path) -> str:
    path = tmp_path / "claims.jsonl"
    path.write_text("\n".join(map(json.dumps, CLAIMS)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [("The capital of Australia is Sydney", "REFUTED"), ("The capital of Australia is Canberra", "SUPPORTED")],
)
def test_without_an_index_the_almanac_answers(offscript: Command, claim: str, verdict: str) -> None:
    code, output, _ = offscript("check", claim)
    assert code == 0
    assert output.startswith(verdict)
    assert "The capital of Australia is Canberra." in output
    assert "geonames" in output


def test_an_index_of_ones_own_as_json(offscript: Command, index: str) -> None:
    code, output, _ = offscript("check", "The capital of Australia is Sydney.", "--index", index, "--json")
    found = json.loads(output)
    assert (code, found["verdict"]) == (0, "REFUTED")
    first = found["evidence"][0]
    document = found["documents"][first["document"]]
    assert document["document"]["id"] == "a"
    assert document["sentences"][first["sentence"]]["text"] == "The capital of Australia is Canberra."
    assert sum(found["probabilities"].values()) == pytest.approx(1)


def test_markup_in_a_claim_is_printed_as_it_is(offscript: Command, index: str) -> None:
    _, output, _ = offscript("check", "[red]The capital[/red]", "--index", index)
    assert "[red]The capital[/red]" in output


@pytest.mark.parametrize("claim", ["", "  ", "\udcff"])
def test_a_claim_that_says_nothing_is_answered(offscript: Command, index: str, claim: str) -> None:
    code, output, _ = offscript("check", claim, "--index", index)
    assert code == 0
    assert output.startswith("NOT ENOUGH INFO")
    assert "no document" in output


def test_verdicts_are_measured(offscript: Command, index: str, claims: str, tmp_path: Path) -> None:
    plot = tmp_path / "reliability.svg"
    code, output, _ = offscript("measure", "verdicts", claims, "--index", index, "--json", "--plot", str(plot))
    found = json.loads(output)
    assert code == 0
    assert found["results"]["verdicts"]["accuracy"] == 1
    assert found["results"]["verdicts"]["fever_score"] == 1
    assert found["confusion"]["claims"] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert plot.read_text(encoding="utf-8").startswith("<svg")


def test_verdicts_are_shown(offscript: Command, index: str, claims: str) -> None:
    code, output, _ = offscript("measure", "verdicts", claims, "--index", index, "--limit", "2", "--quiet")
    assert code == 0
    assert "verdicts.macro_f1" in output
    assert "NOT ENOUGH INFO" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "x", "--index", "nowhere"), "nowhere holds no index"),
        (("check", "x", "--stance", "nothing"), "no stance model 'nothing'"),
        (("measure", "verdicts", "nowhere.jsonl"), "nowhere.jsonl"),
        (("measure", "verdicts", "CLAIMS", "--plot", "x.txt"), "cannot write a chart"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    offscript: Command, claims: str, arguments: tuple[str, ...], message: str
) -> None:
    code, output, errors = offscript(*(claims if each == "CLAIMS" else each for each in arguments))
    assert (code, output) == (2, "")
    assert message in errors
    assert len(errors.strip().splitlines()) == 1
