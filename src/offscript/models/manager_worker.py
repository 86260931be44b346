"""LeakGAN's generator (Guo et al. 2018): a manager that reads the discriminator's features sets a worker's goals."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn import functional

from offscript.corpora.vocabularies import Vocabulary
from offscript.models.discriminator import ConvolutionalDiscriminator, ConvolutionSettings
from offscript.models.language_model import State
from offscript.models.neural import NeuralLanguageModel


class ManagerWorkerSettings(BaseModel):
    """Sizes of both networks, and of the discriminator whose features leak."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden: int = Field(128, ge=1, le=1 << 20)
    embedding: int = Field(32, ge=1, le=1 << 20)
    goal: int = Field(16, ge=1, le=1 << 20, description="k, the width in which goals and tokens meet")
    horizon: int = Field(4, ge=1, le=1 << 20, description="c, how many tokens a goal looks ahead")
    temperature: float = Field(1.0, gt=0, description="α of eq. 6, which logits are divided by; more explores more")
    discriminator: ConvolutionSettings = ConvolutionSettings()


class Plan(NamedTuple):
    """What the manager saw and wanted before each token."""

    leaked: Tensor  # [rows, time, features]
    goals: Tensor  # [rows, time, features], of length one


@dataclass(frozen=True)
class _Office(State):
    """Where manager and worker stand, and what the discriminator's filters answered so far."""

    worker: tuple[Tensor, Tensor]  # [1, rows, hidden] each
    manager: tuple[Tensor, Tensor]
    goals: Tensor  # [rows, horizon, features], the latest last
    seen: Tensor  # [rows, widest window - 1, embedding], the latest last
    pooled: Tensor  # [rows, features]
    read: int  # tokens of the sequence; -1 before start

    def select(self, rows: Tensor) -> "_Office":
        worker, manager = ((hidden[:, rows], cell[:, rows]) for hidden, cell in (self.worker, self.manager))
        return _Office(worker, manager, self.goals[rows], self.seen[rows], self.pooled[rows], self.read)


class ManagerWorker(NeuralLanguageModel):
    """Logits are the worker's token vectors times the sum of the manager's latest goals (eqs. 2 to 6).

    The discriminator is part of the model, because its features are read wherever a token is predicted. They are leaked
    without a gradient: what teaches it is the algorithm's business.
    """

    kind: ClassVar[str] = "manager-worker"
    settings: ManagerWorkerSettings

    def __init__(self, vocabulary: Vocabulary, settings: ManagerWorkerSettings) -> None:
        super().__init__(vocabulary, settings)
        width = settings.discriminator.width
        self.discriminator = ConvolutionalDiscriminator(vocabulary.size, settings.discriminator)
        self.embedding = nn.Embedding(vocabulary.inputs, settings.embedding)
        self.worker = nn.LSTM(settings.embedding, settings.hidden, batch_first=True)
        self.manager = nn.LSTM(width, width, batch_first=True)
        self.narrowed = nn.Linear(width, settings.goal, bias=False)
        self.output = nn.Linear(settings.hidden, vocabulary.size * settings.goal)

    def features(self, inputs: Tensor) -> Tensor:
        return self.worked(inputs, self.planned(inputs).goals)

    def planned(self, inputs: Tensor) -> Plan:
        """What the manager sees and wants after each of the inputs [rows, time], of which the first is start."""
        with torch.no_grad():
            leaked = self.discriminator.prefix_features(inputs[:, 1:])
        hidden, _ = self.manager(leaked)
        return Plan(leaked, functional.normalize(hidden, dim=-1))

    def worked(self, inputs: Tensor, goals: Tensor) -> Tensor:
        """The worker's features [rows, time, hidden + goal] after each of the inputs, the latest goals beside them."""
        read, _ = self.worker(self.embedding(inputs))
        back = self.settings.horizon
        summed = functional.pad(goals, (0, 0, back - 1, 0)).unfold(1, back, 1).sum(dim=-1)
        return torch.cat([read, self.narrowed(summed)], dim=-1)

    def unnormalised(self, features: Tensor) -> Tensor:
        read, wanted = features.split([self.settings.hidden, self.settings.goal], dim=-1)
        vectors = self.output(read).unflatten(-1, (self.vocabulary.size, self.settings.goal))
        logits: Tensor = (vectors @ wanted.unsqueeze(-1)).squeeze(-1)
        return logits / self.settings.temperature

    def begin(self, rows: int) -> _Office:
        settings, width = self.settings, self.settings.discriminator.width

        def nothing(*shape: int) -> Tensor:
            return torch.zeros(*shape, device=self.device)

        return _Office(
            worker=(nothing(1, rows, settings.hidden), nothing(1, rows, settings.hidden)),
            manager=(nothing(1, rows, width), nothing(1, rows, width)),
            goals=nothing(rows, settings.horizon, width),
            seen=nothing(rows, max(settings.discriminator.windows) - 1, settings.discriminator.embedding),
            pooled=nothing(rows, width),
            read=-1,
        )

    def advance(self, state: State, tokens: Tensor) -> tuple[Tensor, _Office]:
        assert isinstance(state, _Office)
        tokens = tokens.to(self.device).unsqueeze(1)
        with self.inference():
            seen, pooled = self._remembered(state, tokens) if state.read >= 0 else (state.seen, state.pooled)
            wanted, manager = self.manager(self.discriminator.mixed(pooled).unsqueeze(1), state.manager)
            goals = torch.cat([state.goals[:, 1:], functional.normalize(wanted, dim=-1)], dim=1)
            read, worker = self.worker(self.embedding(tokens), state.worker)
            features = torch.cat([read.squeeze(1), self.narrowed(goals.sum(dim=1))], dim=-1)
            return self.project(features), _Office(worker, manager, goals, seen, pooled, state.read + 1)

    def _remembered(self, state: _Office, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The discriminator's memory after one more token: what windows reach over, each filter's largest answer."""
        window = torch.cat([state.seen, self.discriminator.embedded(tokens)], dim=1)
        answers = self.discriminator.latest(window, state.read + 1)
        return window[:, 1:], torch.maximum(state.pooled, answers)
