"""Logs: one JSON object a line, and nothing that a resumed run would write twice."""

import json
from pathlib import Path
from typing import Any

import pytest

from offscript.learning.loop import Log


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def _write(folder: Path, steps: range, resumed_at: int = 0) -> None:
    log = Log(folder, resumed_at)
    for step in steps:
        log.write(step, loss=step / 2)
    log.close()


def test_a_line_has_the_step_and_its_values(tmp_path: Path) -> None:
    log = Log(tmp_path, 0)
    log.write(10, loss=2.5, tokens_per_second=100.0)
    assert _lines(tmp_path) == [{"step": 10, "loss": 2.5, "tokens_per_second": 100.0}]  # before it is closed
    log.write(20, validation_nll=2.0)
    log.close()
    assert _lines(tmp_path)[1] == {"step": 20, "validation_nll": 2.0}


@pytest.mark.parametrize("resumed_at", [0, 3, 5, 9])
def test_a_resumed_run_takes_back_what_came_after_its_checkpoint(tmp_path: Path, resumed_at: int) -> None:
    _write(tmp_path, range(1, 7))
    _write(tmp_path, range(resumed_at + 1, 12), resumed_at)
    expected = [*range(1, min(resumed_at, 6) + 1), *range(resumed_at + 1, 12)]
    assert [line["step"] for line in _lines(tmp_path)] == expected


def test_a_line_cut_off_by_a_kill_is_dropped(tmp_path: Path) -> None:
    _write(tmp_path, range(1, 4))
    with (tmp_path / "log.jsonl").open("a") as stream:
        stream.write('{"step": 2, "lo')
    _write(tmp_path, range(4, 5), resumed_at=3)
    assert [line["step"] for line in _lines(tmp_path)] == [1, 2, 3, 4]


def test_tensorboard_shows_each_step_once(tmp_path: Path) -> None:
    accumulators = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="no tensorboard"
    )
    _write(tmp_path, range(1, 7))
    _write(tmp_path, range(4, 9), resumed_at=3)
    events = accumulators.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [(step, step / 2) for step in range(1, 9)]


def test_tensorboard_is_left_out_where_it_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    _write(tmp_path, range(1, 3))
    assert len(_lines(tmp_path)) == 2
    assert not (tmp_path / "tensorboard").exists()
