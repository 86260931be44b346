"""Multi-task teaching of a pair network, step by step; a run that was killed goes on where it stood."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from offscript._files import replacing
from offscript.errors import OffscriptError
from offscript.factcheck.stance.network import PairBatch, PairNetwork
from offscript.factcheck.stance.packing import PairEncoder
from offscript.factcheck.stance.san import log_of
from offscript.factcheck.stance.schedule import Batch, epoch_batches
from offscript.factcheck.stance.tasks import Task

_WARMUP = 0.06


class Watcher(Protocol):
    """Who follows a run."""

    def begin(self, step: int, total: int) -> None:
        """The run begins, or goes on, at a step."""

    def step(self, step: int, loss: float, tokens_per_second: float) -> None:
        """A step is done."""

    def end(self) -> None:
        """The run is over."""


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


def teach(
    network: PairNetwork,
    packed: PairEncoder,
    stage: Stage,
    folder: Path,
    *,
    seed: int,
    watcher: Watcher | None = None,
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
    optimiser = _optimiser(network, stage)
    path = folder / f"{stage.name}.safetensors"
    done = read_checkpoint(path, network, optimiser, stage.digest) if path.is_file() else 0
    if watcher is not None:
        watcher.begin(done, len(batches))
    saved = time.monotonic()
    for step in range(done, len(batches)):
        began = time.monotonic()
        for group, rate in zip(optimiser.param_groups, (stage.learning_rate, stage.head_learning_rate), strict=True):
            group["lr"] = rate * _decay(step, len(batches))
        loss, tokens = _take_step(network, packed, tasks, batches[step], stage, optimiser, (seed, step))
        if watcher is not None:
            watcher.step(step + 1, loss, tokens / (time.monotonic() - began))
        if time.monotonic() - saved > checkpoint_seconds:
            write_checkpoint(path, network, optimiser, stage.digest, step + 1)
            saved = time.monotonic()
    write_checkpoint(path, network, optimiser, stage.digest, len(batches))
    if watcher is not None:
        watcher.end()


def _take_step(
    network: PairNetwork,
    packed: PairEncoder,
    tasks: Mapping[str, Task],
    batch: Batch,
    stage: Stage,
    optimiser: torch.optim.Optimizer,
    seeds: tuple[int, int],
) -> tuple[float, int]:
    """The loss, and how many tokens were read."""
    name, rows = batch
    examples = [tasks[name].examples[row] for row in rows]
    arrays = PairBatch.of(packed([(claim, text) for claim, text, _ in examples]))
    labels = torch.tensor([label for _, _, label in examples])
    network.train()
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence(list(seeds)).generate_state(1)[0]))  # noqa: TID251 (dropout knows no generator)
        answers = log_of(network(tasks[name].head, arrays))  # [rows, labels]
    loss = nn.functional.nll_loss(answers, labels, weight=stage.class_weights.get(name))
    if not torch.isfinite(loss):
        raise OffscriptError(
            f"the loss is {loss.item()} at step {seeds[1]} of {stage.name}", next="lower the learning rates"
        )
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_([each for group in optimiser.param_groups for each in group["params"]], 1.0)
    optimiser.step()
    return float(loss.detach()), arrays.tokens.numel()


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


def write_checkpoint(path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, digest: str, step: int) -> None:
    """Weights and Adam's moments in one safetensors file, whole or not at all."""
    tensors = {f"network/{key}": tensor for key, tensor in network.state_dict().items()}
    for index, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser/{index}/{key}": tensor for key, tensor in moments.items()}
    with replacing(path) as temporary:
        contiguous = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
        save_file(contiguous, temporary, metadata={"standing": json.dumps({"recipe": digest, "step": step})})


def read_checkpoint(path: Path, network: nn.Module, optimiser: torch.optim.Optimizer | None, digest: str) -> int:
    """Put network and optimiser back to where the file has them; the steps done."""
    try:
        with safe_open(path, framework="pt") as file:
            standing = json.loads((file.metadata() or {})["standing"])
        tensors = load_file(path)
        if standing["recipe"] == digest:
            network.load_state_dict(_below(tensors, "network/"))
    except (SafetensorError, OSError, KeyError, ValueError, RuntimeError) as fault:
        why = " ".join(str(fault).split())[:300]
        raise OffscriptError(
            f"the checkpoint {path} cannot be read", why=why, next="remove it to start anew"
        ) from fault
    if standing["recipe"] != digest:
        raise OffscriptError(
            f"{path.parent} holds a run of another recipe", next="name another folder, or remove this one to start anew"
        )
    if optimiser is not None:
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in _below(tensors, "optimiser/").items():
            index, moment = key.split("/")
            state.setdefault(int(index), {})[moment] = tensor
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    return int(standing["step"])


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): tensor for key, tensor in tensors.items() if key.startswith(prefix)}
