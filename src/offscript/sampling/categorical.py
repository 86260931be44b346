"""Categorical draws by inverting the cumulative distribution."""

import torch
from torch import Tensor


def draw(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """One token a row of [rows, V] log-probabilities, for a uniform number a row in [0, 1).

    The token is the first whose cumulative probability exceeds the number, so a token of probability zero is
    never drawn. The distribution need not be normalised.
    """
    cumulative = log_probs.exp().cumsum(dim=-1)  # [rows, V]
    total = cumulative[:, -1:]
    target = uniform.to(cumulative).view(-1, 1) * total
    below = torch.nextafter(total, torch.zeros_like(total))
    return torch.searchsorted(cumulative, torch.minimum(target, below), right=True).squeeze(1)
