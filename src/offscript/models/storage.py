"""Models on disk: a folder with `weights.safetensors`, `vocabulary.json` and `card.json`; SeqGAN's oracle.

The oracle is the random LSTM that the text-GAN papers draw their synthetic data from (Yu et al. 2017).
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from offscript._catalogue import CARD, VOCABULARY, WEIGHTS
from offscript._config import first_fault
from offscript._files import sha256_of, write_json, write_tensors
from offscript._specification import nearest
from offscript._untrusted import refuse_pickles
from offscript.corpora.records import Schema, read_json, read_json_value
from offscript.corpora.vocabularies import HubVocabulary, WordVocabulary, vocabulary_from
from offscript.errors import OffscriptError
from offscript.models.encoder_decoder import EncoderDecoder, EncoderDecoderSettings
from offscript.models.fine_tuned import PretrainedLanguageModel, PretrainedSettings
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.manager_worker import ManagerWorker, ManagerWorkerSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.models.noise_lstm import NoiseLSTM, NoiseLSTMSettings
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings

KINDS: dict[str, tuple[type[NeuralLanguageModel], type[BaseModel]]] = {
    "encoder-decoder": (EncoderDecoder, EncoderDecoderSettings),
    "lstm": (LSTMLanguageModel, LSTMSettings),
    "manager-worker": (ManagerWorker, ManagerWorkerSettings),
    "pretrained": (PretrainedLanguageModel, PretrainedSettings),
    "noise-lstm": (NoiseLSTM, NoiseLSTMSettings),
    "transformer": (TransformerLanguageModel, TransformerSettings),
}
"""Kinds of trainable model: the network and its settings."""

TOKENIZER = "tokenizer"
"""A Hugging Face tokenizer goes along with the model, in its own files."""

_GATES = ("i", "f", "c", "og")
"""Input, forget, candidate, output: the files' names for the gates, in the order `torch.nn.LSTM` stacks them."""

SEQGAN_FILES = ("embedding", "wo", "bo", *(part + gate for gate in _GATES for part in "wub"))
_FIRST_INPUT = 0
"""SeqGAN feeds token 0 to a zero state before position 0."""

_REMEDY = "copy the oracle's files again"


def save(model: NeuralLanguageModel, folder: Path, *, card: dict[str, Any] | None = None, half: bool = False) -> None:
    """Write a model's folder: weights, vocabulary and card; one that began as a pretrained model in its own layout."""
    if isinstance(model, PretrainedLanguageModel):
        model.export(folder, card or {}, half=half)
        return
    (folder / CARD).unlink(missing_ok=True)
    if isinstance(model.vocabulary, HubVocabulary):
        model.vocabulary.save(folder / TOKENIZER)
    write_network(folder, model, {**model.describe(), **(card or {})}, half, {VOCABULARY: model.vocabulary.describe()})


def load(folder: Path, *, device: str = "cpu", name: str | None = None) -> NeuralLanguageModel:
    """Read a folder that `save` wrote; a file that does not have the card's hash is refused."""
    card = read_card(folder)
    _check_hash(folder / VOCABULARY, card)
    described = read_json_value(folder / VOCABULARY)
    if isinstance(described, dict) and (folder / TOKENIZER).is_dir():
        described |= {"name": str(folder / TOKENIZER), "revision": None}
    vocabulary = vocabulary_from(described)
    _require_fit(folder / WEIGHTS, card, vocabulary)
    model = build(card["kind"], card["settings"], vocabulary)
    read_network(folder, card, model)
    model.name = name or str(folder)
    return model.to(device).eval()


