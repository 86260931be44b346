"""An audit that is killed loses nothing that was finished, and its page is that of an audit left in peace."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from offscript.corpora import WordVocabulary
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save

AUDIT = "from offscript.cli import main; main()"
KILLED_AT = """
import os, signal, sys
from offscript.audits import audit

watched, doomed = audit._answer, int(sys.argv.pop(1))

class Deadly:
    def start(self, total):
        return lambda rows: os.kill(os.getpid(), signal.SIGKILL)

def answer(planned, subject, store, number, total, observer):
    if number < doomed:
        return watched(planned, subject, store, number, total, observer)
    planned.question.measure(subject, planned.settings, Deadly())

audit._answer = answer
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    vocabulary = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(12))])
    for seed, name in enumerate(("student", "oracle")):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            save(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval(), folder / name)
    return folder


def run(script: str, *arguments: str, models: Path, out: Path) -> int:
    pair = ("audit", str(models / "student"), "--oracle", str(models / "oracle"))
    small = ("--length", "8", "--limit", "30", "--only", "likelihood,exposure,regret,samples", "--quiet")
    command = [sys.executable, "-c", script, *arguments, *pair, *small, "--out", str(out)]
    return subprocess.run(command, env=os.environ, check=False, capture_output=True, timeout=300).returncode


def page_but_for_times(out: Path) -> str:
    [page] = out.glob("*/audit.html")
    return re.sub(r"\d+ s ·\s+\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", page.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_killed_in_the_middle_of_a_question_it_goes_on_to_the_same_page(models: Path, tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    assert run(KILLED_AT + AUDIT, "3", models=models, out=killed) == -signal.SIGKILL
    finished = {path: path.stat().st_mtime_ns for path in killed.glob("cells/*")}
    assert len([path for path in finished if re.fullmatch(r"[0-9a-f]+\.json", path.name)]) == 2
    assert not list(killed.glob("*/audit.html"))
    assert run(AUDIT, models=models, out=killed) == 0
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert run(AUDIT, models=models, out=whole) == 0
    assert page_but_for_times(killed) == page_but_for_times(whole)
