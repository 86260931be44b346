"""MTransSAN's network: one transformer encoder for all tasks, one output layer a head (Figure 3-1)."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from offscript._remote_code import refuse_remote_code
from offscript.errors import OffscriptError
from offscript.factcheck.stance.packing import unlimited
from offscript.factcheck.stance.san import LinearAnswer, StochasticAnswer


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
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # noqa: TID251 (layers know no generator)
        return StochasticAnswer(width, labels, steps=steps) if kind == "san" else LinearAnswer(width, labels)


def load_encoder(name: str) -> tuple[Any, Tokenizer]:
    """An encoder and its tokenizer: a folder, an installed package that carries one in `model/`, or a Hub id."""
    from transformers import AutoModel, AutoTokenizer

    place = _place(name)
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


def _place(name: str) -> str:
    if Path(name).is_dir() or not name.replace("-", "_").isidentifier():
        return name
    package = importlib.util.find_spec(name.replace("-", "_"))
    if package is None or package.origin is None:
        return name
    carried = Path(package.origin).parent / "model"
    return str(carried) if carried.is_dir() else name
