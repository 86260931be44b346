"""The one training loop: every algorithm runs in it, and every run can be killed and resumed exactly.

A step is a function of the weights, the optimiser's moments and the step's number: batches are addressed by the
step, and the step's randomness (dropout included) is seeded by it. So a checkpoint needs no generator state.
"""

import math
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from pydantic import ValidationError
from torch import nn

from offscript import __version__
from offscript._files import write_json
from offscript._specification import nearest
from offscript._validation import first_fault
from offscript.corpora.batching import Batch
from offscript.errors import OffscriptError
from offscript.models.neural import NeuralLanguageModel
from offscript.models.registry import load_model
from offscript.models.storage import build, save
from offscript.training.algorithm import Algorithm, Step, TokenBatch
from offscript.training.checkpoints import Standing, read_weights, resume, write_checkpoint
from offscript.training.cooperative import Cooperative
from offscript.training.data import TrainingData, open_data
from offscript.training.fleet import Fleet
from offscript.training.leakgan import LeakGAN
from offscript.training.logs import Log
from offscript.training.minimum_risk import MinimumRisk
from offscript.training.optimisation import build_optimiser, learning_rate
from offscript.training.rankgan import RankGAN
from offscript.training.recipe import Recipe, kind_and_settings
from offscript.training.recurrent_gan import RecurrentGAN
from offscript.training.reinforce import Reinforce
from offscript.training.scheduled_sampling import ScheduledSampling
from offscript.training.searnn import Searnn
from offscript.training.seqgan import SeqGAN
from offscript.training.teacher_forcing import TeacherForcing

_KNOWN: tuple[type[Algorithm], ...] = (
    TeacherForcing,
    ScheduledSampling,
    Searnn,
    MinimumRisk,
    Reinforce,
    Cooperative,
    SeqGAN,
    RankGAN,
    LeakGAN,
    RecurrentGAN,
)
ALGORITHMS: dict[str, type[Algorithm]] = {algorithm.name: algorithm for algorithm in _KNOWN}
"""What a recipe's `algorithm` may say."""

LAST, BEST, MODEL = "last.safetensors", "best.safetensors", "model"
_INITIALISATION, _STEPS = 0, 1
_HIGHEST_NLL = 700.0
"""Beyond it a perplexity is more than a float can hold."""


class Watcher(Protocol):
    """Who follows a run: the command line's progress bar, or nobody."""

    def begin(self, step: int, total: int) -> None:
        """The run starts, or goes on, at a step of `total`."""

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        """A step is done."""

    def validated(self, step: int, nll: float, best: float) -> None:
        """A validation is done: mean negative log-likelihood of a token."""

    def end(self) -> None:
        """The run is over, or was stopped."""


@dataclass(frozen=True)
class Trained:
    """What a run leaves behind."""

    folder: Path
    steps: int
    validation_nll: float
    seconds: float


@dataclass
class _Run:
    """Everything a run holds while it goes."""

    recipe: Recipe
    folder: Path
    fleet: Fleet
    data: TrainingData
    model: NeuralLanguageModel
    algorithm: Algorithm
    optimiser: torch.optim.Optimizer
    standing: Standing
    total: int

    @property
    def networks(self) -> dict[str, nn.Module]:
        return {"model": self.model, **self.algorithm.networks()}

    @property
    def optimisers(self) -> dict[str, torch.optim.Optimizer]:
        return {"model": self.optimiser, **self.algorithm.optimisers()}

    def checkpoint(self, name: str) -> None:
        if self.fleet.leads:
            write_checkpoint(self.folder / name, self.networks, self.optimisers, self.standing)


@dataclass(frozen=True)
class _Taken:
    """One step, done: the loss of a token, what the algorithm wants logged, and how fast it went."""

    loss: float
    logged: dict[str, float]
    tokens_per_second: float


