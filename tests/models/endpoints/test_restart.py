"""A server that is a process of its own, killed in the middle of an audit: nothing is lost or paid for twice."""

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from offscript.cli.app import app

SERVER = '''
import hashlib, json, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

def number(*what):
    return int(hashlib.sha256(json.dumps(what).encode()).hexdigest()[:8], 16)

def completion(body):
    """Echoed ids with log-probabilities that depend on all before, or words that depend on the seed."""
    ids = body["prompt"]
    if body.get("echo"):
        places = [{"token": "", "id": token, "logprob": -1 - number(ids[:place]) % 1000 / 400 if place else None}
                  for place, token in enumerate(ids)]
        return {"text": "", "logprobs": {"content": places}}
    seed = 0 if body.get("top_k") == 1 else body.get("seed", 0)
    words = [f"w{number(ids, seed, place) % 29}" for place in range(body["max_tokens"])]
    return {"text": " ".join(words), "finish_reason": "length"}

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(0.01)  # so that requests are under way when it is killed
        content = json.dumps({"choices": [completion(body)]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        with open(sys.argv[2], "a") as answered:
            answered.write(json.dumps(body, sort_keys=True) + "\\n")

ThreadingHTTPServer.allow_reuse_address = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
'''


class Process:
    """The server, and the file in which it notes every request that it has answered."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.notes = folder / "answered.jsonl"
        self.start()

    @property
    def answered(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def start(self) -> None:
        self._process = subprocess.Popen([sys.executable, "-c", SERVER, str(self.port), str(self.notes)])
        for _ in range(1000):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise TimeoutError("the server does not start")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def killed_after(self, count: int, *, back: bool) -> threading.Thread:
        """Kills it as soon as it has answered so many more; `back` starts it again."""
        most = len(self.answered) + count

        def watch() -> None:
            while len(self.answered) < most:
                time.sleep(0.002)
            self.kill()
            if back:
                time.sleep(0.1)
                self.start()

        thread = threading.Thread(target=watch)
        thread.start()
        return thread


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    from offscript.models.endpoints import client

    monkeypatch.setattr(client, "FIRST_WAIT", 0.05)
    monkeypatch.setenv("OFFSCRIPT_CACHE", str(tmp_path / "cache"))
    server = Process(tmp_path)
    yield server
    server.kill()


def _audit(process: Process, folder: Path, out: Path, settings: str = "") -> tuple[int, str, dict[str, Any]]:
    corpus = out.with_suffix(".txt")
    corpus.write_text("\n".join(" ".join(f"w{(a * b) % 29}" for b in range(1, 9)) for a in range(1, 29)))
    model = f"openai/hashed@http://127.0.0.1:{process.port}/v1,tokenizer={folder},concurrency=4{settings}"
    asked = ["audit", model, "--corpus", str(corpus), "--length", "8", "--limit", "20", "--out", str(out), "--quiet"]
    told = CliRunner().invoke(app, [*asked, "--only", "likelihood,diversity"])
    found = sorted(out.rglob("results_*.json"))
    return (
        told.exit_code,
        f"{told.output}{told.exception}",
        json.loads(found[-1].read_text())["results"] if found else {},
    )


def _figures(results: dict[str, Any]) -> dict[str, float]:
    return {f"{name}.{key}": value for name, each in results.items() for key, value in each.items() if key != "alias"}


def _undisturbed(process: Process, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The figures of an audit that has no answers yet and is left in peace."""
    monkeypatch.setenv("OFFSCRIPT_CACHE", str(tmp_path / "peace"))
    return _figures(_audit(process, folder, tmp_path / "undisturbed")[2])


@pytest.mark.parametrize("count", [8, 40])  # while it reads texts, and while it draws them
def test_a_server_killed_and_started_again_is_paid_once(
    process: Process, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    watching = process.killed_after(count, back=True)
    status, told, results = _audit(process, folder, tmp_path / "killed")
    watching.join()
    assert status == 0, told
    paid = process.answered
    assert len(set(paid)) == len(paid) > count
    assert _figures(results) == _undisturbed(process, folder, tmp_path, monkeypatch)
    assert sorted(process.answered[len(paid) :]) == sorted(paid)


def test_an_audit_that_gave_up_resumes_when_the_server_is_back(
    process: Process, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = process.killed_after(12, back=False)
    status, told, _ = _audit(process, folder, tmp_path / "resumed", ",retries=0")
    watching.join()
    assert status != 0
    assert "does not answer after 1 try" in told
    paid = process.answered
    process.start()
    status, told, results = _audit(process, folder, tmp_path / "resumed")
    assert status == 0, told
    assert len(set(process.answered)) == len(process.answered) > len(paid)
    assert _figures(results) == _undisturbed(process, folder, tmp_path, monkeypatch)
