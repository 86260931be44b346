"""Recipes: what to train, on what, how, and when to stop; read from YAML with `key=value` changes on top."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from offscript._specification import nearest
from offscript._validation import first_fault
from offscript.corpora.readers import Format
from offscript.errors import OffscriptError
from offscript.models.storage import checked_settings

_SHIPPED = Path(__file__).parent.parent / "assets" / "recipes"


class _Part(BaseModel):
    """A part of a recipe: unknown keys are refused, values do not change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Part):
    """Where sentences come from, and whether running text must be cut into pieces, sentences and words first."""

    path: str
    format: Format = "auto"
    field: str = "text"
    pieces: int | None = Field(None, ge=1, description="characters of a piece, for text without lines such as text8")
    half: Literal["first", "second"] | None = Field(None, description="one half of the sentences, by hash")
    split_sentences: bool = False
    separate_punctuation: bool = False


class Filters(_Part):
    """The papers' filters, in this order; all are off by default."""

    exclude: list[Source] = []
    drop_repeats: bool = False
    minimum_frequency: int = Field(1, ge=1)
    shortest: int = Field(1, ge=1)
    longest: int | None = Field(None, ge=1)


class WordVocabularySettings(_Part):
    """The most frequent words of the training text."""

    kind: Literal["word"] = "word"
    size: int = Field(5000, ge=3)
    lower: bool = True


class CharacterVocabularySettings(_Part):
    """The 27 symbols of text8, or every character that occurs."""

    kind: Literal["character"]
    symbols: Literal["text8", "all"] = "text8"


class HubVocabularySettings(_Part):
    """A Hugging Face tokenizer by name or folder."""

    kind: Literal["hub"]
    name: str


class SharedVocabularySettings(_Part):
    """The vocabulary of another model, so that the two can be compared."""

    kind: Literal["model"]
    name: str


VocabularySettings = Annotated[
    WordVocabularySettings | CharacterVocabularySettings | HubVocabularySettings | SharedVocabularySettings,
    Field(discriminator="kind"),
]


class BatchSettings(_Part):
    """`packed` and `fixed` rows have exactly `length` tokens; `bucketed` rows have the sentences' own lengths."""

    kind: Literal["packed", "fixed", "bucketed"] = "bucketed"
    size: int = Field(64, ge=1)
    length: int = Field(50, ge=1)


class CorpusData(_Part):
    """Sentences from files; without validation files a share is split off by hash."""

    kind: Literal["corpus"] = "corpus"
    train: list[Source] = Field(min_length=1)
    validation: list[Source] = []
    validation_share: float = Field(0.05, gt=0, lt=1)
    filters: Filters = Filters()
    vocabulary: VocabularySettings = WordVocabularySettings()
    batches: BatchSettings = BatchSettings()


class SampledData(_Part):
    """Fresh samples of another model: no sequence is seen twice."""

    kind: Literal["samples"]
    model: str
    length: int = Field(50, ge=1)
    size: int = Field(64, ge=1)
    stop_at_end: bool = False
    epoch: int = Field(20_000, ge=1, description="sequences that count as one epoch")
    distinct: int | None = Field(None, ge=1, description="stop drawing new ones after so many; None: always fresh")
    validation: int = Field(1_000, ge=1, description="sequences to validate on")


