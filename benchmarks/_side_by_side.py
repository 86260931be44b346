"""Run things in turn, several times, and keep each one's best: what else the machine does then hits all alike."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Seconds:
    """The fastest of the repeats, by the clock and by processor time of all threads."""

    wall: float
    cpu: float


def side_by_side(runs: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, Seconds]:
    """Interleaved repeats of every run, after one that does not count."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for repeat in range(repeats + 1):
        for name, run in runs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            if repeat:
                taken[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return {name: Seconds(*map(min, zip(*times, strict=True))) for name, times in taken.items()}


def print_times(times: Mapping[str, Seconds]) -> None:
    """One line a run, in milliseconds."""
    for name, seconds in times.items():
        print(f"{name:<58} {seconds.wall * 1000:9.1f} ms {seconds.cpu * 1000:9.1f} ms of processor time", flush=True)


def print_ratio(label: str, slower: Seconds, faster: Seconds, goal: str) -> None:
    """How many times as long the first takes, by clock and by processor time, beside what is hoped for."""
    wall, cpu = slower.wall / faster.wall, slower.cpu / faster.cpu
    print(f"  {label:<56} {wall:8.2f} x {cpu:9.2f} x of processor time (goal {goal})", flush=True)
