"""Any sample-only generator as a language model (Tevet et al. 2019, Algorithm 1), and how many draws that takes."""

import hashlib
import math
from collections.abc import Iterator

import torch
from torch import Tensor

from offscript._abilities import Gives
from offscript.errors import OffscriptError
from offscript.models.generator import FLOOR, ContinuedTexts, Generator, InternalDistribution, log_shares
from offscript.models.language_model import LanguageModel, Scored, State, checked_positions
from offscript.models.noise_lstm import NoiseLSTM, NoiseStates


class Approximated(LanguageModel):
    """The mean of n draws after each history (eq. 1), `floor` added to every count.

    p(token | history) = (count + floor) / (n + floor V). With a floor of 0 a token that is never drawn has no
    probability, and a text that holds one is infinitely unlikely.
    """

    def __init__(self, generator: Generator, n: int, *, seed: int = 0, floor: float = FLOOR) -> None:
        if n < 1 or not floor >= 0 or seed < 0:
            raise OffscriptError(
                f"cannot make an approximation by {n} draws with the floor {floor:g} and the seed {seed}",
                next="give at least one draw, and neither a floor nor a seed below 0",
            )
        self.generator, self.n, self.seed, self.floor = generator, n, seed, floor
        self.vocabulary = generator.vocabulary
        self.name = f"{generator.name},approximate={n}"

    @property
    def device(self) -> torch.device:
        return self.generator.device

    @property
    def weight_hash(self) -> str:
        described = f"{self.generator.weight_hash} {self.n} {self.seed} {self.floor}"
        return hashlib.sha256(described.encode()).hexdigest()

    @property
    def never_drawn(self) -> float:
        """The log-probability of a token that was not among the n draws; no other token has one so low."""
        return float(log_shares(torch.zeros(self.vocabulary.size), self.n, self.floor)[0])

    def begin(self, rows: int) -> State:
        return self.generator.begin(rows, self.n, self.seed)

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, State]:
        counts, state = self.generator.count(state, tokens)
        return log_shares(counts, self.n, self.floor), state

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        """In the generator's own chunks, which are no longer than a model's."""
        asked = checked_positions(tokens, positions)
        for chunk, counts in self.generator.count_all(tokens.to(self.device), asked, self.n, self.seed):
            yield Scored(chunk, log_shares(counts, self.n, self.floor))


def approximate(source: Generator | LanguageModel, n: int, *, seed: int = 0, floor: float = FLOOR) -> Approximated:
    """A language model whose next-token distribution is the mean of n draws from the source.

    A model draws from its own distribution, n tokens at once; one with a noise state runs n of them.

    Args:
        source: What emits tokens.
        n: How many draws follow each history; see `draws_needed`.
        seed: Decides the draws.
        floor: Added to every token's count, so that a token never drawn is rare, not impossible.

    Returns:
        A model with one fixed distribution after each history.
    """
    return Approximated(source if isinstance(source, Generator) else generator_of(source), n, seed=seed, floor=floor)


def generator_of(model: LanguageModel) -> Generator:
    """The model as something that only emits tokens."""
    if model.gives < Gives.distributions:
        return ContinuedTexts(model)
    return NoiseStates(model) if isinstance(model, NoiseLSTM) else InternalDistribution(model)


def draws_needed(vocabulary_size: int, *, within: float, risk: float) -> int:
    """The least n with P(‖E[G] - Gₙ‖∞ > within) < risk by Hoeffding: n > ln(2V / risk) / (2 within²) (eq. 4).

    Args:
        vocabulary_size: How many symbols there are, V.
        within: The largest error of a probability that is accepted.
        risk: The chance of a larger one that is accepted.

    Returns:
        The number of draws after each history.
    """
    if vocabulary_size < 1 or not within > 0 or not 0 < risk < 1:
        raise OffscriptError(
            f"cannot plan draws for {vocabulary_size} symbols within {within:g} at the risk {risk:g}",
            next="give a symbol or more, a distance above 0, and a risk between 0 and 1",
        )
    return math.floor(math.log(2 * vocabulary_size / risk) / (2 * within**2)) + 1
