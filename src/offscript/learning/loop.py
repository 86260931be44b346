"""The one step loop: all that is taught with gradients is taught in it, and a run can be killed and resumed exactly.

Describe what is taught as a `Course` and call `learn`::

    def loss(step: int) -> Loss:  # a function of the weights and of the step alone
        batch = batches[step]
        with seeded(seed, step):  # dropout
            return Loss(cross_entropy(network.train()(batch.inputs), batch.labels), read=len(batch))

    def validate() -> dict[str, float]:  # the first figure chooses the best weights
        return {"nll": …, "accuracy": …}

    course = course_of(network, loss, OptimiserSettings(), StopSettings(epochs=3), steps_per_epoch=len(batches),
                       digest=recipe.digest, validate=validate)
    standing = learn(course, folder, observer=observer, recipe=recipe.model_dump())
    read_weights(folder / BEST, network)

The folder then holds `recipe.json`, `log.jsonl`, `last.safetensors` and `best.safetensors`. Called again after a kill,
`learn` resumes from `last.safetensors`; a folder with another digest is refused. Without a folder nothing is kept.
A `Course` can also be made by hand: with several groups of parameters, a schedule of its own, or no validation.
"""

import importlib.util
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn

from offscript._config import Section
from offscript._files import write_json, write_text
from offscript.errors import OffscriptError
from offscript.learning.checkpoints import Standing, resume, write_checkpoint
from offscript.learning.interruption import StoppedError, deferred_interrupt
from offscript.learning.updates import Fleet, OptimiserSettings, build_optimiser, learning_rate, update

BEST = "best.safetensors"
_HIGHEST = 700.0
"""A validation loss beyond it has diverged: its perplexity is more than a float can hold."""


class Observer(Protocol):
    """Follows a run as it goes: the command line's progress bar, for one."""

    def begin(self, step: int, total: int) -> None:
        """The run starts, or resumes, at a step of `total`."""

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        """A step is done."""

    def validated(self, step: int, nll: float, best: float) -> None:
        """A validation is done."""

    def note(self, step: int, text: str) -> None:
        """The run says something about itself, in a sentence."""

    def end(self) -> None:
        """The run is over, or was stopped."""


class StopSettings(Section):
    """Whichever comes first ends the training."""

    epochs: int = Field(20, ge=1)
    steps: int | None = Field(None, ge=1)
    patience: int | None = Field(None, ge=1, description="validations without progress")
    gain: float = Field(0.0, ge=0, description="nats by which a validation must be lower to count as progress")
    validate_every: int | None = Field(None, ge=1, description="steps; None: once an epoch")

    def total(self, steps_per_epoch: int) -> int:
        """Steps, unless patience ends the run before."""
        return min(self.epochs * steps_per_epoch, self.steps or self.epochs * steps_per_epoch)


@dataclass(frozen=True)
class Loss:
    """The loss of one step, and what is known about it.

    `total` is divided by `divisor` before gradients are taken: a sum over tokens by their number. `read` says how many
    tokens (or words, or pairs) the step read, `logged` what else to log, and `notes` what to tell whoever follows.
    """

    total: Tensor
    divisor: int = 1
    read: int = 0
    logged: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Course:
    """What is taught, and for how long.

    Attributes:
        total: Steps.
        optimiser: What each step updates.
        loss: The loss of a step. It draws only from generators that the step seeds, so that a resumed run is exact.
        networks: What a checkpoint holds, by name.
        optimisers: Optimisers that the loss steps itself (of a critic, a mediator), by name; checkpoints hold them too.
        schedule: From the step and the number of plateaus so far, a learning rate for each group of parameters.
        clip: The largest norm of a gradient.
        validate: Figures to log as `validation_NAME`, always the same for the same weights. The first one is a loss:
            it chooses the best weights.
        validate_every: Steps.
        patience: Validations without progress after which the run ends.
        gain: By how much a validation must be lower to count as progress.
        keeps_newest: Whether the newest weights count as the best.
        fleet: The processes that share the work.
        digest: Of the recipe: a folder that holds another run is refused.
        data_hash: The hash of the data.
        name: Of one stage among several that share a folder.
        unit: What `Loss.read` counts.
    """

    total: int
    optimiser: torch.optim.Optimizer
    loss: Callable[[int], Loss]
    networks: Mapping[str, nn.Module] = field(default_factory=dict)
    optimisers: Mapping[str, torch.optim.Optimizer] = field(default_factory=dict)
    schedule: Callable[[int, int], Sequence[float]] | None = None
    clip: float | None = None
    validate: Callable[[], Mapping[str, float]] | None = None
    validate_every: int = 1
    patience: int | None = None
    gain: float = 0.0
    keeps_newest: bool = False
    fleet: Fleet = field(default_factory=Fleet)
    digest: str = ""
    data_hash: str = ""
    name: str = ""
    unit: str = "tokens"

    @property
    def every_optimiser(self) -> dict[str, torch.optim.Optimizer]:
        """All of them, under the names that checkpoints know."""
        return {next(iter(self.networks), "model"): self.optimiser, **self.optimisers}

    @property
    def checkpoint(self) -> str:
        """The file that a run resumes from."""
        return f"{self.name or 'last'}.safetensors"


