"""The papers' tables and figures as data: which models, which measures, and what the paper found."""

import copy
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from offscript._config import change, first_fault
from offscript._specification import Setting, nearest
from offscript.audits.cells import Cell, MeasureCall
from offscript.errors import OffscriptError
from offscript.experiments.statements import Expectation
from offscript.experiments.tables import content_of, experiments

SCALES = ("quick", "standard", "paper")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Variant(_Part):
    """What is compared: a model that exists, or the experiment's training recipe with changes.

    Where the experiment trains nothing, it is a system that its settings describe.
    """

    name: str = Field(pattern=r"^[^/]+$")
    model: str | None = None
    begins_with: str | None = Field(None, description="an earlier variant, whose trained weights this one starts from")
    changes: dict[str, Any] = {}
    model_settings: dict[str, Setting] = Field({}, description="what its trained model is loaded with, such as a dtype")
    settings: dict[str, Any] = Field({}, description="changes to the settings of every measure")
    settings_of: dict[str, dict[str, Any]] = Field({}, description="changes to those of one question, by its name")
    questions: list[str] | None = Field(None, min_length=1, description="only these measures are taken of it")

    def answers(self, call: MeasureCall) -> bool:
        """Whether this measure is taken of the variant."""
        return self.questions is None or call.question in self.questions

    def asked(self, call: MeasureCall) -> MeasureCall:
        """A measure with this variant's changes to its settings."""
        settings = _merged(_merged(call.settings, self.settings), self.settings_of.get(call.question, {}))
        return MeasureCall(question=call.question, settings=settings)


class Experiment(_Part):
    """One table or figure at one scale."""

    name: str
    paper: str
    title: str
    about: str = ""
    covers: dict[str, list[str]] = Field({}, description="tables and figures, by the short name of a paper")
    oracle: str | None = None
    oracle_changes: dict[str, Any] | None = Field(
        None, description="changes to the training recipe that give the oracle, which is trained too"
    )
    training: dict[str, Any] = {}
    seeds: int = Field(1, ge=1, description="training runs of each variant; figures are means over them")
    variants: list[Variant] = Field(min_length=1)
    measures: list[MeasureCall] = Field(min_length=1)
    correlations: dict[str, list[str]] = Field({}, description="groups of variants, over whose runs figures correlate")
    correlated: list[str] = Field([], description="the figures that correlate, `QUESTION.NAME`")
    expected: list[Expectation] = []

    @model_validator(mode="after")
    def _names_are_known(self) -> "Experiment":
        if self.oracle is not None and self.oracle_changes is not None:
            raise ValueError("it names an oracle and changes that train one; keep one of the two")
        names = [variant.name for variant in self.variants]
        for place, variant in enumerate(self.variants):
            measured = {call.question for call in self.measures}
            if unknown := set(variant.settings_of) - measured:
                raise ValueError(f"{variant.name} has settings of {sorted(unknown)[0]!r}, which is not measured")
            if unknown := set(variant.questions or ()) - measured:
                raise ValueError(f"{variant.name} is to answer {sorted(unknown)[0]!r}, which is not measured")
            if variant.model_settings and (variant.model is not None or not self.training):
                raise ValueError(f"{variant.name} trains no model that its model_settings could load")
            if variant.begins_with is not None and variant.begins_with not in names[:place]:
                raise ValueError(f"{variant.name} begins with {variant.begins_with!r}, which is not an earlier variant")
        for group, members in self.correlations.items():
            if unknown := set(members) - set(names):
                raise ValueError(f"the correlations of {group} name {sorted(unknown)[0]!r}, which is not a variant")
        return self

    def runs_of(self, variant: Variant) -> int:
        """Only what is trained differs from run to run."""
        return self.seeds if variant.model is None and self.training else 1

    def cells_of(self, variant: Variant, run: int, seed: int) -> list[Cell]:
        """The cells of one run, one per measure; run i is trained and measured with seeds that are i higher."""
        return [
            Cell(
                name=variant.name,
                model=variant.model,
                trainings=() if variant.model is not None else self._trainings(variant, run),
                model_settings=variant.model_settings,
                oracle=self.oracle,
                oracle_trainings=self._oracle_trainings(),
                call=variant.asked(call),
                seed=seed + run,
            )
            for call in self.measures
            if variant.answers(call)
        ]

    def _oracle_trainings(self) -> tuple[dict[str, Any], ...]:
        """The oracle's recipe; it is the same for every run of every variant."""
        if self.oracle_changes is None:
            return ()
        return (_changed(self.training, self.oracle_changes),)

    def _trainings(self, variant: Variant, run: int) -> tuple[dict[str, Any], ...]:
        """The variant's recipe, after those of the variants whose weights it begins with."""
        if not self.training:
            return ()
        content = _changed(self.training, variant.changes)
        content["seed"] = content.get("seed", 1) + run
        if variant.begins_with is None:
            return (content,)
        [earlier] = [each for each in self.variants if each.name == variant.begins_with]
        if earlier.model is not None:
            return ({**content, "warm_start": earlier.model},)
        return (*self._trainings(earlier, run), content)


