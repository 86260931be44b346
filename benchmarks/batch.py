"""Many claims in one run against one by one: a loop of commands, and a loop in one process.

    python benchmarks/batch.py [--claims 24]

The claims are of the almanac. Commands are counted with the start of the process, loading included; of the loop of
commands four are run and scaled up, since each takes as long as the others.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from offscript.factcheck.almanac import almanac_index
from offscript.factcheck.checking import build_checker

COMMANDS = 4
CODE = "from offscript.cli import main; import sys; sys.argv = ['offscript', *sys.argv[1:]]; main()"


def run(*arguments: str) -> float:
    """Seconds that a command takes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", CODE, *arguments], check=True, capture_output=True)
    return time.perf_counter() - begun


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=24)
    size = parser.parse_args().claims
    capitals = ["Sydney", "Oslo", "Cairo", "Lima", "Tokyo", "Bern", "Rome", "Accra"]
    countries = ["Australia", "Norway", "Egypt", "Peru", "Japan", "Switzerland"]
    claims = [f"The capital of {country} is {city}." for city in capitals for country in countries][:size]
    almanac_index()  # written once, for all
    one_by_one = sum(run("check", claim) for claim in claims[:COMMANDS]) / COMMANDS * len(claims)
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "claims.jsonl", Path(folder) / "out.jsonl"
        file.write_text("".join(json.dumps({"claim": claim}) + "\n" for claim in claims), encoding="utf-8")
        batch = run("check", "--file", str(file), "--out", str(out), "--quiet")
    checker = build_checker()
    checker.check("The first check loads and compiles what later ones use.")
    begun = time.perf_counter()
    for claim in claims:
        checker.check(claim)
    loop = time.perf_counter() - begun
    print(f"{len(claims)} claims: --file {batch:.1f} s, a command each {one_by_one:.1f} s, a warm loop {loop:.1f} s")
    print(f"--file against a command each: {one_by_one / batch:.1f} x; against the warm loop: {loop / batch:.2f} x")


if __name__ == "__main__":
    """Print the ratios."""
    """Seconds that a command takes."""
    main()
