"""Many claims in one run against one by one: a loop of commands, and a loop in one process.

    python benchmarks/batch.py [--claims 240]

The claims are of the almanac. "One by one" means two things. A command for each claim is counted with the start of the
process, loading included; four are run and scaled up, since each takes as long as the others. A warm loop calls
`Checker.check` in a process that has loaded everything; against it `--file` is counted with its start and without
(`check_batch` in this process, one thread per core). Results must be the same, and that is checked.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from offscript.factcheck.almanac import almanac_facts, almanac_index
from offscript.factcheck.batch import GivenClaim, check_batch, summary
from offscript.factcheck.checking import build_checker

COMMANDS = 4
CODE = "from offscript.cli import main; import sys; sys.argv = ['offscript', *sys.argv[1:]]; main()"


def run(*arguments: str) -> float:
    """Seconds that a command takes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", CODE, *arguments], check=True, capture_output=True)
    return time.perf_counter() - begun


def some_claims(count: int) -> list[str]:
    """Claims on capitals, each once."""
    facts = [fact for fact in almanac_facts() if fact.relation.name == "capital"]
    return [
        fact.claim(facts[(place + shift) % len(facts)].values[0])
        for shift in range(9)
        for place, fact in enumerate(facts)
    ][:count]


def compare_runs(claims: list[str]) -> None:
    """Print seconds of commands, of one command with --file, of a warm loop and of a batch in one process."""
    one_by_one = sum(run("check", claim) for claim in claims[:COMMANDS]) / COMMANDS * len(claims)
    given = [GivenClaim(str(number), claim) for number, claim in enumerate(claims)]
    with tempfile.TemporaryDirectory() as folder:
        file, out, again = (Path(folder) / name for name in ("claims.jsonl", "out.jsonl", "again.jsonl"))
        file.write_text("".join(json.dumps(each._asdict()) + "\n" for each in given), encoding="utf-8")
        command = run("check", "--file", str(file), "--out", str(out), "--quiet")
        checker = build_checker()
        checker.check("The first check loads and compiles what later ones use.")
        begun = time.perf_counter()
        loop = [summary(each, checker.check(each.claim)) for each in given]
        warm = time.perf_counter() - begun
        checker = build_checker()  # what the loop has kept must not help
        checker.check("The first check loads and compiles what later ones use.")
        begun = time.perf_counter()
        check_batch(checker, given, again, workers=os.cpu_count() or 1)
        batch = time.perf_counter() - begun
        same = all(
            json.loads(line)["probabilities"] == each["probabilities"]
            for file in (out, again)
            for line, each in zip(file.read_text(encoding="utf-8").splitlines(), loop, strict=True)
        )
    print(f"{len(claims)} claims, {os.cpu_count()} cores; the same results: {'yes' if same else 'NO'}")
    print(f"a command each {one_by_one:.1f} s, --file {command:.1f} s: {one_by_one / command:.1f} x")
    print(f"a warm loop {warm:.1f} s, --file with its start {command:.1f} s: {warm / command:.2f} x")
    print(f"a warm loop {warm:.1f} s, check_batch {batch:.1f} s: {warm / batch:.2f} x")


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=240)
    arguments = parser.parse_args()
    almanac_index()  # written once, for all
    compare_runs(some_claims(arguments.claims))


if __name__ == "__main__":
    main()
