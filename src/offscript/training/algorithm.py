"""What an algorithm of training is to the shared loop: a loss, and whatever networks of its own it needs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from offscript.models.neural import NeuralLanguageModel


class AlgorithmSettings(BaseModel):
    """Settings of an algorithm; most have none beyond the recipe's."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class TokenBatch:
    """Tokens on the training device, and which of them are real."""

    tokens: Tensor  # [rows, time]
    real: Tensor  # [rows, time], False where a row is padded


@dataclass(frozen=True)
class Step:
    """Where the run stands, and the seed of this step's randomness."""

    number: int
    total: int
    seed: tuple[int, ...]


@dataclass(frozen=True)
class Loss:
    """The loss summed over tokens, and what else to log; the loop divides by the tokens of the whole batch."""

    total: Tensor
    logged: dict[str, float]


class Algorithm(ABC):
    """One way of teaching a model. Its only randomness is that of the step it is given."""

    name: ClassVar[str]
    Settings: ClassVar[type[AlgorithmSettings]] = AlgorithmSettings

    def __init__(self, settings: AlgorithmSettings) -> None:
        self.settings = settings

    def networks(self) -> dict[str, nn.Module]:
        """Networks of its own (a critic, a mediator), to be stored with each checkpoint."""
        return {}

    @abstractmethod
    def loss(self, model: NeuralLanguageModel, batch: TokenBatch, step: Step) -> Loss:
        """The loss of one batch."""