def course_of(
    network: nn.Module,
    loss: Callable[[int], Loss],
    optimiser: OptimiserSettings,
    stop: StopSettings,
    *,
    steps_per_epoch: int,
    **more: Any,
) -> Course:
    """The course that a recipe's `optimiser` and `stop` sections describe.

    Args:
        network: What is taught; all of its parameters change.
        loss: The loss of a step.
        optimiser: The optimiser's settings.
        stop: When to stop, and when to validate.
        steps_per_epoch: Steps in which all examples are seen once.
        more: Other attributes of the course.

    Returns:
        The course for `learn`.
    """
    total = stop.total(steps_per_epoch)
    return Course(
        total=total,
        optimiser=build_optimiser(network, optimiser),
        loss=loss,
        schedule=lambda step, reductions: [learning_rate(optimiser, step, total, reductions)],
        clip=optimiser.clip,
        validate_every=stop.validate_every or steps_per_epoch,
        patience=stop.patience,
        gain=stop.gain,
        **{"networks": {"model": network}, **more},
    )


def learn(
    course: Course,
    folder: Path | None = None,
    *,
    observer: Observer | None = None,
    recipe: Mapping[str, Any] | None = None,
    checkpoint_seconds: float = 60.0,
    log_every: int = 10,
) -> Standing:
    """Take a course's steps to the end, from the folder's last checkpoint where there is one.

    Args:
        course: What is taught.
        folder: Where checkpoints and the log are kept; without one the run starts at its first step and keeps nothing.
        observer: Told of each step and each validation.
        recipe: Written to `recipe.json` where the run begins.
        checkpoint_seconds: How often the run is stored, beside each validation and the last step.
        log_every: Steps from one line of the log to the next.

    Returns:
        How far the run came, and its best validation.
    """
    leads = course.fleet.leads
    standing = Standing(course.digest, course.data_hash)
    if folder is not None:
        standing = _begin(course, folder, standing, recipe if leads else None)
    log = Log(folder, standing.step, course.name) if leads and folder is not None else None
    run = _Run(course, folder if leads else None, standing, log, observer if leads else None)
    if run.observer is not None:
        run.observer.begin(standing.step, course.total)
    try:
        with deferred_interrupt() as interrupted:
            _go_on(run, checkpoint_seconds, log_every, interrupted)
    finally:
        if log is not None:
            log.close()
        if run.observer is not None:
            run.observer.end()
    return standing


