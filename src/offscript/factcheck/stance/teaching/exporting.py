"""From a trained network to the graph that ships: an int8 encoder, and heads taught on what that encoder says."""

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from offscript._files import replacing
from offscript.factcheck.stance.served import OnnxReader, PairEncoder
from offscript.factcheck.stance.teaching.network import PairBatch, PairNetwork, log_of
from offscript.factcheck.stance.teaching.tasks import Task
from offscript.learning import Course, Loss, Observer, learn, seeded

_INPUTS = ("tokens", "types", "real")
_MASKS = ("claim", "text")
_OPSET = 17
_REFIT_AT_ONCE = 32
_LARGE = 4096


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


def teach_heads(
    network: PairNetwork,
    encoder: Path,
    packed: PairEncoder,
    tasks: Sequence[Task],
    *,
    weights: Mapping[str, Tensor],
    learning_rate: float,
    epochs: int,
    seed: int = 1,
    observer: Observer | None = None,
) -> None:
    """Teach the heads on the encodings of a (quantised) encoder's graph, which are computed once."""
    reader = OnnxReader(encoder, packed)
    batches = [batch for task in tasks for batch in _encoded_batches(reader, packed, task)]
    heads = dict.fromkeys(task.head for task in tasks)
    parameters = [each for head in heads for each in network.heads[head].parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=learning_rate, weight_decay=0.01)
    generator = np.random.default_rng(seed)
    steps = [place for _ in range(epochs) for place in generator.permutation(len(batches)).tolist()]

    def loss(step: int) -> Loss:
        task, arrays, encoded, labels = batches[steps[step]]
        answers = log_of(network.answer(task.head, encoded.float(), arrays))
        return Loss(nn.functional.nll_loss(answers, labels, weight=weights.get(task.name)), read=arrays.tokens.numel())

    def schedule(step: int, _: int) -> list[float]:
        return [learning_rate * (1 - step / len(steps))]

    with seeded(seed):
        network.heads.train()
        learn(Course(len(steps), optimiser, loss, schedule=schedule), observer=observer)


def _encoded_batches(
    reader: OnnxReader, packed: PairEncoder, task: Task
) -> list[tuple[Task, PairBatch, Tensor, Tensor]]:
    """Batches of like length with their encodings in half precision."""
    order = np.argsort([len(claim) + len(text or "") for claim, text, _ in task.examples], kind="stable")
    batches = []
    for start in range(0, len(order), _REFIT_AT_ONCE):
        examples = [task.examples[row] for row in order[start : start + _REFIT_AT_ONCE]]
        arrays = packed([(claim, text) for claim, text, _ in examples])
        [encoded] = reader.session.run(None, {name: arrays[name] for name in _INPUTS})
        labels = torch.tensor([label for _, _, label in examples])
        batches.append((task, PairBatch.of(arrays), torch.from_numpy(encoded).half(), labels))
    return batches


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
