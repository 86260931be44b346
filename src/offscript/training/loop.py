"""Training of language models: a recipe becomes a course of the step loop, whatever its algorithm.

Batches are addressed by the step, and the step's randomness (dropout included) is seeded by it, so a checkpoint needs
no generator state.
"""

import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from offscript import __version__
from offscript._catalogue import ALGORITHMS, TRAINERS
from offscript._specification import nearest
from offscript.corpora.batching import Batch
from offscript.errors import OffscriptError
from offscript.learning import (
    BEST,
    Course,
    Fleet,
    Loss,
    Observer,
    Standing,
    Trainer,
    course_of,
    in_bfloat16,
    learn,
    read_weights,
    seeded,
)
from offscript.learning import Trained as AnyTrained
from offscript.models.neural import NeuralLanguageModel
from offscript.models.registry import load_model, usable_device
from offscript.models.storage import build, save
from offscript.training.algorithm import Algorithm, Step, TokenBatch, settings_of
from offscript.training.data import TrainingData, open_data
from offscript.training.parallel import ParallelBatches, sources_of, validation_bleu
from offscript.training.recipe import Recipe, kind_and_settings, recipe_from

MODEL = "model"
_INITIALISATION, _STEPS = 0, 1


@dataclass(frozen=True)
class Trained(AnyTrained):
    """What a run leaves behind."""

    folder: Path
    steps: int
    validation_nll: float
    seconds: float

    @property
    def validation_ppl(self) -> float:
        """Perplexity of a validation token."""
        return math.exp(self.validation_nll)

    def figures(self) -> dict[str, Any]:
        figures = {"model": str(self.folder), "steps": self.steps, "validation_nll": self.validation_nll}
        return {**figures, "validation_ppl": self.validation_ppl}

    def __str__(self) -> str:
        perplexity = f"validation perplexity {self.validation_ppl:.2f}"
        return f"{self.folder}: {self.steps} steps, {perplexity}, {self.seconds:.0f} s"


def train(
    recipe: Recipe,
    folder: Path,
    *,
    device: str = "cpu",
    observer: Observer | None = None,
    checkpoint_seconds: float = 60.0,
    log_every: int = 10,
    half: bool = False,
) -> Trained:
    """Train a language model to the end, from the folder's last checkpoint where there is one.

    Args:
        recipe: What to train, on what, and how.
        folder: Of the run; the best model lands in `model/` below it.
        device: Where to train, such as `cpu` or `cuda:0`.
        observer: Follows the run.
        checkpoint_seconds: How often the run is stored, beside each validation.
        log_every: Steps from one line of `log.jsonl` to the next.
        half: Write the final weights in half precision.

    Returns:
        The model's folder, the steps taken, and the best validation.
    """
    algorithm = _algorithm(recipe)
    lessons = _prepare(recipe, algorithm, folder, Fleet.launched(usable_device(device)))
    standing = learn(
        lessons.course(),
        folder,
        observer=observer,
        recipe=recipe.model_dump(),
        checkpoint_seconds=checkpoint_seconds,
        log_every=log_every,
    )
    return _finish(lessons, folder, standing, half=half)


TRAINER = Trainer(recipe_from, train)


@dataclass(frozen=True)
class _Lessons:
    """A model, the algorithm that teaches it, and the data."""

    recipe: Recipe
    algorithm: Algorithm
    model: NeuralLanguageModel
    data: TrainingData
    fleet: Fleet

    def course(self) -> Course:
        recipe = self.recipe
        return course_of(
            self.model,
            self.loss,
            recipe.optimiser,
            recipe.stop,
            steps_per_epoch=self.data.steps_per_epoch,
            networks={"model": self.model, **self.algorithm.networks()},
            optimisers=self.algorithm.optimisers(),
            validate=self.validate,
            keeps_newest=self.algorithm.keeps_newest,
            fleet=self.fleet,
            digest=recipe.digest,
            data_hash=self.data.data_hash,
        )

    def loss(self, step: int) -> Loss:
        """The algorithm's loss of this process's share of a batch."""
        batch = self.data.batch(step)
        tokens = int(batch.lengths.sum())
        total = self.recipe.stop.total(self.data.steps_per_epoch)
        seed = (self.recipe.seed, _STEPS, step, self.fleet.rank)
        self.model.train()
        with seeded(*seed):
            share = self.fleet.share(batch)
            own, model = _on_device(share, self.fleet.device), given_sources(self.model, share)
            with torch.autocast(
                self.fleet.device.type, torch.bfloat16, enabled=in_bfloat16(self.recipe.bfloat16, self.fleet.device)
            ):
                loss = self.algorithm.loss(model, own, Step(step, total, seed))
        return replace(loss, divisor=tokens, read=tokens)

    def validate(self) -> Mapping[str, float]:
        figures = {"nll": validation_nll(self.model, self.data, self.fleet)}
        if isinstance(self.data, ParallelBatches) and self.data.scored:
            figures["bleu"] = validation_bleu(self.model, self.data.scored)
        return figures


