"""Training of a next-sentence head: does a sentence follow another in a document, or come from elsewhere (B.2.3)?

The recipe is that of a language model. `warm_start` names the model that the head stands on, each text of `data.train`
is a document, and pairs are cut to `data.batches.length` tokens.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from offscript import __version__
from offscript.corpora.filters import Split
from offscript.corpora.permutation import Permutation, derived_seed
from offscript.corpora.prose import split_sentences
from offscript.corpora.readers import read_sentences
from offscript.errors import OffscriptError
from offscript.learning import BEST, Course, Loss, Observer, Standing, Trained, Trainer, course_of, learn, read_weights
from offscript.models.next_sentence import NextSentenceHead, encoder_of, save_head
from offscript.training.algorithm import AlgorithmSettings, settings_of
from offscript.training.recipe import CorpusData, Recipe, Source, recipe_from

NAME, HEAD = "next-sentence", "head"
_VALIDATION_PAIRS = 2_000


class NextSentenceSettings(AlgorithmSettings):
    """Whether the model below is taught too; its dropout stays off either way."""

    fine_tune: bool = False


@dataclass(frozen=True)
class TrainedHead(Trained):
    """What a run leaves behind; the accuracy is that on held-out pairs, half of which follow each other."""

    folder: Path
    steps: int
    validation_nll: float
    seconds: float
    accuracy: float

    def figures(self) -> dict[str, Any]:
        return {"head": str(self.folder), "steps": self.steps, "validation_accuracy": self.accuracy}

    def __str__(self) -> str:
        return f"{self.folder}: {self.steps} steps, held-out accuracy {self.accuracy:.1%}, {self.seconds:.0f} s"


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
    observer: Observer | None = None,
    checkpoint_seconds: float = 60.0,
    log_every: int = 10,
    half: bool = False,
) -> TrainedHead:
    """Train to the end, from the folder's last checkpoint where there is one; the best head lands in `head/`.

    The arguments are those of `train`.
    """
    lessons = _prepare(recipe, device)
    standing = learn(
        lessons.course(),
        folder,
        observer=observer,
        recipe=recipe.model_dump(),
        checkpoint_seconds=checkpoint_seconds,
        log_every=log_every,
    )
    read_weights(folder / BEST, lessons.head, HEAD)
    accuracy = lessons.validate()["accuracy"]
    save_head(lessons.head, folder / HEAD, _card(recipe, standing, accuracy), half=half)
    return TrainedHead(folder / HEAD, standing.step, standing.best_loss, standing.seconds, accuracy)


TRAINER = Trainer(recipe_from, train_next_sentence)


@dataclass(frozen=True)
class _Lessons:
    """A head, and the documents that it learns from and is validated on."""

    recipe: Recipe
    head: NextSentenceHead
    train: Documents
    validation: Documents

    @property
    def pairs_per_step(self) -> int:
        return max(1, _data(self.recipe).batches.size // 2)

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(len(self.train.pairs) / self.pairs_per_step)

    def course(self) -> Course:
        return course_of(
            self.head,
            self.loss,
            self.recipe.optimiser,
            self.recipe.stop,
            steps_per_epoch=self.steps_per_epoch,
            networks={HEAD: self.head},
            validate=self.validate,
            digest=self.recipe.digest,
            unit="words",
        )

    def loss(self, step: int) -> Loss:
        """Cross-entropy over pairs that follow each other and as many that do not."""
        epoch, index = divmod(step, self.steps_per_epoch)
        order = Permutation(len(self.train.pairs), derived_seed(self.recipe.seed, epoch))
        first = index * self.pairs_per_step
        numbers = order(np.arange(first, min(first + self.pairs_per_step, len(self.train.pairs))))
        pairs, labels = self.train.labelled(numbers.tolist(), np.random.default_rng([self.recipe.seed, step]))
        logits = self.head(pairs)
        loss = functional.binary_cross_entropy_with_logits(logits, labels.to(logits.device))
        return Loss(loss, read=sum(len(sentence.split()) for pair in pairs for sentence in pair))

    def validate(self) -> dict[str, float]:
        """Mean loss and accuracy on held-out pairs, always the same ones."""
        chosen = range(min(len(self.validation.pairs), _VALIDATION_PAIRS))
        pairs, labels = self.validation.labelled(chosen, np.random.default_rng(self.recipe.seed))
        size = 2 * self.pairs_per_step
        with torch.inference_mode():
            logits = torch.cat([self.head(pairs[first : first + size]).cpu() for first in range(0, len(pairs), size)])
        loss = functional.binary_cross_entropy_with_logits(logits, labels)
        return {"nll": float(loss), "accuracy": float(((logits > 0) == (labels > 0)).double().mean())}


def _prepare(recipe: Recipe, device: str) -> _Lessons:
    if recipe.warm_start is None:
        raise OffscriptError("a next-sentence head needs a model to stand on", next="name it as warm_start")
    settings = settings_of(NextSentenceSettings, NAME, recipe)
    train, validation = _documents(_data(recipe))
    encoder = encoder_of(recipe.warm_start, device=device)
    generator = torch.Generator().manual_seed(derived_seed(recipe.seed, HEAD) >> 1)
    longest = _data(recipe).batches.length
    head = NextSentenceHead(encoder, longest=longest, fine_tune=settings.fine_tune, generator=generator).to(device)
    return _Lessons(recipe, head, train, validation)


def _card(recipe: Recipe, standing: Standing, accuracy: float) -> dict[str, Any]:
    return {
        "name": recipe.name,
        "offscript": __version__,
        "recipe": recipe.model_dump(),
        "steps": standing.step,
        "best_step": standing.best_step,
        "validation": {"nll": standing.best, "accuracy": accuracy},
        "seconds": round(standing.seconds),
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
