"""Several processes that train one model: each takes a share of every batch, gradients are added up."""

import os
from typing import Any

import numpy as np
import torch
from torch import nn

from offscript.corpora.batching import Batch
from offscript.errors import missing_package
from offscript.models.devices import usable_device


class Fleet:
    """One process alone, or the processes that `accelerate launch` or `torchrun` started."""

    def __init__(self, device: str) -> None:
        self.rank, self.processes, self._accelerator = 0, 1, None
        self.device = usable_device(device)
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            self._accelerator = _accelerator(cpu=device == "cpu")
            self.rank, self.processes = self._accelerator.process_index, self._accelerator.num_processes
            self.device = self._accelerator.device

    @property
    def leads(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def share(self, batch: Batch) -> Batch:
        """This process's rows of a batch; where there are too few, a row in which no token counts."""
        mine = np.arange(self.rank, len(batch.tokens), self.processes)
        if not len(mine):
            return Batch(batch.tokens[:1], np.zeros_like(batch.lengths[:1]))
        return Batch(batch.tokens[mine], batch.lengths[mine])

    def add_up_gradients(self, network: nn.Module) -> None:
        """Every process ends with the gradient of the whole batch."""
        if self._accelerator is None:
            return
        for parameter in network.parameters():
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


def _accelerator(cpu: bool) -> Any:
    try:
        from accelerate import Accelerator
    except ImportError as fault:
        raise missing_package("training in several processes", "accelerate", extra="gguf") from fault
    return Accelerator(cpu=cpu)