def train(
    recipe: Recipe,
    folder: Path,
    *,
    device: str = "cpu",
    watcher: Watcher | None = None,
    checkpoint_seconds: float = 60.0,
    log_every: int = 10,
    half: bool = False,
) -> Trained:
    """Train to the end, from the folder's last checkpoint where there is one; the best model lands in `model/`.

    With `half` its weights are written in half precision.
    """
    run = _prepare(recipe, folder, Fleet(device))
    log = Log(folder, run.standing.step) if run.fleet.leads else None
    watcher = watcher if run.fleet.leads else None
    if watcher is not None:
        watcher.begin(run.standing.step, run.total)
    try:
        _go_on(run, log, watcher, checkpoint_seconds, log_every)
    finally:
        if log is not None:
            log.close()
        if watcher is not None:
            watcher.end()
    return _finish(run, half=half)


def _go_on(run: _Run, log: Log | None, watcher: Watcher | None, checkpoint_seconds: float, log_every: int) -> None:
    """Step after step until the run is finished, written down now and then."""
    began, saved = time.monotonic() - run.standing.seconds, time.monotonic()
    while not run.standing.finished(run.total, run.recipe.stop.patience):
        taken = _take_step(run)
        run.standing.seconds = time.monotonic() - began
        if watcher is not None:
            watcher.step(run.standing.step, taken.loss, taken.tokens_per_second)
        if log is not None and run.standing.step % log_every == 0:
            speed = taken.tokens_per_second
            log.write(run.standing.step, loss=taken.loss, **taken.logged, tokens_per_second=speed)
        if _validation_is_due(run):
            _validate(run, log, watcher)
        elif time.monotonic() - saved < checkpoint_seconds:
            continue
        run.checkpoint(LAST)
        saved = time.monotonic()


def validation_nll(model: NeuralLanguageModel, data: TrainingData, fleet: Fleet) -> float:
    """Mean negative log-likelihood of a validation token."""
    total, tokens = 0.0, 0
    for batch in data.validation():
        mine = _on_device(fleet.share(batch), fleet.device)
        total -= float(model.log_likelihoods(mine.tokens)[mine.real].sum(dtype=torch.float64))
        tokens += int(batch.lengths.sum())
    return fleet.total(total) / tokens


def _prepare(recipe: Recipe, folder: Path, fleet: Fleet) -> _Run:
    algorithm = _algorithm(recipe)
    folder.mkdir(parents=True, exist_ok=True)
    data = open_data(recipe.data, recipe.seed, device=str(fleet.device), folder=_encoded(folder, fleet))
    if data.steps_per_epoch < 1:
        raise OffscriptError("the training data fills no batch", next="give more text or smaller batches")
    with _seeded(recipe.seed, _INITIALISATION):
        model = _fresh_model(recipe, data).to(fleet.device)
        algorithm.prepare(model, recipe.optimiser, fleet)
    total = recipe.stop.epochs * data.steps_per_epoch
    run = _Run(
        recipe=recipe,
        folder=folder,
        fleet=fleet,
        data=data,
        model=model,
        algorithm=algorithm,
        optimiser=build_optimiser(model, recipe.optimiser),
        standing=Standing(recipe.digest, data.data_hash),
        total=min(total, recipe.stop.steps or total),
    )
    if (folder / LAST).is_file():
        run.standing = resume(folder / LAST, run.networks, run.optimisers, run.standing)
    elif fleet.leads:
        write_json(folder / "recipe.json", recipe.model_dump())
    return run


def _encoded(folder: Path, fleet: Fleet) -> Path:
    """Where this process keeps the encoded corpus while it trains."""
    return folder / f".corpus-{fleet.rank}"


def _fresh_model(recipe: Recipe, data: TrainingData) -> NeuralLanguageModel:
    model = build(*kind_and_settings(recipe.model), data.vocabulary)
    if recipe.warm_start is not None:
        begun = load_model(recipe.warm_start)
        if not isinstance(begun, NeuralLanguageModel) or begun.describe() != model.describe():
            raise OffscriptError(
                f"{recipe.warm_start} has another shape than the recipe's model", next="copy its settings"
            )
        model.load_state_dict(begun.state_dict())
    return model


def _algorithm(recipe: Recipe) -> Algorithm:
    if recipe.algorithm not in ALGORITHMS:
        raise OffscriptError(f"unknown algorithm {recipe.algorithm!r}", next=nearest(recipe.algorithm, ALGORITHMS))
    kind = ALGORITHMS[recipe.algorithm]
    try:
        return kind(kind.Settings(**recipe.algorithm_settings))
    except ValidationError as fault:
        raise OffscriptError(
            f"the settings of {recipe.algorithm} do not fit", why=first_fault(fault, kind.Settings)
        ) from fault


