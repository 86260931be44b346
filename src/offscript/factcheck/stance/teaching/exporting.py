"""A trained MTransSAN becomes the small model that ships: an int8 graph with refitted heads and weighed classes."""

import shutil
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from offscript._files import replacing
from offscript._types import FloatArray
from offscript.factcheck.stance.served import FIRST_LEVEL, GRAPH, STANCE, TOKENIZER, Reading, TwoLevelModel, write_card
from offscript.factcheck.stance.served import load as load_served
from offscript.factcheck.stance.stance import STANCES, fnc_scores
from offscript.factcheck.stance.teaching.mtranssan import INT8_ENCODER, TorchReader, load, stance_task, teach_heads
from offscript.factcheck.stance.teaching.network import PairBatch, PairNetwork
from offscript.factcheck.stance.teaching.recipe import StanceRecipe, every_training_pair, held_out_pairs
from offscript.factcheck.stance.teaching.tasks import read_task
from offscript.statistics import f1_scores

_INPUTS = ("tokens", "types", "real")
_MASKS = ("claim", "text")
_OPSET = 17
_LARGE = 4096
_STEPS = np.exp(np.linspace(-1.5, 1.5, 13))


def ship(recipe: StanceRecipe, trained: Path, out: Path, *, int8: bool = True) -> Path:
    """The graph with its tokenizer, first level and card; with `int8` off the same in full precision, to compare."""
    model = load(trained)
    if not isinstance(model.reader, TorchReader):
        raise TypeError(f"{trained} holds no network")
    network = model.reader.network
    out.mkdir(parents=True, exist_ok=True)
    encoder = int8_encoder(network, trained.parent / INT8_ENCODER) if int8 else None
    if encoder is not None and recipe.fine_tuning == "all":
        _refit(recipe, model, encoder)
    export_graph(network, out / GRAPH, encoder=encoder)
    for name in (TOKENIZER, FIRST_LEVEL):
        shutil.copyfile(trained / name, out / name)
    padding = network.encoder.config.pad_token_id or 0
    write_card(out, "onnx", recipe.model_dump(), model.reading, padding=padding)
    write_card(out, "onnx", recipe.model_dump(), weighed_reading(recipe, load_served(out)), padding=padding)
    return out


def weighed_reading(recipe: StanceRecipe, model: TwoLevelModel) -> Reading:
    """The model's reading with the recipe's class weights, or with those that do best on what it holds out.

    Stances count there as often as among all training pairs: of a split by topics few pairs are unrelated.
    """
    if recipe.stance_weights is not None:
        return replace(model.reading, weights=recipe.stance_weights)
    pairs = held_out_pairs(recipe)
    gold, every = (
        np.array([STANCES.index(pair.label) for pair in part]) for part in (pairs, every_training_pair(recipe))
    )
    shares = np.bincount(every, minlength=len(STANCES)) / len(every)
    return replace(model.reading, weights=best_weights(model.of_pairs(pairs), gold, shares))


def _refit(recipe: StanceRecipe, model: TwoLevelModel, encoder: Path) -> None:
    reader = model.reader
    if not isinstance(reader, TorchReader):
        raise TypeError("only a network's heads can be refitted")
    _, stance = stance_task(recipe, model.relatedness.terms.tokenizer)
    beside = [read_task(name, recipe.folder, limit=limit or None) for name, limit in recipe.beside.tasks.items()]
    tasks = [stance, *(task for task in beside if task.head in reader.network.heads)]
    weights = {STANCE: torch.from_numpy(stance.class_weights(recipe.class_weights))}
    teach_heads(
        reader.network, encoder, reader.packed, tasks, weights=weights, learning_rate=1e-4, epochs=2, seed=recipe.seed
    )


def best_weights(
    probabilities: FloatArray, gold: NDArray[np.int64], shares: FloatArray | None = None, *, rounds: int = 3
) -> tuple[float, ...]:
    """Weights of the stances under which macro-F1 and FNC-1's score add up to most, class by class in turns.

    Pairs count as if stances had the given shares [4], their own by default.
    """
    own = np.bincount(gold, minlength=len(STANCES)).clip(min=1) / len(gold)
    counts = (np.ones(len(STANCES)) if shares is None else shares / own)[gold]
    weights = np.ones(len(STANCES))
    for _ in range(rounds):
        for place in range(len(STANCES)):
            candidates = np.tile(weights, (len(_STEPS), 1))
            candidates[:, place] *= _STEPS
            weights = max(candidates, key=lambda each: _worth(probabilities * each, gold, counts))
    return tuple((weights / weights.mean()).tolist())


