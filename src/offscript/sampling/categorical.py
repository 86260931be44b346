"""Categorical draws by inverting the cumulative distribution."""

import torch
from torch import Tensor

from offscript.errors import OffscriptError


def draw(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """One token a row of [rows, V] log-probabilities, for a uniform number a row in [0, 1).

    The token is the first whose cumulative probability exceeds the number, so a token of probability zero is
    never drawn. The distribution need not be normalised.
    """
    cumulative = log_probs.exp().cumsum(dim=-1)  # [rows, V]
    total = cumulative[:, -1:]
    _require_positive(total.squeeze(1))
    target = uniform.to(cumulative).view(-1, 1) * total
    below = torch.nextafter(total, torch.zeros_like(total))
    return torch.searchsorted(cumulative, torch.minimum(target, below), right=True).squeeze(1)


def _require_positive(totals: Tensor) -> None:
    wrong = ~((totals > 0) & totals.isfinite())
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise OffscriptError(
            f"row {row} of {len(totals)} is no distribution to draw from",
            why=f"its probabilities sum to {float(totals[row])}",
            next="look at the model that gave it",
        )
