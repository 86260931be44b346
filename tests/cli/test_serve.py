"""`offscript serve` as a user starts it: it answers, ends when told, and says in a line what it cannot do."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from offscript.errors import OffscriptError
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index

COMMAND = [sys.executable, "-c", "from offscript.cli import main; main()", "serve", "--port", "0"]


@pytest.fixture
def index(tmp_path: Path) -> Path:
    documents = [
        Document("a", "Australia", "Canberra is the capital of Australia."),
        Document("s", "Sydney", "A city."),
    ]
    build_index(documents, tmp_path / "index")
    return tmp_path / "index"


@pytest.fixture(params=["1", "2"], ids=["one-process", "two-processes"])
def service(index: Path, request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [*COMMAND, "--index", str(index), "--workers", request.param]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = re.search(r"http://127\.0\.0\.1:\d+", told := process.stderr.readline())
    assert found, told
    yield process, found[0]
    process.kill()
    process.wait(timeout=30)


def test_it_answers_and_ends_when_told(service: tuple[subprocess.Popen[str], str]) -> None:
    process, address = service
    question = f"{address}/api/check?claim=Canberra%20is%20the%20capital%20of%20Australia."
    with urllib.request.urlopen(question, timeout=120) as answer:
        found = json.load(answer)
    assert found["documents"][0]["document"]["id"] == "a"
    assert set(found["documents"][0]["language"]) == {"subjectivity", "sentiment", "bias"}
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) in (0, -signal.SIGINT)


def test_a_viewer_is_for_this_machine_and_names_its_address(tmp_path: Path) -> None:
    command = [*COMMAND[:-3], "view", str(tmp_path), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/audits", told := process.stderr.readline())
        assert found, told
        with urllib.request.urlopen(found[0], timeout=60) as answer:
            assert "There are none here yet" in answer.read().decode()
    finally:
        process.kill()
        process.wait(timeout=30)


def test_a_viewer_of_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    from offscript.cli.view import view

    with pytest.raises(OffscriptError, match="there is no folder"):
        view(tmp_path / "nowhere", port=0)


def test_an_address_that_is_taken_is_one_line(index: Path) -> None:
    from offscript.cli.serve import serve

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OffscriptError, match=r"cannot listen at 127.0.0.1:\d+; Address already in use"):
            serve(port=taken.getsockname()[1], index=[index])


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        ({"index": [Path("nowhere")]}, "nowhere"),
        ({"search": ["bing"]}, "unknown search engine 'bing'"),
        ({"lexicons": Path("nowhere")}, "no such folder: nowhere"),
    ],
)
def test_what_cannot_be_served_is_one_line(index: Path, flags: dict[str, Any], line: str) -> None:
    from offscript.cli.serve import serve

    with pytest.raises(OffscriptError, match=line):
        serve(**{"port": 0, "index": [index], **flags})


@pytest.mark.parametrize(
    ("host", "own"), [("127.0.0.1", True), ("localhost", True), ("127.0.0.2", True), ("::1", True), ("0.0.0.0", False)]
)
def test_a_service_that_only_this_machine_can_reach_answers_to_its_own_names(host: str, own: bool) -> None:
    from offscript.cli.serve import _own_names, listening

    with listening(host, 0) as listener:
        names = _own_names(host, listener)
    assert (names is not None) == own
    assert not own or {host, "127.0.0.1", "::1", "localhost"} <= set(names or [])
