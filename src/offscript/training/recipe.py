"""Recipes: what to train, on what, how, and when to stop; read from YAML with `key=value` changes on top."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from offscript._config import Section, checked, digest_of, expanded, read_mapping
from offscript.corpora.readers import Format
from offscript.errors import OffscriptError
from offscript.learning import Bfloat16, OptimiserSettings, StopSettings
from offscript.models.storage import checked_settings


class Source(Section):
    """Where sentences come from, and whether running text must be cut into pieces, sentences and words first."""

    path: str
    format: Format = "auto"
    field: str = "text"
    pieces: int | None = Field(None, ge=1, description="characters of a piece, for text without lines such as text8")
    half: Literal["first", "second"] | None = Field(None, description="one half of the sentences, by hash")
    split_sentences: bool = False
    separate_punctuation: bool = False


class Filters(Section):
    """The papers' filters, in this order; all are off by default."""

    exclude: list[Source] = Field([])
    drop_repeats: bool = False
    minimum_frequency: int = Field(1, ge=1)
    shortest: int = Field(1, ge=1)
    longest: int | None = Field(None, ge=1)


class WordVocabularySettings(Section):
    """The most frequent words of the training text."""

    kind: Literal["word"] = "word"
    size: int = Field(5000, ge=3)
    lower: bool = True


class CharacterVocabularySettings(Section):
    """The 27 symbols of text8, or every character that occurs."""

    kind: Literal["character"]
    symbols: Literal["text8", "all"] = "text8"


class HubVocabularySettings(Section):
    """A Hugging Face tokenizer by name or folder."""

    kind: Literal["hub"]
    name: str


class SharedVocabularySettings(Section):
    """The vocabulary of another model, so that the two can be compared."""

    kind: Literal["model"]
    name: str


VocabularySettings = Annotated[
    WordVocabularySettings | CharacterVocabularySettings | HubVocabularySettings | SharedVocabularySettings,
    Field(discriminator="kind"),
]


class BatchSettings(Section):
    """`packed` and `fixed` rows have exactly `length` tokens; `bucketed` rows have the sentences' own lengths."""

    kind: Literal["packed", "fixed", "bucketed"] = "bucketed"
    size: int = Field(64, ge=1)
    length: int = Field(50, ge=1)


class CorpusData(Section):
    """Sentences from files; without validation files a share is split off by hash."""

    kind: Literal["corpus"] = "corpus"
    train: list[Source] = Field(min_length=1)
    validation: list[Source] = Field([])
    validation_share: float = Field(0.05, gt=0, lt=1)
    filters: Filters = Filters()
    vocabulary: VocabularySettings = WordVocabularySettings()
    batches: BatchSettings = BatchSettings()


class PieceVocabularySettings(Section):
    """Byte-pair pieces, learned from sources and targets together."""

    kind: Literal["pieces"] = "pieces"
    size: int = Field(4000, ge=300)


class PairSource(Section):
    """Where pairs come from: two text files, or a table or JSON lines that hold both sides."""

    path: str = Field(description="the sources, or a .tsv, .csv or .jsonl file of both sides")
    targets: str | None = Field(None, description="the targets, where the sources stand in a text file of their own")
    fields: tuple[str, str] = Field(("source", "target"), description="columns or JSON fields of the two sides")


class PairFilters(Section):
    """Joint filters: a pair stays or goes as a whole; all are off by default."""

    drop_repeats: bool = False
    longest: int | None = Field(None, ge=1, description="the most words of either side")
    ratio: float | None = Field(None, ge=1, description="the most words of one side for each word of the other")


class TokenBatchSettings(Section):
    """Pairs of like lengths go together."""

    tokens: int = Field(2000, ge=1, description="rows of a batch times its longest side, at most")


class ParallelData(Section):
    """Pairs of a source and a target."""

    kind: Literal["parallel"]
    train: list[PairSource] = Field(min_length=1)
    validation: list[PairSource] = Field(min_length=1)
    filters: PairFilters = PairFilters()
    vocabulary: Annotated[PieceVocabularySettings | SharedVocabularySettings, Field(discriminator="kind")] = (
        PieceVocabularySettings()
    )
    batches: TokenBatchSettings = TokenBatchSettings()
    scored: int = Field(0, ge=0, description="validation sources to translate greedily and score with BLEU")


class SampledData(Section):
    """Fresh samples of another model: no sequence is seen twice."""

    kind: Literal["samples"]
    model: str
    length: int = Field(50, ge=1)
    size: int = Field(64, ge=1)
    stop_at_end: bool = False
    epoch: int = Field(20_000, ge=1, description="sequences that count as one epoch")
    distinct: int | None = Field(None, ge=1, description="stop drawing new ones after so many; None: always fresh")
    validation: int = Field(1_000, ge=1, description="sequences to validate on")


class Recipe(Section):
    """Everything that decides the trained weights."""

    name: str = Field("model", pattern=r"^[\w.-]+$")
    about: str = Field("", description="for the model's card; decides nothing")
    algorithm: str = "teacher-forcing"
    algorithm_settings: dict[str, Any] = Field({})
    seed: int = Field(1, ge=0)
    model: dict[str, Any] = Field({"kind": "lstm"})
    warm_start: str | None = Field(None, description="a model whose weights to begin with")
    data: Annotated[CorpusData | SampledData | ParallelData, Field(discriminator="kind")]
    optimiser: OptimiserSettings = OptimiserSettings()
    stop: StopSettings = StopSettings()
    bfloat16: Bfloat16 = Field(
        False, description="compute the loss in bfloat16: yes, no, or auto: where the processor has instructions for it"
    )

    @property
    def digest(self) -> str:
        """A hash of the recipe: two runs with the same one are the same run."""
        unused = set() if self.bfloat16 else {"bfloat16"}  # recipes older than the key keep their digest
        return digest_of(self.model_dump(exclude={"about", *unused}))


def read_recipe(path: Path, changes: Sequence[str] = ()) -> Recipe:
    """Read a recipe for a language model.

    Args:
        path: A YAML file; `$VARIABLES` in its texts are filled in.
        changes: `key=value` to apply on top; keys are dotted, values are YAML.

    Returns:
        The checked recipe.
    """
    return recipe_from(expanded(read_mapping(path, "recipe", changes)), str(path))


def recipe_from(content: dict[str, Any], origin: str = "the recipe") -> Recipe:
    """Check a recipe that was read; a wrong key is named together with what is near.

    Args:
        content: Its keys; kinds may be left out, and a path may stand for a source.
        origin: Where it comes from, for messages.

    Returns:
        The checked recipe.
    """
    recipe = checked(Recipe, _with_default_kinds(content), origin)
    try:
        checked_settings(*kind_and_settings(recipe.model))
    except OffscriptError as fault:
        raise OffscriptError(f"{origin}: model: {fault.what}", why=fault.why, next=fault.next) from fault
    return recipe


def kind_and_settings(model: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A recipe's model section, taken apart; an LSTM where it names no kind."""
    settings = dict(model)
    return str(settings.pop("kind", "lstm")), settings


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
    model = content.get("model")
    if isinstance(model, dict) and model.get("kind") == "pretrained" and data["kind"] == "corpus":
        data = {"vocabulary": {"kind": "model", "name": model.get("base")}, **data}
    if isinstance(data.get("vocabulary"), dict):
        data["vocabulary"] = {"kind": "pieces" if data["kind"] == "parallel" else "word", **data["vocabulary"]}
    content["data"] = data
    return content
