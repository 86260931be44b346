"""Search and indexing side by side with bm25s (numba) and Lucene 8 (JPype), at 100,000 documents of four sentences.

    python benchmarks/search.py [--documents 100000] [--queries 2000] [--repeats 5] [--growth]

For offscript it also times opening the index: without verification, with it (checksums and every offset), and the deep
check of `offscript index --check`.

All three index the same texts and answer the same queries of 5 to 8 words with the ids of the ten best documents by
BM25, from query strings on, each in one thread. Every engine runs in a process of its own, which also gives its memory;
the engines take turns, and the least CPU time over the repeats counts, because other work on the machine does not
change it much. Sentences come from the data folder where there is one (OFFSCRIPT_DATA, else ../shared/data), else
words are drawn by Zipf's law.
"""

import argparse
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

K = 10
SENTENCES_A_DOCUMENT = 4
DATA = Path(os.environ.get("OFFSCRIPT_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
SOURCES = ("emnlp2017-wmt-news/*.txt.xz", "wikitext-103/*.tokens*.xz", "wikitext-103/blindspot_refs1.txt.xz")
ENGINES = ("offscript", "bm25s", "lucene")
Step = Callable[[], object]


def main() -> None:
    """Print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--model", default="bm25", help="offscript's model; the peers always use BM25")
    parser.add_argument("--growth", action="store_true", help="offscript alone at 10k, 100k and 1M documents")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        serve(options)
    elif options.growth:
        for documents in (10_000, 100_000, 1_000_000):
            options.documents = documents
            report(options, measure(options, ["offscript"]))
    else:
        report(options, measure(options, list(ENGINES)))


def measure(options: argparse.Namespace, engines: list[str]) -> dict[str, dict[str, float]]:
    """Let the engines take turns; the least of each one's times."""
    processes = {engine: start(options, engine) for engine in engines}
    results: dict[str, dict[str, float]] = {}
    for step in ["index", *["search"] * options.repeats, "open", "memory"]:
        for engine, process in processes.items():
            print(step, file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline() or '{"missing": 1}')
            known = results.setdefault(engine, {})
            results[engine] = known | {key: min(value, known.get(key, value)) for key, value in answer.items()}
    for process in processes.values():
        process.communicate()
    return {engine: result for engine, result in results.items() if "missing" not in result}


def start(options: argparse.Namespace, engine: str) -> "subprocess.Popen[str]":
    """A process for one engine, which takes steps from its standard input."""
    settings = [f"--{name}={getattr(options, name)}" for name in ("documents", "queries", "model")]
    return subprocess.Popen(
        [sys.executable, __file__, f"--engine={engine}", *settings],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )


def report(options: argparse.Namespace, results: dict[str, dict[str, float]]) -> None:
    """One line an engine, and the ratios."""
    print(f"{options.documents:,} documents, {options.queries:,} queries, top {K}, CPU seconds, least of repeats")
    for engine, result in results.items():
        speed = options.queries / result["search"]
        print(
            f"  {engine:10} index {result['index']:6.2f} s   search {speed:7,.0f} queries/s"
            f"   memory {result['memory'] / 2**20:6,.0f} MiB (texts and interpreter {result['base'] / 2**20:,.0f})"
        )
        if "verified" in result:
            print(
                f"  {'':10} opened in {1000 * result['unverified']:.1f} ms, verified in {result['verified']:.2f} s, "
                f"checked in {result['checked']:.2f} s, {result['bytes'] / 2**20:,.0f} MiB on disk"
            )
    ours = results["offscript"]
    for peer, result in results.items():
        if peer != "offscript":
            print(
                f"  against {peer}: {result['search'] / ours['search']:.2f} x the queries/s, indexing "
                f"{result['index'] / ours['index']:.2f} x as fast, {ours['memory'] / result['memory']:.2f} x the memory"
            )


def serve(options: argparse.Namespace) -> None:
    """Do the steps that standard input names, and answer each with a line of JSON."""
    texts, queries = collection(options.documents, options.queries)
    base = peak_memory()
    prepare = {"offscript": offscript, "bm25s": bm25s, "lucene": lucene}[options.engine]
    steps: dict[str, Step] = {}
    for line in sys.stdin:
        step = line.strip()
        if step == "memory":
            print(json.dumps({"memory": peak_memory(), "base": base}), flush=True)
            continue
        if not steps:
            steps = prepare(texts, queries, options.model)
        if step == "open":
            print(json.dumps(steps[step]() if step in steps else {}), flush=True)
            continue
        begun = time.process_time()
        steps[step]()
        seconds = time.process_time() - begun
        if step == "index":
            steps["search"]()  # compiles, or lets the virtual machine do so
        print(json.dumps({step: seconds}), flush=True)


def offscript(texts: list[str], queries: list[str], model: str) -> dict[str, Step]:
    """On disk, with the texts and where their sentences begin; searched through the files' memory maps."""
    from offscript.factcheck.documents import Document
    from offscript.factcheck.index import add_documents, build_index, check_index, merge_index, open_index
    from offscript.factcheck.retrieval import Searcher

    folder = tempfile.TemporaryDirectory()
    build_index([Document("0", text=texts[0])], folder.name)
    add_documents(folder.name, [Document("1", text=texts[1])])
    merge_index(folder.name)  # by now all is compiled

    def index() -> None:
        documents = (Document(str(number), text=text) for number, text in enumerate(texts))
        searcher = Searcher(build_index(documents, folder.name), threads=1)
        steps["search"] = lambda: searcher.rank(queries, K, model=model)

    def opened() -> dict[str, float]:
        ways = {
            "unverified": lambda: open_index(folder.name, verify=False),
            "verified": lambda: open_index(folder.name),
            "checked": lambda: check_index(folder.name),
        }
        seconds = {name: min(timed(way) for _ in range(3)) for name, way in ways.items()}
        return {**seconds, "bytes": sum(path.stat().st_size for path in Path(folder.name).iterdir())}

    steps: dict[str, Step] = {"index": index, "open": opened}
    return steps


def timed(step: Step) -> float:
    """CPU seconds."""
    begun = time.process_time()
    step()
    return time.process_time() - begun


def bm25s(texts: list[str], queries: list[str], model: str) -> dict[str, Step]:  # noqa: ARG001
    """In memory, scores worked out while indexing, the numba back end."""
    import bm25s as peer

    def index() -> None:
        retriever = peer.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
        retriever.index(peer.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
        steps["search"] = lambda: retriever.retrieve(
            peer.tokenize(queries, stopwords=None, show_progress=False), k=K, n_threads=1, show_progress=False
        )

    steps: dict[str, Step] = {"index": index}
    return steps


def lucene(texts: list[str], queries: list[str], model: str) -> dict[str, Step]:  # noqa: ARG001
    """In the virtual machine's memory, merged into one segment; queries are built from their words, not parsed."""
    from _lucene import Lucene, lucene_similarities, start_lucene

    start_lucene(heap="1g")
    similarity = lucene_similarities()["bm25"]

    def index() -> None:
        engine = Lucene(texts, "standard")
        steps["search"] = lambda: [engine.search(engine.query(query.split()), K, similarity) for query in queries]

    steps: dict[str, Step] = {"index": index}
    return steps


def collection(documents: int, queries: int) -> tuple[list[str], list[str]]:
    """Documents of four sentences each, and queries of 5 to 8 words out of one sentence."""
    generator = np.random.default_rng(1)
    sentences = read_sentences() or zipf_sentences(generator)
    drawn = generator.integers(len(sentences), size=(documents, SENTENCES_A_DOCUMENT))
    texts = [" . ".join(sentences[number] for number in row) for row in drawn]
    asked: list[str] = []
    while len(asked) < queries:
        words = [word for word in sentences[generator.integers(len(sentences))].lower().split() if word.isalnum()]
        size = int(generator.integers(5, 9))
        if len(words) >= size:
            asked.append(" ".join(generator.choice(words, size, replace=False)))
    return texts, asked


def read_sentences() -> list[str]:
    """Sentences of 5 to 60 words from the news and Wikipedia sets."""
    found = []
    for path in (path for pattern in SOURCES for path in sorted(DATA.glob(pattern))):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            found.extend(part.strip() for line in stream for part in line.split(" . ") if 5 <= len(part.split()) <= 60)
    return found


def zipf_sentences(generator: np.random.Generator) -> list[str]:
    """Sentences of made-up words by Zipf's law."""
    words = generator.zipf(1.2, size=(50_000, 24)) % 200_000
    return [" ".join(f"w{word}" for word in row) for row in words.tolist()]


def peak_memory() -> int:
    """The most memory this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
