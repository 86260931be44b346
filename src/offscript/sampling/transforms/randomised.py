"""Transforms that are drawn anew at every step for every row."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from offscript.sampling.transforms.base import Randomised, Range, keep


@dataclass(frozen=True)
class RandomMask(Randomised):
    """p̂ᵢ ∝ pᵢ · 1{i = 1 or uᵢ > R} with uᵢ ~ U(0, 1): the best token is never masked (Definition 5.3.2)."""

    rate: Annotated[float, Range(0, 1, letter="r")]
    name: ClassVar[str] = "random-mask"

    def width(self, size: int) -> int:
        return size

    def weigh(self, log_probs: Tensor, uniforms: Tensor) -> Tensor:
        best = log_probs.argmax(dim=-1, keepdim=True)
        return keep(log_probs, (uniforms > self.rate).scatter_(1, best, True))


@dataclass(frozen=True)
class RandomMaskAll(Randomised):
    """p̂ᵢ ∝ pᵢ · 1{uᵢ > R} with uᵢ ~ U(0, 1): the best token may be masked too (Definition A.1.1).

    A row that would lose every token keeps the one with the largest uᵢ, the last to go as R grows.
    """

    rate: Annotated[float, Range(0, 1, includes_upper=False, letter="r")]
    name: ClassVar[str] = "random-mask-all"

    def width(self, size: int) -> int:
        return size

    def weigh(self, log_probs: Tensor, uniforms: Tensor) -> Tensor:
        last = uniforms.masked_fill(log_probs.isneginf(), -1.0).argmax(dim=-1, keepdim=True)
        return keep(log_probs, (uniforms > self.rate).scatter_(1, last, True))


@dataclass(frozen=True)
class NoisedTopK(Randomised):
    """p̂ = (1 - W) p̂^top-K + W p^noise-K (Definition 5.3.3).

    The noise is uniform on the K-simplex and sorted, so that the best token gets the most of it. Here exactly K tokens
    are kept, whichever of those that tie; tokens with pᵢ = 0 get no noise.
    """

    k: Annotated[int, Range(1, includes_lower=True, whole=True)]
    weight: Annotated[float, Range(0, 1, includes_lower=True, letter="w")]
    name: ClassVar[str] = "noised-top-k"

    def width(self, size: int) -> int:
        return min(self.k, size)

    def weigh(self, log_probs: Tensor, uniforms: Tensor) -> Tensor:
        top = log_probs.topk(uniforms.shape[1])  # [rows, K], descending
        noise = -torch.log1p(-uniforms.clamp(min=1e-300))  # exponential: their shares are uniform on the simplex
        noise = noise.masked_fill(top.values.isneginf(), 0.0).sort(dim=-1, descending=True).values
        noise = noise / noise.sum(dim=-1, keepdim=True)
        mixed = (1 - self.weight) * top.values.double().softmax(dim=-1) + self.weight * noise
        return torch.full_like(log_probs, float("-inf")).scatter_(1, top.indices, mixed.log().to(log_probs.dtype))


@dataclass(frozen=True)
class RandomTopK(Randomised):
    """Top-k with k = ⌊1 + M · u⌋, u ~ U(0, 1) (Definition 5.3.4); ties as in top-k."""

    maximum: Annotated[int, Range(1, includes_lower=True, whole=True, letter="m")]
    name: ClassVar[str] = "random-top-k"

    def width(self, size: int) -> int:
        return 1

    def weigh(self, log_probs: Tensor, uniforms: Tensor) -> Tensor:
        largest = log_probs.topk(min(self.maximum, log_probs.shape[1])).values  # [rows, M]
        k = (1 + self.maximum * uniforms).long().clamp(max=largest.shape[1])  # [rows, 1]
        return keep(log_probs, log_probs >= largest.gather(1, k - 1))
