"""Many claims in one run against one by one: a loop of commands, and a loop in one process.

    python benchmarks/batch.py [--claims 24]

The claims are of the almanac. Commands are counted with the start of the process, loading included; of the loop of
commands four are run and scaled up, since each takes as long as the others. `--pairs` says instead what reading pairs
of several claims in one batch would bring: processor time per pair one by one and in batches of one length, and
in how many pairs the label changes, since int8 activations are scaled by the largest of a batch.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.special import softmax

from offscript.factcheck.almanac import almanac_index
from offscript.factcheck.checking import build_checker
from offscript.factcheck.inference.model import inference_model

COMMANDS = 4
CODE = "from offscript.cli import main; import sys; sys.argv = ['offscript', *sys.argv[1:]]; main()"


def run(*arguments: str) -> float:
    """Seconds that a command takes."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", CODE, *arguments], check=True, capture_output=True)
    return time.perf_counter() - begun


def compare_batches(claims: list[str]) -> None:
    """Print what batches of pairs of one length save, and how many labels they change."""
    checker, model = build_checker(), inference_model()
    pairs = [
        (claim, sentence.text)
        for claim in claims
        for document in checker.read(claim).documents
        for sentence in document.sentences[:4]
    ]
    rows = [model.encoded(*pair) for pair in pairs]
    begun = time.process_time()
    alone = np.concatenate([model.scores([row]) for row in rows])
    one_by_one = (time.process_time() - begun) / len(rows) * 1000
    by_length: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        by_length.setdefault(len(row.ids), []).append(place)
    print(f"{len(rows)} pairs of {len(by_length)} lengths: {one_by_one:.2f} ms each one by one (processor time)")
    for size in (4, 8, 32):
        together, begun = np.zeros_like(alone), time.process_time()
        for places in by_length.values():
            for start in range(0, len(places), size):
                part = places[start : start + size]
                together[part] = model.scores([rows[place] for place in part])
        each = (time.process_time() - begun) / len(rows) * 1000
        changed = int((together.argmax(axis=1) != alone.argmax(axis=1)).sum())
        moved = np.abs(softmax(together, axis=1) - softmax(alone, axis=1)).max()
        print(
            f"batches of {size}: {each:.2f} ms, {one_by_one / each:.2f} x; {changed} labels change, "
            f"probabilities by up to {moved:.2f}"
        )


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=24)
    parser.add_argument("--pairs", action="store_true")
    arguments = parser.parse_args()
    size = arguments.claims
    capitals = ["Sydney", "Oslo", "Cairo", "Lima", "Tokyo", "Bern", "Rome", "Accra"]
    countries = ["Australia", "Norway", "Egypt", "Peru", "Japan", "Switzerland"]
    claims = [f"The capital of {country} is {city}." for city in capitals for country in countries][:size]
    almanac_index()  # written once, for all
    if arguments.pairs:
        compare_batches(claims)
        return
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
    main()
