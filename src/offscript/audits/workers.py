"""Where cells run: in this process, in processes of this machine, or on the nodes of a Ray cluster.

Everywhere the same function runs the same cells with as many threads, so that the figures are the same; what a lost
worker had not finished is run again.
"""

import contextlib
import itertools
import logging
import multiprocessing
import os
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

from pydantic import BaseModel, ConfigDict, Field

from offscript.audits.cells import CELLS, CellObserver
from offscript.audits.store import Store
from offscript.errors import OffscriptError, missing_package
from offscript.measures.question import Answer

HERE, LOCAL, RAY, RAY_CLIENT = "here", "local", "ray", "ray://"


class Work(Protocol):
    """A cell of any kind: plain data that knows the recipe of its answer, and how cells of one model are run."""

    @property
    def name(self) -> str:
        """Whose cell it is, for messages."""

    @property
    def recipe(self) -> dict[str, Any]:
        """What decides the answer."""

    @property
    def run_together(self) -> Callable[..., list[Answer]]:
        """Answers cells of one model, given them, the folder, `device` and `observer`."""


Group = Sequence[Work]
"""Cells that share a model: they run one after another on one worker."""

Answers = list[Answer]
"""The answers of the cells of a group."""

_RETRIES = 3
_AHEAD = 2  # calls per processor that wait for their turn on a cluster


class Resources(BaseModel):
    """What one group needs; threads are as many as CPUs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpus: int = Field(1, ge=1)
    gpus: float = Field(0, ge=0)


@dataclass(frozen=True)
class Place:
    """Where to run, and with what."""

    on: str = HERE
    resources: Resources = field(default_factory=Resources)
    device: str = "cpu"
    observer: CellObserver | None = None  # can follow cells in this process only

    def __post_init__(self) -> None:
        if self.on not in (HERE, LOCAL, RAY) and not self.on.startswith(RAY_CLIENT):
            raise OffscriptError(f"nothing runs on {self.on!r}", next="known: here, local, ray, ray://HOST:PORT")


def run_groups(
    groups: Sequence[Group], out: Path, place: Place, finished: Callable[[int], None] | None = None
) -> list[Answers]:
    """Run what is not stored yet, store it, and answer everything; `finished` is told the number of each group done."""
    store = Store(out / CELLS)
    missing = [number for number, group in enumerate(groups) if not all(store.has(cell.recipe) for cell in group)]
    tell = finished or (lambda number: None)
    for number in range(len(groups)):
        if number not in missing:
            tell(number)
    for which, answers in _runner(place)([groups[number] for number in missing], out.resolve(), place):
        _keep(store, groups[missing[which]], answers)
        tell(missing[which])
    return [[store.load(cell.recipe) for cell in group] for group in groups]


def _runner(place: Place) -> Callable[[Sequence[Group], Path, Place], Iterator[tuple[int, Answers]]]:
    return {HERE: _here, LOCAL: _in_processes}.get(place.on, _on_ray)


def _keep(store: Store, group: Group, answers: Answers) -> None:
    """Save what a worker without this disk sent back."""
    for cell, answer in zip(group, answers, strict=True):
        if not store.has(cell.recipe):
            store.save(answer, cell.recipe)


def _here(groups: Sequence[Group], out: Path, place: Place) -> Iterator[tuple[int, Answers]]:
    for number, group in enumerate(groups):
        yield number, group[0].run_together(group, out, device=place.device, observer=place.observer)


def _in_processes(groups: Sequence[Group], out: Path, place: Place) -> Iterator[tuple[int, Answers]]:
    """A pool of fresh processes; one that dies takes the pool with it, and what is left begins again in another."""
    left = list(range(len(groups)))
    for _ in range(1 + _RETRIES):
        if not left:
            return
        workers = min(len(left), max(1, (os.cpu_count() or 1) // place.resources.cpus))
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            futures: dict[Future[Answers], int] = {
                pool.submit(_work, list(groups[number]), out, place.resources.cpus, place.device): number
                for number in left
            }
            try:
                for future in as_completed(futures):
                    answers = future.result()
                    left.remove(futures[future])
                    yield futures[future], answers
            except BrokenProcessPool:
                continue
    if left:
        _give_up(groups[left[0]])


def _on_ray(groups: Sequence[Group], out: Path, place: Place) -> Iterator[tuple[int, Answers]]:
    with contextlib.redirect_stdout(sys.stderr), _connected(place.on) as ray:  # Ray tells of lost nodes there
        needs = {"num_cpus": place.resources.cpus, "num_gpus": place.resources.gpus, "max_retries": _RETRIES}
        run = ray.remote(**needs)(_work)
        running = {
            run.remote(list(group), out, place.resources.cpus, place.device): number
            for number, group in enumerate(groups)
        }
        while running:
            for done in ray.wait(list(running))[0]:
                number = running.pop(done)
                yield number, _result(ray, done, groups[number])


def map_on(on: str, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Call a function with each of many arguments on a place; results come in the order of the arguments.

    Args:
        on: `here`, `ray`, or `ray://HOST:PORT`.
        function: What is called; workers import it.
        arguments: Taken a few ahead of what is done, so that they may be many.

    Returns:
        The results. A call whose worker or node is lost is made again elsewhere, up to three times.
    """
    if Place(on).on == HERE:
        yield from (function(*each) for each in arguments)
        return
    with contextlib.redirect_stdout(sys.stderr), _connected(on) as ray:
        run = ray.remote(num_cpus=1, max_retries=_RETRIES)(function)
        ahead = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting: deque[Any] = deque()
        left = iter(arguments)
        while True:
            waiting.extend(run.remote(*each) for each in itertools.islice(left, ahead - len(waiting)))
            if not waiting:
                return
            yield _value(ray, waiting.popleft(), function.__name__)


