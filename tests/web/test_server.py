"""The server between the socket and the application: clients that are slow, silent or too many."""

import json
import socket
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from urllib.parse import urlsplit

import pytest

from offscript.factcheck.documents.document import Document

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
