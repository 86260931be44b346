"""Does memory grow with the corpus? Reads, encodes to disk and batches 100 thousand and 1 million lines.

Each size runs in a process of its own, whose peak resident memory is what the kernel counted for it.

    python benchmarks/corpus_streaming.py [--lines 1000000]
"""

import argparse
import contextlib
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from offscript.corpora import (
    Batches,
    BucketedBatches,
    FixedBatches,
    PackedBatches,
    WordVocabulary,
    encode_corpus,
    read_sentences,
)

WORDS = [f"word{index}" for index in range(5000)]
LENGTH = 20
ROWS = 64


def main() -> None:
    """Measure both sizes and print them side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000, help="the larger size; the smaller is a tenth")
    parser.add_argument("--stream", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stream:
        print(json.dumps(stream(arguments.stream)))
        return
    few, many = (measure(lines) for lines in (arguments.lines // 10, arguments.lines))
    for name in ("lines", *(name for name in few if name != "lines")):
        print(f"{name:<28}{few[name]:>14,.1f}{many[name]:>14,.1f}")
    print(f"peak memory, ratio          {many['peak memory, MB'] / few['peak memory, MB']:>14.3f}")


def measure(lines: int) -> dict[str, float]:
    """Write a corpus of so many lines and stream it in another process."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        write_corpus(corpus, lines)
        command = [sys.executable, __file__, "--stream", str(corpus)]
        finished = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(finished.stdout)
    return {"lines": lines, **measured}


def write_corpus(path: Path, lines: int) -> None:
    """Sentences of 5 to 45 words, the frequent ones frequent."""
    draws = random.Random(0)
    with path.open("w") as stream:
        for _ in range(lines):
            words = (WORDS[int(5000 * draws.random() ** 3)] for _ in range(draws.randint(5, 45)))
            stream.write(" ".join(words) + "\n")


def stream(path: Path) -> dict[str, float]:
    """Read, encode and batch one file; thousands of lines for a CPU second and the peak memory of this process."""
    vocabulary = WordVocabulary(["<unk>", "<eos>", *WORDS])
    encoded = path.with_suffix(".encoded")
    seconds: dict[str, float] = {}
    with timed(seconds, "read"):
        lines = sum(1 for _ in read_sentences(path))
    with timed(seconds, "read and encode"):
        corpus = encode_corpus(read_sentences(path), vocabulary, end=True, folder=encoded)
    for make in (FixedBatches, PackedBatches):
        with timed(seconds, make.__name__):
            exhaust(make(corpus, LENGTH, ROWS, seed=1))
    with timed(seconds, BucketedBatches.__name__):
        exhaust(BucketedBatches(corpus, ROWS, seed=1))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    speeds = {f"{name}, k lines/s": lines / taken / 1000 for name, taken in seconds.items()}
    return {**speeds, "peak memory, MB": peak}


def exhaust(batches: Batches) -> None:
    """Make every batch of an epoch."""
    for _ in batches.epoch(0):
        pass


@contextlib.contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Note the CPU seconds of a block: what else the machine does at the time does not count."""
    start = time.process_time()
    yield
    seconds[name] = time.process_time() - start


if __name__ == "__main__":
    main()
