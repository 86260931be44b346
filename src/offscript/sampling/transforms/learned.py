"""A temperature that depends on the step: learnt from ratings, as chapter 6 of the thesis proposes."""

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.sampling.randomness import RowDraws
from offscript.sampling.transforms.base import FileName, Transform

COLDEST, HOTTEST = 0.2, 3.0
"""No policy leaves this range of temperatures."""
_FARTHEST = 3.0  # standard deviations of the entropy


@dataclass(frozen=True)
class Policy:
    """log T = level + by_entropy · (H - mean) / deviation + by_position · (u - 1/2), u from 0 to 1 over the text."""

    level: float
    by_entropy: float = 0.0
    by_position: float = 0.0
    entropy_mean: float = 3.0
    entropy_deviation: float = 1.0
    prefix: int = 0
    length: int = 50

    def log_temperatures(self, entropies: Tensor, steps: Tensor | float) -> Tensor:
        """The logarithms of the temperatures at steps whose distributions have these entropies."""
        unit = (entropies - self.entropy_mean) / self.entropy_deviation
        place = (torch.as_tensor(steps, dtype=entropies.dtype) - self.prefix) / max(1, self.length - self.prefix)
        wished = self.level + self.by_entropy * unit.clamp(-_FARTHEST, _FARTHEST)
        wished = wished + self.by_position * (place.clamp(0, 1) - 0.5)
        return wished.clamp(math.log(COLDEST), math.log(HOTTEST))


_LARGEST = 1e9
_NUMBERS = tuple(Policy.__dataclass_fields__)


def read_policy(path: str | Path) -> Policy:
    """A policy from the JSON file that `offscript study fit` wrote.

    Args:
        path: The file.

    Returns:
        The policy, its numbers checked.
    """
    return _read(str(path), _changed(Path(path)))


@lru_cache(maxsize=8)
def _read(path: str, _: float) -> Policy:
    try:
        document: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        values = {name: document["policy"][name] for name in _NUMBERS}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
        raise OffscriptError(
            f"{path} holds no policy", why=f"{type(fault).__name__}: {fault}", next="make one with offscript study fit"
        ) from fault
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
            raise OffscriptError(f"{path}: {name} is {value!r}, not a number", next="make it with offscript study fit")
    if values["entropy_deviation"] <= 0:
        raise OffscriptError(f"{path}: entropy_deviation is not above 0", next="make it with offscript study fit")
    return Policy(**values)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError as fault:
        raise OffscriptError(f"no such policy: {path}", next="make one with offscript study fit") from fault


@dataclass(frozen=True)
class Learned(Transform):
    """p̂ᵢ ∝ exp(log(pᵢ) / T), T by a policy of entropy and position that was fitted to ratings (section 6.1)."""

    path: Annotated[str, FileName()]
    name: ClassVar[str] = "learned"

    def __post_init__(self) -> None:
        super().__post_init__()
        read_policy(self.path)

    def log_weights(
        self, log_probs: Tensor, draws: RowDraws | None = None, step: int = 0, first_row: int = 0
    ) -> Tensor:
        normalised = log_probs.log_softmax(dim=-1)
        entropies = -(normalised.exp() * normalised.clamp(min=-1e4)).sum(dim=-1)
        temperatures = read_policy(self.path).log_temperatures(entropies, step).exp()
        return log_probs / temperatures.unsqueeze(-1)