def validation_nll(model: NeuralLanguageModel, data: TrainingData, fleet: Fleet) -> float:
    """Mean negative log-likelihood of a validation token."""
    total, tokens = 0.0, 0
    for batch in data.validation():
        share = fleet.share(batch)
        mine = _on_device(share, fleet.device)
        total -= float(given_sources(model, share).log_likelihoods(mine.tokens)[mine.real].sum(dtype=torch.float64))
        tokens += int(batch.lengths.sum())
    return fleet.total(total) / tokens


def given_sources(model: NeuralLanguageModel, batch: Batch) -> NeuralLanguageModel:
    """The model with a batch's sources, where it has any."""
    if batch.sources is None:
        return model
    given = model.given(sources_of(batch.sources))
    assert isinstance(given, NeuralLanguageModel)
    return given


def _prepare(recipe: Recipe, algorithm: Algorithm, folder: Path, fleet: Fleet) -> _Lessons:
    data = open_data(recipe.data, recipe.seed, device=str(fleet.device), folder=_encoded(folder, fleet))
    if data.steps_per_epoch < 1:
        raise OffscriptError("the training data fills no batch", next="give more text or smaller batches")
    with seeded(recipe.seed, _INITIALISATION):
        model = _fresh_model(recipe, data).to(fleet.device)
        algorithm.prepare(model, recipe.optimiser, fleet)
    algorithm.meet(
        lambda step: _on_device(fleet.share(data.batch(step)), fleet.device),
        lambda: (_on_device(batch, fleet.device) for batch in data.validation()),
    )
    return _Lessons(recipe, algorithm, model, data, fleet)


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
        known = (*ALGORITHMS, *TRAINERS)
        raise OffscriptError(f"unknown algorithm {recipe.algorithm!r}", next=nearest(recipe.algorithm, known))
    kind: type[Algorithm] = ALGORITHMS[recipe.algorithm]
    return kind(settings_of(kind.Settings, recipe.algorithm, recipe))


def _finish(lessons: _Lessons, folder: Path, standing: Standing, *, half: bool) -> Trained:
    fleet, model = lessons.fleet, lessons.model
    fleet.wait()
    read_weights(folder / BEST, model)
    if fleet.leads:
        save(model, folder / MODEL, card=_card(lessons, standing), half=half)
    shutil.rmtree(_encoded(folder, fleet), ignore_errors=True)
    fleet.wait()
    return Trained(folder / MODEL, standing.step, standing.best_loss, standing.seconds)


def _card(lessons: _Lessons, standing: Standing) -> dict[str, Any]:
    recipe = lessons.recipe
    return {
        "name": recipe.name,
        "about": recipe.about,
        "offscript": __version__,
        "recipe": recipe.model_dump(),
        "data_hash": lessons.data.data_hash,
        "steps": standing.step,
        "best_step": standing.best_step,
        "validation": {"nll": standing.best, "ppl": math.exp(standing.best_loss)},
        "seconds": round(standing.seconds),
    }


def _on_device(batch: Batch, device: torch.device) -> TokenBatch:
    tokens = torch.from_numpy(batch.tokens).to(device)
    lengths = torch.from_numpy(batch.lengths).to(device)
    return TokenBatch(tokens, torch.arange(tokens.shape[1], device=device) < lengths.unsqueeze(1))
