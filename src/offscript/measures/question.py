"""A question: everything offscript knows about one measure, in one object.

A question says what it needs, which settings it takes, how it is measured, what follows from the figures and how they
are drawn. The `measure` verbs with their options, `ls`, audits, comparisons, gates, experiments, sweeps, pages and the
reference docs read the registry below and name no question. To add one, subclass `Question` and register it:

    @register
    class Longest(Question):
        name, title, about = "longest", "How long is its longest word?", "The longest word of the model's samples."

        def measure(self, subject, settings, progress):
            ...
            return Answer([Measurement.of(estimate, question=self.name, name="longest", ...)])

The classes here import nothing heavy, so that listing the questions costs no torch; a question imports what it computes
with inside `measure`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from offscript._abilities import Gives
from offscript._config import first_fault
from offscript._specification import split_specifications
from offscript.errors import OffscriptError
from offscript.measures._computable import computed, plain_reason
from offscript.measures.words import with_interval

if TYPE_CHECKING:
    from offscript._types import Count
    from offscript.measures.charts import Chart
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject

Status = Literal["fine", "found", "cannot tell", "for information"]
"""Nothing to worry about; something found; not decided by the intervals; a figure that is neither good nor bad."""


SIGNIFICANT = 0.05
"""A corrected p-value below it is more than chance."""


class Progress(Protocol):
    """What a question tells of its work: `start` with the number of rows, then the count as they are done."""

    def start(self, total: int) -> "Count":
        """Begin to count up to a total."""


class Silent:
    """Progress that nobody follows."""

    def start(self, total: int) -> "Count":
        """Count nothing."""
        return lambda rows: None


class Settings(BaseModel):
    """The settings of a question: options of `measure NAME`, keys of an experiment, rows of the reference docs."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def setting(
    default: Any = ...,
    about: str = "",
    *,
    flag: str = "",
    argument: bool = False,
    hidden: bool = False,
    repeated: bool = False,
    **limits: Any,
) -> Any:
    """One field of `Settings`.

    Args:
        default: the value without the option; `...` makes it required.
        about: one line of help.
        flag: the option's name where it is not the field's.
        argument: make it a positional argument of the verb.
        hidden: no option; only experiments and plans set it.
        repeated: the option may be given several times although the setting is one text.
        **limits: what pydantic's `Field` checks, such as `ge` and `le`.

    Returns:
        A pydantic field.
    """
    extra: dict[str, Any] = {"flag": flag, "argument": argument, "hidden": hidden, "repeated": repeated}
    return Field(default, description=about, json_schema_extra=extra, **limits)


