"""A cell: one model, named or trained, or one system, asked one question. It is a pure function of plain data.

So it can be sent to another process or machine, its recipe names its file, and resuming is skipping what exists.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field

from offscript._config import expanded
from offscript._specification import nearest
from offscript.audits.measures import MEASURES
from offscript.audits.store import Store
from offscript.audits.systems import SYSTEMS
from offscript.errors import OffscriptError
from offscript.learning import Observer
from offscript.measures.measurement import Measurement, environment
from offscript.models.language_model import LanguageModel
from offscript.models.registry import load_model
from offscript.training import Recipe, recipe_from, train

CELLS, MODELS = "cells", "models"


class MeasureCall(BaseModel):
    """A question and the settings it is asked with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    settings: dict[str, Any] = {}


class Cell(BaseModel):
    """What decides the figures, and a name for whose they are, which decides nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    model: str | None = Field(None, description="a model that exists")
    trainings: tuple[dict[str, Any], ...] = Field((), description="recipes, each begun with the weights before it")
    oracle: str | None = None
    call: MeasureCall
    seed: int = Field(1, ge=0)

    @property
    def recipe(self) -> dict[str, Any]:
        """What its file is named by; `$VARIABLES` stay as they are, since machines keep data in different places."""
        return {
            **self.model_dump(mode="json", exclude={"name"}),
            "weights": [None if text is None else _weight_hash(text) for text in (self.model, self.oracle)],
            **environment(),
        }


class Watcher(Protocol):
    """Who follows cells."""

    def training(self, name: str) -> Observer | None:
        """The training behind a cell begins."""

    def measuring(self, name: str, question: str, *, stored: bool) -> None:
        """A cell begins; `stored` says that it is at hand already."""


def run_cells(
    cells: Sequence[Cell], out: Path, *, device: str = "cpu", watcher: Watcher | None = None
) -> list[list[Measurement]]:
    """Run cells of one model, which is loaded or trained once, and only if some cell is missing."""
    store, found = Store(out / CELLS), []
    model: LanguageModel | None = None
    for cell in cells:
        require_known(cell.call.question)
        stored = store.has(cell.recipe)
        if not stored and model is None:
            model = _model_of(cell, out, device, watcher)
        if watcher is not None:
            watcher.measuring(cell.name, cell.call.question, stored=stored)
        if not stored:
            store.save(_asked(cell, model, device), cell.recipe)
        found.append(store.load(cell.recipe))
    return found


def require_known(question: str) -> None:
    """Refuse a question that no cell can ask."""
    if question not in MEASURES and question not in SYSTEMS:
        raise OffscriptError(f"no experiment can ask {question!r}", next=nearest(question, [*MEASURES, *SYSTEMS]))


def _model_of(cell: Cell, out: Path, device: str, watcher: Watcher | None) -> LanguageModel | None:
    """The model of a cell, trained where it must be; None where the cell is about a system."""
    if cell.model is not None:
        return load_model(str(expanded(cell.model)), device=device)
    folder: Path | None = None
    for content in cell.trainings:
        begun = {} if folder is None else {"warm_start": str(folder)}
        recipe = recipe_from(expanded({**content, **begun}), cell.name)
        follows = None if watcher is None else watcher.training(cell.name)
        folder = _trained(recipe, out / MODELS / recipe.digest, device, follows)
    if folder is None:
        return None
    model = load_model(str(folder), device=device)
    model.name = cell.name
    return model


def _trained(recipe: Recipe, folder: Path, device: str, observer: Observer | None) -> Path:
    """Train where nobody else does at the moment; who waited finds a finished run."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        return train(recipe, folder, device=device, observer=observer).folder


def _asked(cell: Cell, model: LanguageModel | None, device: str) -> list[Measurement]:
    settings = expanded(cell.call.settings)
    if cell.call.question in SYSTEMS:
        return SYSTEMS[cell.call.question](seed=cell.seed, **settings)
    if model is None:
        raise OffscriptError(
            f"{cell.name} has no model", why=f"{cell.call.question} is asked of one", next="name or train a model"
        )
    oracle = None if cell.oracle is None else _oracle(cell.oracle, device)
    return MEASURES[cell.call.question](model, oracle, seed=cell.seed, **settings)


@lru_cache(maxsize=1)
def _oracle(text: str, device: str) -> LanguageModel:
    return load_model(str(expanded(text)), device=device)


@cache
def _weight_hash(text: str) -> str:
    return load_model(str(expanded(text))).weight_hash
