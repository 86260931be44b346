"""The inference model as it is served: one int8 ONNX graph run by onnxruntime; no torch is loaded."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.factcheck.inference.examples import LABELS, plain_text

GRAPH, TOKENIZER, CARD = "inference.onnx", "tokenizer.json", "card.json"
ASSET = Path(__file__).parents[2] / "assets" / "inference"
LENGTH = 128  # tokens of claim and evidence together


class InferenceModel:
    """Says of evidence whether it supports a claim, refutes it, or neither. Several threads may use one model.

    Pairs are read one at a time: int8 activations are scaled by the largest of a whole batch, so what stands beside a
    pair would change its probabilities; and nothing is padded. On one core a batch would save little anyway, since the
    matrix products of a single pair keep it busy. So the graph is made for one pair (`export_graph`).

    Args:
        folder: Holds the graph, its tokenizer and its card.
        threads: Of the runtime; a pair is too small to gain much by more than one.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        from tokenizers import Tokenizer

        if not (folder / GRAPH).is_file():
            raise OffscriptError(f"no inference model in {folder}", next="offscript train inference")
        self.card: dict[str, Any] = json.loads((folder / CARD).read_text(encoding="utf-8"))
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(int(self.card.get("length", LENGTH)), strategy="only_second")
        self._claims_alone = Tokenizer.from_file(str(folder / TOKENIZER))
        self._claims_alone.enable_truncation(int(self.card.get("length", LENGTH)) // 2)
        self._session = _session(folder / GRAPH, threads)

    def logits(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        """Scores of the labels for pairs of a claim and its evidence; [pairs, 3]."""
        if not pairs:
            return np.zeros((0, len(LABELS)))
        claims = {claim: self._shortened(plain_text(claim)) for claim in dict.fromkeys(claim for claim, _ in pairs)}
        rows = [self._tokenizer.encode(claims[claim], plain_text(evidence)) for claim, evidence in pairs]
        return np.concatenate([self._scores(row) for row in rows]).astype(np.float64)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        """Probabilities of `LABELS` for pairs of a claim and its evidence; [pairs, 3]."""
        found: FloatArray = softmax(self.logits(pairs), axis=1)
        return found

    def _scores(self, row: Any) -> FloatArray:
        """Scores of an encoded pair; [1, 3]."""
        tokens, types = (np.array([getattr(row, name)], dtype=np.int64) for name in ("ids", "type_ids"))
        found: FloatArray = self._session.run(None, {"tokens": tokens, "types": types})[0]
        return found

    def _shortened(self, claim: str) -> str:
        """The claim, cut where it would leave its evidence no room."""
        row = self._claims_alone.encode(claim, add_special_tokens=False)
        return claim[: row.offsets[-1][1]] if row.offsets and row.overflowing else claim


@functools.cache
def inference_model(folder: Path = ASSET) -> InferenceModel:
    """The model of a folder, that of the package if none is given."""
    return InferenceModel(folder)


def _session(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.OnnxRuntimeException as error:
        raise OffscriptError(f"the inference model {path} cannot be loaded", why=str(error)[:300]) from error
