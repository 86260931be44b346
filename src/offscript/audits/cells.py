"""A cell: one model, named or trained, or one system, asked one question. It is a pure function of plain data.

So it can be sent to another process or machine, its recipe names its file, and resuming is skipping what exists.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field

from offscript._config import expanded
from offscript._specification import Setting, Specification
from offscript.audits.store import Store
from offscript.errors import OffscriptError
from offscript.learning import Observer
from offscript.measures.measurement import environment
from offscript.measures.question import Answer, Need, Silent
from offscript.measures.registry import question
from offscript.measures.subject import Subject
from offscript.models.language_model import LanguageModel
from offscript.models.registry import load_model, with_sources
from offscript.training import Recipe, recipe_from, train

CELLS, MODELS = "cells", "models"
_SOURCES = "sources"
_OF_SUBJECT = ("corpus", "associations", "limit", "against", _SOURCES)


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
    oracle_trainings: tuple[dict[str, Any], ...] = Field((), description="the recipe of an oracle that is trained too")
    model_settings: dict[str, Setting] = Field({}, description="what the trained model is loaded with, such as a dtype")
    call: MeasureCall
    seed: int = Field(1, ge=0)

    @property
    def recipe(self) -> dict[str, Any]:
        """What its file is named by; `$VARIABLES` stay as they are, since machines keep data in different places."""
        absent = {name for name in ("oracle_trainings", "model_settings") if not getattr(self, name)}
        return {
            **self.model_dump(mode="json", exclude={"name", *absent}),  # older cells keep their names
            "weights": [None if text is None else _weight_hash(text) for text in (self.model, self.oracle)],
            **environment(),
        }

    @staticmethod
    def run_together(
        cells: "Sequence[Cell]", out: Path, *, device: str, observer: "CellObserver | None" = None
    ) -> list[Answer]:
        """Run cells of one model."""
        return run_cells(cells, out, device=device, observer=observer)


class CellObserver(Protocol):
    """Follows cells."""

    def training(self, name: str) -> Observer | None:
        """The training behind a cell begins."""

    def measuring(self, name: str, question: str, *, stored: bool) -> None:
        """A cell begins; `stored` says that it is at hand already."""


def run_cells(
    cells: Sequence[Cell], out: Path, *, device: str = "cpu", observer: CellObserver | None = None
) -> list[Answer]:
    """Run cells of one model, which is loaded or trained once, and only if some cell is missing."""
    store, answers = Store(out / CELLS), []
    model: LanguageModel | None = None
    for cell in cells:
        stored = store.has(cell.recipe)
        if not stored and model is None:
            model = _model_of(cell, out, device, observer)
        if observer is not None:
            observer.measuring(cell.name, cell.call.question, stored=stored)
        if not stored:
            store.save(_answer(cell, model, _oracle_of(cell, out, device, observer), device), cell.recipe)
        answers.append(store.load(cell.recipe))
    return answers


def _model_of(cell: Cell, out: Path, device: str, observer: CellObserver | None) -> LanguageModel | None:
    """The model of a cell, trained where it must be; None where the cell is about a system."""
    if cell.model is not None:
        return load_model(str(expanded(cell.model)), device=device)
    return _taught(cell.trainings, cell.name, out, device, observer, cell.model_settings)


def _oracle_of(cell: Cell, out: Path, device: str, observer: CellObserver | None) -> LanguageModel | None:
    if cell.oracle is not None:
        return _oracle(cell.oracle, device)
    return _taught(cell.oracle_trainings, f"the oracle of {cell.name}", out, device, observer)


def _taught(
    trainings: Sequence[dict[str, Any]],
    name: str,
    out: Path,
    device: str,
    observer: CellObserver | None,
    settings: Mapping[str, Setting] = MappingProxyType({}),
) -> LanguageModel | None:
    """The model that some recipes give, each begun with the weights before it; None without any."""
    folder: Path | None = None
    for content in trainings:
        begun = {} if folder is None else {"warm_start": str(folder)}
        recipe = recipe_from(expanded({**content, **begun}), name)
        follows = None if observer is None else observer.training(name)
        folder = _trained(recipe, out / MODELS / recipe.digest, device, follows)
    if folder is None:
        return None
    model = load_model(str(Specification(str(folder), dict(settings))), device=device)
    model.name = name
    return model


def _trained(recipe: Recipe, folder: Path, device: str, observer: Observer | None) -> Path:
    """Train where nobody else does at the moment; who waited finds a finished run."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        return train(recipe, folder, device=device, observer=observer).folder


def _answer(cell: Cell, model: LanguageModel | None, oracle: LanguageModel | None, device: str) -> Answer:
    """A cell's settings are the question's, and beside them what its subject has: corpus, associations, limit, against.

    `sources` gives the model and the oracle, which then have an encoder, the sources of a file.
    """
    values, asked = expanded(cell.call.settings), question(cell.call.question)
    given = {
        name: values.pop(name) for name in _OF_SUBJECT if name in values and name not in asked.Settings.model_fields
    }
    if model is None and Need.model in asked.needs:
        raise OffscriptError(f"{cell.name} has no model", why=f"{asked.name} needs one", next="name or train a model")
    if path := given.pop(_SOURCES, None):
        model, oracle = (None if each is None else with_sources(each, path) for each in (model, oracle))
    subject = Subject(model, oracle, seed=cell.seed, device=device, **given)
    settings = asked.settings(values, f"{cell.name}, {asked.name}")
    return asked.answer(subject, settings, Silent(), constants=True)


@lru_cache(maxsize=1)
def _oracle(text: str, device: str) -> LanguageModel:
    return load_model(str(expanded(text)), device=device)


@cache
def _weight_hash(text: str) -> str:
    return load_model(str(expanded(text))).weight_hash
