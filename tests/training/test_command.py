"""`offscript train` from end to end, in a process of its own."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from offscript.models import load_model
from offscript.models.storage import read_card

COMMAND = [sys.executable, "-c", "from offscript.cli import main; main()"]


@pytest.fixture
def recipe_file(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text("the cat sat\nthe dog sat down\na cat ran\n" * 10)
    content = {
        "name": "cats",
        "model": {"kind": "lstm", "hidden": 8, "embedding": 8},
        "data": {"train": "$CORPUS/corpus.txt", "validation": "$CORPUS/corpus.txt", "batches": {"size": 8}},
        "stop": {"epochs": 2},
    }
    (tmp_path / "cats.yaml").write_text(yaml.safe_dump(content))
    return tmp_path / "cats.yaml"


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "CORPUS": str(folder), "COLUMNS": "160"}


def _everything_from(terminal: int) -> str:
    """Read a terminal until nobody writes to it any more; left unread, it would fill up and stop the writer."""
    shown = b""
    with contextlib.suppress(OSError):
        while read := os.read(terminal, 1 << 16):
            shown += read
    os.close(terminal)
    return shown.decode()


def test_a_recipe_becomes_a_model(recipe_file: Path) -> None:
    folder = recipe_file.parent
    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "train", str(recipe_file), "model.hidden=6", "stop.epochs=3", "--json"],
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    ) as process:
        os.close(theirs)
        shown = _everything_from(terminal)
        output, _ = process.communicate()
    assert process.returncode == 0, shown
    found = json.loads(output)
    assert found["model"] == "runs/cats/model"
    assert found["steps"] == 12
    assert "tokens/s" in shown
    assert "validation" in shown
    model = load_model(str(folder / found["model"]))
    assert model.settings.hidden == 6
    assert read_card(folder / found["model"])["validation"]["ppl"] == pytest.approx(found["validation_ppl"])


def test_a_wrong_recipe_ends_with_one_line_and_2(recipe_file: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "train", str(recipe_file), "model.hiden=6"],
        cwd=recipe_file.parent,
        env=_environment(recipe_file.parent),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("offscript: ")
    assert line.endswith("the settings of the lstm do not fit; unknown key 'hiden'; did you mean 'hidden'?")