def why_not(name: str, scale: str) -> str | None:
    """Why an experiment cannot be run here at a scale, or None: it has no such scale, or its data are not here."""
    if scale not in _content(name)[1]["scales"]:
        return f"it has no {scale} scale"
    experiment = read_experiment(name, scale)
    for text in sorted(_texts(experiment.model_dump())):
        for variable in re.findall(r"\$\{?(\w+)\}?", text):
            if variable not in os.environ:
                return f"{variable} is not set"
        path = text.partition(",")[0]  # a model string has settings after a comma
        if "$" in text and not Path(os.path.expandvars(path)).exists():
            return f"{text} is missing"
    if scale == "paper" and experiment.training and shutil.which("nvidia-smi") is None:
        return "made for a GPU, and there is none"
    return None


def _texts(value: Any) -> set[str]:
    """Every text inside a value."""
    if isinstance(value, dict):
        return set().union(*map(_texts, value.values()))
    if isinstance(value, list | tuple):
        return set().union(*map(_texts, value))
    return {value} if isinstance(value, str) else set()


def read_experiment(name: str, scale: str) -> Experiment:
    """The experiment with the changes of its scale applied.

    Args:
        name: `PAPER/TABLE` of a shipped experiment, or the path of a YAML file.
        scale: One of `SCALES`; a file without `scales` has the scale `quick`, which changes nothing.

    Returns:
        The checked experiment.
    """
    if scale not in SCALES:
        raise OffscriptError(f"there is no scale {scale!r}", next=f"known: {', '.join(SCALES)}")
    path, content = _content(name)
    scales = content.pop("scales")
    if not isinstance(scales, dict) or not all(isinstance(changes, dict) for changes in scales.values()):
        raise OffscriptError(f"{path}: scales", next="write for every scale the keys that it changes")
    if scale not in scales:
        raise OffscriptError(f"{name} cannot be run at scale {scale}", next=f"it has {', '.join(scales)}")
    for key, value in scales[scale].items():
        change(content, key, value)
    try:
        return Experiment(name=name if name in experiments() else path.stem, **content)
    except ValidationError as fault:
        raise OffscriptError(f"{path}: {first_fault(fault, Experiment)}") from fault


def _content(name: str) -> tuple[Path, dict[str, Any]]:
    """An experiment's file and its keys."""
    known = experiments()
    if name in known:
        path = known[name]
    elif name.endswith((".yaml", ".yml")):
        path = Path(name)
    else:
        raise OffscriptError(f"there is no experiment {name!r}", next=f"{nearest(name, known)}; a file ends in .yaml")
    return path, {"scales": {"quick": {}}, **content_of(path)}


def _changed(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe with some dotted keys changed; the recipe itself stays as it is."""
    changed = copy.deepcopy(dict(content))
    for key, value in changes.items():
        change(changed, key, value)
    return changed


def _merged(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with a variant's changes; of a setting that holds keys itself, only those named change."""
    merged = dict(settings)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = {**merged[key], **value} if both else value
    return merged
