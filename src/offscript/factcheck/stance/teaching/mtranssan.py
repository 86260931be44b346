"""MTransSAN (chapter 3): multi-task supervised pre-training of a shared encoder, then fine-tuning on stance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from offscript._files import write_json
from offscript._types import FloatArray
from offscript._untrusted import refuse_remote_code
from offscript.errors import require_package
from offscript.factcheck.stance.pairs import EVIDENCE
from offscript.factcheck.stance.registry import StanceKind, read_card
from offscript.factcheck.stance.relatedness import Relatedness, Terms, features_of_pairs
from offscript.factcheck.stance.served import (
    EVIDENCE_HEAD,
    STANCE,
    OnnxReader,
    PairEncoder,
    Reading,
    TwoLevelModel,
    read_first_level,
    read_text,
    reading_of,
    write_card,
    write_first_level,
)
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.teaching.network import (
    WEIGHTS,
    PairBatch,
    PairNetwork,
    load_encoder,
    log_of,
    make_head,
    read_tensors,
    write_tensors,
)
from offscript.factcheck.stance.teaching.recipe import EncoderSettings, StanceRecipe, training_pairs
from offscript.factcheck.stance.teaching.tasks import Example, Task, epoch_batches, read_task
from offscript.learning import Course, Loss, Observer, learn, seeded

THRESHOLD = 0.05
INT8_ENCODER = "encoder.int8.onnx"
_READ_AT_ONCE = 32
_ENCODED_FROM = ("tokens", "types", "real")
_WARMUP = 0.06


@dataclass(frozen=True)
class TorchReader:
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
    if recipe.fine_tuning == "heads":
        require_package("fine_tuning: heads", "onnx", extra="stance")
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
        course = _course(stage, network, packed, recipe.seed)
        learn(course, folder, observer=observer, checkpoint_seconds=checkpoint_seconds)
    if recipe.fine_tuning == "heads":
        from offscript.factcheck.stance.teaching.exporting import int8_encoder

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
            observer=observer,
        )
    kept = {task.head for task in fine_tuning}
    network = PairNetwork(encoder, {head: layer for head, layer in network.heads.items() if head in kept})
    reading = Reading(THRESHOLD, settings.characters)
    return save(folder / "model", recipe, network, relatedness, tokenizer, reading)


@dataclass(frozen=True)
class Stage:
    """Tasks that are learnt together for some epochs; its name files the checkpoint, its digest says whose that is."""

    name: str
    digest: str
    tasks: Sequence[Task]
    epochs: int
    batch_size: int
    rates: tuple[float, float]  # of the encoder and of the heads
    class_weights: Mapping[str, Tensor] = field(default_factory=dict)


def _stages(
    recipe: StanceRecipe,
    pretraining: Sequence[Task],
    fine_tuning: Sequence[Task],
    weights: Mapping[str, Tensor],
    folder: Path,
) -> list[Stage]:
    """What is still to be taught with gradients through the encoder."""
    size, rates = recipe.batch_size, (recipe.learning_rate, recipe.head_learning_rate)
    stages = []
    if pretraining and not (folder / "fine-tuning.safetensors").is_file():
        epochs, digest = recipe.pretraining.epochs, recipe.pretraining_digest
        stages.append(Stage("pretraining", digest, pretraining, epochs, size, rates))
    if recipe.fine_tuning == "all":
        stages.append(Stage("fine-tuning", recipe.digest, fine_tuning, recipe.epochs, size, rates, weights))
    return stages


def _course(stage: Stage, network: PairNetwork, packed: PairEncoder, seed: int) -> Course:
    """Adam on the cross-entropy of each task's head."""
    tasks = {task.name: task for task in stage.tasks}
    lengths = {name: [_size(example) for example in task.examples] for name, task in tasks.items()}
    batches = [
        batch
        for epoch in range(stage.epochs)
        for batch in epoch_batches(lengths, stage.batch_size, seed=seed, epoch=epoch)
    ]

    def loss(step: int) -> Loss:
        name, rows = batches[step]
        examples = [tasks[name].examples[row] for row in rows]
        arrays = PairBatch.of(packed([(claim, text) for claim, text, _ in examples]))
        labels = torch.tensor([label for _, _, label in examples])
        network.train()
        with seeded(int(np.random.SeedSequence([seed, step]).generate_state(1)[0])):
            answers = log_of(network(tasks[name].head, arrays))  # [rows, labels]
        weight = stage.class_weights.get(name)
        return Loss(nn.functional.nll_loss(answers, labels, weight=weight), read=arrays.tokens.numel())

    return Course(
        total=len(batches),
        optimiser=_optimiser(network, stage),
        loss=loss,
        networks={"model": network},
        schedule=lambda step, _: [rate * _decay(step, len(batches)) for rate in stage.rates],
        clip=1.0,
        digest=stage.digest,
        name=stage.name,
    )


def _optimiser(network: PairNetwork, stage: Stage) -> torch.optim.Optimizer:
    """Adam with a rate of its own for the heads that the stage teaches."""
    heads = sorted({task.head for task in stage.tasks})
    encoder = [each for each in network.encoder.parameters() if each.requires_grad]
    answers = [each for head in heads for each in network.heads[head].parameters()]
    groups = [{"params": own, "lr": rate} for own, rate in zip((encoder, answers), stage.rates, strict=True)]
    return torch.optim.AdamW(groups, weight_decay=0.01, fused=True)


