"""How weights change: the optimiser, its rate at each step, and one update, in one process or in several."""

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer
from torch import Tensor, nn

from offscript._config import Section
from offscript.corpora.batching import Batch
from offscript.errors import missing_package

_USUAL_BETAS = (0.9, 0.999)


class OptimiserSettings(Section):
    """Adam with gradient clipping; the learning rate warms up, then follows the schedule."""

    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    clip: float | None = Field(1.0, gt=0)
    warmup: int = Field(0, ge=0)
    schedule: Literal["constant", "linear", "cosine", "plateau"] = "constant"
    plateau_factor: float = Field(0.5, gt=0, lt=1)
    betas: tuple[float, float] = Field(_USUAL_BETAS, description="Adam's; (0.5, 0.9) for a WGAN with gradient penalty")

    @model_serializer(mode="wrap")
    def _without_usual_betas(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Recipes older than the key keep their digest."""
        content: dict[str, Any] = dump(self)
        if self.betas == _USUAL_BETAS:
            content.pop("betas", None)
        return content


def build_optimiser(network: nn.Module, settings: OptimiserSettings) -> torch.optim.Optimizer:
    """Fused Adam over all parameters of a network that are not frozen; decoupled weight decay where it is asked for.

    Args:
        network: The network to train.
        settings: Learning rate and weight decay.

    Returns:
        The optimiser; `learning_rate` sets its rate at every step.
    """
    kind = torch.optim.AdamW if settings.weight_decay else torch.optim.Adam
    rate, decay = settings.learning_rate, settings.weight_decay
    taught = [each for each in network.parameters() if each.requires_grad]
    return kind(taught, lr=rate, betas=settings.betas, weight_decay=decay, fused=True)


def learning_rate(settings: OptimiserSettings, step: int, total: int, reductions: int) -> float:
    """The rate at a step (from 0) of `total`; `reductions` counts the plateaus so far.

    Args:
        settings: The schedule and its parameters.
        step: The step, from 0.
        total: Steps of the whole run.
        reductions: Validations without progress so far, for `plateau`.

    Returns:
        The learning rate of that step.
    """
    rate = settings.learning_rate
    if step < settings.warmup:
        return rate * (step + 1) / (settings.warmup + 1)
    done = (step - settings.warmup) / max(1, total - settings.warmup)
    match settings.schedule:
        case "linear":
            return rate * (1 - done)
        case "cosine":
            return rate * 0.5 * (1 + math.cos(math.pi * done))
        case "plateau":
            return rate * settings.plateau_factor**reductions
        case "constant":
            return rate


class Fleet:
    """One process alone, or several that train one model: each takes a share of every batch, gradients are added up."""

    def __init__(self, device: str | torch.device = "cpu", accelerator: Any = None) -> None:
        self.rank, self.processes, self.device, self._accelerator = 0, 1, torch.device(device), accelerator
        if accelerator is not None:
            self.rank, self.processes = accelerator.process_index, accelerator.num_processes
            self.device = accelerator.device

    @classmethod
    def launched(cls, device: torch.device) -> "Fleet":
        """The processes that `accelerate launch` or `torchrun` started, if one of them did."""
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return cls(device)
        return cls(device, _accelerator(cpu=device.type == "cpu"))

    @property
    def leads(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def share(self, batch: Batch) -> Batch:
        """This process's rows of a batch; where there are too few, a row in which no token counts."""
        mine = np.arange(self.rank, len(batch.tokens), self.processes)
        if not len(mine):
            return replace(batch.select(np.arange(1)), lengths=np.zeros_like(batch.lengths[:1]))
        return batch.select(mine)

    def add_up_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Every process ends with the gradient of the whole batch."""
        if self._accelerator is None:
            return
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad = self._accelerator.reduce(parameter.grad, reduction="sum")

    def total(self, value: float) -> float:
        """A number summed over all processes."""
        if self._accelerator is None:
            return value
        summed = self._accelerator.reduce(torch.tensor(value, dtype=torch.float64, device=self.device), reduction="sum")
        return float(summed)

    def wait(self) -> None:
        """Until every process is here."""
        if self._accelerator is not None:
            self._accelerator.wait_for_everyone()


def update(
    optimiser: torch.optim.Optimizer, loss: Tensor, *, clip: float | None = None, fleet: Fleet | None = None
) -> None:
    """Lower a loss by one step of an optimiser. Nothing else in the package takes such a step.

    Args:
        optimiser: Holds the parameters to change.
        loss: One number; of several processes, this one's share.
        clip: The largest norm of the gradient.
        fleet: The processes that add up their gradients first.
    """
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    if fleet is not None:
        fleet.add_up_gradients(parameters)
    if clip is not None:
        nn.utils.clip_grad_norm_(parameters, clip)
    optimiser.step()


@contextmanager
def seeded(*parts: int) -> Iterator[None]:
    """Everything random inside follows from the parts alone; the generators outside are left as they were.

    One part is the seed itself, several are mixed into one.

    Args:
        *parts: The seed, or numbers that together decide it.
    """
    seed = parts[0]
    if len(parts) > 1:
        seed = int(np.random.SeedSequence(list(parts)).generate_state(1, np.uint64)[0] >> np.uint64(1))
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # noqa: TID251 (layers and dropout know no generator)
        yield


def _accelerator(cpu: bool) -> Any:
    try:
        from accelerate import Accelerator
    except ImportError as fault:
        raise missing_package("training in several processes", "accelerate", extra="gguf") from fault
    return Accelerator(cpu=cpu)
