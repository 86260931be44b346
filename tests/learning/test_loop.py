"""The step loop on a small regression: what it takes, keeps, logs and resumes; whoever teaches with it."""

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from offscript.errors import OffscriptError
from offscript.learning import (
    BEST,
    Course,
    Loss,
    OptimiserSettings,
    StoppedError,
    StopSettings,
    course_of,
    learn,
    read_weights,
    seeded,
)
from offscript.learning.interruption import deferred_interrupt
from offscript.learning.loop import Log

INPUTS = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
TARGETS = torch.tensor([[2.0], [-1.0], [1.0]])


class Regression(nn.Module):
    """A linear layer behind dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.dropout, self.layer = nn.Dropout(0.5), nn.Linear(2, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        answers: torch.Tensor = self.layer(self.dropout(inputs))
        return answers


class Stopping:
    """Ends a run after a step, as a kill would, and remembers what it was told."""

    def __init__(self, at: int | None = None) -> None:
        self.at, self.told = at, list[tuple[Any, ...]]()

    def begin(self, step: int, total: int) -> None:
        self.told.append(("begin", step, total))

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        self.told.append(("step", step))
        if step == self.at:
            raise KeyboardInterrupt

    def note(self, step: int, text: str) -> None: ...

    def validated(self, step: int, nll: float, best: float) -> None:
        self.told.append(("validated", step, nll, best))

    def end(self) -> None:
        self.told.append(("end",))


def _taught(
    folder: Path | None,
    *,
    observer: Stopping | None = None,
    validate: Callable[[], Mapping[str, float]] | None = None,
    total: int = 12,
    every: float = 0.0,
    **more: Any,
) -> Regression:
    with seeded(1):
        network = Regression()

    def loss(step: int) -> Loss:
        with seeded(7, step):
            return Loss((network.train()(INPUTS) - TARGETS).square().mean(), read=3, logged={"rows": 3.0})

    settings, stop = OptimiserSettings(learning_rate=0.1), StopSettings(epochs=total, validate_every=5)
    course = course_of(
        network, loss, settings, stop, steps_per_epoch=1, validate=validate, **{"digest": "mine", **more}
    )
    learn(course, folder, observer=observer, recipe={"a": 1}, checkpoint_seconds=every, log_every=1)
    return network


def test_a_stopped_run_resumes_to_the_same_weights(tmp_path: Path) -> None:
    whole = _taught(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        _taught(tmp_path / "cut", observer=Stopping(7))
    observer = Stopping()
    resumed = _taught(tmp_path / "cut", observer=observer)
    assert observer.told[0] == ("begin", 6, 12)  # step 7 was observed, but not stored yet
    assert torch.equal(whole.layer.weight, resumed.layer.weight)
    states = [load_file(tmp_path / name / "last.safetensors") for name in ("whole", "cut")]
    assert all(torch.equal(tensor, states[1][key]) for key, tensor in states[0].items())
    steps = [line["step"] for line in _lines(tmp_path / "cut")]
    assert steps == list(range(1, 13))
    assert json.loads((tmp_path / "cut" / "recipe.json").read_text()) == {"a": 1}
    assert _lines(tmp_path / "cut")[0].keys() == {"step", "loss", "rows", "tokens_per_second"}


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises, as in a script; processes that run tests side by side may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Pressing(Stopping):
    """Presses Ctrl-C during a step."""

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        self.told.append(("step", step))
        if step == self.at:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_stores_the_run_after_a_whole_step(tmp_path: Path) -> None:
    whole = _taught(tmp_path / "whole", every=1e9)
    with pytest.raises(StoppedError) as stop:
        _taught(tmp_path / "cut", observer=Pressing(7), every=1e9)
    assert (stop.value.step, stop.value.total) == (7, 12)
    assert stop.value.checkpoint == tmp_path / "cut" / "last.safetensors"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    observer = Stopping()
    resumed = _taught(tmp_path / "cut", observer=observer, every=1e9)
    assert observer.told[0] == ("begin", 7, 12)
    assert torch.equal(whole.layer.weight, resumed.layer.weight)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_without_a_folder_stops_and_keeps_nothing() -> None:
    with pytest.raises(StoppedError) as stop:
        _taught(None, observer=Pressing(3))
    assert (stop.value.step, stop.value.checkpoint) == (3, None)


@pytest.mark.usefixtures("ctrl_c")
def test_a_second_ctrl_c_stops_at_once() -> None:
    with deferred_interrupt() as pressed:
        assert not pressed()
        os.kill(os.getpid(), signal.SIGINT)
        assert pressed()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("ctrl_c")
def test_somebody_elses_handler_is_left_alone() -> None:
    def own(number: int, frame: Any) -> None: ...

    before = signal.signal(signal.SIGINT, own)
    try:
        with deferred_interrupt():
            assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    alone = _taught(None)
    assert torch.equal(alone.layer.weight, _taught(tmp_path / "kept").layer.weight)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_the_first_figure_of_a_validation_chooses_the_weights(tmp_path: Path) -> None:
    values = iter([3.0, 1.0, 2.0])
    observer = Stopping()
    network = _taught(tmp_path, observer=observer, validate=lambda: {"nll": next(values), "accuracy": 0.5})
    assert [told for told in observer.told if told[0] == "validated"] == [
        ("validated", 5, 3.0, 3.0),
        ("validated", 10, 1.0, 1.0),
        ("validated", 12, 2.0, 1.0),
    ]
    logged = [line for line in _lines(tmp_path) if "validation_nll" in line]
    assert logged[0] == {"step": 5, "validation_nll": 3.0, "validation_accuracy": 0.5}
    last = network.layer.weight.clone()
    read_weights(tmp_path / BEST, network)
    assert not torch.equal(network.layer.weight, last)


def test_stages_share_a_folder(tmp_path: Path) -> None:
    for name in ("first", "second"):
        _taught(tmp_path, name=name, digest=name)
    names = {path.name for path in tmp_path.iterdir()} - {"tensorboard"}
    assert names == {"recipe.json", "first.safetensors", "first.jsonl", "second.safetensors", "second.jsonl"}
    with pytest.raises(OffscriptError, match="holds a run of another recipe"):
        _taught(tmp_path, name="first", digest="second")


def test_every_group_of_parameters_has_its_rate() -> None:
    network, rates = Regression(), list[list[float]]()
    groups = [{"params": [network.layer.weight]}, {"params": [network.layer.bias]}]
    optimiser = torch.optim.SGD(groups, lr=1.0)

    def loss(step: int) -> Loss:
        rates.append([group["lr"] for group in optimiser.param_groups])
        return Loss(network.eval()(INPUTS).sum(), divisor=4)

    before = network.layer.bias.detach().clone()
    learn(Course(2, optimiser, loss, schedule=lambda step, _: [0.0, 1.0 - step]))
    assert rates == [[0.0, 1.0], [0.0, 0.0]]
    torch.testing.assert_close(network.layer.bias.detach(), before - 3 / 4)  # d sum / d bias = 3


def test_a_stage_that_diverges_is_named() -> None:
    network = Regression()
    optimiser = torch.optim.SGD(network.parameters(), lr=1.0)
    course = Course(2, optimiser, lambda _: Loss(network(INPUTS).sum() * torch.inf), name="first")
    with pytest.raises(OffscriptError, match="at step 0 of first; lower the learning rate"):
        learn(course)


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
