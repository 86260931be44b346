"""Whether a discriminator is worth following: how often it tells held-out sequences from drawn ones."""

import math

import torch
from torch import Tensor, nn

UNKNOWN, CHANCE, USEFUL, SATURATED = range(4)
_SATURATED_FROM = 0.98
_ONE_SIDED = 1.6448536269514722
"""The 95 % quantile of the normal distribution."""

_WORDS = {
    CHANCE: "the discriminator is at chance: its reward says nothing about a sequence",
    USEFUL: "the discriminator is useful",
    SATURATED: "the discriminator is saturated: rewards hardly differ between sequences",
}


def pair_accuracy(real: Tensor, drawn: Tensor) -> float:
    """The share of pairs [n] in which the real sequence has the higher score; a tie counts half."""
    return float(((real > drawn).double() + 0.5 * (real == drawn).double()).mean())


def chance_limit(pairs: int) -> float:
    """The accuracy on so many pairs that a coin exceeds in 5 % of examinations (normal approximation)."""
    return 0.5 + _ONE_SIDED * math.sqrt(0.25 / pairs)


def standing_of(accuracy: float, pairs: int) -> int:
    """`CHANCE`, `USEFUL` or `SATURATED`."""
    if accuracy <= chance_limit(pairs):
        return CHANCE
    return SATURATED if accuracy >= _SATURATED_FROM else USEFUL


class Phase(nn.Module):
    """Whether the generator follows the discriminator yet, and how good that was at its last examination.

    It is a module so that checkpoints hold it: a resumed run is in the phase that it was killed in.
    """

    def __init__(self) -> None:
        super().__init__()
        self.begun: Tensor
        self.standing: Tensor
        self.register_buffer("begun", torch.tensor(-1))
        self.register_buffer("standing", torch.tensor(UNKNOWN))

    @property
    def began_at(self) -> int | None:
        """The step of the generator's first lesson; None before."""
        return None if int(self.begun) < 0 else int(self.begun)

    def begin(self, step: int) -> None:
        """The generator learns from this step on."""
        self.begun.fill_(step)

    def note(self, accuracy: float, pairs: int) -> str | None:
        """Remember an examination; a sentence where the discriminator's standing is another one than before."""
        standing = standing_of(accuracy, pairs)
        if standing == int(self.standing):
            return None
        self.standing.fill_(standing)
        return f"{_WORDS[standing]} (right on {accuracy:.1%} of {pairs} held-out pairs)"