def _worth(scores: FloatArray, gold: NDArray[np.int64], counts: FloatArray) -> float:
    table = np.zeros((1, len(STANCES), len(STANCES)))
    np.add.at(table[0], (gold, scores.argmax(axis=1)), counts)
    return float(f1_scores(table).mean() + fnc_scores(table)[0])


def export_graph(network: PairNetwork, path: Path, *, encoder: Path | None = None) -> Path:
    """The whole network as one graph with the heads as its outputs; `encoder` is a graph to take the encoder from."""
    import onnx

    with tempfile.TemporaryDirectory() as folder:
        encoder = encoder or export_encoder(network, Path(folder) / "encoder.onnx")
        heads = _export_heads(network, Path(folder) / "heads.onnx")
        halved = _in_half_precision(onnx.load(heads))
        merged = onnx.compose.merge_models(
            onnx.load(encoder), halved, io_map=[("encoded", "encoded")], outputs=list(network.heads)
        )
        onnx.save(merged, path)
    return path


def export_encoder(network: PairNetwork, path: Path) -> Path:
    """The encoder alone: `tokens`, `types` and `real` [rows, time] become `encoded` [rows, time, width]."""
    _export(_Encoder(network), [torch.ones(2, 8, dtype=torch.long)] * 3, path, _INPUTS, ("encoded",))
    return path


def int8_encoder(network: PairNetwork, path: Path) -> Path:
    """The encoder's quantised graph at `path`, made where it does not exist yet."""
    if not path.is_file():
        with tempfile.TemporaryDirectory() as folder, replacing(path) as temporary:
            quantise(export_encoder(network, Path(folder) / "encoder.onnx"), temporary)
    return path


def quantise(path: Path, out: Path) -> Path:
    """Weights of matrix products and embeddings as int8, one scale a column; activations are scaled on the fly."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as folder:
        prepared = Path(folder) / "prepared.onnx"
        quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
        quantize_dynamic(str(prepared), str(out), per_channel=True, weight_type=QuantType.QInt8)
    return out


class _Encoder(nn.Module):
    def __init__(self, network: PairNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, types: Tensor, real: Tensor) -> Tensor:
        return self.network.encode(PairBatch(tokens, types, real, real, real))


class _Heads(nn.Module):
    def __init__(self, network: PairNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, encoded: Tensor, claim: Tensor, text: Tensor) -> tuple[Tensor, ...]:
        batch = PairBatch(claim, claim, claim, claim, text)
        return tuple(self.network.answer(head, encoded, batch) for head in self.network.heads)


def _export_heads(network: PairNetwork, path: Path) -> Path:
    masks = [torch.ones(2, 8, dtype=torch.long)] * 2
    shown = [torch.zeros(2, 8, network.width), *masks]
    _export(_Heads(network), shown, path, ("encoded", *_MASKS), tuple(network.heads))
    return path


def _in_half_precision(model: Any) -> Any:
    """Large weights stored in half precision and cast back when the graph is loaded."""
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    for weight in [each for each in graph.initializer if each.data_type == TensorProto.FLOAT]:
        array = numpy_helper.to_array(weight)
        if array.size >= _LARGE:
            graph.initializer.remove(weight)
            graph.initializer.append(numpy_helper.from_array(array.astype(np.float16), f"{weight.name}.half"))
            cast = helper.make_node("Cast", [f"{weight.name}.half"], [weight.name], to=TensorProto.FLOAT)
            graph.node.insert(0, cast)
    return model


def _export(module: nn.Module, shown: Sequence[Any], path: Path, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    axes = {name: {0: "rows", 1: "time"} for name in inputs}
    axes |= {name: {0: "rows", 1: "time"} if name == "encoded" else {0: "rows"} for name in outputs}
    with warnings.catch_warnings():  # the newer exporter would ask for one more package
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            tuple(shown),
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=axes,
            opset_version=_OPSET,
            dynamo=False,
        )
