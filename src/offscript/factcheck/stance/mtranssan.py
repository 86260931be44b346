"""MTransSAN (chapter 3): multi-task supervised pre-training of a shared encoder, then fine-tuning on stance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from offscript._files import write_json
from offscript._remote_code import refuse_remote_code
from offscript._types import FloatArray
from offscript.factcheck.stance import storage
from offscript.factcheck.stance.exporting import int8_encoder, teach_heads
from offscript.factcheck.stance.network import PairBatch, PairNetwork, load_encoder, make_head
from offscript.factcheck.stance.packing import PairEncoder
from offscript.factcheck.stance.pairs import EVIDENCE
from offscript.factcheck.stance.recipe import EncoderSettings, StanceRecipe, training_pairs
from offscript.factcheck.stance.relatedness import Relatedness, features_of_pairs, fit_relatedness
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.tasks import Example, Task, read_task
from offscript.factcheck.stance.teaching import Stage, teach
from offscript.factcheck.stance.terms import Terms
from offscript.factcheck.stance.two_level import EVIDENCE_HEAD, STANCE, Reading, TwoLevelModel, read_text
from offscript.learning import Observer

THRESHOLD = 0.05
INT8_ENCODER = "encoder.int8.onnx"
_READ_AT_ONCE = 32


@dataclass(frozen=True)
class TorchJudge:
    """A pair network that reads pairs of like length together."""

    network: PairNetwork
    packed: PairEncoder

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> dict[str, FloatArray]:
        order = np.argsort([len(claim) + len(text) for claim, text in pairs], kind="stable")
        found: dict[str, list[FloatArray]] = {}
        self.network.eval()
        with torch.inference_mode():
            for start in range(0, len(order), _READ_AT_ONCE):
                rows = order[start : start + _READ_AT_ONCE]
                batch = PairBatch.of(self.packed([pairs[row] for row in rows]))
                encoded = self.network.encode(batch)
                for head in (STANCE, EVIDENCE_HEAD):
                    if head in self.network.heads:
                        answers = self.network.answer(head, encoded, batch)
                        found.setdefault(head, []).append(answers.double().numpy())
        back = np.argsort(order)
        return {head: np.concatenate(answers)[back] for head, answers in found.items()}


def train_mtranssan(
    recipe: StanceRecipe, folder: Path, *, observer: Observer | None = None, checkpoint_seconds: float = 60.0
) -> Path:
    """Both stages, from where the folder has them; the model lands in `model/`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "recipe.json", recipe.model_dump())
    settings = recipe.encoder
    encoder, tokenizer = load_encoder(settings.name)
    relatedness, stance = stance_task(recipe, tokenizer)
    pretraining = _tasks(recipe.pretraining.tasks, recipe)
    fine_tuning = [stance, *_tasks(recipe.beside.tasks, recipe)]
    network = _network(encoder, settings, [*pretraining, *fine_tuning], recipe.seed)
    packed = PairEncoder(tokenizer, settings.length, padding=encoder.config.pad_token_id or 0)
    weights = {STANCE: torch.from_numpy(stance.class_weights(recipe.class_weights))}
    for stage in _stages(recipe, pretraining, fine_tuning, weights, folder):
        teach(
            network,
            packed,
            stage,
            folder,
            seed=recipe.seed,
            observer=observer,
            checkpoint_seconds=checkpoint_seconds,
        )
    if recipe.fine_tuning == "heads":
        graph = int8_encoder(network, folder / INT8_ENCODER)
        teach_heads(
            network,
            graph,
            packed,
            fine_tuning,
            weights=weights,
            learning_rate=recipe.head_learning_rate,
            epochs=recipe.epochs,
            seed=recipe.seed,
        )
    kept = {task.head for task in fine_tuning}
    network = PairNetwork(encoder, {head: layer for head, layer in network.heads.items() if head in kept})
    reading = Reading(THRESHOLD, settings.characters)
    return save(folder / "model", recipe, network, relatedness, tokenizer, reading)


