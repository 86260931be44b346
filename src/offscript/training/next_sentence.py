"""Training of a next-sentence head: does a sentence follow another in a document, or come from elsewhere (B.2.3)?

It is no language model that is taught here, and what is read are pairs of sentences, so the run has a loop of its own;
recipes, checkpoints, optimiser, learning rate and logs are those of the shared one. `warm_start` names the model that
the head stands on, each text of `data.train` is a document, and pairs are cut to `data.batches.length` tokens.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.nn import functional

from offscript import __version__
from offscript._files import write_json
from offscript._validation import first_fault
from offscript.corpora.filters import Split
from offscript.corpora.permutation import Permutation, derived_seed
from offscript.corpora.prose import split_sentences
from offscript.corpora.readers import read_sentences
from offscript.errors import OffscriptError
from offscript.models.next_sentence import NextSentenceHead, encoder_of, save_head
from offscript.training.algorithm import AlgorithmSettings
from offscript.training.checkpoints import Standing, read_weights, resume, write_checkpoint
from offscript.training.logs import Log
from offscript.training.loop import BEST, LAST, Trained, Watcher
from offscript.training.optimisation import build_optimiser, learning_rate
from offscript.training.recipe import CorpusData, Recipe, Source

NAME, HEAD = "next-sentence", "head"
_VALIDATION_PAIRS = 2_000


class NextSentenceSettings(AlgorithmSettings):
    """Whether the model below is taught too; its dropout stays off either way."""

    fine_tune: bool = False


@dataclass(frozen=True)
class TrainedHead(Trained):
    """What a run leaves behind; the accuracy is that on held-out pairs, half of which follow each other."""

    accuracy: float


@dataclass(frozen=True)
class Documents:
    """Sentences document by document; documents of one sentence only lend theirs as strangers."""

    documents: Sequence[Sequence[str]]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """(document, place) of every sentence that another follows."""
        return [(number, place) for number, listed in enumerate(self.documents) for place in range(len(listed) - 1)]

    @cached_property
    def starts(self) -> list[int]:
        """How many sentences stand before each document, and in all."""
        return [0, *accumulate(len(listed) for listed in self.documents)]

    @cached_property
    def sentences(self) -> list[str]:
        """All sentences in their order."""
        return [sentence for listed in self.documents for sentence in listed]

    def labelled(self, numbers: Iterable[int], generator: np.random.Generator) -> tuple[list[tuple[str, str]], Tensor]:
        """Every numbered pair, and its first sentence with one from any other document; labels are 1 and 0."""
        shown, labels = [], []
        for document, place in (self.pairs[number] for number in numbers):
            first, second = self.documents[document][place : place + 2]
            shown += [(first, second), (first, self._stranger(document, generator))]
            labels += [1.0, 0.0]
        return shown, torch.tensor(labels)

    def _stranger(self, document: int, generator: np.random.Generator) -> str:
        own = len(self.documents[document])
        drawn = int(generator.integers(len(self.sentences) - own))
        return self.sentences[drawn if drawn < self.starts[document] else drawn + own]


def train_next_sentence(
    recipe: Recipe,
    folder: Path,
    *,
    device: str = "cpu",
    watcher: Watcher | None = None,
    checkpoint_seconds: float = 60.0,
    log_every: int = 10,
    half: bool = False,
) -> TrainedHead:
    """Train to the end, from the folder's last checkpoint where there is one; the best head lands in `head/`.

    With `half` its weights are written in half precision.
    """
    run = _prepare(recipe, folder, device)
    log = Log(folder, run.standing.step)
    if watcher is not None:
        watcher.begin(run.standing.step, run.total)
    try:
        _go_on(run, log, watcher, checkpoint_seconds, log_every)
    finally:
        log.close()
        if watcher is not None:
            watcher.end()
    return _finish(run, half=half)


@dataclass
class _Run:
    """Everything a run holds while it goes."""

    recipe: Recipe
    folder: Path
    head: NextSentenceHead
    optimiser: torch.optim.Optimizer
    train: Documents
    validation: Documents
    standing: Standing

    @property
    def pairs_a_step(self) -> int:
        return max(1, _data(self.recipe).batches.size // 2)

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.train.pairs) / self.pairs_a_step)

    @property
    def total(self) -> int:
        steps = self.recipe.stop.epochs * self.steps_per_epoch
        return min(steps, self.recipe.stop.steps or steps)

    @property
    def validate_every(self) -> int:
        return self.recipe.stop.validate_every or self.steps_per_epoch

    def checkpoint(self, name: str) -> None:
        write_checkpoint(self.folder / name, {HEAD: self.head}, {HEAD: self.optimiser}, self.standing)


def _prepare(recipe: Recipe, folder: Path, device: str) -> _Run:
    if recipe.warm_start is None:
        raise OffscriptError("a next-sentence head needs a model to stand on", next="name it as warm_start")
    try:
        settings = NextSentenceSettings(**recipe.algorithm_settings)
    except ValidationError as fault:
        raise OffscriptError(
            f"the settings of {NAME} do not fit", why=first_fault(fault, NextSentenceSettings)
        ) from fault
    train, validation = _documents(_data(recipe))
    encoder = encoder_of(recipe.warm_start, device=device)
    generator = torch.Generator().manual_seed(derived_seed(recipe.seed, HEAD) >> 1)
    longest = _data(recipe).batches.length
    head = NextSentenceHead(encoder, longest=longest, fine_tune=settings.fine_tune, generator=generator).to(device)
    optimiser = build_optimiser(head, recipe.optimiser)
    run = _Run(recipe, folder, head, optimiser, train, validation, Standing(recipe.digest))
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / LAST).is_file():
        write_json(folder / "recipe.json", recipe.model_dump())
        return run
    run.standing = resume(folder / LAST, {HEAD: head}, {HEAD: optimiser}, run.standing)
    return run


def _go_on(run: _Run, log: Log, watcher: Watcher | None, checkpoint_seconds: float, log_every: int) -> None:
    """Step after step until the run is finished, written down now and then."""
    began, saved = time.monotonic() - run.standing.seconds, time.monotonic()
    while not run.standing.finished(run.total, run.recipe.stop.patience):
        stepped = time.monotonic()
        loss, words = _take_step(run)
        speed = words / (time.monotonic() - stepped)
        run.standing.seconds = time.monotonic() - began
        if watcher is not None:
            watcher.step(run.standing.step, loss, speed)
        if run.standing.step % log_every == 0:
            log.write(run.standing.step, loss=loss, words_per_second=speed)
        if run.standing.step % run.validate_every == 0 or run.standing.step == run.total:
            _validate(run, log, watcher)
        elif time.monotonic() - saved < checkpoint_seconds:
            continue
        run.checkpoint(LAST)
        saved = time.monotonic()


def _take_step(run: _Run) -> tuple[float, int]:
    """One update; answers the mean loss and the words it saw."""
    step, recipe = run.standing.step, run.recipe
    epoch, index = divmod(step, run.steps_per_epoch)
    order = Permutation(len(run.train.pairs), derived_seed(recipe.seed, epoch))
    first = index * run.pairs_a_step
    numbers = order(np.arange(first, min(first + run.pairs_a_step, len(run.train.pairs))))
    pairs, labels = run.train.labelled(numbers.tolist(), np.random.default_rng([recipe.seed, step]))
    for group in run.optimiser.param_groups:
        group["lr"] = learning_rate(recipe.optimiser, step, run.total, run.standing.reductions)
    logits = run.head(pairs)
    loss = functional.binary_cross_entropy_with_logits(logits, labels.to(logits.device))
    run.optimiser.zero_grad(set_to_none=True)
    loss.backward()
    if recipe.optimiser.clip is not None:
        torch.nn.utils.clip_grad_norm_(run.head.parameters(), recipe.optimiser.clip)
    run.optimiser.step()
    value = float(loss.detach())
    if not math.isfinite(value):
        raise OffscriptError(f"the loss is {value} at step {step}", next="lower the learning rate")
    run.standing.step += 1
    return value, sum(len(sentence.split()) for pair in pairs for sentence in pair)


def _validate(run: _Run, log: Log, watcher: Watcher | None) -> None:
    standing = run.standing
    loss, accuracy = _held_out(run)
    if standing.note_validation(loss, gain=run.recipe.stop.gain):
        run.checkpoint(BEST)
    log.write(standing.step, validation_nll=loss, validation_accuracy=accuracy)
    if watcher is not None:
        watcher.validated(standing.step, loss, standing.best_loss)


def _held_out(run: _Run) -> tuple[float, float]:
    """Mean loss and accuracy on held-out pairs, always the same ones."""
    chosen = range(min(len(run.validation.pairs), _VALIDATION_PAIRS))
    pairs, labels = run.validation.labelled(chosen, np.random.default_rng(run.recipe.seed))
    size = 2 * run.pairs_a_step
    with torch.inference_mode():
        logits = torch.cat([run.head(pairs[first : first + size]).cpu() for first in range(0, len(pairs), size)])
    loss = functional.binary_cross_entropy_with_logits(logits, labels)
    return float(loss), float(((logits > 0) == (labels > 0)).double().mean())


def _finish(run: _Run, *, half: bool) -> TrainedHead:
    standing = run.standing
    read_weights(run.folder / BEST, run.head, HEAD)
    _, accuracy = _held_out(run)
    save_head(run.head, run.folder / HEAD, _card(run, accuracy), half=half)
    return TrainedHead(run.folder / HEAD, standing.step, standing.best_loss, standing.seconds, accuracy)


def _card(run: _Run, accuracy: float) -> dict[str, Any]:
    return {
        "name": run.recipe.name,
        "offscript": __version__,
        "recipe": run.recipe.model_dump(),
        "steps": run.standing.step,
        "best_step": run.standing.best_step,
        "validation": {"nll": run.standing.best, "accuracy": accuracy},
        "seconds": round(run.standing.seconds),
    }


def _data(recipe: Recipe) -> CorpusData:
    if not isinstance(recipe.data, CorpusData):
        raise OffscriptError("a next-sentence head learns from documents", next="give data.train files")
    return recipe.data


def _documents(data: CorpusData) -> tuple[Documents, Documents]:
    """Training and validation documents; without validation files they part by hash."""
    split = Split({"train": 1 - data.validation_share, "validation": data.validation_share})
    train, validation = _texts(data.train), _texts(data.validation)
    if not data.validation:
        train, validation = ([text for text in train if split.part(text) == part] for part in ("train", "validation"))
    found = tuple(Documents([split_sentences(text) for text in texts]) for texts in (train, validation))
    for name, documents in zip(("training", "validation"), found, strict=True):
        if not documents.pairs or len(documents.documents) < 2:
            raise OffscriptError(
                f"the {name} text has no two documents of which one has two sentences",
                next="put one document on a line",
            )
    return found[0], found[1]


def _texts(sources: Sequence[Source]) -> list[str]:
    return [
        text for source in sources for text in read_sentences(source.path, format=source.format, field=source.field)
    ]
