"""The fuzzer: what it found stays mended, its inputs can be made again, and it notices every kind of failure."""

import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzzing import campaign, registry
from fuzzing.campaign import Campaign, run_batch
from fuzzing.kinds import Kind
from fuzzing.mutations import STRUCTURES, mutated

from offscript.errors import OffscriptError

CRASHES = sorted(path for path in registry.CRASHES.glob("*/*"))


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_inputs_that_once_failed_are_read_or_refused_in_one_line(path: Path, examples: Path, tmp_path: Path) -> None:
    _, kind = registry.kind_of_file(path, examples)
    kind.outcome(kind.folder(tmp_path / "files"), path.read_bytes())


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("examples")


def test_every_light_example_is_read(tmp_path: Path) -> None:
    from fuzzing.written import WRITTEN

    refused = {name: kind.outcome(kind.folder(tmp_path / "files"), kind.content) for name, kind in WRITTEN.items()}
    assert {name: line for name, line in refused.items() if line} == {}


CONTENTS = {
    "json": b'{"a": [1, {"b": "c"}]}',
    "jsonl": b'{"a": 1}\n{"a": 2}\n',
    "yaml": b"a: [1, 2]\nb: {c: d}\n",
    "safetensors": b"\x10\0\0\0\0\0\0\0" + b'{"a": "b"}'.ljust(16) + bytes(range(16)),
}


@pytest.mark.parametrize("structure", [*STRUCTURES, ""])
def test_a_generator_decides_the_damage(structure: str) -> None:
    content = CONTENTS.get(structure, b"<a>one</a>, two\nthree\tfour five\n")
    first, second = (
        [mutated(content, structure, random.Random(seed), ("word",), b"other") for seed in range(200)] for _ in range(2)
    )
    assert first == second
    assert len(set(first)) > 100


def _hang(path: Path) -> None:
    end = time.process_time() + 30
    while time.process_time() < end:
        pass


def _grow(path: Path) -> None:
    if len(bytes(300 << 20).replace(b"\0", b"a")) > 1 and b"x" not in path.read_bytes():
        raise OffscriptError("refused")


def _raise(path: Path) -> None:
    raise KeyError("a")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork")
@pytest.mark.parametrize(
    ("read", "what"),
    [
        (_raise, "KeyError"),
        (_hang, "takes more than 0.3 s"),
        (_grow, "takes "),
        (lambda path: os.kill(os.getpid(), signal.SIGKILL), "died of signal 9"),
        (lambda path: time.sleep(60), "waits for more than 1 s"),
        (lambda path: (_ for _ in ()).throw(OffscriptError("a" * 900, why="b" * 900)), None),
    ],
    ids=["traceback", "hang", "memory", "crash", "wait", "refusal"],
)
def test_every_kind_of_failure_is_noticed_and_stored(
    read: Callable[[Path], object], what: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "MOST_SECONDS", 0.3)
    monkeypatch.setattr(campaign, "MOST_WAIT", 1.0 if what and "waits" in what else 60.0)
    monkeypatch.setattr(campaign, "MOST_GROWTH", 100 << 20)
    kind = Kind("a.txt", "text", read)
    batch = run_batch("planted", kind, tmp_path / "work", seconds=0.2, first=0, seed=1)
    if what is None:
        assert batch.failures == []
        assert batch.tally.refused == batch.tally.inputs > 0
        return
    assert what in batch.failures[0].what
    assert batch.tally.inputs >= 1
    assert batch.failures[0].content == (tmp_path / "work/current").read_bytes() or what == "KeyError"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork")
def test_a_campaign_goes_on_where_its_tally_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def read(path: Path) -> None:
        if b"text" not in path.read_bytes():
            raise IndexError("planted")

    kinds = {"planted": Kind("a.txt", "some text", read)}
    tally = tmp_path / "tally.json"

    def run_until_it_finds(campaign: Campaign, count: int) -> None:
        for _ in range(60):  # on a busy machine half a second may hold no input at all
            campaign.run(0.5, 0.5, tmp_path / "work")
            if len(list((tmp_path / "found").glob("planted/*"))) == count:
                return

    first = Campaign(kinds, tmp_path / "found", tally)
    run_until_it_finds(first, 1)
    again = Campaign(kinds, tmp_path / "found", tally)
    assert again.inputs == first.inputs > 0
    run_until_it_finds(again, 2)
    assert json.loads(tally.read_text())["planted"]["inputs"] == again.inputs > first.inputs
    stored = list((tmp_path / "found/planted").iterdir())
    told = capsys.readouterr().err
    assert told.count("IndexError: planted") == len(stored) == 2  # each campaign tells of a fault once
    for path in stored:
        assert b"text" not in path.read_bytes()
        assert f"--replay {path}" in told
