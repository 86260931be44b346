"""Run an experiment: train what must be trained, measure what is not measured yet, hold it against the paper."""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from offscript._specification import nearest
from offscript.audits.experiment import Experiment, MeasureCall, Variant, change
from offscript.audits.measures import MEASURES
from offscript.audits.runs import averaged, correlations
from offscript.audits.store import Store, write_results
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement, environment
from offscript.models.language_model import LanguageModel
from offscript.models.registry import load_model
from offscript.training.loop import MODEL, train
from offscript.training.loop import Watcher as TrainingWatcher
from offscript.training.recipe import Recipe, expanded, recipe_from


@dataclass(frozen=True)
class Comparison:
    """A statement of the paper beside what was found: its words, ours, and whether our intervals decide it."""

    statement: str
    found: str
    verdict: str


@dataclass(frozen=True)
class Reproduction:
    """The figures of every variant, `VARIANT/QUESTION.NAME`, and the paper's statements about them."""

    experiment: Experiment
    figures: dict[str, Measurement]
    comparisons: list[Comparison]


class Watcher(Protocol):
    """Who follows a reproduction."""

    def training(self, variant: str) -> TrainingWatcher:
        """A variant's training begins."""

    def measuring(self, variant: str, question: str, *, stored: bool) -> None:
        """A measure of a variant begins."""


def reproduce(
    experiment: Experiment, out: Path, *, seed: int = 1, device: str = "cpu", watcher: Watcher | None = None
) -> Reproduction:
    """Every run of every variant through every measure; what an earlier call finished is read, not run again.

    Run i of a variant is trained and measured with seeds that are i higher, the same for all variants: runs pair.
    """
    oracle = None if experiment.oracle is None else load_model(_path(experiment.oracle), device=device)
    store = Store(out / "cells")
    runs: dict[str, list[dict[str, Measurement]]] = {}
    for variant in experiment.variants:
        runs[variant.name] = []
        for run in range(1 if variant.model is not None else experiment.seeds):
            model = _model_of(experiment, variant, run, out, device, watcher)
            found = [
                entry
                for call in experiment.measures
                for entry in _measured(call, variant, model, oracle, store, seed + run, watcher)
            ]
            runs[variant.name].append({f"{entry.question}.{entry.name}": entry for entry in found})
    groups = {name: averaged(each) for name, each in runs.items()}
    for group, members in experiment.correlations.items():
        groups[group] = correlations((run for member in members for run in runs[member]), seed=seed)
    figures = {f"{group}/{name}": entry for group, own in groups.items() for name, entry in own.items()}
    comparisons = [Comparison(str(expected), *expected.judged(figures)) for expected in experiment.expected]
    return Reproduction(experiment, figures, comparisons)


def _model_of(
    experiment: Experiment, variant: Variant, run: int, out: Path, device: str, watcher: Watcher | None
) -> LanguageModel:
    if variant.model is not None:
        return load_model(_path(variant.model), device=device)
    recipe = _recipe_of(experiment, variant, run, out)
    follows = None if watcher is None else watcher.training(variant.name)
    trained = train(recipe, _folder(recipe, out), device=device, watcher=follows)
    model = load_model(str(trained.folder), device=device)
    model.name = variant.name
    return model


def _recipe_of(experiment: Experiment, variant: Variant, run: int, out: Path) -> Recipe:
    content = copy.deepcopy(experiment.training)
    for key, value in variant.changes.items():
        change(content, key, value)
    content["seed"] = content.get("seed", 1) + run
    if variant.begins_with is not None:
        [earlier] = [each for each in experiment.variants if each.name == variant.begins_with]
        trained = _folder(_recipe_of(experiment, earlier, run, out), out) / MODEL
        content["warm_start"] = _path(earlier.model) if earlier.model is not None else str(trained)
    return recipe_from(expanded(content), f"{experiment.name}, {variant.name}")


def _folder(recipe: Recipe, out: Path) -> Path:
    return out / "models" / recipe.digest


def _measured(
    call: MeasureCall,
    variant: Variant,
    model: LanguageModel,
    oracle: LanguageModel | None,
    store: Store,
    seed: int,
    watcher: Watcher | None,
) -> list[Measurement]:
    if call.question not in MEASURES:
        raise OffscriptError(f"no experiment can ask {call.question!r}", next=nearest(call.question, MEASURES))
    settings = expanded({**call.settings, **variant.settings})
    recipe = {
        "question": call.question,
        "settings": settings,
        "weights": model.weight_hash,
        "oracle": None if oracle is None else oracle.weight_hash,
        "seed": seed,
        **environment(),
    }
    stored = store.has(recipe)
    if watcher is not None:
        watcher.measuring(variant.name, call.question, stored=stored)
    if stored:
        return store.load(recipe)
    found = MEASURES[call.question](model, oracle, seed=seed, **settings)
    store.save(found, recipe)
    return found


def _path(model: str) -> str:
    return str(expanded(model))


def store_reproduction(found: Reproduction, out: Path, scale: str) -> list[Path]:
    """Results files, one a variant and one a group of correlations."""
    by_group: dict[str, list[Measurement]] = {}
    for name, entry in found.figures.items():
        by_group.setdefault(name.split("/", 1)[0], []).append(entry)
    config: dict[str, Any] = {"experiment": found.experiment.name, "scale": scale}
    return [write_results(out, group, own, config=config) for group, own in by_group.items()]