class OptimiserSettings(_Part):
    """Adam with gradient clipping; the learning rate warms up, then follows the schedule."""

    learning_rate: float = Field(1e-3, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    clip: float | None = Field(1.0, gt=0)
    warmup: int = Field(0, ge=0)
    schedule: Literal["constant", "linear", "cosine", "plateau"] = "constant"
    plateau_factor: float = Field(0.5, gt=0, lt=1)


class StopSettings(_Part):
    """Whichever comes first ends the training."""

    epochs: int = Field(20, ge=1)
    steps: int | None = Field(None, ge=1)
    patience: int | None = Field(None, ge=1, description="validations without progress")
    gain: float = Field(0.0, ge=0, description="nats by which a validation must be lower to count as progress")
    validate_every: int | None = Field(None, ge=1, description="steps; None: once an epoch")


class Recipe(_Part):
    """Everything that decides the trained weights."""

    name: str = Field("model", pattern=r"^[\w.-]+$")
    about: str = Field("", description="for the model's card; decides nothing")
    algorithm: str = "teacher-forcing"
    algorithm_settings: dict[str, Any] = {}
    seed: int = Field(1, ge=0)
    model: dict[str, Any] = {"kind": "lstm"}
    warm_start: str | None = Field(None, description="a model whose weights to begin with")
    data: Annotated[CorpusData | SampledData, Field(discriminator="kind")]
    optimiser: OptimiserSettings = OptimiserSettings()
    stop: StopSettings = StopSettings()

    @property
    def digest(self) -> str:
        """A hash of the recipe: two runs with the same one are the same run."""
        return hashlib.sha256(json.dumps(self.model_dump(exclude={"about"}), sort_keys=True).encode()).hexdigest()[:16]


def read_recipe(path: Path, changes: Sequence[str] = ()) -> Recipe:
    """Read YAML, apply `key=value` changes (keys dotted, values YAML), expand `$VARIABLES` in texts, and check."""
    return recipe_from(read_content(path, changes), str(path))


def read_content(path: Path, changes: Sequence[str] = ()) -> dict[str, Any]:
    """A recipe's mapping before it is checked, with changes applied and `$VARIABLES` expanded."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise OffscriptError(f"no recipe at {path}", why=fault.strerror or "", next="name a YAML file") from fault
    except (yaml.YAMLError, UnicodeDecodeError) as fault:
        raise OffscriptError(f"{path} is not YAML", why=" ".join(str(fault).split())) from fault
    if not isinstance(content, dict):
        raise OffscriptError(f"{path} is not a recipe", why="it is not a mapping of keys to values")
    for change in changes:
        _apply(content, change)
    filled: dict[str, Any] = expanded(content)
    return filled


def shipped_recipes() -> dict[str, Path]:
    """The recipes that come with the package, by name."""
    return {path.stem: path for path in sorted(_SHIPPED.glob("*.yaml"))}


def find_recipe(text: str) -> Path:
    """A path that exists, else a shipped recipe's name."""
    path = Path(text)
    if path.exists():
        return path
    shipped = shipped_recipes()
    if text in shipped:
        return shipped[text]
    raise OffscriptError(
        f"no recipe {text!r}", why="no such file, and none of that name ships", next=nearest(text, shipped)
    )


def recipe_from(content: dict[str, Any], origin: str = "the recipe") -> Recipe:
    """Check a mapping; a wrong key is named together with what is near."""
    try:
        recipe = Recipe.model_validate(_with_default_kinds(content))
        checked_settings(*kind_and_settings(recipe.model))
    except ValidationError as fault:
        raise OffscriptError(f"{origin}: {first_fault(fault, Recipe)}") from fault
    except OffscriptError as fault:
        raise OffscriptError(f"{origin}: model: {fault.what}", why=fault.why, next=fault.next) from fault
    return recipe


def kind_and_settings(model: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A recipe's model section, taken apart; an LSTM where it names no kind."""
    settings = dict(model)
    return str(settings.pop("kind", "lstm")), settings


def _apply(content: dict[str, Any], change: str) -> None:
    key, equals, value = change.partition("=")
    if not equals or not key:
        raise OffscriptError(f"{change!r} is not key=value", next="write e.g. model.hidden=128")
    *path, last = key.split(".")
    place: Any = content
    for part in path:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise OffscriptError(f"{key!r} cannot be set", why=f"{part!r} holds no keys")
    try:
        place[last] = yaml.safe_load(value)
    except yaml.YAMLError as fault:
        raise OffscriptError(f"{change!r}: the value is not YAML", why=" ".join(str(fault).split())) from fault


def expanded(value: Any) -> Any:
    """The value with `$VARIABLES` filled in, inside lists and mappings too; an unset one is refused."""
    if isinstance(value, dict):
        return {key: expanded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if not isinstance(value, str):
        return value
    for name in re.findall(r"\$\{?(\w+)\}?", value):
        if name not in os.environ:
            raise OffscriptError(f"{value!r} names the variable {name}, which is not set", next=f"export {name}=…")
    return os.path.expandvars(value)


def _with_default_kinds(content: dict[str, Any]) -> dict[str, Any]:
    """Fill in the kinds that a plain recipe leaves out, and let a bare path stand for a source."""
    content = dict(content)
    data = content.get("data")
    if not isinstance(data, dict):
        return content
    data = {"kind": "corpus", **data}
    for key in ("train", "validation"):
        if isinstance(data.get(key), str):
            data[key] = [data[key]]
        if isinstance(data.get(key), list):
            data[key] = [{"path": item} if isinstance(item, str) else item for item in data[key]]
    if isinstance(data.get("vocabulary"), dict):
        data["vocabulary"] = {"kind": "word", **data["vocabulary"]}
    content["data"] = data
    return content
