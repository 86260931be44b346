"""Gradient boosting on the official baseline's features (Table 3.1, row 1)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from offscript._files import replacing
from offscript._types import FloatArray
from offscript.errors import missing_package
from offscript.factcheck.stance import storage
from offscript.factcheck.stance.features import overlap_features
from offscript.factcheck.stance.pairs import Pair
from offscript.factcheck.stance.recipe import StanceRecipe, training_pairs
from offscript.factcheck.stance.stance import STANCES
from offscript.factcheck.stance.two_level import Reading

_TREES = "trees.txt"
_ROUNDS = 200


class Boosting:
    """Trees that vote on a document's stance; a sentence is a short document."""

    def __init__(self, name: str, trees: Any) -> None:
        self._name, self._trees = name, trees

    @property
    def name(self) -> str:
        return self._name

    def of_documents(self, claim: str, documents: Sequence[Sequence[str]]) -> FloatArray:
        return self.of_pairs([Pair(claim, tuple(sentences), "", "") for sentences in documents])

    def of_pairs(self, pairs: Sequence[Pair]) -> FloatArray:
        """Stance probabilities [pairs, 4] of documents, each against its own claim."""
        if not pairs:
            return np.zeros((0, len(STANCES)))
        return np.asarray(self._trees.predict(overlap_features(pairs), num_threads=1), dtype=np.float64)

    def of_sentences(self, claim: str, sentences: Sequence[str]) -> FloatArray:
        return self.of_documents(claim, [(sentence,) for sentence in sentences])


def train_boosting(recipe: StanceRecipe, folder: Path) -> Path:
    """200 rounds of trees, as the official baseline; they are written as text."""
    lightgbm = _lightgbm()
    pairs = training_pairs(recipe)
    labels = [STANCES.index(pair.label) for pair in pairs]
    settings = {
        "objective": "multiclass",
        "num_class": len(STANCES),
        "learning_rate": 0.1,
        "num_leaves": 31,
        "seed": recipe.seed,
        "deterministic": True,
        "num_threads": 1,
        "verbose": -1,
    }
    trees = lightgbm.train(settings, lightgbm.Dataset(overlap_features(pairs), labels), num_boost_round=_ROUNDS)
    made = folder / "model"
    with replacing(made / _TREES) as temporary:
        temporary.write_text(trees.model_to_string(), encoding="utf-8")
    storage.write_card(made, "boosting", recipe, Reading(0.0, 0))
    return made


def load(folder: Path, *, name: str) -> Boosting:
    """What `train_boosting` wrote."""
    text = (folder / _TREES).read_text(encoding="utf-8")
    return Boosting(name, _lightgbm().Booster(model_str=text))


def _lightgbm() -> Any:
    try:
        import lightgbm
    except ImportError as fault:
        raise missing_package("gradient boosting", "lightgbm", extra="stance") from fault
    return lightgbm
