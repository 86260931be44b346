"""Drawing text on all cores beside busy processes: with threads that wait in loops, and as offscript has them wait.

    python benchmarks/busy.py [--model offscript/news-student] [--busy 0 1 2] [--repeats 3]

PyTorch's threads wait for each other many times in every step. The OpenMP of its Linux packages (libgomp) lets a
waiting thread turn in a loop before it sleeps; if another process has the core of the one that is waited for, all of
that is lost. `import offscript` sets GOMP_SPINCOUNT to 1,000 unless that or OMP_WAIT_POLICY is set; a program that has
imported torch before has libgomp's own setting. Each draw is a process of its own, both in turn; the fastest counts.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

WAITS = {"libgomp's own": "import torch", "offscript's": "import offscript"}
DRAW = """
import sys, time
from offscript.models import load_model
from offscript.sampling.generation import generate
model, rows, length = load_model(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
generate(model, rows, 2, seed=1)
began = time.perf_counter()
generate(model, rows, length, seed=1)
print(time.perf_counter() - began)
"""


def main() -> None:
    """Print a line per number of busy processes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="offscript/news-student")
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    drawn = [asked.model, str(asked.rows), str(asked.length)]
    print(f"{asked.rows} sequences of {asked.length} tokens from {asked.model} on {os.cpu_count()} cores, seconds")
    print("busy beside  " + "  ".join(f"{name:>14}" for name in WAITS) + "   ratio")
    for count in asked.busy:
        with busy_processes(count):
            seconds: dict[str, list[float]] = {name: [] for name in WAITS}
            for _ in range(asked.repeats):
                for name, first in WAITS.items():
                    seconds[name].append(_seconds(drawn, first))
        own, ours = (min(times) for times in seconds.values())
        print(f"{count:11}  {own:14.2f}  {ours:14.2f}  {own / ours:6.2f}", flush=True)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Processes that keep a core busy each, as long as the block lasts."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _seconds(drawn: list[str], first: str) -> float:
    kept = {key: value for key, value in os.environ.items() if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", f"{first}\n{DRAW}", *drawn], env=kept, check=True, capture_output=True, text=True
    )
    return float(done.stdout)


if __name__ == "__main__":
    main()
