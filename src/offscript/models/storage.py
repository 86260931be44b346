"""Trained models on disk: a folder with `weights.safetensors`, `vocabulary.json` and `card.json`."""

import json
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from offscript._catalogue import CARD, WEIGHTS
from offscript._config import first_fault
from offscript._files import replacing, sha256_of, write_json
from offscript._specification import nearest
from offscript.corpora.vocabularies import HubVocabulary, vocabulary_from
from offscript.errors import OffscriptError
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.manager_worker import ManagerWorker, ManagerWorkerSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.models.noise_lstm import NoiseLSTM, NoiseLSTMSettings
from offscript.models.pickles import refuse_pickles
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings

KINDS: dict[str, tuple[type[NeuralLanguageModel], type[BaseModel]]] = {
    "lstm": (LSTMLanguageModel, LSTMSettings),
    "manager-worker": (ManagerWorker, ManagerWorkerSettings),
    "noise-lstm": (NoiseLSTM, NoiseLSTMSettings),
    "transformer": (TransformerLanguageModel, TransformerSettings),
}
"""Kinds of trainable model: the network and its settings."""

VOCABULARY = "vocabulary.json"
TOKENIZER = "tokenizer"
"""A Hugging Face tokenizer goes along with the model, in its own files."""


def save(model: NeuralLanguageModel, folder: Path, *, card: dict[str, Any] | None = None, half: bool = False) -> None:
    """Write the folder; the card is written last, so a folder with a card is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CARD).unlink(missing_ok=True)
    precision = torch.float16 if half else torch.float32
    weights = {name: tensor.detach().cpu().to(precision).contiguous() for name, tensor in model.state_dict().items()}
    with replacing(folder / WEIGHTS) as temporary:
        save_file(weights, temporary)
    write_json(folder / VOCABULARY, model.vocabulary.describe())
    if isinstance(model.vocabulary, HubVocabulary):
        model.vocabulary.save(folder / TOKENIZER)
    hashes = {name: sha256_of(folder / name) for name in (WEIGHTS, VOCABULARY)}
    write_json(folder / CARD, {"layout": 1, **model.describe(), "sha256": hashes, **(card or {})})


def load(folder: Path, *, device: str = "cpu", name: str | None = None) -> NeuralLanguageModel:
    """Read a folder that `save` wrote; a file that does not have the card's hash is refused."""
    card = read_card(folder)
    for file in (WEIGHTS, VOCABULARY):
        _check_hash(folder / file, card["sha256"].get(file))
    described = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
    if (folder / TOKENIZER).is_dir():
        described |= {"name": str(folder / TOKENIZER), "revision": None}
    model = build(card["kind"], card["settings"], vocabulary_from(described))
    try:
        weights = load_file(folder / WEIGHTS)
        model.load_state_dict({key: tensor.float() for key, tensor in weights.items()})
    except (SafetensorError, RuntimeError) as fault:
        why = " ".join(str(fault).split())
        raise OffscriptError(f"{folder / WEIGHTS} does not hold the model its card describes", why=why) from fault
    model.name = name or str(folder)
    return model.to(device).eval()


def build(kind: str, settings: dict[str, Any], vocabulary: Any) -> NeuralLanguageModel:
    """A fresh network of a kind, its settings checked."""
    checked = checked_settings(kind, settings)
    return KINDS[kind][0](vocabulary, checked)


def checked_settings(kind: str, settings: dict[str, Any]) -> BaseModel:
    """The settings of a kind of model; a wrong key is named together with what is near."""
    if kind not in KINDS:
        raise OffscriptError(f"unknown kind of model {kind!r}", next=nearest(kind, KINDS))
    schema = KINDS[kind][1]
    try:
        return schema(**settings)
    except ValidationError as fault:
        raise OffscriptError(f"the settings of the {kind} do not fit", why=first_fault(fault, schema)) from fault


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a saved model, with the keys that loading needs."""
    path = folder / CARD
    if not path.is_file():
        refuse_pickles(folder)
        raise OffscriptError(
            f"{folder} holds no model", why=f"there is no {CARD}", next="name a folder that `offscript train` wrote"
        )
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as fault:
        raise OffscriptError(f"{path} is not a model card", why=str(fault)) from fault
    for key, kind in (("kind", str), ("settings", dict), ("sha256", dict)):
        if not isinstance(card, dict) or not isinstance(card.get(key), kind):
            raise OffscriptError(f"{path} is not a model card", why=f"its {key!r} is missing or not a {kind.__name__}")
    return dict(card)


def _check_hash(path: Path, expected: str | None) -> None:
    if not path.is_file():
        raise OffscriptError(f"{path} is missing", next="copy the model's folder again")
    if sha256_of(path) != expected:
        raise OffscriptError(
            f"{path} is not what its card describes", why="its hash differs", next="copy or train it again"
        )