def write_network(
    folder: Path, network: nn.Module, card: dict[str, Any], half: bool, files: Mapping[str, Any] | None = None
) -> None:
    """Write weights and JSON files, then the card with their hashes: a folder with a card is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CARD).unlink(missing_ok=True)
    precision = torch.float16 if half else torch.float32
    weights = {
        key: tensor.detach().to("cpu", precision, copy=True).contiguous()
        for key, tensor in network.state_dict().items()
    }
    write_tensors(folder / WEIGHTS, weights)
    for name, content in (files or {}).items():
        write_json(folder / name, content)
    hashes = {name: sha256_of(folder / name) for name in (WEIGHTS, *(files or {}))}
    write_json(folder / CARD, {"layout": 1, **card, "sha256": hashes})


def read_network(folder: Path, card: dict[str, Any], network: nn.Module) -> None:
    """Fill a network with the weights of a folder, which must be those that its card describes."""
    _check_hash(folder / WEIGHTS, card)
    try:
        network.load_state_dict(load_file(folder / WEIGHTS))
    except (SafetensorError, RuntimeError) as fault:
        why = " ".join(str(fault).split())[:300]
        raise OffscriptError(f"{folder / WEIGHTS} does not hold the model its card describes", why=why) from fault


def build(kind: str, settings: dict[str, Any], vocabulary: Any) -> NeuralLanguageModel:
    """A fresh network of a kind, its settings checked."""
    checked = checked_settings(kind, settings)
    return KINDS[kind][0](vocabulary, checked)


def _require_fit(path: Path, card: dict[str, Any], vocabulary: Any) -> None:
    """Refuse a card whose network is larger than the file of its weights, before memory is asked for it."""
    if not path.is_file():
        return  # reading it gives the message
    try:
        with torch.device("meta"):
            network = build(card["kind"], card["settings"], vocabulary)
    except (RuntimeError, TypeError, ValueError, OverflowError) as fault:
        why = " ".join(str(fault).split())[:300]
        raise OffscriptError(f"{path.parent / CARD} describes no network that can be made", why=why) from fault
    size = sum(parameter.numel() for parameter in network.parameters())
    if 2 * size > path.stat().st_size:  # in half precision a weight takes two bytes
        raise OffscriptError(
            f"{path} does not hold the model its card describes",
            why=f"{size:,} weights do not fit in {path.stat().st_size:,} bytes",
            next="copy or train it again",
        )


def checked_settings(kind: str, settings: dict[str, Any]) -> BaseModel:
    """The settings of a kind of model; a wrong key is named together with what is near."""
    if kind not in KINDS:
        raise OffscriptError(f"unknown kind of model {kind!r}", next=nearest(kind, KINDS))
    schema = KINDS[kind][1]
    try:
        return schema(**settings)
    except ValidationError as fault:
        raise OffscriptError(f"the settings of the {kind} do not fit", why=first_fault(fault, schema)) from fault


class ModelCard(Schema):
    """What every model card holds; each kind of model adds to it."""

    model_config = ConfigDict(extra="allow")
    noun = "a model card"
    hint = "copy the model's folder again"

    kind: str
    settings: dict[str, Any]
    sha256: dict[str, Any]


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a saved model, with the keys that loading needs."""
    path = folder / CARD
    if not path.is_file():
        refuse_pickles(folder)
        raise OffscriptError(
            f"{folder} holds no model", why=f"there is no {CARD}", next="name a folder that `offscript train` wrote"
        )
    return read_json(path, ModelCard).model_dump()


def _check_hash(path: Path, card: dict[str, Any]) -> None:
    if not path.is_file():
        raise OffscriptError(f"{path} is missing", next="copy the model's folder again")
    if sha256_of(path) != card["sha256"].get(path.name):
        raise OffscriptError(
            f"{path} is not what its card describes", why="its hash differs", next="copy or train it again"
        )


def is_seqgan_oracle(folder: Path) -> bool:
    """Whether a folder holds the oracle's parameters, one array per file."""
    return all((folder / f"{name}.npz").is_file() for name in SEQGAN_FILES)