def _split(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(split_specifications(value))
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(split_specifications(*value))
    return value


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _joined(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""Names with or without settings, `tv,js` or `nucleus,p=0.9 top-k,k=40`: commas or blanks between, or repeated."""

Listed = Annotated[str, BeforeValidator(_joined)]
"""Values with commas between; a setting with `repeated=True` may be given several times."""

Files = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""File names, which may hold commas: repeated."""


class TextSettings(Settings):
    """How a corpus is read, for questions that take one."""

    format: str = setting("auto", "Layout of the corpus: auto, text, jsonl, wikitext or csv.")
    field: str = setting("text", "The JSON field or CSV column that holds the text.")
    pieces: int | None = setting(None, "Cut text without lines, such as text8, into pieces of this length.", ge=1)
    half: str | None = setting(None, "Read only one half of the corpus, chosen by hash: first or second.")


class Need(Enum):
    """What a question may need of its subject: in words, and the flags that give it to an audit."""

    model = ("a model", "MODEL")
    oracle = ("an oracle", "--oracle MODEL")
    gold = ("an oracle or a corpus", "--corpus FILE or --oracle MODEL")
    corpus = ("a corpus", "--corpus FILE")
    associations = ("association tests", "--associations FILE, such as StereoSet's dev.json")
    against = ("a second model", "--against MODEL")

    def __init__(self, words: str, hint: str) -> None:
        self.words, self.hint = words, hint

    def met_by(self, subject: "Subject") -> bool:
        """Whether the subject has it."""
        if self is Need.gold:
            return subject.has_oracle or bool(subject.corpus)
        return {
            Need.model: subject.has_model,
            Need.oracle: subject.has_oracle,
            Need.corpus: bool(subject.corpus),
            Need.associations: subject.associations is not None,
            Need.against: subject.has_against,
        }[self]


_EXAMPLES = {
    Need.model: "offscript/news-student",
    Need.against: "--against offscript/news",
    Need.oracle: "--oracle offscript/news",
    Need.gold: "--oracle offscript/news",
    Need.corpus: "--corpus text.txt",
    Need.associations: "--data dev.json",
}
"""What gives each need in the example of a verb's help."""


class Lack(NamedTuple):
    """What is missing, in words, and what gives it to an audit."""

    words: str
    hint: str
    next: str = ""
    """What to do about it, where no option of `measure` helps."""

    def __str__(self) -> str:
        return f"needs {self.words} ({self.hint})"


@dataclass(frozen=True)
class Finding:
    """What a question found: a few plain words, and the sentence that gives the figure and its interval."""

    headline: str
    sentence: str
    status: Status = "for information"

    def __str__(self) -> str:
        return f"{self.headline}. {self.sentence}"


@dataclass(frozen=True)
class Table:
    """Rows that share their keys, for the terminal."""

    rows: Sequence[Mapping[str, Any]]
    title: str = ""


@dataclass(frozen=True)
class Answer:
    """Figures, and what is shown with them.

    `exhibits` stand on the page; `details` stand beside the results in `--json`; `tables` are printed in the terminal.
    """

    measurements: "list[Measurement]"
    exhibits: list[dict[str, Any]] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    title: str = ""


@dataclass(frozen=True)
class Compared:
    """A figure that is drawn for several runs together: as curves where it is known by length, else as bars."""

    name: str
    title: str = ""
    reference: float | None = None


@dataclass(frozen=True)
class Gauge:
    """The figure that a finding rests on, and the value it is read against: a dot on an axis of the scorecard."""

    figure: str
    """The figure's name within its question."""
    label: str
    unit: str = ""
    reference: float | None = None
    meaning: str = ""
    """What the reference stands for, in a few words."""


SettingsT = TypeVar("SettingsT", bound=Settings)


class Question(Generic[SettingsT]):
    """One question. Subclass it, fill in the class variables and `measure`, and `register` it."""

    name: ClassVar[str]
    """The key in results; it never changes."""
    title: ClassVar[str]
    """The heading on the page, as a practitioner would ask it."""
    about: ClassVar[str]
    """One line: what is measured."""
    Settings: type[SettingsT] = Settings  # type: ignore[assignment]
    needs: ClassVar[tuple[Need, ...]] = (Need.model,)
    takes: ClassVar[tuple[Need, ...]] = ()
    """What it can use beside what it needs."""
    reads: ClassVar[Gives] = Gives.distributions
    """What it asks of a model; a model behind an API that gives less is not asked."""
    needs_instead: ClassVar[str] = ""
    """What it needs, in words, where `needs` cannot say it: one of several inputs."""
    flags: ClassVar[tuple[str, ...]] = ("limit", "seed", "device", "batch_size")
    """Which of the common options `measure NAME` has."""
    limited: ClassVar[str] = "sentences of the corpus"
    """What `--limit` counts."""
    example: ClassVar[str] = ""
    """What follows `offscript measure NAME` in the example of its help; made from `needs` where it is empty."""
    asked_by_default: ClassVar[bool] = False
    """Whether an audit asks it without `--only` or `--set`."""
    hidden: ClassVar[bool] = False
    """Not listed: part of another question's work."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """Settings that had another name in earlier versions, and what to use instead."""
    shares_rows: ClassVar[bool] = False
    """Whether it shares out its own rows to workers, where a subject has some for it."""
    share: ClassVar[int] = 2
    """Its part of the time that an audit of a large model has, compared with the other questions' parts."""
    headlines: ClassVar[tuple[str, ...]] = ()
    """The figures it is known by, for comparisons: the first that the runs share."""
    compared: ClassVar[tuple[Compared, ...]] = ()
    """The figures that comparisons draw."""
    words: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Figures (`*`: any characters) and the words that comparisons name them by; `{}` is what the first `*` is."""
    of_tokens: ClassVar[tuple[str, ...]] = ()
    """Figures that depend on what a token is (`*`: any characters), so models of one vocabulary can be compared."""
    of_amount: ClassVar[tuple[str, ...]] = ()
    """Figures that grow or shrink with the number of texts (`*`: any characters), so runs of one size are compared."""
    figure_names: ClassVar[tuple[str, ...] | None] = None
    """The figures it may give, with `*` for any characters, where they are the same for every subject."""
    rests_on: ClassVar[tuple[str, ...]] = ()
    """The figures that `tests` and `conclude` cannot do without."""
    gauges: ClassVar[tuple[Gauge, ...]] = ()
    """The figures that the scorecard draws with what they are read against: the first that was measured."""

    def plan(self, subject: "Subject") -> SettingsT:
        """The settings an audit asks it with: so many samples of such a length as the budget allows."""
        known = self.Settings.model_fields
        values = {"samples": subject.affordable(subject.length), "length": subject.length}
        return self.Settings(**{name: value for name, value in values.items() if name in known})

    def measure(self, subject: "Subject", settings: SettingsT, progress: Progress) -> Answer:
        """The figures, with what is to be shown beside them."""
        raise NotImplementedError

    def answer(self, subject: "Subject", settings: SettingsT, progress: Progress, *, constants: bool = False) -> Answer:
        """What `measure` gives, with reasons in place of figures that are infinite or have no interval.

        Args:
            subject: What is asked about.
            settings: The question's.
            progress: Told how far the work is.
            constants: Whether figures that never vary stay, which a page concludes nothing from.

        Returns:
            The answer.
        """
        answer = self.measure(subject, settings, progress)
        return answer if self.hidden else computed(answer, self.reason, constants=constants)

    def reason(self, entry: "Measurement", figures: "Mapping[str, Measurement]") -> str:
        """Why a figure cannot be computed: it is infinite, or its interval is infinite or has no width.

        Args:
            entry: the figure.
            figures: all that were measured, by name.
        """
        return plain_reason(entry)

    def tokens(self, subject: "Subject", settings: SettingsT) -> int:
        """About how many tokens models read or draw for an answer, for estimates of time."""
        known = settings.model_dump()
        return int(known.get("samples") or 0) * int(known.get("length") or subject.length)

    def figures(self, subject: "Subject", settings: SettingsT) -> Sequence[str] | None:
        """Names of the figures that `measure` may give, with `*` for any characters; None where nobody knows.

        A gate on a figure that is not among them is refused before anything is measured.
        """
        return self.figure_names

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """P-values of the hypotheses that the finding rests on, by name; none by default.

        The page corrects them together with those of all its other questions before it asks for the findings.
        """
        return {}

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """The finding in one sentence; None where there are no figures. By default the figures are listed.

        Args:
            figures: the question's figures by name.
            p_values: those of `tests` by name, corrected over every test of the page.
        """
        listed = "; ".join(f"{entry.name} {with_interval(entry)}" for entry in figures.values())
        return Finding("Measured", listed) if listed else None

    def gauge(self, figures: "Mapping[str, Measurement]") -> Gauge | None:
        """What the scorecard draws: the first of `gauges` that was measured, else of `headlines`, without a reference.

        Args:
            figures: the question's figures by name.

        Returns:
            The figure and its reference, or None where there is nothing to draw.
        """
        known = (*self.gauges, *(Gauge(name, self.in_words(name)) for name in self.headlines))
        return next((each for each in known if each.figure in figures), None)

    def in_words(self, figure: str) -> str:
        """A figure's name as a sentence says it: as the scorecard labels it, else by `words`, else its name.

        Args:
            figure: its name within the question.

        Returns:
            A few words without a capital.
        """
        labels = {each.figure: each.label for each in self.gauges}
        if figure in labels:
            return labels[figure]
        for pattern, words in self.words:
            parts = re.fullmatch(re.escape(pattern).replace(r"\*", "(.+)"), figure)
            if parts is not None:
                return words.format(*parts.groups())
        titles = {each.name: each.title for each in self.compared if each.title}
        return titles.get(figure, figure)

    def charts(self, measurements: "Sequence[Measurement]") -> "list[Chart]":
        """Vega-Lite charts; by default a curve for each figure that is known at every length."""
        from offscript.measures.charts import charts_by_length

        return charts_by_length(measurements)

    def depends_on(self, subject: "Subject", settings: SettingsT) -> dict[str, Any]:
        """What the answer depends on beside the subject's recipe and the settings, such as hashes of files."""
        return {}

    def settings(self, values: Mapping[str, Any], where: str = "") -> SettingsT:
        """Checked settings from plain data; a fault is one line."""
        for name in self.renamed.keys() & values.keys():
            raise OffscriptError(f"{self.name} has no setting {name!r} any more", next=f"use {self.renamed[name]}")
        try:
            return self.Settings(**values)
        except ValidationError as fault:
            place = where or f"the settings of {self.name}"
            raise OffscriptError(f"{place}: {first_fault(fault, self.Settings)}") from fault

    @property
    def example_command(self) -> str:
        """A command that asks the question."""
        given = self.example or " ".join(_EXAMPLES[need] for need in self.needs if need in _EXAMPLES)
        return f"offscript measure {self.name} {given}".rstrip()

    @property
    def required(self) -> list[str]:
        """Names of the settings that have no default."""
        return [name for name, known in self.Settings.model_fields.items() if known.is_required()]

    @property
    def needs_text(self) -> str:
        """What it needs, in words."""
        if self.needs_instead:
            return self.needs_instead
        words = [need.words for need in self.needs if need is not Need.model or len(self.needs) == 1]
        return ", ".join([*words, *(name.replace("_", " ") for name in self.required)]) or "nothing"

    def missing(self, subject: "Subject", given: Mapping[str, Any]) -> Lack | None:
        """What this subject and these settings lack, or None."""
        for need in self.needs:
            if not need.met_by(subject):
                return Lack(need.words, need.hint)
        for name in self.required:
            if name not in given:
                return Lack(f"{self.name}.{name}", f"--set {self.name}.{name}=…")
        if Need.model in (*self.needs, *self.takes):
            return self._beyond(subject)
        return None

    def _beyond(self, subject: "Subject") -> Lack | None:
        """What it would have to ask of a model that gives less."""
        for model in subject.partial_models:
            if model.gives < self.reads:
                return Lack(self.reads.words, model.limits, next=f"{model.limits}; name the model's weights")
        return None
