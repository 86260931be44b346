"""Run inputs in child processes that are watched from outside: a hang or a crash ends the child, not the campaign."""

import contextlib
import gc
import json
import logging
import mmap
import os
import random
import re
import resource
import select
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil

from fuzzing.kinds import Kind, slug
from fuzzing.mutations import mutated

MOST_SECONDS = 10.0  # of processor time for one input
MOST_WAIT = 120.0  # by the clock: an input that waits for something uses no processor time
MOST_GROWTH = 1 << 30
ADDRESS_SPACE = 3 << 30  # beyond what a child begins with; asking for more is a MemoryError
MOST_KEPT = 200
_POLL = 0.1
_COUNTER = struct.Struct("<QQ")  # inputs begun, and whether one is being read


@dataclass
class Tally:
    """What became of one kind's inputs."""

    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0

    def add(self, other: "Tally") -> None:
        """Count another run's inputs as well."""
        self.inputs, self.refused = self.inputs + other.inputs, self.refused + other.refused
        self.seconds, self.slowest = self.seconds + other.seconds, max(self.slowest, other.slowest)


@dataclass
class Failure:
    """An input that gave something else than a result or a line."""

    kind: str
    what: str
    place: str  # where in the code, so that each fault is told once
    content: bytes = field(repr=False)
    trace: str = field(default="", repr=False)

    @property
    def file_name(self) -> str:
        """The name that the input is stored under."""
        return sha256(self.content).hexdigest()[:12]


@dataclass
class Batch:
    """What a child did."""

    tally: Tally
    failures: list[Failure]