def load_seqgan_oracle(folder: Path, *, symbols: int | str | None = None, device: str = "cpu") -> LSTMLanguageModel:
    """The oracle as a language model over the symbols "0" … "4999", without an end.

    With `symbols` it is cut down to so many of them, which is the same kind of random oracle at a fraction of the cost.

    Its start symbol stands outside the vocabulary, as every listed vocabulary's does, and is embedded as token 0 is:
    the distributions are SeqGAN's, and a student that shares the vocabulary can be compared with it.
    """
    arrays = {name: _read_array(folder / f"{name}.npz") for name in SEQGAN_FILES}
    size, width = _oracle_sizes(arrays, folder)
    if symbols is not None:
        arrays, size = _cut_down(arrays, symbols, folder), int(symbols)
    vocabulary = WordVocabulary([str(token) for token in range(size)], end=None, unknown=None)
    oracle = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=width, embedding=width))
    oracle.load_state_dict(_oracle_weights(arrays))
    oracle.name = str(folder) if symbols is None else f"{folder},symbols={symbols}"
    return oracle.to(device).eval()


def _cut_down(arrays: dict[str, Tensor], symbols: int | str, folder: Path) -> dict[str, Tensor]:
    """The parameters of the first so many symbols."""
    size = len(arrays["embedding"])
    if not isinstance(symbols, int) or not 2 <= symbols <= size:
        raise OffscriptError(f"cannot cut {folder} down to {symbols} symbols", next=f"give a number from 2 to {size}")
    kept = {"embedding": arrays["embedding"][:symbols], "wo": arrays["wo"][:, :symbols], "bo": arrays["bo"][:symbols]}
    return {**arrays, **kept}


def _oracle_weights(arrays: dict[str, Tensor]) -> dict[str, Tensor]:
    embedding = arrays["embedding"]
    biases = torch.cat([arrays["b" + gate] for gate in _GATES])
    return {
        "embedding.weight": torch.cat([embedding, embedding[_FIRST_INPUT : _FIRST_INPUT + 1]]),
        "recurrence.weight_ih_l0": torch.cat([arrays["w" + gate].t() for gate in _GATES]),
        "recurrence.weight_hh_l0": torch.cat([arrays["u" + gate].t() for gate in _GATES]),
        "recurrence.bias_ih_l0": biases,
        "recurrence.bias_hh_l0": torch.zeros_like(biases),
        "output.weight": arrays["wo"].t(),
        "bias": arrays["bo"],
    }


def _oracle_sizes(arrays: dict[str, Tensor], folder: Path) -> tuple[int, int]:
    """Vocabulary and width, after every array was found to fit them."""
    if arrays["embedding"].dim() != 2:
        raise OffscriptError(f"{folder / 'embedding.npz'} is not a table of embeddings", next=_REMEDY)
    size, width = arrays["embedding"].shape
    expected: dict[str, tuple[int, ...]] = {"embedding": (size, width), "wo": (width, size), "bo": (size,)}
    for gate in _GATES:
        expected |= {"w" + gate: (width, width), "u" + gate: (width, width), "b" + gate: (width,)}
    for name, shape in expected.items():
        if tuple(arrays[name].shape) != shape:
            raise OffscriptError(
                f"{folder / name}.npz has the shape {tuple(arrays[name].shape)}",
                why=f"{shape} goes with the embedding",
                next=_REMEDY,
            )
    return size, width


def _read_array(path: Path) -> Tensor:
    """One array; the files hold NPY content in spite of their names."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, about headers that Python 2 wrote
            array = np.load(path, mmap_mode="r", allow_pickle=False)  # mapped: no header makes it larger than its file
    except (ValueError, OSError, EOFError, OverflowError, TypeError, SyntaxError, TokenError) as fault:
        raise OffscriptError(f"{path} cannot be read", why=str(fault), next=_REMEDY) from fault
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        raise OffscriptError(f"{path} does not hold one array of numbers", next=_REMEDY)
    return torch.from_numpy(array.astype(np.float32))
