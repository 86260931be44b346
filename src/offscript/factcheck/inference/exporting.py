"""From a trained encoder to the graph that is served."""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from offscript.factcheck.stance.teaching.exporting import quantise

_OPSET = 17


class _Graph(nn.Module):
    """Tokens and types [rows, time] to the scores of the labels [rows, 3]; rows are not padded."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, types: Tensor) -> Tensor:
        scores: Tensor = self.network(
            input_ids=tokens, token_type_ids=types, attention_mask=torch.ones_like(tokens)
        ).logits
        return scores


def export_graph(network: Any, path: Path, *, int8: bool = True) -> Path:
    """Write the graph of a fine-tuned sequence classifier to `path`.

    Args:
        network: The classifier, in full precision.
        path: Where the graph goes.
        int8: Whether the weights of matrix products and embeddings are quantised.

    Returns:
        `path`.
    """
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.onnx"
        shown = (torch.ones(2, 8, dtype=torch.long),) * 2
        with warnings.catch_warnings():  # the newer exporter would ask for one more package
            warnings.simplefilter("ignore")
            torch.onnx.export(
                _Graph(network).eval(),
                shown,
                str(path if not int8 else whole),
                input_names=["tokens", "types"],
                output_names=["scores"],
                dynamic_axes={name: {0: "rows", 1: "time"} for name in ("tokens", "types")} | {"scores": {0: "rows"}},
                opset_version=_OPSET,
                dynamo=False,
            )
        if int8:
            quantise(whole, path)
    return path
