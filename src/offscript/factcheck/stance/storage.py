"""A stance model's folder: card, tokenizer, first level, weights."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file as save_arrays
from tokenizers import Tokenizer

from offscript import __version__
from offscript._files import replacing, sha256_of, write_json, write_text
from offscript.errors import OffscriptError
from offscript.factcheck.stance.packing import unlimited
from offscript.factcheck.stance.recipe import StanceRecipe
from offscript.factcheck.stance.relatedness import Relatedness
from offscript.factcheck.stance.terms import Terms
from offscript.factcheck.stance.two_level import Reading

CARD, TOKENIZER, FIRST_LEVEL, WEIGHTS = "card.json", "tokenizer.json", "relatedness.safetensors", "weights.safetensors"


def write_first_level(folder: Path, relatedness: Relatedness, tokenizer: Tokenizer) -> None:
    """The tokenizer, and the relatedness network with its terms' weights."""
    write_text(folder / TOKENIZER, tokenizer.to_str())
    with replacing(folder / FIRST_LEVEL) as temporary:
        save_arrays(relatedness.tensors(), temporary)


def read_first_level(folder: Path) -> Relatedness:
    """What `write_first_level` wrote."""
    tokenizer = unlimited(Tokenizer.from_file(str(folder / TOKENIZER)))
    arrays = load_arrays(folder / FIRST_LEVEL)
    weights = arrays.pop("weights")
    return Relatedness(Terms(tokenizer, weights), **{name: each.astype(np.float64) for name, each in arrays.items()})


def write_tensors(path: Path, tensors: Mapping[str, Any]) -> None:
    """Torch's tensors, whole or not at all."""
    from safetensors.torch import save_file

    with replacing(path) as temporary:
        save_file({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}, temporary)


def read_tensors(path: Path) -> dict[str, Any]:
    """What `write_tensors` wrote."""
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError) as fault:
        raise OffscriptError(
            f"the weights {path} cannot be read", why=str(fault), next="train the model again"
        ) from fault


def write_card(folder: Path, kind: str, recipe: StanceRecipe | dict[str, Any], reading: Reading, **more: Any) -> None:
    """What the folder holds, with the hashes of its files."""
    files = sorted(path for path in folder.iterdir() if path.name != CARD and not path.name.startswith("."))
    card = {
        "layout": 1,
        "kind": kind,
        "offscript": __version__,
        "sha256": {path.name: sha256_of(path) for path in files},
        "reading": asdict(reading),
        "recipe": recipe if isinstance(recipe, dict) else recipe.model_dump(),
    }
    write_json(folder / CARD, {**card, **more})


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a stance model's folder."""
    card = read_json(folder / CARD)
    if not {"kind", "reading", "recipe"} <= card.keys():
        raise OffscriptError(f"{folder} is no stance model", why="its card is of another kind of model")
    return card


def read_json(path: Path) -> dict[str, Any]:
    """A file of a stance model's folder."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise OffscriptError(
            f"{path.parent} is no stance model", why=str(fault), next=f"name a folder with a {CARD}"
        ) from fault
    return content


def reading_of(card: Mapping[str, Any]) -> Reading:
    """How the model reads documents."""
    written = card["reading"]
    return Reading(written["threshold"], written["characters"], tuple(written["weights"]), tuple(written["shares"]))
