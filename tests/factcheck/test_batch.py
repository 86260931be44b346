"""Many claims at once: what is read, what is written, and how a stopped run resumes."""

import json
from pathlib import Path
from typing import Any

import pytest

from offscript.errors import OffscriptError
from offscript.factcheck.batch import GivenClaim, check_batch, read_batch, summary
from offscript.factcheck.checking import Checker
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.factcheck.sources.local import LocalIndex
from offscript.factcheck.stance.registry import stance_model

CLAIMS = [
    GivenClaim("1", "The capital of Australia is Canberra."),
    GivenClaim("2", "The capital of Australia is Sydney."),
    GivenClaim("3", "The capital of Australia is Canberra."),
]


class Counted:
    """A checker that counts how often it is asked, and may break down."""

    def __init__(self, checker: Checker, end: int = 99) -> None:
        self.stance, self._checker, self.asked, self._end = checker.stance, checker, list[str](), end

    def check(self, claim: str) -> Any:
        self.asked.append(claim)
        if len(self.asked) > self._end:
            raise KeyboardInterrupt
        return self._checker.check(claim)


@pytest.fixture
def checker(tmp_path: Path) -> Checker:
    document = Document("a", "Australia", "The capital of Australia is Canberra. It lies inland.", date="2020")
    index = build_index([document], tmp_path / "index")
    return Checker([LocalIndex(index)], stance=stance_model("lexical"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,claim\nx,One.\ny,Two.\n"),
        ("a.tsv", "id\tstatement\nx\tOne.\ny\tTwo.\n"),
        ("a.jsonl", '{"id": "x", "claim": "One."}\n\n{"id": "y", "claim": "Two."}\n'),
    ],
)
def test_claims_are_read(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read_batch(tmp_path / name) == [GivenClaim("x", "One."), GivenClaim("y", "Two.")]


def test_a_text_has_a_claim_on_every_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Café.\n\nTwo.".encode("utf-16"))
    assert read_batch(tmp_path / "a.txt") == [GivenClaim("1", "Café."), GivenClaim("2", "Two.")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1, "claim": "a"}\n{"id": 1, "claim": "b"}', "an id is given twice"),
        ("", "has no claim"),
        ("\n\n", "has no claim"),
        ('{"claim": "a', "Unterminated string starting at column 11"),
        ('{"id": 1}', "record 1: no field 'claim'"),
        ('{"claim": 3}', "field 'claim' is not text"),
    ],
)
def test_bad_files_of_claims_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(OffscriptError, match=message):
        read_batch(tmp_path / "a.jsonl")


@pytest.mark.parametrize("workers", [1, 3])
def test_every_claim_gets_a_line_and_the_same_text_is_checked_once(
    checker: Checker, tmp_path: Path, workers: int
) -> None:
    counted, done = Counted(checker), list[int]()
    check_batch(counted, CLAIMS, tmp_path / "out.jsonl", workers=workers, progress=done.append)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["id"], row["verdict"]) for row in rows] == [("1", "SUPPORTED"), ("2", "REFUTED"), ("3", "SUPPORTED")]
    assert (len(counted.asked), sum(done)) == (2, 3)
    first = rows[0]["evidence"][0]
    assert (first["text"], first["date"], first["start"]) == ("The capital of Australia is Canberra.", "2020", 0)
    alone = checker.check(CLAIMS[1].claim)
    assert rows[1]["confidence"] == pytest.approx(alone.confidence, abs=1e-4)


def test_a_stopped_run_resumes(checker: Checker, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    many = [GivenClaim(str(n), f"The capital of Australia is town {n}.") for n in range(20)]
    with pytest.raises(KeyboardInterrupt):
        check_batch(Counted(checker, end=10), many, out, settings="s")
    written = out.read_text(encoding="utf-8").count("\n")
    assert 0 < written < 20
    with out.open("a", encoding="utf-8") as stream:
        stream.write('{"id": "19", "cla')  # killed while it wrote
    counted = Counted(checker)
    assert check_batch(counted, many, out, settings="s") == written
    assert len(counted.asked) == 20 - written
    assert [json.loads(line)["id"] for line in out.read_text(encoding="utf-8").splitlines()] == [e.id for e in many]
    with pytest.raises(OffscriptError, match="results of other settings"):
        check_batch(counted, many, out, settings="t")
    (tmp_path / "mine.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    with pytest.raises(OffscriptError, match="holds no results"):
        check_batch(counted, many, tmp_path / "mine.jsonl")
    assert (tmp_path / "mine.jsonl").read_text(encoding="utf-8") == '{"a": 1}\n'


def test_a_batch_gives_what_single_checks_give(tmp_path: Path) -> None:
    places = {"Australia": "Canberra", "Norway": "Oslo", "Peru": "Lima"}
    documents = [
        Document(name, name, f"{name} is a country. The capital of {name} is {city}. The country has many rivers.")
        for name, city in places.items()
    ]
    index = build_index(documents, tmp_path / "index")
    claims = [
        GivenClaim(f"{name} {city}", f"The capital of {name} is {city}.") for name in places for city in places.values()
    ]
    single = Checker([LocalIndex(index)])
    alone = [summary(given, single.check(given.claim)) for given in claims]
    check_batch(Checker([LocalIndex(index)]), claims, tmp_path / "out.jsonl", workers=3)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [{**each, "settings": ""} for each in alone] == lines
    assert {each["verdict"] for each in lines} == {"SUPPORTED", "REFUTED"}
