"""Transforms that cut tokens and leave the others in proportion.

Ties, boundaries and rounding follow Hugging Face's warpers of the same name, token for token. Where that departs from
the thesis, the class says so.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch import Tensor

from offscript.sampling.transforms.base import Deterministic, Range, keep

_ROWS_AT_ONCE = 64
"""Rows sorted together: what the sort leaves in the cache serves the sums after it."""


@dataclass(frozen=True)
class TopK(Deterministic):
    """p̂ᵢ ∝ pᵢ · 1{i ≤ K} over the sorted distribution (Definition 5.2.1).

    Tokens that tie with the K-th are all kept, as Hugging Face does; the thesis would keep K of them.
    """

    k: Annotated[int, Range(1, includes_lower=True, whole=True)]
    name: ClassVar[str] = "top-k"

    def weigh(self, log_probs: Tensor) -> Tensor:
        return keep(log_probs, log_probs >= kth_largest(log_probs, self.k))


@dataclass(frozen=True)
class Nucleus(Deterministic):
    """p̂ᵢ ∝ pᵢ · 1{Σ_{j<i} pⱼ < P} over the sorted distribution (Definition 5.2.2).

    The token that makes the sum reach P exactly is the last one kept. Like Hugging Face's, the sum runs from the least
    probable token up and is compared with 1 - P, and of tokens that tie at the boundary those go that its sort puts
    first.
    """

    p: Annotated[float, Range(0, 1)]
    name: ClassVar[str] = "nucleus"

    def weigh(self, log_probs: Tensor) -> Tensor:
        kept = torch.cat([self._kept(rows) for rows in log_probs.split(_ROWS_AT_ONCE)])
        return keep(log_probs, kept)

    def _kept(self, log_probs: Tensor) -> Tensor:
        """Find the lowest value that is kept from values alone: sorting them without their places is far cheaper."""
        ascending = _sorted_values(log_probs)
        tail = ascending.softmax(dim=-1).cumsum(dim=-1)  # [rows, V]
        removed = self._removed(tail)  # [rows, 1]
        lowest = ascending.gather(1, removed)
        kept = log_probs >= lowest
        divided = ((ascending.gather(1, (removed - 1).clamp(min=0)) == lowest) & (removed > 0)).squeeze(1)
        if divided.any():
            kept[divided] = self._kept_among_ties(log_probs[divided], removed[divided])
        return kept

    def _removed(self, tail: Tensor) -> Tensor:
        """How many of the least probable tokens weigh at most 1 - P together; the most probable one stays."""
        bound = torch.full((len(tail), 1), 1 - self.p, dtype=tail.dtype, device=tail.device)
        return torch.searchsorted(tail, bound, right=True).clamp(max=tail.shape[1] - 1)

    def _kept_among_ties(self, log_probs: Tensor, removed: Tensor) -> Tensor:
        order = torch.sort(log_probs, descending=False).indices  # unstable, as in TopPLogitsWarper
        kept = torch.arange(log_probs.shape[1], device=log_probs.device) >= removed  # [rows, V]
        return torch.empty_like(kept).scatter_(1, order, kept)


@dataclass(frozen=True)
class MinP(Deterministic):
    """p̂ᵢ ∝ pᵢ · 1{pᵢ ≥ P · max p} (Nguyen et al., 2024)."""

    p: Annotated[float, Range(0, 1, includes_lower=True)]
    name: ClassVar[str] = "min-p"

    def weigh(self, log_probs: Tensor) -> Tensor:
        probs = log_probs.softmax(dim=-1)
        return keep(log_probs, probs >= self.p * probs.amax(dim=-1, keepdim=True))


@dataclass(frozen=True)
class Typical(Deterministic):
    """The tokens whose surprisal is closest to the entropy, until they hold mass P (Meister et al., 2023).

    p̂ᵢ ∝ pᵢ · 1{|-log pᵢ - H(p)| ≤ c} with the smallest c that keeps mass P; ties at c are kept.
    """

    p: Annotated[float, Range(0, 1, includes_upper=False)]
    name: ClassVar[str] = "typical"

    def weigh(self, log_probs: Tensor) -> Tensor:
        normalised = log_probs.log_softmax(dim=-1)
        entropy = -(normalised * normalised.exp()).nansum(dim=-1, keepdim=True)
        distance, order = (-normalised - entropy).abs().sort(dim=-1)
        mass = log_probs.gather(1, order).softmax(dim=-1).cumsum(dim=-1)  # [rows, V]
        last = (mass < self.p).sum(dim=-1, keepdim=True).clamp(max=mass.shape[1] - 1)
        kept = distance <= distance.gather(1, last)
        return keep(log_probs, torch.empty_like(kept).scatter_(1, order, kept))


@dataclass(frozen=True)
class Epsilon(Deterministic):
    """p̂ᵢ ∝ pᵢ · 1{pᵢ ≥ ε}; the most probable tokens stay in any case (Hewitt et al., 2022)."""

    epsilon: Annotated[float, Range(0, 1, includes_upper=False)]
    name: ClassVar[str] = "epsilon"

    def weigh(self, log_probs: Tensor) -> Tensor:
        return keep(log_probs, (log_probs.softmax(dim=-1) >= self.epsilon) | _is_largest(log_probs))


@dataclass(frozen=True)
class Eta(Deterministic):
    """As epsilon with the bound η = min(ε, √ε · exp(-H(p))), lower for flat distributions (Hewitt et al., 2022).

    The square root takes in ε alone: so in the paper and in Hugging Face's code, not in its documentation.
    """

    epsilon: Annotated[float, Range(0, 1, includes_upper=False)]
    name: ClassVar[str] = "eta"

    def weigh(self, log_probs: Tensor) -> Tensor:
        entropy = torch.distributions.Categorical(logits=log_probs, validate_args=False).entropy()
        epsilon = torch.tensor(self.epsilon, device=log_probs.device)  # single precision, as in EtaLogitsWarper
        bound = torch.min(epsilon, torch.sqrt(epsilon) * torch.exp(-entropy)).unsqueeze(1)  # [rows, 1]
        return keep(log_probs, (log_probs.softmax(dim=-1) >= bound) | _is_largest(log_probs))


def kth_largest(log_probs: Tensor, k: int) -> Tensor:
    """[rows, 1]: the k-th largest value of each row, the smallest where there are fewer."""
    return log_probs.topk(min(k, log_probs.shape[1])).values[:, -1:]


def _is_largest(log_probs: Tensor) -> Tensor:
    return log_probs >= log_probs.amax(dim=-1, keepdim=True)


def _sorted_values(log_probs: Tensor) -> Tensor:
    """Each row in ascending order. NumPy's sort of bare numbers is vectorised; torch's always carries indices."""
    if log_probs.device.type != "cpu":
        return log_probs.sort(dim=-1).values
    return torch.from_numpy(np.sort(log_probs.detach().numpy(), axis=-1))
