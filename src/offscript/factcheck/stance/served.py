"""The stance model as it ships: one int8 ONNX graph, run by onnxruntime; no torch is loaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript._types import FloatArray
from offscript.errors import OffscriptError, missing_package
from offscript.factcheck.stance import storage
from offscript.factcheck.stance.packing import PairEncoder
from offscript.factcheck.stance.two_level import TwoLevelModel

GRAPH = "stance.onnx"


class OnnxJudge:
    """An ONNX graph whose outputs are the heads.

    It reads one pair at a time: int8 activations are scaled by the largest of a whole batch, so what is read beside a
    pair would move its probabilities (by 0.25 were seen); and nothing is padded.
    """

    def __init__(self, path: Path, packed: PairEncoder, *, threads: int | None = None) -> None:
        self.session, self.packed = _session(path, threads), packed
        self._inputs = [given.name for given in self.session.get_inputs()]
        self._heads = [given.name for given in self.session.get_outputs()]

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> dict[str, FloatArray]:
        found = [self._read(pair) for pair in pairs]
        return {
            head: np.concatenate([answers[place] for answers in found]).astype(np.float64)
            for place, head in enumerate(self._heads)
        }

    def _read(self, pair: tuple[str, str]) -> list[NDArray[np.float32]]:
        """Each head's probabilities [1, labels]."""
        arrays = self.packed([pair])
        answers: list[NDArray[np.float32]] = self.session.run(None, {name: arrays[name] for name in self._inputs})
        return answers


def load(folder: Path, *, name: str | None = None, threads: int | None = None) -> TwoLevelModel:
    """A folder with `stance.onnx`, a tokenizer, the first level and a card."""
    card = storage.read_card(folder)
    relatedness = storage.read_first_level(folder)
    packed = PairEncoder(
        relatedness.terms.tokenizer, card["recipe"]["encoder"]["length"], padding=card.get("padding", 0)
    )
    judge = OnnxJudge(folder / GRAPH, packed, threads=threads)
    return TwoLevelModel(name or str(folder), relatedness, judge, storage.reading_of(card))


def _session(path: Path, threads: int | None) -> Any:
    try:
        import onnxruntime
    except ImportError as fault:
        raise missing_package("the stance model", "onnxruntime") from fault
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.OnnxRuntimeException as fault:
        raise OffscriptError(f"the stance model {path} cannot be loaded", why=str(fault)[:300]) from fault
