"""`offscript check` and `offscript measure verdicts` as a user meets them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index

Command = Callable[..., Any]
CLAIMS = [
    {"id": 1, "claim": "The capital of Australia is Canberra.", "label": "SUPPORTS", "evidence": ["a"]},
    {"id": 2, "claim": "The capital of Australia is Sydney.", "label": "REFUTES", "evidence": [["a", 0]]},
    {"id": 3, "claim": "Colourless green ideas sleep furiously.", "label": "NOT ENOUGH INFO", "evidence": []},
]


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
    done = offscript("check", claim, "--stance", "lexical")
    assert done.code == 0
    assert done.output.startswith(verdict)
    assert "The capital of Australia is Canberra." in done.output
    assert "geonames" in done.output


def test_what_decides_is_marked_and_the_confidence_says_where_it_is_from(offscript: Command) -> None:
    lines = offscript("check", "Japan uses the yen").output.splitlines()
    assert lines[0].startswith("SUPPORTED")
    assert [line for line in lines if line.startswith("▶ agree ")] == [lines[1]]
    assert any("calibrated on" in line for line in lines)


def test_an_index_of_ones_own_as_json(offscript: Command, index: str) -> None:
    done = offscript("check", "The capital of Australia is Sydney.", "--index", index, "--stance", "lexical", "--json")
    found = done.json
    assert (done.code, found["verdict"]) == (0, "REFUTED")
    first = found["evidence"][0]
    document = found["documents"][first["document"]]
    assert document["document"]["id"] == "a"
    assert document["sentences"][first["sentence"]]["text"] == "The capital of Australia is Canberra."
    assert sum(found["probabilities"].values()) == pytest.approx(1)


def test_markup_in_a_claim_is_printed_as_it_is(offscript: Command, index: str) -> None:
    assert "[red]The capital[/red]" in offscript("check", "[red]The capital[/red]", "--index", index).output


@pytest.mark.parametrize(("claim", "reason"), [("", "no document"), ("  ", "no document"), ("\udcff", "no sentence")])
def test_a_claim_that_says_nothing_is_answered(offscript: Command, index: str, claim: str, reason: str) -> None:
    done = offscript("check", claim, "--index", index)
    assert done.code == 0
    assert done.output.startswith("NOT ENOUGH INFO")
    assert reason in done.output


def test_verdicts_are_measured(offscript: Command, index: str, claims: str, tmp_path: Path) -> None:
    plot = tmp_path / "reliability.svg"
    done = offscript("measure", "verdicts", claims, "--index", index, "--json", "--plot", plot)
    found = done.json
    assert done.code == 0
    assert found["results"]["verdicts"]["accuracy"] == 1
    assert found["results"]["verdicts"]["fever_score"] == 1
    assert found["confusion"]["claims"] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert plot.read_text(encoding="utf-8").startswith("<svg")


def test_verdicts_are_shown(offscript: Command, index: str, claims: str) -> None:
    done = offscript("measure", "verdicts", claims, "--index", index, "--limit", "2", "--quiet")
    assert done.code == 0
    assert "verdicts.macro_f1" in done.output
    assert "NOT ENOUGH INFO" in done.output


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
    done = offscript(*(claims if each == "CLAIMS" else each for each in arguments))
    assert (done.code, done.output) == (2, "")
    assert message in done.errors
    assert len(done.errors.strip().splitlines()) == 1


def test_only_search_needs_the_web_extra(offscript: Command, index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARXNG_URL", "https://searx.example")
    monkeypatch.setitem(sys.modules, "httpx", None)
    for name in [name for name in sys.modules if name.startswith("offscript.factcheck.sources")]:
        monkeypatch.delitem(sys.modules, name)
    assert offscript("check", "Canberra is a city", "--index", index).code == 0
    done = offscript("check", "Canberra is a city", "--index", index, "--search", "searxng")
    assert done.code == 2
    assert '--search searxng needs httpx; it is not installed; pip install -e ".[web]"' in done.errors


def test_a_file_of_claims_is_checked_and_resumed(offscript: Command, index: str, tmp_path: Path) -> None:
    (tmp_path / "claims.csv").write_text(
        "claim\nThe capital of Australia is Sydney.\nThe capital of Brazil is Brasilia.\n", encoding="utf-8"
    )
    arguments = ("check", "--file", tmp_path / "claims.csv", "--out", tmp_path / "out.jsonl", "--index", index)
    done = offscript(*arguments, "--stance", "lexical", "--quiet")
    assert done.code == 0
    assert done.output.startswith(f"{tmp_path / 'out.jsonl'}: 2 claims")
    again = offscript(*arguments, "--stance", "lexical", "--json").json
    assert (again["known"], again["verdicts"]) == (2, {"REFUTED": 1, "SUPPORTED": 1})


def test_later_documents_are_left_out(offscript: Command, tmp_path: Path) -> None:
    documents = [
        Document("old", "Bonn", "The capital of Germany is Bonn.", date="1985-01-01"),
        Document("new", "Berlin", "The capital of Germany is Berlin.", date="1995-01-01"),
        Document("undated", "Germany", "Germany borders Denmark."),
    ]
    build_index(documents, tmp_path / "dated")
    arguments = ("check", "The capital of Germany is Bonn.", "--index", tmp_path / "dated", "--stance", "lexical")
    before = offscript(*arguments, "--as-of", "1990-01-01", "--json").json
    assert {each["document"]["id"] for each in before["documents"]} == {"old", "undated"}
    assert before["verdict"] == "SUPPORTED"
    assert len(offscript(*arguments, "--json").json["documents"]) == 3
    assert "1985-01-01" in offscript(*arguments).output
    assert "is no date" in offscript(*arguments, "--as-of", "soon").errors


def test_a_text_is_checked_and_its_page_written(offscript: Command, index: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Head\n\nThe capital of Australia is Sydney. What a city!\n", encoding="utf-8")
    arguments = ("check", "--text", tmp_path / "a.md", "--index", index, "--stance", "lexical")
    done = offscript(*arguments, "--out", tmp_path / "a.html", "--quiet")
    assert done.code == 0
    assert done.output.startswith("1 claims: 0 supported")
    assert "The capital of Australia is Canberra." in done.output
    assert "The capital of Australia is Sydney." in (tmp_path / "a.html").read_text(encoding="utf-8")
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert found == offscript(*arguments, "--json").json
    assert found["totals"]["REFUTED"]["count"] == 1


def test_quotations_and_citations_are_checked(offscript: Command, index: str, tmp_path: Path) -> None:
    text = 'He wrote "the capital of Australia is Sydney" there. The capital of Brazil is Brasilia [b].\n'
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    arguments = ("check", "--citations", tmp_path / "a.md", "--index", index, "--stance", "lexical")
    lines = offscript(*arguments).output.splitlines()
    assert lines[:3] == [
        "quotation altered  “the capital of Australia is Sydney”",
        "    Australia, characters 0-36",
        "    “Sydney” stands for “Canberra”",
    ]
    assert lines[3].startswith("citation supported")
    found = offscript(*arguments, "--json").json
    assert [each["status"] for each in found["quotations"]] == ["altered"]
    assert [each["document"] for each in found["citations"]] == ["b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check",), "give a claim, --file or --text"),
        (("check", "x", "--file", "y"), "give a claim, --file or --text"),
        (("check", "--file", "y"), "--file needs --out"),
        (("check", "--text", "x", "--out", "y.txt"), "cannot write a page"),
        (("check", "--text", "nowhere.md"), "no such file or folder: nowhere.md"),
        (("check", "x", "--out", "y"), "--out is for --file and --text"),
    ],
)
def test_what_to_check_is_said_once(offscript: Command, arguments: tuple[str, ...], message: str) -> None:
    done = offscript(*arguments)
    assert (done.code, done.output) == (2, "")
    assert message in done.errors