def _take_step(run: _Run) -> _Taken:
    """One update."""
    began = time.monotonic()
    number = run.standing.step
    batch = run.data.batch(number)
    tokens = int(batch.lengths.sum())
    rate = learning_rate(run.recipe.optimiser, number, run.total, run.standing.reductions)
    for group in run.optimiser.param_groups:
        group["lr"] = rate
    run.model.train()
    with _seeded(run.recipe.seed, _STEPS, number, run.fleet.rank):
        step = Step(number, run.total, (run.recipe.seed, _STEPS, number, run.fleet.rank))
        loss = run.algorithm.loss(run.model, _on_device(run.fleet.share(batch), run.fleet.device), step)
        run.optimiser.zero_grad(set_to_none=True)
        (loss.total / tokens).backward()
    run.fleet.add_up_gradients(run.model)
    if run.recipe.optimiser.clip is not None:
        nn.utils.clip_grad_norm_(run.model.parameters(), run.recipe.optimiser.clip)
    run.optimiser.step()
    mean = run.fleet.total(float(loss.total.detach())) / tokens
    if not math.isfinite(mean):
        raise _diverged(f"the loss is {mean}", number)
    logged = {name: run.fleet.total(value) / run.fleet.processes for name, value in loss.logged.items()}
    run.standing.step += 1
    return _Taken(mean, logged, tokens / (time.monotonic() - began))


def _validation_is_due(run: _Run) -> bool:
    every = run.recipe.stop.validate_every or run.data.steps_per_epoch
    return run.standing.step % every == 0 or run.standing.step == run.total


def _validate(run: _Run, log: Log | None, watcher: Watcher | None) -> None:
    standing, nll = run.standing, validation_nll(run.model, run.data, run.fleet)
    if not nll < _HIGHEST_NLL:
        raise _diverged(f"the validation loss is {nll:g}", standing.step)
    if standing.note_validation(nll, gain=run.recipe.stop.gain, keep=run.algorithm.keeps_newest):
        run.checkpoint(BEST)
    if log is not None:
        log.write(standing.step, validation_nll=nll)
    if watcher is not None:
        watcher.validated(standing.step, nll, standing.best_loss)


def _diverged(what: str, step: int) -> OffscriptError:
    return OffscriptError(f"{what} at step {step}", next="lower the learning rate, or resume from an earlier run")


def _finish(run: _Run, *, half: bool) -> Trained:
    standing = run.standing
    run.fleet.wait()
    read_weights(run.folder / BEST, run.model)
    if run.fleet.leads:
        save(run.model, run.folder / MODEL, card=_card(run), half=half)
    shutil.rmtree(_encoded(run.folder, run.fleet), ignore_errors=True)
    run.fleet.wait()
    return Trained(run.folder / MODEL, standing.step, standing.best_loss, standing.seconds)


def _card(run: _Run) -> dict[str, Any]:
    return {
        "name": run.recipe.name,
        "about": run.recipe.about,
        "offscript": __version__,
        "recipe": run.recipe.model_dump(),
        "data_hash": run.data.data_hash,
        "steps": run.standing.step,
        "best_step": run.standing.best_step,
        "validation": {"nll": run.standing.best, "ppl": math.exp(run.standing.best_loss)},
        "seconds": round(run.standing.seconds),
    }


def _on_device(batch: Batch, device: torch.device) -> TokenBatch:
    tokens = torch.from_numpy(batch.tokens).to(device)
    lengths = torch.from_numpy(batch.lengths).to(device)
    return TokenBatch(tokens, torch.arange(tokens.shape[1], device=device) < lengths.unsqueeze(1))


@contextmanager
def _seeded(*parts: int) -> Iterator[None]:
    """Everything random inside follows from the parts alone; the generators outside are left as they were."""
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence(list(parts)).generate_state(1, np.uint64)[0] >> np.uint64(1)))  # noqa: TID251 (dropout knows no generator)
        yield
