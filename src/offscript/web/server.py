"""Serving: uvicorn with what it lacks, a deadline for a request's headers and a bound on open connections."""

import asyncio
import socket
import threading
import time
from contextlib import nullcontext
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from offscript.web.sharing import shared_table

HEADER_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 75  # more than clients and proxies keep a connection they do not use
MOST_CONNECTIONS = 512  # of one process
WAITING = 1024  # connections that are not accepted yet


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 for clients that may never finish what they begin.

    A connection whose headers are not there in time is closed. One connection too many closes the one that has been
    idle longest, so that half-open connections do not keep anybody out.
    """

    header_seconds = HEADER_SECONDS
    most_connections = MOST_CONNECTIONS

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._headers_due: asyncio.TimerHandle | None = None
        self._idle_since = self.loop.time()

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_headers()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.busy:
            self._stop_waiting()
        elif self._headers_due is None:
            self._expect_headers()

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_headers(self) -> None:
        self._headers_due = self.loop.call_later(self.header_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _make_room(self) -> None:
        if len(self.connections) <= self.most_connections:
            return
        idle = [other for other in self.connections if isinstance(other, BoundedProtocol) and not other.busy]
        min(idle, key=lambda other: other._idle_since).transport.close()


def run(application: FastAPI | str, listener: socket.socket, *, workers: int = 1) -> None:
    """Serve until the process is told to end; several workers need the import string of an application factory.

    A worker accepts as many connections in one go as its `backlog`: of fifty that come together the first to wake would
    take all, and answer them while the others are idle. One at a time, whoever is idle takes the next; what is uneven
    still evens out as workers tell each other what they have to do (`sharing`).
    """
    if workers > 1:
        threading.Thread(target=_keep_waiting_room, args=(listener,), daemon=True).start()
    with shared_table() if workers > 1 else nullcontext():
        uvicorn.run(
            application,
            factory=isinstance(application, str),
            workers=workers,
            fd=listener.fileno(),
            backlog=WAITING if workers == 1 else 1,
            http=BoundedProtocol,
            ws="none",
            log_level="warning",
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )


def _keep_waiting_room(listener: socket.socket) -> None:
    """A worker that starts, or starts again, makes its backlog that of the socket all share: make it large again."""
    while True:
        listener.listen(WAITING)
        time.sleep(1.0)
