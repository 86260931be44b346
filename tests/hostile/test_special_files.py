"""Pipes, devices, bombs and entities: refused at once, in little memory."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzzing.kinds import PACK, write
from fuzzing.texts import TEXTS_READ as KINDS

from offscript.corpora import lines as line_layer
from offscript.corpora.lines import Lines
from offscript.errors import OffscriptError
from offscript.factcheck.documents import read_documents


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.whole_folder])
def test_a_pipe_is_refused_at_once(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    path = tmp_path / kind.name
    os.mkfifo(path)
    with pytest.raises(OffscriptError, match="is a pipe; write it to a file first"):
        kind.read(path)


def test_a_device_is_refused_and_a_name_that_cannot_be_a_file(tmp_path: Path) -> None:
    for path, message in (
        ("/dev/zero", "is a device"),
        (tmp_path / ("a" * 300), "cannot be opened"),
        ("a\0b", "cannot be opened"),
    ):
        with pytest.raises(OffscriptError, match=message):
            list(Lines(path))


@pytest.mark.parametrize("suffix", PACK)
def test_a_bomb_is_refused_and_a_setting_lets_it_through(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_layer, "FREE_OF_RATIO", 1 << 20)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(PACK[suffix](b"a line of text\n" * (1 << 18)))
    with pytest.raises(OffscriptError, match=r"unpacks to more than 250 times its size; .*set OFFSCRIPT_MAX_UNPACKED"):
        list(Lines(path))
    monkeypatch.setenv("OFFSCRIPT_MAX_UNPACKED", "4M")
    assert sum(1 for _ in Lines(path)) == 1 << 18
    monkeypatch.setenv("OFFSCRIPT_MAX_UNPACKED", "2M")
    with pytest.raises(OffscriptError, match="unpacks to more than 2,097,152 bytes"):
        list(Lines(path))
    monkeypatch.setenv("OFFSCRIPT_MAX_UNPACKED", "much")
    with pytest.raises(OffscriptError, match="OFFSCRIPT_MAX_UNPACKED is 'much'; give a number of bytes"):
        list(Lines(path))


def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    """Ten gigabytes in ten megabytes are refused before the memory they would fill is asked for."""
    path = tmp_path / "a.jsonl.gz"
    block = gzip.compress(bytes(100 << 20))
    path.write_bytes(block * 100)
    code = (
        "from pathlib import Path; from offscript.factcheck.documents import read_documents\n"
        "from offscript.errors import OffscriptError\n"
        f"try: list(read_documents({str(path)!r}))\n"
        "except OffscriptError as error: print(error)\n"
        "status = Path('/proc/self/status').read_text()\n"  # getrusage's peak would count the process that started it
        "print(next(line.split()[1] for line in status.splitlines() if line.startswith('VmHWM')))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    line, peak = output.splitlines()
    assert "unpacks to more than 250 times its size" in line
    assert int(peak) < 600_000


def test_entities_of_a_dump_are_refused(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><mediawiki>&b;</mediawiki>'
    with pytest.raises(OffscriptError, match="line 1: the entity 'a' is declared"):
        list(read_documents(write(tmp_path / "a.xml", bomb.encode())))
