"""A trained MTransSAN becomes the small model that ships: int8, heads refitted, classes weighed on held-out bodies."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from offscript.factcheck.stance import mtranssan, served, storage
from offscript.factcheck.stance.exporting import export_graph, int8_encoder, teach_heads
from offscript.factcheck.stance.recipe import StanceRecipe, every_training_pair, held_out_pairs
from offscript.factcheck.stance.scores import best_weights
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.tasks import read_task
from offscript.factcheck.stance.two_level import STANCE, Reading, TwoLevelModel


def ship(recipe: StanceRecipe, trained: Path, out: Path, *, int8: bool = True) -> Path:
    """The graph with its tokenizer, first level and card; with `int8` off the same in full precision, to compare."""
    model = mtranssan.load(trained)
    if not isinstance(model.judge, mtranssan.TorchJudge):
        raise TypeError(f"{trained} holds no network")
    network = model.judge.network
    out.mkdir(parents=True, exist_ok=True)
    encoder = int8_encoder(network, trained.parent / mtranssan.INT8_ENCODER) if int8 else None
    if encoder is not None and recipe.fine_tuning == "all":
        _refit(recipe, model, encoder)
    export_graph(network, out / served.GRAPH, encoder=encoder)
    for name in (storage.TOKENIZER, storage.FIRST_LEVEL):
        shutil.copyfile(trained / name, out / name)
    padding = network.encoder.config.pad_token_id or 0
    storage.write_card(out, "onnx", recipe, model.reading, padding=padding)
    storage.write_card(out, "onnx", recipe, weighed_reading(recipe, served.load(out)), padding=padding)
    return out


def weighed_reading(recipe: StanceRecipe, model: TwoLevelModel) -> Reading:
    """The model's reading with the recipe's class weights, or with those that do best on what it holds out.

    Stances count there as often as among all training pairs: of a split by topics few pairs are unrelated.
    """
    if recipe.stance_weights is not None:
        return replace(model.reading, weights=recipe.stance_weights)
    pairs = held_out_pairs(recipe)
    gold, every = (
        np.array([STANCES.index(pair.label) for pair in part]) for part in (pairs, every_training_pair(recipe))
    )
    shares = np.bincount(every, minlength=len(STANCES)) / len(every)
    return replace(model.reading, weights=best_weights(model.of_pairs(pairs), gold, shares))


def _refit(recipe: StanceRecipe, model: TwoLevelModel, encoder: Path) -> None:
    judge = model.judge
    if not isinstance(judge, mtranssan.TorchJudge):
        raise TypeError("only a network's heads can be refitted")
    _, stance = mtranssan.stance_task(recipe, model.relatedness.terms.tokenizer)
    beside = [read_task(name, recipe.folder, limit=limit or None) for name, limit in recipe.beside.tasks.items()]
    tasks = [stance, *(task for task in beside if task.head in judge.network.heads)]
    weights = {STANCE: torch.from_numpy(stance.class_weights(recipe.class_weights))}
    teach_heads(
        judge.network, encoder, judge.packed, tasks, weights=weights, learning_rate=1e-4, epochs=2, seed=recipe.seed
    )
