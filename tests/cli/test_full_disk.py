"""A disk that is full at any write: one line, nothing lost, nothing half written, and the same command goes on."""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from offscript import _files
from offscript.factcheck.index import check_index
from offscript.factcheck.retrieval import Searcher

Command = Callable[..., Any]
TABLE = {"kind": "tabular", "vocabulary": ["A", "B"], "length": 6, "next": {}}
WHERE = ("create", "flush")


class Disk:
    """Full from the n-th file on: none can be created, or none can be brought to disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: str, number: int) -> None:
        self.writes, self._number = 0, number
        create, flush = _files.tempfile.mkstemp, _files._flush_to_disk

        def mkstemp(**settings: Any) -> tuple[int, str]:
            self._write(where == "create")
            return create(**settings)  # type: ignore[no-any-return]

        def flush_to_disk(path: Path) -> None:
            if self.writes + 1 >= number and path.is_file():
                os.truncate(path, path.stat().st_size // 2)  # a part of it fitted
            self._write(True)
            flush(path)

        monkeypatch.setattr(_files, "tempfile", SimpleNamespace(mkstemp=mkstemp))
        monkeypatch.setattr(_files, "_flush_to_disk", flush_to_disk if where == "flush" else flush)

    @property
    def was_full(self) -> bool:
        return self.writes >= self._number

    def _write(self, counts: bool) -> None:
        self.writes += counts
        if counts and self.was_full:
            raise OSError(errno.ENOSPC, "No space left on device")


def table(folder: Path, name: str, share: float) -> str:
    histories = [" ".join(history) for length in range(6) for history in product("AB", repeat=length)]
    following = {history: [share, 1 - share] for history in histories}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**TABLE, "next": following}))
    return str(path)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def page_of(out: Path) -> str:
    [page] = out.glob("*/audit.html")
    return re.sub(r"\d+ s ·\s+\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("where", WHERE)
def test_an_audit_is_never_half_written(
    offscript: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    models = (table(tmp_path, "student", 0.4), "--oracle", table(tmp_path, "oracle", 0.6))

    def audit(out: Path) -> Any:
        small = ("--only", "likelihood,samples", "--limit", "8", "--length", "6", "--quiet", "--pace", "10000")
        return offscript("audit", *models, *small, "--out", out)

    assert audit(tmp_path / "whole").code == 0
    for number in range(1, 40):
        out = tmp_path / f"full at {number}"
        with monkeypatch.context() as patch:
            disk = Disk(patch, where, number)
            done = audit(out)
        if not disk.was_full:
            assert done.code == 0
            break
        assert done.code == 2, done.errors
        assert re.fullmatch(r"offscript: .*No space left on device; .*what was finished is kept\n", done.errors)
        kept = files_of(out)
        assert not [name for name in kept if name.endswith((".partial", ".claim"))]
        for name, content in kept.items():
            if name.endswith(".json"):
                json.loads(content)
        assert audit(out).code == 0
        assert {name: files_of(out)[name] for name in kept if "cells/" in name} == {
            name: content for name, content in kept.items() if "cells/" in name
        }
        assert page_of(out) == page_of(tmp_path / "whole")
    assert number > 4


def answers(folder: Path) -> Any:
    index = check_index(folder)
    return len(index), index.tokens, [(hit.document_id, hit.score) for hit in Searcher(index).search("old new dog", 9)]


CHANGES: dict[str, list[str]] = {
    "build": ["new.jsonl", "--replace"],
    "add": ["new.jsonl", "--add"],
    "delete": ["--delete", "old1"],
    "merge": ["--merge"],
}


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("change", CHANGES)
def test_an_index_is_the_one_from_before_or_after(
    offscript: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, where: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old", "more", "new"):
        lines = (json.dumps({"id": f"{name}{n}", "text": f"{name} dog {n}"}) for n in range(3))
        Path(f"{name}.jsonl").write_text("\n".join(lines))
    arguments = CHANGES[change]

    def old(out: Path) -> Any:
        assert offscript("index", "old.jsonl", "--out", out, "--quiet").code == 0
        assert offscript("index", "more.jsonl", "--add", "--out", out, "--quiet").code == 0
        return answers(out)

    before = old(tmp_path / "whole")
    assert offscript("index", *arguments, "--out", tmp_path / "whole", "--quiet").code == 0
    after = answers(tmp_path / "whole")
    for number in range(1, 40):
        out = tmp_path / f"full at {number}"
        old(out)
        with monkeypatch.context() as patch:
            disk = Disk(patch, where, number)
            done = offscript("index", *arguments, "--out", out, "--quiet")
        if not disk.was_full:
            break
        assert done.code == 2, done.errors
        assert done.errors.count("\n") == 1
        assert "No space left on device" in done.errors
        assert answers(out) in (before, after)
        assert not list(out.glob(".*"))
        if answers(out) == before:
            assert offscript("index", *arguments, "--out", out, "--quiet").code == 0
        assert answers(out) == after
    assert number > 1


@pytest.mark.skipif(sys.platform != "linux", reason="needs a bound on the size of files")
def test_a_real_bound_on_files_leaves_the_old_checkpoint(tmp_path: Path) -> None:
    """The kernel refuses the second half of a file: what was there stays, and the error is the system's."""
    code = (
        "import resource, torch; from pathlib import Path; from offscript._files import write_tensors\n"
        f"path = Path({str(tmp_path / 'w.safetensors')!r})\n"
        "write_tensors(path, {'a': torch.zeros(10)})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: write_tensors(path, {'a': torch.zeros(100_000)})\n"
        "except OSError as fault: print(fault.errno, fault.filename)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == [str(errno.EFBIG), str(tmp_path / "w.safetensors")]
    assert [path.name for path in tmp_path.iterdir()] == ["w.safetensors"]
    assert (tmp_path / "w.safetensors").stat().st_size < 4096
