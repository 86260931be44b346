"""A head that tells whether one sentence follows another, on top of any model that turns text into features."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from offscript.corpora.vocabularies import encode_prose
from offscript.errors import OffscriptError
from offscript.models.hub import HubLanguageModel, MaskedLanguageModel, names_masked_model
from offscript.models.language_model import LanguageModel
from offscript.models.neural import NeuralLanguageModel
from offscript.models.registry import load_model
from offscript.models.storage import read_card, read_network, write_network

KIND = "next-sentence"
Pairs = Sequence[tuple[str, str]]


class PairEncoder(Protocol):
    """What turns pairs of sentences into features of one width."""

    name: str
    network: nn.Module
    width: int

    def pooled(self, pairs: Pairs, longest: int) -> Tensor:
        """Features [pairs, width] of pairs cut to `longest` tokens."""


class CausalPairs:
    """The mean over the tokens of both sentences, read one after the other (appendix B.2.3)."""

    def __init__(self, model: NeuralLanguageModel | HubLanguageModel) -> None:
        self.name, self._model = model.name, model
        self.network: nn.Module = model if isinstance(model, NeuralLanguageModel) else model.network
        self.width = self._features(torch.full((1, 1), model.vocabulary.start)).shape[-1]

    def pooled(self, pairs: Pairs, longest: int) -> Tensor:
        start = self._model.vocabulary.start
        rows = [
            [start, *encode_prose(self._model.vocabulary, f"{first} {second}")][:longest] for first, second in pairs
        ]
        lengths = torch.tensor([len(row) for row in rows], device=self._model.device)
        tokens = torch.full((len(rows), int(lengths.max())), start)
        for filled, row in zip(tokens, rows, strict=True):
            filled[: len(row)] = torch.tensor(row)
        features = self._features(tokens)  # [pairs, time, width]
        real = torch.arange(features.shape[1], device=features.device) < lengths.unsqueeze(1)
        return (features * real.unsqueeze(-1)).sum(dim=1) / lengths.unsqueeze(-1)

    def _features(self, inputs: Tensor) -> Tensor:
        inputs = inputs.to(self._model.device)
        if isinstance(self._model, NeuralLanguageModel):
            return self._model.features(inputs)
        features: Tensor = self._model.network.base_model(inputs).last_hidden_state
        return features.float()


class MaskedPairs:
    """What stands at [CLS] when both sentences are read as a pair."""

    def __init__(self, model: MaskedLanguageModel) -> None:
        self.name, self._model = model.name, model
        self.network: nn.Module = model.network
        self.width = int(model.network.config.hidden_size)

    def pooled(self, pairs: Pairs, longest: int) -> Tensor:
        firsts, seconds = ([pair[place] for pair in pairs] for place in (0, 1))
        encoded = self._model.tokenizer(
            firsts, seconds, padding=True, truncation=True, max_length=longest, return_tensors="pt"
        )
        features: Tensor = self._model.network.base_model(**encoded.to(self._model.device)).last_hidden_state
        return features[:, 0].float()


class NextSentenceHead(nn.Module):
    """A dense layer and an answer: the logit that the second sentence follows the first."""

    def __init__(
        self, encoder: PairEncoder, *, generator: torch.Generator, longest: int = 256, fine_tune: bool = False
    ) -> None:
        super().__init__()
        self.longest, self.fine_tune = longest, fine_tune
        self.layers = nn.Sequential(nn.Linear(encoder.width, encoder.width), nn.Tanh(), nn.Linear(encoder.width, 1))
        self.network = encoder.network if fine_tune else None
        self._pooled, self.encoder_name = encoder.pooled, encoder.name
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=encoder.width**-0.5, generator=generator)
                nn.init.zeros_(layer.bias)

    def forward(self, pairs: Pairs) -> Tensor:
        """Logits [pairs]; without fine-tuning no gradient reaches the model below."""
        with torch.set_grad_enabled(self.fine_tune and torch.is_grad_enabled()):
            features = self._pooled(pairs, self.longest)
        logits: Tensor = self.layers(features)
        return logits.squeeze(-1)


def encoder_of(text: str, *, device: str = "cpu") -> PairEncoder:
    """The encoder that a model string names: masked or causal, by its configuration."""
    if names_masked_model(text):
        return MaskedPairs(MaskedLanguageModel.load(text, device=device))
    return encoder_from(load_model(text, device=device))


def encoder_from(model: LanguageModel) -> PairEncoder:
    """The encoder that a causal model is."""
    if not isinstance(model, NeuralLanguageModel | HubLanguageModel):
        raise OffscriptError(f"{model.name} has no features to put a head on", next="name a neural model")
    return CausalPairs(model)


def save_head(head: NextSentenceHead, folder: Path, card: dict[str, Any], *, half: bool = False) -> None:
    """Write weights and card."""
    settings = {"model": head.encoder_name, "longest": head.longest, "fine_tune": head.fine_tune}
    write_network(folder, head, {"kind": KIND, "settings": settings, **card}, half)


def load_head(folder: Path, encoder: PairEncoder) -> NextSentenceHead:
    """The head of a folder that `offscript train` wrote, on the model it was trained for."""
    card = read_card(folder)
    if card["kind"] != KIND:
        raise OffscriptError(f"{folder} holds a {card['kind']}", why="not a next-sentence head", next="train one first")
    settings = card["settings"]
    if settings["model"] != encoder.name:
        raise OffscriptError(
            f"{folder} is a head for {settings['model']}, not for {encoder.name}", next="name that model"
        )
    generator = torch.Generator()
    head = NextSentenceHead(encoder, generator=generator, longest=settings["longest"], fine_tune=settings["fine_tune"])
    read_network(folder, card, head)
    return head.to(next(encoder.network.parameters()).device).eval()
