"""How long `offscript --help` takes: the price of every command before it does anything."""

import argparse
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    """Print the fastest of several starts, beside that of the bare interpreter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    repeats = parser.parse_args().repeats
    script = Path(sys.executable).with_name("offscript")
    seconds = {name: [] for name in ("offscript --help", "python -c pass")}
    for _ in range(repeats):
        for name, command in (
            ("offscript --help", [script, "--help"]),
            ("python -c pass", [sys.executable, "-c", "pass"]),
        ):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - began)
    for name, times in seconds.items():
        print(f"{name:<20} {min(times):.3f} s")
    print("  goal: offscript --help under 0.4 s")


if __name__ == "__main__":
    main()
