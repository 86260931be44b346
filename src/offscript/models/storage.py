"""Trained models on disk: a folder with `weights.safetensors`, `vocabulary.json` and `card.json`."""

import json
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from offscript._files import replacing, sha256_of, write_json
from offscript._specification import nearest
from offscript.corpora.vocabularies import vocabulary_from
from offscript.errors import OffscriptError
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings

KINDS: dict[str, tuple[type[NeuralLanguageModel], type]] = {
    "lstm": (LSTMLanguageModel, LSTMSettings),
    "transformer": (TransformerLanguageModel, TransformerSettings),
}
"""Kinds of trainable model: the network and its settings."""

WEIGHTS, VOCABULARY, CARD = "weights.safetensors", "vocabulary.json", "card.json"
PICKLES = {".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt"}


def save(model: NeuralLanguageModel, folder: Path, *, card: dict[str, Any] | None = None, half: bool = False) -> None:
    """Write the folder; the card is written last, so a folder with a card is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CARD).unlink(missing_ok=True)
    precision = torch.float16 if half else torch.float32
    weights = {name: tensor.detach().cpu().to(precision).contiguous() for name, tensor in model.state_dict().items()}
    with replacing(folder / WEIGHTS) as temporary:
        save_file(weights, temporary)
    write_json(folder / VOCABULARY, model.vocabulary.describe())
    hashes = {name: sha256_of(folder / name) for name in (WEIGHTS, VOCABULARY)}
    write_json(folder / CARD, {"layout": 1, **model.describe(), "sha256": hashes, **(card or {})})


def load(folder: Path, *, device: str = "cpu", name: str | None = None) -> NeuralLanguageModel:
    """Read a folder that `save` wrote; a file that does not have the card's hash is refused."""
    card = read_card(folder)
    for file, expected in card["sha256"].items():
        if not (folder / file).is_file():
            raise OffscriptError(f"{folder / file} is missing", next="copy the model's folder again")
        if sha256_of(folder / file) != expected:
            raise OffscriptError(
                f"{folder / file} is not what its card describes", why="its hash differs", next="copy or train it again"
            )
    described = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
    model = build(card["kind"], card["settings"], vocabulary_from(described))
    try:
        weights = load_file(folder / WEIGHTS)
    except SafetensorError as fault:
        raise OffscriptError(f"{folder / WEIGHTS} cannot be read", why=str(fault)) from fault
    model.load_state_dict({key: tensor.float() for key, tensor in weights.items()})
    model.name = name or str(folder)
    return model.to(device).eval()


def build(kind: str, settings: dict[str, Any], vocabulary: Any) -> NeuralLanguageModel:
    """A fresh network of a kind, its settings checked."""
    if kind not in KINDS:
        raise OffscriptError(f"unknown kind of model {kind!r}", next=nearest(kind, KINDS))
    network, schema = KINDS[kind]
    try:
        checked = schema(**settings)
    except ValidationError as fault:
        raise OffscriptError(f"the settings of the {kind} do not fit", why=first_fault(fault)) from fault
    return network(vocabulary, checked)


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a saved model, with the keys that loading needs."""
    path = folder / CARD
    if not path.is_file():
        pickled = sorted(file.name for file in folder.glob("*") if file.suffix in PICKLES)
        if pickled:
            raise refuse_pickle(folder / pickled[0])
        raise OffscriptError(
            f"{folder} holds no model", why=f"there is no {CARD}", next="name a folder that `offscript train` wrote"
        )
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        missing = {"kind", "settings", "sha256"} - set(card)
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError) as fault:
        raise OffscriptError(f"{path} is not a model card", why=str(fault)) from fault
    if missing:
        raise OffscriptError(f"{path} is not a model card", why=f"it lacks {', '.join(sorted(missing))}")
    return dict(card)


def refuse_pickle(path: Path) -> OffscriptError:
    """The error for weights that could run code when opened."""
    return OffscriptError(
        f"{path} looks like a pickle", why="opening one can run any code", next="convert the weights to safetensors"
    )


def first_fault(fault: ValidationError) -> str:
    """The first of pydantic's findings in one line: where, and what."""
    found = fault.errors()[0]
    return f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}"
