"""The server between the socket and the application: clients that are slow, silent or too many."""

import json
import socket
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn

from offscript.cli.serve import listening
from offscript.factcheck.documents.document import Document
from offscript.web.server import WAITING, _keep_waiting_room, run

Bounded = Callable[..., AbstractContextManager[str]]
STATUS = b"GET /api/status HTTP/1.1\r\nHost: a\r\n\r\n"


def connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=60)


def status_of(connection: socket.socket) -> int:
    """Ask for something that is answered at once, and read all of the answer."""
    connection.sendall(STATUS)
    answer = b""
    while not answer.endswith(b"}"):
        answer += connection.recv(1 << 16)
    return int(answer.split()[1])


def closed_after(connection: socket.socket) -> float:
    """Seconds until the other side closes."""
    begun = time.monotonic()
    with suppress(ConnectionResetError):
        while connection.recv(1 << 16):
            pass
    return time.monotonic() - begun


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "], ids=["silent", "half"])
def test_headers_that_do_not_come_close_the_connection(
    bounded: Bounded, documents: Sequence[Document], sent: bytes
) -> None:
    with bounded(documents, header_seconds=0.5) as address, connected(address) as connection:
        connection.sendall(sent)
        assert 0.2 < closed_after(connection) < 30


def test_headers_that_dribble_close_the_connection(bounded: Bounded, documents: Sequence[Document]) -> None:
    with bounded(documents, header_seconds=0.5) as address, connected(address) as connection:
        begun = time.monotonic()
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n")
        with suppress(ConnectionError):
            while time.monotonic() - begun < 30:
                connection.sendall(b"X: y\r\n")
                time.sleep(0.02)
        assert time.monotonic() - begun < 30


def test_a_second_request_has_a_deadline_for_its_headers_too(bounded: Bounded, documents: Sequence[Document]) -> None:
    with bounded(documents, header_seconds=0.5) as address, connected(address) as connection:
        for _ in range(2):
            assert status_of(connection) == 200
            time.sleep(1.0)  # an idle connection is kept
        connection.sendall(STATUS[:8])
        assert 0.2 < closed_after(connection) < 30


def test_half_open_connections_keep_nobody_out(bounded: Bounded, documents: Sequence[Document]) -> None:
    with bounded(documents, header_seconds=60.0, most_connections=20) as address, ExitStack() as held:
        for _ in range(100):
            held.enter_context(connected(address)).sendall(STATUS[:8])
        for _ in range(5):
            with urllib.request.urlopen(f"{address}/api/status", timeout=60) as answer:
                assert json.load(answer)["unfinished"] == 0


def test_the_connection_that_has_been_idle_longest_makes_room(bounded: Bounded, documents: Sequence[Document]) -> None:
    with bounded(documents, header_seconds=60.0, most_connections=2) as address, ExitStack() as held:
        first, second = (held.enter_context(connected(address)) for _ in range(2))
        time.sleep(0.2)
        assert status_of(first) == 200
        held.enter_context(connected(address))
        assert closed_after(second) < 30
        assert status_of(first) == 200


@pytest.mark.parametrize(("workers", "at_once"), [(1, WAITING), (2, 1)])
def test_several_workers_accept_one_connection_at_a_time(
    workers: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 50 clients of two workers one had all: 22 answers per second in the place of 40."""
    asked: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda _application, **settings: asked.update(settings))
    monkeypatch.setattr("offscript.web.server._keep_waiting_room", lambda _: None)
    listener = listening("127.0.0.1", 0)
    with listener:
        run("some:application", listener, workers=workers)
        assert asked["backlog"] == at_once
        assert asked["workers"] == workers
        assert asked["fd"] == listener.fileno()


def test_connections_may_wait_though_workers_accept_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    listened: list[int] = []

    class Listener:
        def listen(self, backlog: int) -> None:
            listened.append(backlog)

    def sleep(_seconds: float) -> None:
        if len(listened) == 3:
            raise InterruptedError

    monkeypatch.setattr("offscript.web.server.time.sleep", sleep)
    with pytest.raises(InterruptedError):
        _keep_waiting_room(Listener())  # type: ignore[arg-type]
    assert listened == [WAITING] * 3