def _value(ray: Any, done: Any, name: str) -> Any:
    try:
        return ray.get(done)
    except ray.exceptions.RayTaskError as fault:
        if isinstance(fault.cause, OffscriptError):
            raise fault.cause from fault
        raise
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as fault:
        raise OffscriptError(
            f"{name} was lost {_RETRIES + 1} times", why="its worker died each time", next="look at its memory"
        ) from fault


def _result(ray: Any, done: Any, group: Group) -> Answers:
    try:
        answers: Answers = ray.get(done)
    except ray.exceptions.RayTaskError as fault:
        if isinstance(fault.cause, OffscriptError):
            raise fault.cause from fault
        raise
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError):
        _give_up(group)
    return answers


@contextlib.contextmanager
def _connected(on: str) -> Iterator[Any]:
    """Ray, connected to the named cluster, else to the one of this machine, else to one of our own."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as fault:
        raise missing_package(f"--on {on}", "ray", extra="ray") from fault
    try:
        ray.init(address=ray_address(on), log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as fault:
        why = " ".join(str(fault).split())[:200]
        raise OffscriptError(f"no Ray cluster at {on}", why=why, next="start one: ray start --head") from fault
    try:
        yield ray
    finally:
        ray.shutdown()


def ray_address(on: str) -> str | None:
    """What `ray.init` is to connect to: a named cluster, a new one, or None where Ray finds the one of this machine.

    Ray notes the address of the last cluster that was started on this machine, and waits for minutes for one that was
    killed. Where nothing answers at that address, a new cluster is started.
    """
    if on.startswith(RAY_CLIENT):
        return on
    noted = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()) / "ray" / "ray_current_cluster"
    if os.environ.get("RAY_ADDRESS") or not noted.is_file():
        return None
    host, _, port = noted.read_text(encoding="utf-8", errors="replace").strip().rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except (OSError, ValueError, OverflowError):
        return "local"
    return None


def _work(group: list[Work], out: Path, threads: int, device: str) -> Answers:
    """What a worker does; its disk may be another than ours."""
    import torch

    torch.set_num_threads(threads)
    return group[0].run_together(group, out, device=device)


def _give_up(group: Group) -> NoReturn:
    raise OffscriptError(
        f"{group[0].name} was lost {_RETRIES + 1} times", why="its worker died each time", next="look at its memory"
    )
