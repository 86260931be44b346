"""Multi-task teaching of a pair network, step by step; a run that was killed goes on where it stood."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from offscript.factcheck.stance.network import PairBatch, PairNetwork
from offscript.factcheck.stance.packing import PairEncoder
from offscript.factcheck.stance.san import log_of
from offscript.factcheck.stance.schedule import epoch_batches
from offscript.factcheck.stance.tasks import Task
from offscript.learning import Course, Loss, Observer, learn, seeded

_WARMUP = 0.06


@dataclass(frozen=True)
class Stage:
    """Tasks that are learnt together for some epochs; its name files the checkpoint, its digest says whose that is."""

    name: str
    digest: str
    tasks: Sequence[Task]
    epochs: int
    batch_size: int
    learning_rate: float
    head_learning_rate: float
    class_weights: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def rates(self) -> tuple[float, float]:
        """Learning rates of the encoder and of the heads."""
        return self.learning_rate, self.head_learning_rate


def teach(
    network: PairNetwork,
    packed: PairEncoder,
    stage: Stage,
    folder: Path,
    *,
    seed: int,
    observer: Observer | None = None,
    checkpoint_seconds: float = 60.0,
) -> None:
    """Adam on the cross-entropy of each task's head, from the stage's checkpoint where there is one."""
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

    course = Course(
        total=len(batches),
        optimiser=_optimiser(network, stage),
        loss=loss,
        networks={"model": network},
        schedule=lambda step, _: [rate * _decay(step, len(batches)) for rate in stage.rates],
        clip=1.0,
        digest=stage.digest,
        name=stage.name,
    )
    learn(course, folder, observer=observer, checkpoint_seconds=checkpoint_seconds)


def _optimiser(network: PairNetwork, stage: Stage) -> torch.optim.Optimizer:
    """Adam with a rate of its own for the heads that the stage teaches."""
    heads = sorted({task.head for task in stage.tasks})
    encoder = [each for each in network.encoder.parameters() if each.requires_grad]
    answers = [each for head in heads for each in network.heads[head].parameters()]
    groups = [{"params": encoder, "lr": stage.learning_rate}, {"params": answers, "lr": stage.head_learning_rate}]
    return torch.optim.AdamW(groups, weight_decay=0.01, fused=True)


def _decay(step: int, total: int) -> float:
    """Up over the first steps, then down to nothing, both linearly."""
    warmup = max(1, int(_WARMUP * total))
    return (step + 1) / (warmup + 1) if step < warmup else (total - step) / max(1, total - warmup)


def _size(example: tuple[str, str | None, int]) -> int:
    return len(example[0]) + len(example[1] or "")
