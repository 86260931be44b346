"""kill -9 at any moment: the index is the one from before or the one from after."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from offscript.factcheck.documents import Document
from offscript.factcheck.index import Index, add_documents, build_index, open_index
from offscript.factcheck.retrieval import Searcher

KILLS = 50
KINDS = ("build", "add", "delete")
WAYS = ("library", "command")
# Loads and compiles once, then does each write in a process of its own, which the test kills.
WRITER = """
import json, os, signal, sys, time
from pathlib import Path
from offscript.cli.app import app
from offscript.factcheck.documents import Document
from offscript.factcheck.index import add_documents, build_index, delete_documents

def command(kind, folder):
    sources = Path(folder).parent
    for name, word, size in (("new", "n", 4000), ("added", "a", 4000)):
        if not (sources / f"{name}.jsonl").exists():
            turn = 7 if name == "new" else 5
            lines = (json.dumps({"id": f"{word}{i}", "text": f"{name} word {i % turn} dog"}) for i in range(size))
            (sources / f"{name}.jsonl").write_text("\\n".join(lines))
    chosen = {
        "build": [str(sources / "new.jsonl"), "--stop-words", "none", "--stemmer", "none", "--replace"],
        "add": [str(sources / "added.jsonl"), "--add"],
        "delete": [part for i in range(0, 400, 2) for part in ("--delete", f"d{i}")],
    }[kind]
    for write in (build_index, add_documents):
        write.__kwdefaults__["block_tokens"] = 4000
    app(["index", *chosen, "--out", str(folder), "--quiet", "--json"], standalone_mode=False)

def write(way, kind, folder):
    if way == "command":
        command(kind, folder)
    elif kind == "build":
        build_index((Document(f"n{i}", text=f"new word {i % 7} dog") for i in range(4000)), folder, block_tokens=4000)
    elif kind == "add":
        added = (Document(f"a{i}", text=f"added word {i % 5} dog") for i in range(4000))
        add_documents(folder, added, block_tokens=4000)
    else:
        delete_documents(folder, [f"d{i}" for i in range(0, 400, 2)])

for line in sys.stdin:
    way, kind, folder, kill_after = line.split()
    told, sys.stdout = sys.stdout, open(os.devnull, "w")
    if kill_after == "here":
        write(way, kind, Path(folder))
        print(0.0, file=told, flush=True)
        sys.stdout = told
        continue
    begun = time.perf_counter()
    child = os.fork()
    if child == 0:
        write(way, kind, Path(folder))
        os._exit(0)
    if kill_after != "never":
        time.sleep(float(kill_after))
        os.kill(child, signal.SIGKILL)  # the child is not waited for yet, so that its number is still its own
    os.waitpid(child, 0)
    sys.stdout = told
    print(time.perf_counter() - begun, flush=True)
"""


class Writer:
    """The process that starts the ones to be killed."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, kind: str, folder: Path, kill_after: float | str) -> float:
        """Write in a new process, to be killed after so many seconds or "never", or "here"; returns the seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{self._way} {kind} {folder} {kill_after}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(params=WAYS)
def writer(request: pytest.FixtureRequest) -> Iterator[Writer]:
    started = Writer(request.param)
    yield started
    started.close()


def build_old(folder: Path) -> Index:
    return build_index((Document(f"d{i}", text=f"old words {i % 11} dog") for i in range(400)), folder)


def answers(index: Index) -> tuple[int, int, list[tuple[str, float]]]:
    hits = Searcher(index).search("new added old dog 3", 20)
    assert all("dog" in index.document(hit.document_id).text for hit in hits)
    return len(index), index.tokens, [(hit.document_id, hit.score) for hit in hits]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork")
def test_a_kill_at_any_moment_leaves_the_index_from_before_or_after(tmp_path: Path, writer: Writer) -> None:
    folder = tmp_path / "index"
    outcomes, seconds = {}, {}
    for kind in KINDS:
        before = answers(build_old(folder))
        writer.run(kind, folder, "here")
        build_old(folder)
        seconds[kind] = writer.run(kind, folder, "never")
        outcomes[kind] = [before, answers(open_index(folder))]
        assert outcomes[kind][0] != outcomes[kind][1]
    generator = np.random.default_rng(8)
    seen = []
    for number in range(KILLS):
        kind = KINDS[number % len(KINDS)]
        build_old(folder)
        writer.run(kind, folder, float(generator.uniform(0, 1.2)) * seconds[kind])
        seen.append(outcomes[kind].index(answers(open_index(folder))))
    assert len(seen) == KILLS
    assert set(seen) == {0, 1}

    index = add_documents(folder, [Document("last", text="word")])
    assert len([path for path in folder.iterdir() if path.suffix == ".safetensors"]) == len(index.segments) + sum(
        segment.deleted is not None for segment in index.segments
    )
    assert not list(folder.glob(".*"))