def _decay(step: int, total: int) -> float:
    """Up over the first steps, then down to nothing, both linearly."""
    warmup = max(1, int(_WARMUP * total))
    return (step + 1) / (warmup + 1) if step < warmup else (total - step) / max(1, total - warmup)


def _size(example: tuple[str, str | None, int]) -> int:
    return len(example[0]) + len(example[1] or "")


def teach_heads(
    network: PairNetwork,
    encoder: Path,
    packed: PairEncoder,
    tasks: Sequence[Task],
    *,
    weights: Mapping[str, Tensor],
    learning_rate: float,
    epochs: int,
    seed: int = 1,
    observer: Observer | None = None,
) -> None:
    """Teach the heads on the encodings of a (quantised) encoder's graph, which are computed once."""
    reader = OnnxReader(encoder, packed)
    batches = [batch for task in tasks for batch in _encoded_batches(reader, packed, task)]
    heads = dict.fromkeys(task.head for task in tasks)
    parameters = [each for head in heads for each in network.heads[head].parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=0.01)
    generator = np.random.default_rng(seed)
    steps = [place for _ in range(epochs) for place in generator.permutation(len(batches)).tolist()]

    def loss(step: int) -> Loss:
        task, arrays, encoded, labels = batches[steps[step]]
        answers = log_of(network.answer(task.head, encoded.float(), arrays))
        return Loss(nn.functional.nll_loss(answers, labels, weight=weights.get(task.name)), read=arrays.tokens.numel())

    def schedule(step: int, _: int) -> list[float]:
        return [learning_rate * (1 - step / len(steps))]

    with seeded(seed):
        network.heads.train()
        learn(Course(len(steps), optimiser, loss, schedule=schedule), observer=observer)


def _encoded_batches(
    reader: OnnxReader, packed: PairEncoder, task: Task
) -> list[tuple[Task, PairBatch, Tensor, Tensor]]:
    """Batches of like length with their encodings in half precision."""
    order = np.argsort([len(claim) + len(text or "") for claim, text, _ in task.examples], kind="stable")
    batches = []
    for start in range(0, len(order), _READ_AT_ONCE):
        examples = [task.examples[row] for row in order[start : start + _READ_AT_ONCE]]
        arrays = packed([(claim, text) for claim, text, _ in examples])
        [encoded] = reader.session.run(None, {name: arrays[name] for name in _ENCODED_FROM})
        labels = torch.tensor([label for _, _, label in examples])
        batches.append((task, PairBatch.of(arrays), torch.from_numpy(encoded).half(), labels))
    return batches


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


def fit_relatedness(
    terms: Terms, features: FloatArray, related: NDArray[np.bool_], *, units: int = 16, steps: int = 600, seed: int = 1
) -> Relatedness:
    """Full-batch Adam on the log-loss."""
    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-6
    shown = torch.from_numpy((features - mean) / scale)
    answers = torch.from_numpy(related.astype(np.float64))
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(features.shape[1] + 1, units, generator=generator, dtype=torch.float64) * 0.3
    output = torch.randn(units + 1, generator=generator, dtype=torch.float64) * 0.3
    parameters = [hidden.requires_grad_(), output.requires_grad_()]

    def loss(_: int) -> Loss:
        scores = (shown @ hidden[:-1] + hidden[-1]).relu() @ output[:-1] + output[-1]
        return Loss(nn.functional.binary_cross_entropy_with_logits(scores, answers))

    learn(Course(steps, torch.optim.Adam(parameters, lr=0.02), loss))
    return Relatedness(terms, mean, scale, hidden.detach().numpy(), output.detach().numpy())


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
    write_first_level(folder, relatedness, tokenizer)
    write_tensors(folder / WEIGHTS, network.state_dict())
    network.encoder.config.save_pretrained(folder)
    heads = {head: len(STANCES if head == STANCE else EVIDENCE) for head in network.heads}
    write_card(folder, "mtranssan", recipe.model_dump(), reading, heads=heads)
    return folder


def load(folder: Path, name: str = "") -> TwoLevelModel:
    """What `save` wrote."""
    from transformers import AutoConfig, AutoModel

    refuse_remote_code(folder)
    card = read_card(folder)
    settings = EncoderSettings(**card["recipe"]["encoder"])
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    heads = {
        head: make_head(settings.head, config.hidden_size, labels, steps=settings.steps)
        for head, labels in card["heads"].items()
    }
    network = PairNetwork(AutoModel.from_config(config, trust_remote_code=False), heads)
    network.load_state_dict(read_tensors(folder / WEIGHTS))
    relatedness = read_first_level(folder)
    packed = PairEncoder(relatedness.terms.tokenizer, settings.length, padding=config.pad_token_id or 0)
    return TwoLevelModel(name or str(folder), relatedness, TorchReader(network, packed), reading_of(card))


MTRANSSAN = StanceKind(load, train_mtranssan)


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
