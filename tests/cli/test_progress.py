"""What a person who follows an audit is told."""

import contextlib
import io
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offscript.cli._progress import AuditBar, Lines, TrainingBar
from offscript.cli.app import app
from offscript.errors import OffscriptError
from offscript.factcheck.inference.training import inference_recipe
from offscript.learning import Trainer


def follow_until_stopped() -> None:
    with AuditBar(quiet=True) as bar:
        bar.question(1, 2, "How well does it predict gold text?", stored=False)
        bar.start(10)(3)
        raise KeyboardInterrupt


def test_who_stops_an_audit_is_told_that_nothing_is_lost(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        follow_until_stopped()
    assert "answers so far are stored" in " ".join(capsys.readouterr().err.split())


def test_off_a_terminal_each_question_has_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with AuditBar(quiet=False) as bar:
        bar.question(1, 2, "Which?", stored=False)
        bar.start(10)(10)
        bar.question(2, 2, "Why?", stored=True)
    assert capsys.readouterr().err.splitlines() == [
        "[1/2] Which?",
        "[1/2] Which?: 0 s",
        "[2/2] Why? (stored)",
        "[2/2] Why?: 0 s",
    ]


def test_long_work_off_a_terminal_is_estimated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    lines = Lines("recovery", quiet=False)
    lines.start(100)
    for _ in range(50):
        now[0] += 1
        lines.advance(1)
    told = capsys.readouterr().err.splitlines()
    assert told == ["recovery: 3 of 100 in 3 s, about 97 s left", "recovery: 33 of 100 in 33 s, about 67 s left"]


def test_work_that_counts_nothing_has_lines_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lines, "FIRST", 0.2)
    with AuditBar(quiet=False), contextlib.redirect_stderr(io.StringIO()):  # as loading a model does
        time.sleep(1.2)
    assert capsys.readouterr().err.startswith("Loading and planning: ")


def test_a_training_says_that_it_is_being_prepared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lines, "FIRST", 0.2)
    bar = TrainingBar("mine", quiet=False)
    time.sleep(1.2)
    assert capsys.readouterr().err.startswith("mine: preparing: ")
    bar.begin(0, 10)
    bar.end()
    time.sleep(0.8)
    assert capsys.readouterr().err == ""


def test_a_training_that_fails_is_silent_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def failing(*_: object, **__: object) -> None:
        raise OffscriptError("the training failed")

    (tmp_path / "fever-train").mkdir()
    watchers = [thread for thread in threading.enumerate() if "_watch" in thread.name]
    monkeypatch.setattr("offscript.learning.find_trainer", lambda _: Trainer(inference_recipe, failing))
    failed = CliRunner().invoke(app, ["train", "inference", f"data={tmp_path}", "--out", str(tmp_path)])
    assert "the training failed" in str(failed.exception)
    assert [thread for thread in threading.enumerate() if "_watch" in thread.name] == watchers


def test_an_audit_that_ends_well_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with AuditBar(quiet=True) as bar:
        bar.question(1, 1, "Which?", stored=True)
    assert capsys.readouterr().err == ""
