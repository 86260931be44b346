"""From a trained encoder to the graph that is served."""

import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from offscript.errors import OffscriptError
from offscript.factcheck.stance.teaching.exporting import quantise

_OPSET = 17


class _Graph(nn.Module):
    """Tokens and types [1, time] of one pair to the scores of the labels [1, 3].

    The arithmetic is BERT's. It is written out since a served pair is never padded and always alone: no mask, shapes
    that are constants but for the length, and of the last layer only the first token, which is all that the head
    looks at. That takes a quarter off the time of a pair.
    """

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self._heads = int(network.config.num_attention_heads)
        self._size = int(network.config.hidden_size) // self._heads

    def forward(self, tokens: Tensor, types: Tensor) -> Tensor:
        embedded = self._embedded(tokens[0], types[0])
        *layers, last = self.network.bert.encoder.layer
        for layer in layers:
            embedded = self._layer(layer, embedded, embedded)
        first = self._layer(last, embedded[:1], embedded)
        scores: Tensor = self.network.classifier(torch.tanh(self.network.bert.pooler.dense(first)))
        return scores

    def _embedded(self, tokens: Tensor, types: Tensor) -> Tensor:
        """The sum of the three embeddings, normalised; [time, width]."""
        parts = self.network.bert.embeddings
        places = parts.position_ids[0, : tokens.shape[0]]
        added = parts.word_embeddings(tokens) + parts.token_type_embeddings(types) + parts.position_embeddings(places)
        normalised: Tensor = parts.LayerNorm(added)
        return normalised

    def _layer(self, layer: Any, asking: Tensor, told: Tensor) -> Tensor:
        """The output of a layer for the query tokens [asking, width], which attend to all tokens [time, width]."""
        attention, after = layer.attention.self, layer.attention.output
        queries = self._split(attention.query(asking)).transpose(0, 1) / math.sqrt(self._size)
        keys = self._split(attention.key(told)).permute(1, 2, 0)
        values = self._split(attention.value(told)).transpose(0, 1)
        read = (torch.softmax(queries @ keys, dim=-1) @ values).transpose(0, 1).reshape(-1, self._heads * self._size)
        attended = after.LayerNorm(after.dense(read) + asking)
        inner = layer.intermediate.intermediate_act_fn(layer.intermediate.dense(attended))
        out: Tensor = layer.output.LayerNorm(layer.output.dense(inner) + attended)
        return out

    def _split(self, vectors: Tensor) -> Tensor:
        """Vectors by head; [tokens, heads, size]."""
        return vectors.reshape(-1, self._heads, self._size)


def export_graph(network: Any, path: Path, *, int8: bool = True) -> Path:
    """Write the graph of a fine-tuned BERT classifier to `path`.

    Args:
        network: The classifier, in full precision.
        path: Where the graph goes.
        int8: Whether the weights of matrix products and embeddings are quantised.

    Returns:
        `path`.
    """
    if network.config.model_type != "bert":
        why = f"the encoder is of type {network.config.model_type}"
        raise OffscriptError("only a BERT encoder can be served", why=why, next="name another encoder in the recipe")
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.onnx"
        shown = (torch.ones(1, 8, dtype=torch.long),) * 2
        with warnings.catch_warnings():  # the newer exporter would ask for one more package
            warnings.simplefilter("ignore")
            torch.onnx.export(
                _Graph(network).eval(),
                shown,
                str(path if not int8 else whole),
                input_names=["tokens", "types"],
                output_names=["scores"],
                dynamic_axes={name: {1: "time"} for name in ("tokens", "types")},
                opset_version=_OPSET,
                dynamo=False,
            )
        if int8:
            quantise(whole, path)
    return path
