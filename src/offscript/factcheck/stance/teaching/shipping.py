"""A trained MTransSAN becomes the small model that ships: int8, heads refitted, classes weighed on held-out bodies."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.factcheck.stance.served import FIRST_LEVEL, GRAPH, STANCE, TOKENIZER, Reading, TwoLevelModel, write_card
from offscript.factcheck.stance.served import load as load_served
from offscript.factcheck.stance.stance import STANCES, fnc_scores
from offscript.factcheck.stance.teaching.exporting import export_graph, int8_encoder, teach_heads
from offscript.factcheck.stance.teaching.mtranssan import INT8_ENCODER, TorchReader, load, stance_task
from offscript.factcheck.stance.teaching.recipe import StanceRecipe, every_training_pair, held_out_pairs
from offscript.factcheck.stance.teaching.tasks import read_task
from offscript.statistics import f1_scores

_STEPS = np.exp(np.linspace(-1.5, 1.5, 13))


def ship(recipe: StanceRecipe, trained: Path, out: Path, *, int8: bool = True) -> Path:
    """The graph with its tokenizer, first level and card; with `int8` off the same in full precision, to compare."""
    model = load(trained)
    if not isinstance(model.reader, TorchReader):
        raise TypeError(f"{trained} holds no network")
    network = model.reader.network
    out.mkdir(parents=True, exist_ok=True)
    encoder = int8_encoder(network, trained.parent / INT8_ENCODER) if int8 else None
    if encoder is not None and recipe.fine_tuning == "all":
        _refit(recipe, model, encoder)
    export_graph(network, out / GRAPH, encoder=encoder)
    for name in (TOKENIZER, FIRST_LEVEL):
        shutil.copyfile(trained / name, out / name)
    padding = network.encoder.config.pad_token_id or 0
    write_card(out, "onnx", recipe.model_dump(), model.reading, padding=padding)
    write_card(out, "onnx", recipe.model_dump(), weighed_reading(recipe, load_served(out)), padding=padding)
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
    reader = model.reader
    if not isinstance(reader, TorchReader):
        raise TypeError("only a network's heads can be refitted")
    _, stance = stance_task(recipe, model.relatedness.terms.tokenizer)
    beside = [read_task(name, recipe.folder, limit=limit or None) for name, limit in recipe.beside.tasks.items()]
    tasks = [stance, *(task for task in beside if task.head in reader.network.heads)]
    weights = {STANCE: torch.from_numpy(stance.class_weights(recipe.class_weights))}
    teach_heads(
        reader.network, encoder, reader.packed, tasks, weights=weights, learning_rate=1e-4, epochs=2, seed=recipe.seed
    )


def best_weights(
    probabilities: FloatArray, gold: NDArray[np.int64], shares: FloatArray | None = None, *, rounds: int = 3
) -> tuple[float, ...]:
    """Weights of the stances under which macro-F1 and FNC-1's score add up to most, class by class in turns.

    Pairs count as if stances had the given shares [4], their own by default.
    """
    own = np.bincount(gold, minlength=len(STANCES)).clip(min=1) / len(gold)
    counts = (np.ones(len(STANCES)) if shares is None else shares / own)[gold]
    weights = np.ones(len(STANCES))
    for _ in range(rounds):
        for place in range(len(STANCES)):
            candidates = np.tile(weights, (len(_STEPS), 1))
            candidates[:, place] *= _STEPS
            weights = max(candidates, key=lambda each: _worth(probabilities * each, gold, counts))
    return tuple((weights / weights.mean()).tolist())


def _worth(scores: FloatArray, gold: NDArray[np.int64], counts: FloatArray) -> float:
    table = np.zeros((1, len(STANCES), len(STANCES)))
    np.add.at(table[0], (gold, scores.argmax(axis=1)), counts)
    return float(f1_scores(table).mean() + fnc_scores(table)[0])
