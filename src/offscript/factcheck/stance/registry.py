"""Stance models by name: the one that ships, the lexical baseline, folders of trained ones, and several as one."""

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from offscript._plugins import Registry
from offscript._specification import nearest
from offscript._types import FloatArray
from offscript.errors import OffscriptError, explaining
from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.stance import STANCES, StanceModel

SHIPPED, LEXICAL, JOINT = "offscript/stance", "lexical", "+"
CARD = "card.json"
_DAMAGE = (OSError, RuntimeError, SafetensorError)
_ASSETS = {
    name: Path(__file__).parents[2] / "assets" / name.partition("/")[2]
    for name in (SHIPPED, "offscript/inference", "offscript/fakta")
}


@dataclass(frozen=True)
class StanceKind:
    """How models of one kind are loaded, and taught where they can be.

    Attributes:
        load: From a folder and a name to the model.
        train: From a `StanceRecipe`, a folder and an observer, with `checkpoint_seconds`, to the model's folder.
    """

    load: Callable[[Path, str], StanceModel]
    train: Callable[..., Path] | None = None


_TEACHING = "offscript.factcheck.stance.teaching"
KINDS: Registry[StanceKind] = Registry(
    "kind of stance model",
    "offscript.stances",
    {
        "onnx": "offscript.factcheck.stance.served:ONNX",
        "mtranssan": f"{_TEACHING}.mtranssan:MTRANSSAN",
        "features": f"{_TEACHING}.baselines:FEATURES",
        "boosting": f"{_TEACHING}.baselines:BOOSTING",
        "hierarchy": f"{_TEACHING}.hierarchy:HIERARCHY",
        "inference": "offscript.factcheck.inference.stance:INFERENCE",
    },
)
"""What a card's `kind` may say."""


@cache
def stance_model(name: str = SHIPPED) -> StanceModel:
    """`offscript/inference`, `offscript/stance`, `lexical`, a folder that `offscript train` made, or several by `+`."""
    if JOINT in name and not Path(name).exists():
        return Committee([stance_model(member) for member in name.split(JOINT)])
    if name == LEXICAL:
        from offscript.factcheck.stance.lexical import LexicalStance

        return LexicalStance()
    folder = _ASSETS.get(name, Path(name))
    if not (folder / CARD).is_file():
        known = (*_ASSETS, LEXICAL)
        raise OffscriptError(
            f"no stance model {name!r}", why="no such name, and no such folder", next=nearest(name, known)
        )
    kind = str(read_card(folder)["kind"])
    if kind not in KINDS:
        raise OffscriptError(f"{folder} holds a stance model of kind {kind!r}", next=nearest(kind, KINDS))
    with explaining(f"the stance model {folder} cannot be loaded", next="copy its folder again", also=_DAMAGE):
        return KINDS[kind].load(folder, name)


class PairModel(ABC):
    """A stance model that reads documents each with a claim of its own; a sentence is a short document."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        """Stance probabilities [pairs, 4] of documents, each against its own claim."""

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        """Stance probabilities [documents, 4]."""
        return self.of_pairs([Pair(claim, tuple(sentences), "", "") for sentences in documents])

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        """Stance probabilities [sentences, 4]."""
        return self.of_documents(claim, [(sentence,) for sentence in sentences])


class Committee(PairModel):
    """Several stance models that vote with equal weight: the mean of their probabilities."""

    def __init__(self, members: Sequence[StanceModel]) -> None:
        super().__init__(JOINT.join(member.name for member in members))
        self._members = tuple(members)

    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        return np.asarray(np.mean([stances_of_pairs(member, pairs) for member in self._members], axis=0))

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        return np.asarray(np.mean([member.of_sentences(claim, sentences) for member in self._members], axis=0))


def stances_of_pairs(model: StanceModel, pairs: Sequence[Pair]) -> FloatArray:
    """Stance probabilities [pairs, 4] of documents, each against its own claim; all at once where the model can."""
    if isinstance(model, PairModel):
        return model.of_pairs(pairs)
    stances = np.zeros((len(pairs), len(STANCES)))
    for claim, numbers in by_claim(pairs).items():
        stances[numbers] = model.of_documents(claim, [pairs[number].sentences for number in numbers])
    return stances


def by_claim(pairs: Sequence[Pair]) -> dict[str, list[int]]:
    """The places of each claim's pairs."""
    places: dict[str, list[int]] = defaultdict(list)
    for number, pair in enumerate(pairs):
        places[pair.claim].append(number)
    return places


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a stance model's folder."""
    card = read_json(folder / CARD)
    if not {"kind", "reading", "recipe"} <= card.keys():
        raise OffscriptError(f"{folder} is not a stance model", why="its card is of another kind of model")
    return card


def read_json(path: Path) -> dict[str, Any]:
    """A file of a stance model's folder."""
    remedy = f"name a folder with a {CARD}"
    with explaining(f"{path.parent} is not a stance model", next=remedy, also=(OSError,)):
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise TypeError(f"{path.name} holds no keys")
    return content
