"""MTransSAN's network: one transformer encoder for all tasks, one output layer per head (Figure 3-1)."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from offscript._files import replacing
from offscript._untrusted import refuse_remote_code
from offscript.errors import OffscriptError
from offscript.factcheck.stance.served import unlimited
from offscript.learning import seeded

WEIGHTS = "weights.safetensors"
_TINY = 1e-9


@dataclass(frozen=True)
class PairBatch:
    """Claims packed with texts, or single sentences; all [rows, time], masks are 1 where they hold."""

    tokens: Tensor
    types: Tensor
    real: Tensor
    claim: Tensor
    text: Tensor

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.int64]]) -> "PairBatch":
        """From a `PairEncoder`'s arrays."""
        return cls(**{name: torch.from_numpy(array) for name, array in arrays.items()})


class PairNetwork(nn.Module):
    """An encoder and its heads by name."""

    def __init__(self, encoder: Any, heads: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.encoder, self.heads = encoder, nn.ModuleDict(heads)
        self._typed = getattr(encoder.config, "type_vocab_size", 0) > 1

    @property
    def width(self) -> int:
        """Of an encoding."""
        return int(self.encoder.config.hidden_size)

    def forward(self, head: str, batch: PairBatch) -> Tensor:
        """Probabilities [rows, labels] of a head."""
        return self.answer(head, self.encode(batch), batch)

    def encode(self, batch: PairBatch) -> Tensor:
        """Contextual encodings [rows, time, width]."""
        types = {"token_type_ids": batch.types} if self._typed else {}
        encoded: Tensor = self.encoder(input_ids=batch.tokens, attention_mask=batch.real, return_dict=False, **types)[0]
        return encoded

    def answer(self, head: str, encoded: Tensor, batch: PairBatch) -> Tensor:
        """Probabilities [rows, labels] of a head from encodings."""
        layer = self.heads[head]
        if isinstance(layer, StochasticAnswer):
            return layer(encoded, batch.claim, encoded, batch.text)  # type: ignore[no-any-return]
        return layer(encoded)  # type: ignore[no-any-return]

    def freeze(self, layers: int) -> None:
        """Keep the embeddings and the first layers as they are; with 0 everything is taught."""
        if layers:
            frozen = [self.encoder.embeddings, *self.encoder.encoder.layer[:layers]]
            for parameter in (each for module in frozen for each in module.parameters()):
                parameter.requires_grad_(False)


def make_head(kind: str, width: int, labels: int, *, steps: int = 5, seed: int = 1) -> nn.Module:
    """`san` or `linear`, with weights that depend on the seed alone."""
    with seeded(seed):
        return StochasticAnswer(width, labels, steps=steps) if kind == "san" else LinearAnswer(width, labels)


def load_encoder(name: str) -> tuple[Any, Tokenizer]:
    """An encoder and its tokenizer: a folder, an installed package that carries one in `model/`, or a Hub id."""
    from transformers import AutoModel, AutoTokenizer

    place = encoder_place(name)
    refuse_remote_code(place, next="use another encoder")
    try:
        encoder = AutoModel.from_pretrained(place, use_safetensors=True, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False).backend_tokenizer
    except (OSError, ValueError, ImportError, AttributeError) as fault:
        why = " ".join(str(fault).split())[:300]
        raise OffscriptError(
            f"the encoder {name!r} cannot be loaded", why=why, next="name a folder or a Hub id"
        ) from fault
    return encoder, unlimited(tokenizer)


def encoder_place(name: str) -> str:
    """Where an encoder is: a folder, that of an installed package, or the Hub id itself."""
    if Path(name).is_dir() or not name.replace("-", "_").isidentifier():
        return name
    package = importlib.util.find_spec(name.replace("-", "_"))
    if package is None or package.origin is None:
        return name
    carried = Path(package.origin).parent / "model"
    return str(carried) if carried.is_dir() else name


class StochasticAnswer(nn.Module):
    """K-step reasoning over a claim and a text with bilinear attention and a GRU state (Liu et al. 2018, ch. 3.2.1).

    s_0 = Σ_i softmax(θ·C_i) C_i,  x_k = Σ_j softmax(s_k W T_j) T_j,  s_{k+1} = GRU(x_k, s_k),
    p_k = softmax(V [s_k; x_k; |s_k − x_k|; s_k ∘ x_k]); the answer is the mean of p_0 … p_{K−1}. With K = 1 it is the
    plain attention classifier.
    """

    def __init__(self, width: int, labels: int, *, steps: int = 5, prediction_dropout: float = 0.1) -> None:
        super().__init__()
        self.steps, self.prediction_dropout = steps, prediction_dropout
        self.pooling = nn.Linear(width, 1, bias=False)  # θ
        self.attention = nn.Linear(width, width, bias=False)  # W
        self.state = nn.GRUCell(width, width)
        self.answer = nn.Linear(4 * width, labels)  # V

    def forward(self, claim: Tensor, claim_mask: Tensor, text: Tensor, text_mask: Tensor) -> Tensor:
        """Probabilities [rows, labels] from encodings [rows, time, width] and masks [rows, time] (1 where real)."""
        predictions = self.predictions(claim, claim_mask, text, text_mask)  # [rows, K, labels]
        if not (self.training and self.prediction_dropout):
            return predictions.mean(dim=1)
        kept = self._kept(predictions[:, :, :1])  # [rows, K, 1]
        return (predictions * kept).sum(dim=1) / kept.sum(dim=1)

    def predictions(self, claim: Tensor, claim_mask: Tensor, text: Tensor, text_mask: Tensor) -> Tensor:
        """Every step's probabilities [rows, K, labels]."""
        state = _average(claim, self.pooling(claim).squeeze(2), claim_mask)  # [rows, width]
        answers = []
        for step in range(self.steps):
            scores = (text @ self.attention(state).unsqueeze(2)).squeeze(2)  # [rows, time]
            read = _average(text, scores, text_mask)  # [rows, width]
            features = torch.cat([state, read, (state - read).abs(), state * read], dim=1)
            answers.append(self.answer(features).softmax(dim=1))
            if step + 1 < self.steps:
                state = self.state(read, state)
        return torch.stack(answers, dim=1)

    def _kept(self, like: Tensor) -> Tensor:
        """Which predictions of a row are averaged: each with probability 1 − dropout, one always."""
        kept = (torch.rand_like(like) >= self.prediction_dropout).to(like.dtype)
        spared = torch.rand_like(like).argmax(dim=1, keepdim=True)  # [rows, 1, 1]
        return kept.scatter(1, spared, 1.0)


class LinearAnswer(nn.Module):
    """A linear layer on the first position's encoding: for single sentences, and for TransLinear (Table 3.1, row 6)."""

    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        self.answer = nn.Linear(width, labels)

    def forward(self, encoded: Tensor) -> Tensor:
        """Probabilities [rows, labels] from encodings [rows, time, width]."""
        probabilities: Tensor = self.answer(encoded[:, 0]).softmax(dim=1)
        return probabilities


def log_of(probabilities: Tensor) -> Tensor:
    """Logarithms that stay finite where a probability underflows."""
    return probabilities.clamp_min(_TINY).log()


def _average(vectors: Tensor, scores: Tensor, mask: Tensor) -> Tensor:
    """Σ softmax(scores) vectors over unmasked places; where there is none, over all alike."""
    weights = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min).softmax(dim=1)
    return (weights.unsqueeze(1) @ vectors).squeeze(1)


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Weights, whole or not at all."""
    with replacing(path) as temporary:
        save_file({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}, temporary)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """What `write_tensors` wrote."""
    try:
        return load_file(path)
    except (SafetensorError, OSError) as fault:
        raise OffscriptError(
            f"the weights {path} cannot be read", why=str(fault), next="train the model again"
        ) from fault
