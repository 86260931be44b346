"""Kill -9 at random moments: whatever was begun goes on, and ends as if nothing had happened.

    python tools/kills.py --kills 200 [--only training] [--results kills.jsonl]

Each kind of work runs once undisturbed. Then it runs in forked processes that are killed at random moments of that
time, and started again, until one ends by itself; its result must be that of the undisturbed run. A kill that comes too
late is not counted. The table adds up what several runs wrote to the same file.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from offscript.cli import main as offscript
from offscript.corpora import WordVocabulary
from offscript.experiments.sweep import read_sweep, run_sweep
from offscript.factcheck.documents import Document
from offscript.factcheck.index import add_documents, build_index, check_index, delete_documents
from offscript.factcheck.retrieval import Searcher
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save
from offscript.studies.design import StudyDesign, StudyItem, write_study
from offscript.studies.store import RatingStore
from offscript.training import recipe_from, train

KILLS_IN_A_ROW = 3
ROOM = 1.1  # of the undisturbed time, so that some kills come at the very end
SYMBOLS = ["a", "b", "c"]
LENGTH = 4
SIZES: dict[str, dict[str, Any]] = {
    "lstm": {"hidden": 4, "embedding": 4, "dropout": 0.2},
    "noise-lstm": {"hidden": 4, "embedding": 4, "noise": 2, "states": 8},
    "manager-worker": {"hidden": 4, "embedding": 4, "goal": 2, "horizon": 2, "discriminator": {"filters": 2}},
}


@dataclass(frozen=True)
class Work:
    """Something that can be killed.

    Attributes:
        prepare: Puts what it needs into an empty folder.
        run: Does it, or goes on with it.
        result: What it leaves, to be compared with another run's.
        before: Whether a kill may also leave everything as it was, so that going on is up to the user.
    """

    prepare: Callable[[Path], None]
    run: Callable[[Path], None]
    result: Callable[[Path], Any]
    before: bool = False


def main() -> None:
    """Kill every kind of work in turn, then print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="in all, those of earlier runs included")
    parser.add_argument("--only", default="", help="kinds whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=Path("kills.jsonl"))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    wanted = {name: work for name, work in kinds().items() if asked.only in name}
    known = _read(asked.results)
    generator = random.Random(f"{asked.seed}/{len(known)}")
    wholes: dict[str, tuple[float, list[Any]]] = {}
    while sum(entry["kills"] for entry in known) < asked.kills:
        name = min(wanted, key=lambda name: sum(entry["kills"] for entry in known if entry["kind"] == name))
        if name not in wholes:
            wholes[name] = _undisturbed(wanted[name])
        seconds, results = wholes[name]
        with _folder() as folder:
            kills, result = _disturbed(wanted[name], folder, seconds, generator)
        entry = {"kind": name, "kills": kills, "same": result in results}
        known.append(entry)
        with asked.results.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")
        if not entry["same"]:
            print(f"{name}: another result after {kills} kills", file=sys.stderr)
    _report(known)


def _report(known: list[dict[str, Any]]) -> None:
    print(f"{'kind':32} kills  ended alike")
    for name in dict.fromkeys(entry["kind"] for entry in known):
        own = [entry for entry in known if entry["kind"] == name]
        print(f"{name:32} {_kills(own):5}  {_kills([entry for entry in own if entry['same']]):5}")
    print(f"{'all':32} {_kills(known):5}  {_kills([entry for entry in known if entry['same']]):5}")


def _kills(entries: list[dict[str, Any]]) -> int:
    return sum(entry["kills"] for entry in entries)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _undisturbed(work: Work) -> tuple[float, list[Any]]:
    """The seconds it takes, the shorter of two runs, and the results that are right."""
    taken, right = [], []
    for _ in range(2):
        with _folder() as folder:
            work.prepare(folder)
            right = [work.result(folder)] if work.before else []
            began = time.monotonic()
            assert _run_in_child(work, folder, None), "the undisturbed run failed"
            taken.append(time.monotonic() - began)
            right.append(work.result(folder))
    return min(taken), right


def _disturbed(work: Work, folder: Path, seconds: float, generator: random.Random) -> tuple[int, Any]:
    """How often it was killed before it was let go to its end, and its result."""
    work.prepare(folder)
    kills = 0
    for _ in range(1 if work.before else KILLS_IN_A_ROW):
        kills += not _run_in_child(work, folder, generator.uniform(0, ROOM * seconds))
    if not work.before:
        assert _run_in_child(work, folder, None), "it did not go on"
    return kills, work.result(folder)


def _run_in_child(work: Work, folder: Path, kill_after: float | None) -> bool:
    """Whether it ended by itself."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            work.run(folder)
            code = 0
        finally:
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return False
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(f"the work failed with {code}")
    return True


def kinds() -> dict[str, Work]:
    """Every kind of work by name."""
    algorithms: dict[str, tuple[str, dict[str, Any]]] = {
        "teacher-forcing": ("lstm", {}),
        "scheduled-sampling": ("lstm", {"rate": 0.5}),
        "searnn": ("lstm", {"oracle": "ORACLE", "tokens": 2}),
        "minimum-risk": ("lstm", {"oracle": "ORACLE"}),
        "reinforce": ("lstm", {"oracle": "ORACLE"}),
        "cooperative": ("lstm", {"generator_steps": 2}),
        "seqgan": ("lstm", {"discriminator": {"filters": 2}, "begins_at": None}),
        "rankgan": ("lstm", {"discriminator": {"filters": 2}, "begins_at": None}),
        "leakgan": ("manager-worker", {"discriminator": {"filters": 2}, "begins_at": None}),
        "recurrent-gan": ("noise-lstm", {"critic": {"hidden": 4}}),
    }
    works = {f"training, {name}": _training(name, *settings) for name, settings in algorithms.items()}
    works["training, minimum-risk-bleu"] = _translation()
    works["audit"] = Work(_write_models, _audit, _page)
    works |= {f"index, {name}": _index(change) for name, change in INDEX_CHANGES.items()}
    works["sweep"] = Work(_write_grid, _sweep, _cells)
    works["rating study"] = Work(_write_study, _rate, _ratings)
    return works


def _write_oracle(folder: Path) -> None:
    following = {
        " ".join(history): [0.2 + 0.1 * len(history), 0.3, 0.5 - 0.1 * len(history)]
        for length in range(LENGTH + 1)
        for history in product(SYMBOLS, repeat=length)
    }
    table = {"kind": "tabular", "vocabulary": SYMBOLS, "length": LENGTH + 1, "next": following}
    (folder / "oracle.json").write_text(json.dumps(table), encoding="utf-8")


def _trained(folder: Path) -> Any:
    state = load_file(folder / "run/last.safetensors")
    lines = [json.loads(line) for line in (folder / "run/log.jsonl").read_text(encoding="utf-8").splitlines()]
    return (
        (folder / "run/model/weights.safetensors").read_bytes(),
        {name: tensor.tolist() for name, tensor in state.items()},
        [{key: value for key, value in line.items() if key != "tokens_per_second"} for line in lines],
    )


def _training(algorithm: str, kind: str, settings: dict[str, Any]) -> Work:
    def run(folder: Path) -> None:
        oracle = str(folder / "oracle.json")
        content = {
            "algorithm": algorithm,
            "algorithm_settings": {key: oracle if value == "ORACLE" else value for key, value in settings.items()},
            "model": {"kind": kind, **SIZES[kind]},
            "data": {"kind": "samples", "model": oracle, "length": LENGTH, "size": 8, "validation": 8},
            "stop": {"steps": 25, "validate_every": 4},
        }
        train(recipe_from(content), folder / "run", checkpoint_seconds=0.0, log_every=1)

    return Work(_write_oracle, run, _trained)


def _translation() -> Work:
    def prepare(folder: Path) -> None:
        generator = random.Random(1)
        lines = [" ".join(generator.choices(["one", "two", "three", "four"], k=4)) for _ in range(60)]
        (folder / "corpus.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(folder: Path) -> None:
        files = [{"path": str(folder / "corpus.txt"), "targets": str(folder / "corpus.txt")}]
        sizes = {"width": 16, "inner": 24, "encoder_layers": 1, "decoder_layers": 1, "heads": 2, "dropout": 0.2}
        content = {
            "algorithm": "minimum-risk-bleu",
            "algorithm_settings": {"candidates": 4},
            "model": {"kind": "encoder-decoder", **sizes},
            "data": {
                "kind": "parallel",
                "train": files,
                "validation": files,
                "vocabulary": {"size": 300},
                "scored": 4,
            },
            "stop": {"steps": 6, "validate_every": 3},
        }
        train(recipe_from(content), folder / "run", checkpoint_seconds=0.0, log_every=1)

    return Work(prepare, run, _trained)


def _write_models(folder: Path) -> None:
    vocabulary = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(12))])
    for seed, name in enumerate(("student", "oracle")):
        network = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval()
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / 3)
        save(network, folder / name)


def _audit(folder: Path) -> None:
    pair = ("audit", "student", "--oracle", "oracle", "--length", "8", "--limit", "30", "--quiet", "--out", "out")
    os.chdir(folder)
    sys.argv = ["offscript", *pair, "--only", "likelihood,exposure,regret,samples"]
    try:
        offscript()
    except SystemExit as end:
        if end.code:
            raise


def _page(folder: Path) -> str:
    [page] = folder.glob("out/*/audit.html")
    return re.sub(r"\d+ s ·\s+\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", page.read_text(encoding="utf-8"))


def _build_old(folder: Path) -> None:
    build_index((Document(f"d{n}", text=f"old words {n % 11} dog") for n in range(200)), folder / "index")


INDEX_CHANGES: dict[str, Callable[[Path], object]] = {
    "build": lambda folder: build_index(
        (Document(f"n{n}", text=f"new word {n % 7} dog") for n in range(1500)), folder, block_tokens=2000
    ),
    "add": lambda folder: add_documents(
        folder, [Document(f"a{n}", text=f"added word {n % 5} dog") for n in range(1500)], block_tokens=2000
    ),
    "delete": lambda folder: delete_documents(folder, [f"d{n}" for n in range(0, 200, 2)]),
}


def _index(change: Callable[[Path], object]) -> Work:
    def answers(folder: Path) -> Any:
        index = check_index(folder / "index")
        hits = Searcher(index).search("new added old dog 3", 20)
        return len(index), index.tokens, [(hit.document_id, hit.score) for hit in hits]

    return Work(_build_old, lambda folder: change(folder / "index") and None, answers, before=True)


def _write_grid(folder: Path) -> None:
    _write_oracle(folder)
    oracle = str(folder / "oracle.json")
    content = {
        "oracle": oracle,
        "training": {
            "model": {"kind": "lstm", "hidden": 4, "embedding": 4},
            "data": {"kind": "samples", "model": oracle, "length": 2, "size": 8, "epoch": 64, "validation": 32},
            "stop": {"steps": 10},
        },
        "measures": [{"question": "regret", "settings": {"samples": 40, "length": 2}}],
        "grid": {"training.model.hidden": [2, 4], "seed": [1, 2]},
    }
    (folder / "grid.yaml").write_text(json.dumps(content), encoding="utf-8")


def _sweep(folder: Path) -> None:
    run_sweep(read_sweep(folder / "grid.yaml"), folder / "out", on="here")


def _cells(folder: Path) -> Any:
    cells = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("out/cells/*.json")]
    for cell in cells:
        for measurement in cell["measurements"]:
            del measurement["seconds"]
    text = sorted(json.dumps(cell, sort_keys=True) for cell in cells)
    return [line.replace(str(folder), "FOLDER") for line in text]


RATERS, ITEMS = 6, 8


def _write_study(folder: Path) -> None:
    items = [StudyItem(item=f"i{n}", system="s", prompt="A", text="A text.") for n in range(ITEMS)]
    design = StudyDesign(kind="rating", title="t", owner="o", per_participant=ITEMS, ratings_per_item=RATERS, checks=0)
    write_study(folder / "study", design, items)
    RatingStore(folder / "study").invite(RATERS)


def _value(item: str, code: str) -> int:
    return sum(map(ord, item + code)) % 6


def _rate(folder: Path) -> None:
    """Everybody rates everything; what the store has said yes to is noted, and must be there later."""
    store = RatingStore(folder / "study")
    with (folder / "acknowledged").open("a", encoding="utf-8", buffering=1) as notes:
        for code, _ in store.codes():
            store.consent(code)
            while (step := store.next_step(code)) is not None:
                item = step.item.item
                store.rate(code, item, _value(item, code), 1.0)
                notes.write(f"{code} {item}\n")


def _ratings(folder: Path) -> Any:
    store = RatingStore(folder / "study")
    rows = store.rows("SELECT code, item, value FROM ratings")
    kept = {(code, item) for code, item, _ in rows}
    noted = (tuple(line.split()) for line in (folder / "acknowledged").read_text(encoding="utf-8").splitlines())
    lost = [pair for pair in noted if len(pair) == 2 and pair not in kept]
    wrong = [row for row in rows if int(row[2]) != _value(row[1], row[0])]
    return len(rows), len(kept), lost, wrong


if __name__ == "__main__":
    main()
