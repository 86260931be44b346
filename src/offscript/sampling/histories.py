"""Histories to put before a model: the data's, and ones that are wrong on purpose. Its own are what `generate` draws.

With a `first_row`, row i depends on the seed and on `first_row + i` alone: parts drawn apart make up the whole.
"""

import torch
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.sampling.randomness import Draws, Seed

_WHERE, _WHAT, _CHOICE, _ORDER, _TOKENS, _EXCHANGE = 1, 2, 4, 5, 6, 7
"""Streams of random numbers, one a purpose, and none of those that tokens (0) and transforms (3) are drawn with."""


def data_histories(tokens: Tensor, rows: int, length: int, *, seed: Seed) -> Tensor:
    """The first `length` tokens of `rows` different sequences, chosen at random from [n, time]."""
    if len(tokens) < rows or tokens.shape[1] < length:
        raise OffscriptError(
            f"{len(tokens)} data sequences of {tokens.shape[1]} tokens are too few or too short",
            why=f"{rows} of {length} tokens are asked for",
            next="give more data or ask for less",
        )
    keys = Draws(seed).uniform(0, 0, len(tokens), stream=_CHOICE).squeeze(1)
    return tokens[keys.argsort()[:rows], :length].clone()


def shuffled_histories(histories: Tensor, *, seed: Seed, first_row: int = 0) -> Tensor:
    """The same tokens in random order, each row shuffled by itself."""
    rows, length = histories.shape
    keys = Draws(seed).uniform(0, first_row, rows, length, stream=_ORDER)
    return histories.gather(1, keys.argsort(dim=1).to(histories.device))


def random_histories(size: int, rows: int, length: int, *, seed: Seed, first_row: int = 0) -> Tensor:
    """Tokens drawn uniformly from a vocabulary of `size`."""
    return (Draws(seed).uniform(0, first_row, rows, length, stream=_TOKENS) * size).long()


def corrupted_histories(histories: Tensor, rate: float, size: int, *, seed: Seed, first_row: int = 0) -> Tensor:
    """Each token replaced, with probability `rate`, by one drawn uniformly from the vocabulary (Figure 3)."""
    if not 0 <= rate <= 1:
        raise OffscriptError(f"cannot use a corruption rate of {rate}", next="give one between 0 and 1")
    draws, (rows, length) = Draws(seed), histories.shape
    replaced = draws.uniform(0, first_row, rows, length, stream=_WHERE).to(histories.device) < rate
    noise = (draws.uniform(0, first_row, rows, length, stream=_WHAT) * size).long().to(histories.device)
    return torch.where(replaced, noise, histories)


def unrelated_histories(histories: Tensor, *, seed: Seed) -> Tensor:
    """Every row gets the history of another row: right in itself, wrong for what follows."""
    rows = len(histories)
    if rows < 2:
        raise OffscriptError(f"{rows} histories cannot be exchanged", next="give two or more")
    order = Draws(seed).uniform(0, 0, rows, stream=_EXCHANGE).squeeze(1).argsort()
    exchanged = torch.empty_like(order)
    exchanged[order] = order.roll(1)
    return histories[exchanged.to(histories.device)]
