"""A training run frozen between two steps, in one safetensors file: weights, Adam's moments, and where it stands."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from offscript._files import write_tensors
from offscript.errors import OffscriptError


@dataclass
class Standing:
    """Where a run stands: all of its state that is not a tensor."""

    recipe: str
    data: str = ""
    step: int = 0
    best: float | None = None
    best_step: int = 0
    mark: float | None = None  # the last loss that counted as progress
    waited: int = 0
    reductions: int = 0
    seconds: float = 0.0
    validations: list[tuple[int, float]] = field(default_factory=list)

    @property
    def best_loss(self) -> float:
        """That of the best validation, once there was one."""
        assert self.best is not None
        return self.best

    def note_validation(self, loss: float, *, gain: float = 0.0, keep: bool = False) -> bool:
        """What was found at this step; answers whether its weights are to be kept: the best so far, or `keep`.

        It counts as progress if it is lower by more than `gain` than the last that did.
        """
        self.validations.append((self.step, loss))
        if self.mark is None or loss < self.mark - gain or keep:
            self.mark, self.waited = loss, 0
        else:
            self.waited += 1
            self.reductions += 1
        kept = self.best is None or loss < self.best or keep
        if kept:
            self.best, self.best_step = loss, self.step
        return kept

    def finished(self, total: int, patience: int | None) -> bool:
        """Whether all steps are taken, or `patience` validations in a row were no progress."""
        return self.step >= total or (patience is not None and self.waited >= patience)


def write_checkpoint(
    path: Path, networks: Mapping[str, nn.Module], optimisers: Mapping[str, torch.optim.Optimizer], standing: Standing
) -> None:
    """Whole or not at all."""
    tensors: dict[str, Tensor] = {}
    for name, network in networks.items():
        for key, tensor in network.state_dict().items():
            tensors[f"network/{name}/{key}"] = tensor
    for name, optimiser in optimisers.items():
        for index, moments in optimiser.state_dict()["state"].items():
            for key, tensor in moments.items():
                tensors[f"optimiser/{name}/{index}/{key}"] = tensor
    packed = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
    write_tensors(path, packed, {"standing": json.dumps(asdict(standing))})


def resume(
    path: Path, networks: Mapping[str, nn.Module], optimisers: Mapping[str, torch.optim.Optimizer], begun: Standing
) -> Standing:
    """Go on from a checkpoint of the run that is about to begin; that of any other is refused."""
    standing = _read_standing(path)
    if standing.recipe != begun.recipe:
        raise OffscriptError(
            f"{path.parent} holds a run of another recipe", next="name another folder, or remove this one to start anew"
        )
    if standing.data not in ("", begun.data):
        raise OffscriptError(
            f"the data are not those that {path.parent} was trained on",
            next="put them back, name another folder, or remove this one to start anew",
        )
    return read_checkpoint(path, networks, optimisers)


def read_checkpoint(
    path: Path, networks: Mapping[str, nn.Module], optimisers: Mapping[str, torch.optim.Optimizer]
) -> Standing:
    """Put the networks and optimisers back to where the file has them."""
    standing = _read_standing(path)
    try:
        tensors = load_file(path)
        for name, network in networks.items():
            network.load_state_dict(_below(tensors, f"network/{name}/"))
    except (SafetensorError, OSError, RuntimeError) as fault:
        raise _unreadable(path, fault) from fault
    try:
        _restore_optimisers(tensors, optimisers)
    except (ValueError, KeyError, TypeError, RuntimeError) as fault:
        raise _unreadable(path, fault) from fault
    return standing


def _restore_optimisers(tensors: dict[str, Tensor], optimisers: Mapping[str, torch.optim.Optimizer]) -> None:
    for name, optimiser in optimisers.items():
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in _below(tensors, f"optimiser/{name}/").items():
            index, moment = key.split("/")
            state.setdefault(int(index), {})[moment] = tensor
        if len({frozenset(moments) for moments in state.values()}) > 1:
            raise ValueError(f"some weights lack moments of the optimiser {name}")
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def read_weights(path: Path, network: nn.Module, name: str = "model") -> None:
    """Only one network's weights of a checkpoint.

    Args:
        path: The checkpoint.
        network: Gets the weights.
        name: The network's name in the checkpoint.
    """
    read_checkpoint(path, {name: network}, {})


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): tensor for key, tensor in tensors.items() if key.startswith(prefix)}


def _read_standing(path: Path) -> Standing:
    try:
        with safe_open(path, framework="pt") as file:
            written = file.metadata() or {}
        return Standing(**json.loads(written["standing"]))
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as fault:
        raise _unreadable(path, fault) from fault


def _unreadable(path: Path, fault: Exception) -> OffscriptError:
    why = " ".join(str(fault).split())[:300]
    return OffscriptError(f"the checkpoint {path} cannot be read", why=why, next="remove it to start anew")