def run_batch(name: str, kind: Kind, place: Path, *, seconds: float, first: int, seed: int) -> Batch:
    """Read inputs of one kind in a child process for some seconds.

    Args:
        name: The kind's.
        kind: The kind.
        place: A folder for the child's files, best in memory.
        seconds: How long; a child that gets stuck is ended by the limits of one input.
        first: The number of the first input: an input is decided by its kind, its number and the seed.
        seed: Of the campaign.
    """
    shared = mmap.mmap(-1, _COUNTER.size)
    current = place / "current"
    place.mkdir(parents=True, exist_ok=True)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _in_child(name, kind, place, seconds, first, seed, shared, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        ended = _watch(child, answers.fileno(), shared)
        told = answers.read()
    _, status = os.waitpid(child, 0)
    failures, tally = [], Tally()
    for line in told.splitlines():
        entry = json.loads(line)
        if "inputs" in entry:
            tally = Tally(**entry)
        else:
            failures.append(Failure(name, content=bytes.fromhex(entry.pop("content")), **entry))
    if ended or status:
        tally.inputs, _ = _COUNTER.unpack_from(shared)
        what = ended or (f"died of signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"ended with {status}")
        if not failures or ended:
            failures.append(Failure(name, what, what, current.read_bytes() if current.exists() else b""))
    return Batch(tally, failures)


def _watch(child: int, answers: int, shared: mmap.mmap) -> str:
    """Wait for the child to end; why it was killed, if it was."""
    process = psutil.Process(child)
    own = psutil.Process().memory_info().rss  # pages that a child has from here count as it touches them
    grown = max(own, process.memory_info().rss) + MOST_GROWTH
    number, since, used = -1, time.monotonic(), 0.0
    while not select.select([answers], [], [], _POLL)[0]:
        with contextlib.suppress(psutil.Error):
            now, _ = _COUNTER.unpack_from(shared)
            times = process.cpu_times()
            if now != number:
                number, since, used = now, time.monotonic(), times.user + times.system
                continue
            reason = ""
            if times.user + times.system - used > MOST_SECONDS:
                reason = f"takes more than {MOST_SECONDS:g} s"
            elif time.monotonic() - since > MOST_WAIT:
                reason = f"waits for more than {MOST_WAIT:g} s"
            elif process.memory_info().rss > grown:
                reason = "takes more than 1 GB"
            if reason:
                os.kill(child, signal.SIGKILL)
                return reason
    return ""


def _in_child(
    name: str, kind: Kind, place: Path, seconds: float, first: int, seed: int, shared: mmap.mmap, writer: int
) -> None:
    """Read inputs until the time is over, tell what came out, and end."""
    code = 1
    try:
        _prepare()
        tally, failures = Tally(), []
        began = time.monotonic()
        pool = _Pool(kind.content)
        root = kind.folder(place / "files")
        for number in range(first, 1 << 60):
            if time.monotonic() - began >= seconds:
                break
            generator = random.Random(f"{seed}/{name}/{number}")
            content = mutated(pool.pick(generator), kind.structure, generator, kind.words, pool.pick(generator))
            (place / "current").write_bytes(content)
            _COUNTER.pack_into(shared, 0, number - first + 1, 1)
            failure = _read(name, kind, root, content, tally, pool)
            tally.inputs += 1
            if failure is not None and failure.place not in (other.place for other in failures):
                failures.append(failure)
            if failure is not None and failure.what.startswith("takes"):
                break
            if kind.leaves_files or failure is not None:
                root = kind.folder(place / "files")
        tally.seconds = time.monotonic() - began
        with os.fdopen(writer, "wb") as stream:
            for entry in ({**vars(each), "content": each.content.hex()} for each in failures):
                entry.pop("kind")
                stream.write(json.dumps(entry).encode() + b"\n")
            stream.write(json.dumps(asdict(tally)).encode() + b"\n")
        code = 0
    finally:
        os._exit(code)


def _prepare() -> None:
    """No collisions with the parent: no standard input, no network, a bound on memory, no collector's pauses."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    socket.socket.connect = _refuse  # type: ignore[method-assign, assignment]
    socket.getaddrinfo = _refuse  # type: ignore[assignment]
    logging.disable(logging.CRITICAL)  # what libraries think of damaged files
    gc.freeze()
    most = psutil.Process().memory_info().vms + ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _refuse(*_: Any, **__: Any) -> Any:
    raise ConnectionRefusedError(111, "the fuzzer has no network")


def _read(name: str, kind: Kind, root: Path, content: bytes, tally: Tally, pool: "_Pool") -> Failure | None:
    """Read one input; what is wrong with what comes out."""
    peak, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        line = kind.outcome(root, content)
    except (Exception, SystemExit) as fault:  # noqa: BLE001 (any of them is what is looked for)
        return Failure(
            name, f"{type(fault).__name__}: {str(fault)[:300]}", _place(fault), content, traceback.format_exc()
        )
    finally:
        taken = time.process_time() - began
        tally.slowest = max(tally.slowest, taken)
    tally.refused += bool(line)
    pool.offer(line, content)
    if taken > MOST_SECONDS:
        return Failure(name, f"takes {taken:.1f} s", "slow", content)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) << 10
    return Failure(name, f"takes {grown >> 20} MB", "memory", content) if grown > MOST_GROWTH else None


def _place(fault: BaseException) -> str:
    """Exception and the innermost line of offscript's own code that it passed through."""
    frames = traceback.extract_tb(fault.__traceback__)
    own = [frame for frame in frames if "/offscript/" in frame.filename] or frames
    inner = own[-1]
    return f"{type(fault).__name__} at {inner.filename.rpartition('/src/')[2]}:{inner.lineno}"


class _Pool:
    """The example, and inputs that were answered as none before them: changes go on from there."""

    def __init__(self, example: bytes) -> None:
        self._example, self._kept, self._answers = example, [], set[str]()

    def pick(self, generator: random.Random) -> bytes:
        """The example half of the time."""
        return generator.choice(self._kept) if self._kept and generator.random() < 0.5 else self._example

    def offer(self, line: str, content: bytes) -> None:
        """Keep an input whose answer, apart from names and numbers in it, is new."""
        answer = re.sub(r"'[^']*'|\"[^\"]*\"|\d+|/\S+", "", line)[:200]
        if answer not in self._answers and len(self._kept) < MOST_KEPT and len(content) < 5000:
            self._answers.add(answer)
            self._kept.append(content)


@dataclass
class Campaign:
    """Kinds in turn, each for a slice of the time, with a tally that several runs share."""

    kinds: Mapping[str, Kind]
    store: Path
    tally_file: Path | None = None
    seed: int = 1
    tallies: dict[str, Tally] = field(default_factory=dict)
    failures: dict[tuple[str, str], Failure] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.tally_file is not None and self.tally_file.exists():
            known = json.loads(self.tally_file.read_text(encoding="utf-8"))
            self.tallies = {name: Tally(**entry) for name, entry in known.items()}

    def warm_up(self, place: Path) -> None:
        """Read every example once, so that children begin with what was imported and compiled."""
        for kind in self.kinds.values():
            kind.outcome(kind.folder(place), kind.content)

    @property
    def inputs(self) -> int:
        """Of all runs."""
        return sum(tally.inputs for tally in self.tallies.values())

    def run(self, seconds: float, slice_seconds: float, place: Path, most: int | None = None) -> None:
        """Give every kind a slice of the time, in turn, until the time or the wished number of inputs is reached."""
        end = time.monotonic() + seconds
        for name, kind in self._turns():
            left = end - time.monotonic()
            if left <= 0 or (most is not None and self.inputs >= most):
                return
            tally = self.tallies.setdefault(name, Tally())
            batch = run_batch(name, kind, place, seconds=min(slice_seconds, left), first=tally.inputs, seed=self.seed)
            tally.add(batch.tally)
            for failure in batch.failures:
                self._note(failure)
            self._write_tally()

    def _turns(self) -> Iterator[tuple[str, Kind]]:
        """Kinds over and over, those with the fewest inputs so far first, so that many short runs reach them all."""
        while True:
            yield from sorted(self.kinds.items(), key=lambda item: self.tallies.get(item[0], Tally()).seconds)

    def _note(self, failure: Failure) -> None:
        key = failure.kind, failure.place
        if key in self.failures:
            return
        self.failures[key] = failure
        path = self.store / slug(failure.kind) / failure.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(failure.content)
        print(f"{failure.kind}: {failure.what}\n  at {failure.place}\n  again: {replay_command(path)}", file=sys.stderr)

    def _write_tally(self) -> None:
        if self.tally_file is not None:
            document = {name: asdict(tally) for name, tally in sorted(self.tallies.items())}
            partial = self.tally_file.with_suffix(".partial")
            partial.write_text(json.dumps(document, indent=1), encoding="utf-8")
            partial.replace(self.tally_file)


def replay_command(path: Path) -> str:
    """The command that reads a stored input again."""
    return f"PYTHONPATH=tools python -m fuzzing --replay {path}"
