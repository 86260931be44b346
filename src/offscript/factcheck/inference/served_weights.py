"""The weights of a served model in full precision again, so that it can be trained further."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offscript.errors import OffscriptError, require_package

_NETWORK = "network."
_EMBEDDINGS = "bert.embeddings."
Arrays = dict[str, NDArray[np.float32]]


def served_weights(graph: Path) -> Arrays:
    """The parameters of the classifier that a served int8 graph holds, by their names in the classifier.

    A weight was stored as a whole number q with a scale s per output channel and comes back as (q − zero point) · s, so
    it is off by at most half a step. The file is data: nothing in it is run.

    Args:
        graph: What `export_graph` wrote.

    Returns:
        Parameters of a `BertForSequenceClassification`.
    """
    require_package("reading a served graph", "onnx", extra="stance")
    import onnx
    from google.protobuf.message import DecodeError
    from onnx import numpy_helper

    try:
        nodes = onnx.load(str(graph)).graph
        stored = {each.name: numpy_helper.to_array(each) for each in nodes.initializer}
        weights = {
            name.removeprefix(_NETWORK): np.array(array)  # the file's own cannot be written to
            for name, array in stored.items()
            if name.startswith(_NETWORK) and array.dtype == np.float32 and not name.endswith("_scale")
        }
        weights |= {name: _dequantised(stored, f"{_NETWORK}{name}") for name in _embeddings(stored)}
        for node, bias in _products(nodes.node, stored):
            product = _dequantised(stored, node.input[1].removesuffix("_quantized"))
            weights[f"{bias.removeprefix(_NETWORK).removesuffix('.bias')}.weight"] = np.ascontiguousarray(product.T)
    except (DecodeError, KeyError, ValueError) as error:
        raise OffscriptError(f"{graph} is no served inference model", why=repr(error)[:200]) from error
    return weights


def _products(nodes: Sequence[Any], stored: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Quantised matrix products, each with the name of the bias that is added to it: only that tells its layer."""
    users = {name: node for node in nodes for name in node.input}
    for product in nodes:
        if product.op_type == "MatMulInteger":
            node = product
            while node.op_type != "Add":  # from whole numbers to numbers, then times the scale
                node = users[node.output[0]]
            [bias] = [name for name in node.input if name in stored]
            yield product, bias


def _embeddings(stored: dict[str, Any]) -> list[str]:
    names = [name.removeprefix(_NETWORK).removesuffix("_quantized") for name in stored if name.endswith("_quantized")]
    return [name for name in names if name.startswith(_EMBEDDINGS)]


def _dequantised(stored: dict[str, Any], name: str) -> NDArray[np.float32]:
    whole = stored[f"{name}_quantized"].astype(np.float32) - stored[f"{name}_zero_point"].astype(np.float32)
    return np.asarray(whole * stored[f"{name}_scale"], dtype=np.float32)