def _stages(
    recipe: StanceRecipe,
    pretraining: Sequence[Task],
    fine_tuning: Sequence[Task],
    weights: Mapping[str, Tensor],
    folder: Path,
) -> list[Stage]:
    """What is still to be taught with gradients through the encoder."""
    rates = (recipe.batch_size, recipe.learning_rate, recipe.head_learning_rate)
    stages = []
    if pretraining and not (folder / "fine-tuning.safetensors").is_file():
        epochs, digest = recipe.pretraining.epochs, recipe.pretraining_digest
        stages.append(Stage("pretraining", digest, pretraining, epochs, *rates))
    if recipe.fine_tuning == "all":
        stages.append(Stage("fine-tuning", recipe.digest, fine_tuning, recipe.epochs, *rates, weights))
    return stages


def stance_task(recipe: StanceRecipe, tokenizer: Tokenizer) -> tuple[Relatedness, Task]:
    """The first level fitted on the training bodies, and what passes it, each claim with its chosen sentences."""
    pairs = training_pairs(recipe)
    terms = Terms.fitted(tokenizer, list({pair.sentences: None for pair in pairs}))
    features, coverage = features_of_pairs(terms, pairs)
    related = np.array([pair.label != "unrelated" for pair in pairs])
    relatedness = fit_relatedness(terms, features, related, seed=recipe.seed)
    labels = np.array([STANCES.index(pair.label) for pair in pairs])
    passed = np.flatnonzero(relatedness.of(features) >= THRESHOLD)
    passed = passed[_within_class_limit(labels[passed], recipe.class_limit, recipe.seed)]
    examples: list[Example] = [
        (
            pairs[row].claim,
            read_text(pairs[row], coverage[row], recipe.encoder.characters),
            int(labels[row]),
        )
        for row in passed
    ]
    return relatedness, Task(STANCE, STANCE, STANCES, examples)


def _within_class_limit(labels: NDArray[np.int64], limit: int | None, seed: int) -> NDArray[np.int64]:
    """Places of at most so many examples of a label, drawn at random, in their order."""
    order = np.random.default_rng(seed).permutation(len(labels))
    kept = [order[labels[order] == label][:limit] for label in np.unique(labels)]
    return np.sort(np.concatenate(kept))


def save(
    folder: Path,
    recipe: StanceRecipe,
    network: PairNetwork,
    relatedness: Relatedness,
    tokenizer: Tokenizer,
    reading: Reading,
) -> Path:
    """Encoder, heads, first level and card."""
    storage.write_first_level(folder, relatedness, tokenizer)
    storage.write_tensors(folder / storage.WEIGHTS, network.state_dict())
    network.encoder.config.save_pretrained(folder)
    heads = {head: len(STANCES if head == STANCE else EVIDENCE) for head in network.heads}
    storage.write_card(folder, "mtranssan", recipe, reading, heads=heads)
    return folder


def load(folder: Path, *, name: str | None = None) -> TwoLevelModel:
    """What `save` wrote."""
    from transformers import AutoConfig, AutoModel

    refuse_remote_code(folder)
    card = storage.read_card(folder)
    settings = EncoderSettings(**card["recipe"]["encoder"])
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    heads = {
        head: make_head(settings.head, config.hidden_size, labels, steps=settings.steps)
        for head, labels in card["heads"].items()
    }
    network = PairNetwork(AutoModel.from_config(config, trust_remote_code=False), heads)
    network.load_state_dict(storage.read_tensors(folder / storage.WEIGHTS))
    relatedness = storage.read_first_level(folder)
    packed = PairEncoder(relatedness.terms.tokenizer, settings.length, padding=config.pad_token_id or 0)
    return TwoLevelModel(name or str(folder), relatedness, TorchJudge(network, packed), storage.reading_of(card))


def _tasks(limits: dict[str, int], recipe: StanceRecipe) -> list[Task]:
    return [read_task(name, recipe.folder, limit=limit or None, seed=recipe.seed) for name, limit in limits.items()]


def _network(encoder: object, settings: EncoderSettings, tasks: Sequence[Task], seed: int) -> PairNetwork:
    """Heads are fresh; a single sentence's is linear."""
    width = encoder.config.hidden_size  # type: ignore[attr-defined]
    heads = {
        task.head: make_head(
            "linear" if task.single else settings.head, width, len(task.labels), steps=settings.steps, seed=seed
        )
        for task in tasks
    }
    network = PairNetwork(encoder, heads)
    network.freeze(settings.frozen_layers)
    return network