class Log:
    """`log.jsonl` in the run's folder, one JSON object per line, and TensorBoard events where that is installed.

    A resumed run first takes back what came after its checkpoint.
    """

    def __init__(self, folder: Path, resumed_at: int, name: str = "") -> None:
        self._path = folder / f"{name or 'log'}.jsonl"
        self._keep_until(resumed_at)
        self._stream = self._path.open("a", encoding="utf-8")
        self._events = _event_writer(folder / "tensorboard" / name, resumed_at)

    def write(self, step: int, **values: float) -> None:
        """One line with the step and its values."""
        self._stream.write(json.dumps({"step": step, **values}) + "\n")
        self._stream.flush()
        if self._events is not None:
            for name, value in values.items():
                self._events.add_scalar(name, value, step)

    def note(self, step: int, text: str) -> None:
        """One line with the step and a sentence."""
        self._stream.write(json.dumps({"step": step, "note": text}) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Finish both files."""
        self._stream.close()
        if self._events is not None:
            self._events.close()

    def _keep_until(self, step: int) -> None:
        if not self._path.is_file():
            return
        lines = self._path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= step]
        write_text(self._path, "".join(f"{line}\n" for line in kept))


@dataclass(frozen=True)
class _Run:
    """A course under way; only the leading process has a folder, a log and an observer."""

    course: Course
    folder: Path | None
    standing: Standing
    log: Log | None
    observer: Observer | None

    @property
    def validation_is_due(self) -> bool:
        step, course = self.standing.step, self.course
        return course.validate is not None and (step % course.validate_every == 0 or step == course.total)

    def tell(self, text: str) -> None:
        if self.log is not None:
            self.log.note(self.standing.step, text)
        if self.observer is not None:
            self.observer.note(self.standing.step, text)

    def store(self, name: str) -> None:
        if self.folder is not None:
            course = self.course
            write_checkpoint(self.folder / name, course.networks, course.every_optimiser, self.standing)


def _begin(course: Course, folder: Path, standing: Standing, recipe: Mapping[str, Any] | None) -> Standing:
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / course.checkpoint).is_file():
        return resume(folder / course.checkpoint, course.networks, course.every_optimiser, standing)
    if recipe is not None:
        write_json(folder / "recipe.json", recipe)
    return standing


def _go_on(run: _Run, checkpoint_seconds: float, log_every: int, interrupted: Callable[[], bool]) -> None:
    """Step after step until the run is finished or Ctrl-C is pressed, stored now and then."""
    course, standing = run.course, run.standing
    began, stored = time.monotonic() - standing.seconds, time.monotonic()
    while not standing.finished(course.total, course.patience):
        stepped = time.monotonic()
        loss, read, logged, notes = _take_step(run)
        speed = read / (time.monotonic() - stepped)
        standing.seconds = time.monotonic() - began
        if run.observer is not None:
            run.observer.step(standing.step, loss, speed)
        for text in notes:
            run.tell(text)
        if run.log is not None and standing.step % log_every == 0:
            run.log.write(standing.step, loss=loss, **logged, **{f"{course.unit}_per_second": speed})
        if run.validation_is_due:
            _validate(run)
        elif standing.step < course.total and time.monotonic() - stored < checkpoint_seconds and not interrupted():
            continue
        run.store(course.checkpoint)
        if interrupted():
            raise StoppedError(standing.step, course.total, run.folder and run.folder / course.checkpoint)
        stored = time.monotonic()


def _take_step(run: _Run) -> tuple[float, int, dict[str, float], Sequence[str]]:
    """One update; answers the mean loss, how much was read, what else to log, and what to tell."""
    course, step, fleet = run.course, run.standing.step, run.course.fleet
    if course.schedule is not None:
        rates = course.schedule(step, run.standing.reductions)
        for group, rate in zip(course.optimiser.param_groups, rates, strict=True):
            group["lr"] = rate
    loss = course.loss(step)
    update(course.optimiser, loss.total / loss.divisor, clip=course.clip, fleet=fleet)
    mean = fleet.total(float(loss.total.detach())) / loss.divisor
    if not math.isfinite(mean):
        raise _diverged(run, f"the loss is {mean}", step)
    run.standing.step += 1
    logged = {name: fleet.total(value) / fleet.processes for name, value in loss.logged.items()}
    return mean, loss.read, logged, loss.notes


def _validate(run: _Run) -> None:
    course, standing = run.course, run.standing
    assert course.validate is not None
    figures = course.validate()
    loss = next(iter(figures.values()))
    if not loss < _HIGHEST:
        raise _diverged(run, f"the validation loss is {loss:g}", standing.step)
    if standing.note_validation(loss, gain=course.gain, keep=course.keeps_newest):
        run.store(BEST)
    if run.log is not None:
        run.log.write(standing.step, **{f"validation_{name}": value for name, value in figures.items()})
    if run.observer is not None:
        run.observer.validated(standing.step, loss, standing.best_loss)


def _diverged(run: _Run, what: str, step: int) -> OffscriptError:
    where = f"step {step} of {run.course.name}" if run.course.name else f"step {step}"
    return OffscriptError(f"{what} at {where}", next="lower the learning rate, or resume from an earlier run")


def _event_writer(folder: Path, resumed_at: int) -> Any:
    if importlib.util.find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder), purge_step=resumed_at + 1)
