"""A checker that answers from documents a test names, and a service on a free port of this machine."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient

from offscript.factcheck.checked import Check, CheckedDocument, CheckedSentence, Evidence, Verdict
from offscript.factcheck.documents.document import Document
from offscript.factcheck.sources import Kind
from offscript.factcheck.stance.stance import Stance
from offscript.studies.design import StudyDesign, StudyItem, write_study
from offscript.studies.drawing import attention_checks
from offscript.studies.store import RatingStore
from offscript.web.application import create_application
from offscript.web.checks import ClaimChecker
from offscript.web.server import BoundedProtocol

AGREE, DISAGREE = Stance(0.9, 0.05, 0.03, 0.02), Stance(0.1, 0.8, 0.06, 0.04)
DISCUSS, UNRELATED = Stance(0.2, 0.1, 0.6, 0.1), Stance(0.02, 0.03, 0.05, 0.9)
STANCES_IN_TURN = (DISAGREE, UNRELATED, AGREE, DISCUSS)


class Staged:
    """Answers every claim from the same documents, their sentences' stances in turn; `calls` counts the checks."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents, self.calls = documents, Counter[str]()

    def check(self, claim: str) -> Check:
        self.calls[claim] += 1
        kinds = list(Kind)
        documents = tuple(
            _checked(document, kinds[number % len(kinds)]) for number, document in enumerate(self._documents)
        )
        evidence = tuple(Evidence(number, 0) for number, entry in enumerate(documents) if entry.sentences)
        return Check(
            claim=claim,
            query=tuple(claim.split()[:5]),
            verdict=Verdict.refuted,
            confidence=0.87,
            probabilities={Verdict.supported: 0.05, Verdict.refuted: 0.87, Verdict.unknown: 0.08},
            documents=documents,
            evidence=evidence[:3],
            by_kind={entry.kind: entry.stance for entry in documents},
            seconds=0.012,
        )


def _checked(document: Document, kind: Kind) -> CheckedDocument:
    starts = document.sentence_starts()
    ends = [*starts, len(document.text)][1:]
    sentences = tuple(
        CheckedSentence(number, start, end, document.text[start:end].strip(), STANCES_IN_TURN[number % 4])
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    )
    language = {"subjectivity": 0.031, "sentiment": 0.058, "bias": 0.012}
    return CheckedDocument(document, kind, 1.0, DISAGREE, sentences, language)


def cues(text: str) -> Mapping[str, Mapping[str, int]]:
    """Every word is a cue of both lexicons."""
    words = Counter(text.lower().split())
    return {"sentiment": words, "bias": words}


@pytest.fixture
def documents() -> list[Document]:
    texts = [
        "The capital of Australia is Canberra. It lies inland. Sydney is the largest city. Some discuss moving it.",
        "Canberra was founded in 1913.\n\nIt became the capital. Sydney was angry!",
    ]
    return [
        Document(f"d{number}", f"Australia {number}", text, f"https://example.org/{number}", "2020-01-02")
        for number, text in enumerate(texts)
    ]


@contextmanager
def serving(application: FastAPI, **settings: Any) -> Iterator[str]:
    """The address of the application while it is served."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(application, log_level="error", **settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 30
        while not server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(timeout=30)


Serve = Callable[[ClaimChecker | Sequence[Document]], str]
Ask = Callable[[Sequence[Document]], TestClient]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve documents, or a checker, and give the address."""
    running = []

    def start(what: ClaimChecker | Sequence[Document]) -> str:
        checker = Staged(what) if isinstance(what, Sequence) else what
        context = serving(create_application(checker, cues=cues))
        running.append(context)
        return context.__enter__()

    yield start
    for context in running:
        context.__exit__(None, None, None)


@pytest.fixture
def bounded() -> Callable[..., AbstractContextManager[str]]:
    """Serve documents by `BoundedProtocol`, with other limits than its own."""

    def start(documents: Sequence[Document], **limits: Any) -> AbstractContextManager[str]:
        protocol = type("Protocol", (BoundedProtocol,), limits)
        return serving(create_application(Staged(documents), cues=cues), http=protocol)

    return start


@pytest.fixture(scope="session")
def ask() -> Ask:
    """A client of a service of documents, without any network."""

    def connect(documents: Sequence[Document]) -> TestClient:
        application = create_application(Staged(documents), cues=cues)
        return TestClient(application, raise_server_exceptions=False)

    return connect


SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.fixture
def script() -> str:
    """Markup that would change the page's title if it ran."""
    return SCRIPT


HostileStudy = Callable[[Path, int, int], list[str]]


@pytest.fixture
def hostile_study() -> HostileStudy:
    """Write a rating study with markup in its texts, and invite people to rate so many items each."""

    def write(folder: Path, people: int, each: int) -> list[str]:
        items = [
            StudyItem(
                item=f"i{n}", system=f"s{n % 2}", prompt=f"the fragment {n}", text=f"the fragment {n} {SCRIPT} & more"
            )
            for n in range(30)
        ]
        told = {"title": "How expected?", "owner": "o"}
        design = StudyDesign(kind="rating", **told, per_participant=each, ratings_per_item=25)
        write_study(folder, design, [*items, *attention_checks(2, seed=1)])
        return RatingStore(folder).invite(people)

    return write


class StudyService:
    """`offscript serve --study` on one port, killed and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        program = "from offscript.cli import main; main()"
        arguments = ["serve", "--study", str(folder), "--port", str(self.port)]
        self._command = [sys.executable, "-c", program, *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def wait(self) -> None:
        """Until it takes connections."""
        for _ in range(600):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            time.sleep(0.2)
        raise TimeoutError


@pytest.fixture
def service() -> Iterator[Callable[[Path], StudyService]]:
    """Serve a study's folder in a process of its own."""
    running: list[StudyService] = []

    def start(folder: Path) -> StudyService:
        running.append(StudyService(folder))
        running[-1].start()
        return running[-1]

    yield start
    for each in running:
        each.kill()
