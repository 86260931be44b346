"""Many clients at once: how long `offscript serve` lets them wait, and whether it ever fails one.

Every client asks for one claim after the other without a pause, and no claim comes twice, so that nothing is answered
from memory. Goal: 50 clients for 60 seconds, no error, 95 % of the answers within a second. `--half-open 200` holds so
many connections beside them that begin a request and never finish it; the goal stays the same. `--requests 10000` ends
after so many answers, however long that takes; the memory of the service may grow by less than 5 % from the first
tenth of them to the last.
"""

import argparse
import asyncio
import itertools
import math
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import psutil

from offscript.factcheck.almanac import almanac_facts, draw_claims

Answers = list[tuple[str, float]]  # status and seconds
WARM_UP = 5
NOTED = 100  # answers between two looks at the memory
PATIENCE = 60.0
MEMORY_MARKS = 10
SERVE = "from offscript.cli import main; main()"


def main() -> None:
    """Start the service, let the clients loose, print what they saw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--claims", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--half-open", type=int, default=0, help="connections that never finish their request")
    parser.add_argument("--requests", type=int, help="end after so many answers")
    parser.add_argument("--page", action="store_true", help="ask for the page in the place of the JSON")
    arguments = parser.parse_args()
    drawn = draw_claims(almanac_facts(), arguments.claims, seed=1)
    claims = iter(dict.fromkeys(claim.text for claim in drawn))
    service = subprocess.Popen(
        [sys.executable, "-c", SERVE, "serve", "--port", "0", "--workers", str(arguments.workers)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = _address(service)
        path = "/check" if arguments.page else "/api/check"
        before, began = _processor_seconds(service.pid), time.perf_counter()
        most = arguments.requests or arguments.claims
        memory: list[int] = []
        storm = _storm(
            address + path,
            itertools.islice(claims, most + WARM_UP),
            arguments.clients,
            math.inf if arguments.requests else arguments.seconds,
            lambda: memory.append(_memory(service.pid)),
        )
        answers = asyncio.run(_beside_half_open(storm, address, arguments.half_open))
        used, seconds = _processor_seconds(service.pid) - before, time.perf_counter() - began
    finally:
        service.terminate()
        service.wait(timeout=30)
    _report(answers, arguments.clients, seconds)
    _report_memory(memory)
    print(f"processor time of the service {1000 * used / len(answers):.1f} ms an answer, of {os.cpu_count()} cores")
    print(f"other work on this machine: load {os.getloadavg()[0]:.1f} over the last minute, this benchmark's included")


def _address(service: "subprocess.Popen[str]") -> str:
    assert service.stderr is not None
    for line in service.stderr:
        if found := re.search(r"http://\S+", line):
            return found[0]
    raise SystemExit("the service did not start")


def _memory(process: int) -> int:
    """Bytes that a process and those that it started hold for themselves."""
    family = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    return sum(one.memory_full_info().uss for one in family)


def _report_memory(memory: list[int]) -> None:
    if len(memory) < MEMORY_MARKS:
        return
    tenth = len(memory) // MEMORY_MARKS
    first, last = (sum(part) / len(part) for part in (memory[tenth : 2 * tenth], memory[-tenth:]))
    growth = f"{last / first - 1:+.1%} (goal < 5 %)"
    print(f"memory {first / 1e6:.0f} MB after a tenth, {last / 1e6:.0f} MB at the end: {growth}")


def _processor_seconds(process: int) -> float:
    """Of a process and those that it started."""
    family = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    return sum(one.cpu_times().user + one.cpu_times().system for one in family)


async def _beside_half_open(storm: Coroutine[Any, Any, Answers], address: str, connections: int) -> Answers:
    """What the storm gives while so many connections are held half-open, and opened again when they are closed."""
    host, port = urlsplit(address).hostname, urlsplit(address).port

    async def hold() -> None:
        while True:
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /api/status HTTP/1.1\r\nHost: ")
            await reader.read()
            writer.close()

    held = [asyncio.create_task(hold()) for _ in range(connections)]
    try:
        return await storm
    finally:
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)


class Client:
    """A client that keeps its connection, as a browser does, and costs the machine little beside the service."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._port, self._path = str(parts.hostname), int(parts.port or 80), parts.path
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def status_of(self, claim: str) -> str:
        """The status of the answer; a connection that was closed meanwhile is opened once more."""
        kept = self._streams is not None
        try:
            return await asyncio.wait_for(self._asked(claim), PATIENCE)
        except (OSError, EOFError, asyncio.TimeoutError) as error:
            self.close()
            if kept and not isinstance(error, asyncio.TimeoutError):
                return await self.status_of(claim)
            return type(error).__name__

    async def _asked(self, claim: str) -> str:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        wanted = f"{self._path}?{urlencode({'claim': claim})}"
        writer.write(f"GET {wanted} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))  # type: ignore[index]
        if "connection: close" in head:
            self.close()
        return head.split()[1]

    def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _storm(
    address: str, claims: Iterator[str], clients: int, seconds: float, note: Callable[[], None]
) -> Answers:
    """Status and seconds of every answer; the first few, which load and compile, are not counted."""
    first = Client(address)
    for claim in itertools.islice(claims, WARM_UP):
        await first.status_of(claim)
    first.close()
    end = time.perf_counter() + seconds
    answers: Answers = []

    async def visit() -> None:
        client = Client(address)
        while time.perf_counter() < end and (claim := next(claims, None)) is not None:
            begun = time.perf_counter()
            answers.append((await client.status_of(claim), time.perf_counter() - begun))
            if len(answers) % NOTED == 0:
                note()
        client.close()

    await asyncio.gather(*(visit() for _ in range(clients)))
    return answers


def _report(answers: Answers, clients: int, seconds: float) -> None:
    taken = np.array([duration for _, duration in answers])
    statuses = Counter(status for status, _ in answers)
    failed = sum(count for status, count in statuses.items() if status != "200")
    print(f"{clients} clients for {seconds:g} s: {len(answers)} answers, {len(answers) / seconds:.1f} a second")
    print(f"errors {failed} (goal 0), by status {dict(statuses)}")
    for share, goal in ((50, ""), (95, " (goal < 1 s)"), (99, "")):
        print(f"p{share} {np.percentile(taken, share):.3f} s{goal}")


if __name__ == "__main__":
    main()
