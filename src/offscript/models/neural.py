"""What the trainable models share: features of a history, projected to next-token distributions where asked."""

import contextlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch
from pydantic import BaseModel
from torch import Tensor, nn
from torch.nn import functional

from offscript.corpora.vocabularies import Vocabulary
from offscript.models.language_model import (
    LanguageModel,
    Scored,
    checked_positions,
    chunks_of,
    preceded_by_start,
    weight_hash_of,
)


class NeuralLanguageModel(nn.Module, LanguageModel):
    """A network that turns inputs into features [rows, time, width], and features into logits [..., V]."""

    kind: ClassVar[str]
    settings: BaseModel

    def __init__(self, vocabulary: Vocabulary, settings: BaseModel) -> None:
        super().__init__()
        self.vocabulary, self.settings = vocabulary, settings

    @abstractmethod
    def features(self, inputs: Tensor) -> Tensor:
        """Features [rows, time, width] after reading each of the inputs [rows, time] in turn."""

    @abstractmethod
    def unnormalised(self, features: Tensor) -> Tensor:
        """Logits [..., V] of features [..., width]."""

    def logits(self, tokens: Tensor) -> Tensor:
        """Logits [rows, time, V] at every position of the tokens, for training."""
        return self.unnormalised(self.features(preceded_by_start(tokens, self.vocabulary.start)))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.logits(tokens)

    def of_rows(self, rows: Tensor) -> "NeuralLanguageModel":
        return self

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def weight_hash(self) -> str:
        return weight_hash_of(self)

    def score(self, tokens: Tensor, positions: range | None = None) -> Iterator[Scored]:
        asked = checked_positions(tokens, positions)
        with self.inference():
            inputs = preceded_by_start(tokens.to(self.device), self.vocabulary.start)[:, : asked.stop]
            features = self.features(inputs)
        for chunk in chunks_of(asked, len(tokens), self.vocabulary.size):
            with self.inference():
                log_probs = self.project(features[:, chunk.start : chunk.stop])
            yield Scored(chunk, log_probs)

    def log_likelihoods(
        self, tokens: Tensor, positions: range | None = None, lengths: Sequence[int] | None = None
    ) -> Tensor:
        asked = checked_positions(tokens, positions)
        with self.inference():
            tokens = tokens.to(self.device)
            features = self.features(preceded_by_start(tokens, self.vocabulary.start)[:, : asked.stop])
            columns = []
            for chunk in chunks_of(asked, len(tokens), self.vocabulary.size):
                logits = self.unnormalised(features[:, chunk.start : chunk.stop]).flatten(0, 1)
                gold = tokens[:, chunk.start : chunk.stop].flatten()
                columns.append(-functional.cross_entropy(logits, gold, reduction="none").view(len(tokens), -1))
            return torch.cat(columns, dim=1)

    def project(self, features: Tensor) -> Tensor:
        """Log-probabilities of features, normalised in single precision."""
        return self.unnormalised(features).float().log_softmax(dim=-1)

    @contextlib.contextmanager
    def inference(self) -> Iterator[None]:
        """No gradients, no dropout; the training flag is put back afterwards."""
        training = self.training
        self.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.train(training)

    def describe(self) -> dict[str, Any]:
        """Kind and settings: what the model card needs to build the same network again."""
        return {"kind": self.kind, "settings": self.settings.model_dump()}
