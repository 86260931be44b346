"""Does it repeat its training text: verbatim runs in its own text, and texts that follow from their true beginnings?"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from offscript._abilities import Gives
from offscript.measures.question import (
    SIGNIFICANT,
    Answer,
    Compared,
    Files,
    Finding,
    Gauge,
    Lack,
    Need,
    Progress,
    Question,
    Table,
    TextSettings,
    setting,
)
from offscript.measures.words import p_value, with_interval

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.memorisation.estimation import Source
    from offscript.measures.subject import Subject

MARGIN = 0.01
"""An excess of extracted texts over the control's that is too small to matter: one of a hundred."""

_SHOWN = 6
_TESTED = ("extracted", "verbatim")


class MemorisationSettings(TextSettings):
    """What the model was trained on, what it cannot have seen, and how much is asked."""

    training: Files = setting((), "Text that the model was trained on (text, JSONL, CSV; .gz, .xz); may be repeated.")
    control: Files = setting((), "Text of the same kind that it cannot have seen; may be repeated.")
    samples: int = setting(500, "Texts that it writes, and beginnings of each corpus that it continues.", ge=4)
    length: int = setting(100, "The most tokens of a text that it writes.", ge=2)
    sampler: str = setting("ancestral", "How it writes.")
    prefix: int = setting(10, "Tokens of a true beginning.", ge=1)
    suffix: int = setting(20, "Tokens after it that greedy decoding must repeat.", ge=1)
    run: int = setting(60, "Bytes of a verbatim run that counts: characters, in English.", ge=8)


class Memorisation(Question[MemorisationSettings]):
    """Extraction rate and verbatim overlap, each beside a control corpus."""

    name = "memorisation"
    title = "Has it memorised its training text?"
    about = (
        "Training texts that follow from their beginnings, and verbatim runs in its own text, beside a control corpus."
    )
    Settings = MemorisationSettings
    reads = Gives.texts
    needs_instead = "a model and its training text (--training), better also --control"
    flags = ("limit", "seed", "device", "batch_size")
    limited = "texts of each corpus"
    example = "offscript/news-student --training text.txt --control held-out.txt"
    headlines = ("extracted", "verbatim")
    figure_names = (
        "extracted", "matched", "longest", "verbatim", "control.*", "extracted_excess", "verbatim_excess",
    )  # fmt: skip
    compared = (Compared("extracted"), Compared("verbatim"))
    gauges = (
        Gauge("extracted_excess", "texts extracted, over control", "", 0.0, "as from the control"),
        Gauge("extracted", "texts extracted"),
    )
    words = (
        ("verbatim", "own texts with verbatim runs"),
        ("verbatim_excess", "own texts with verbatim runs, over control"),
        ("control.extracted", "texts extracted of the control"),
        ("control.verbatim", "own texts with verbatim runs of the control"),
    )

    def plan(self, subject: "Subject") -> MemorisationSettings:
        """As many texts as the budget allows."""
        samples = subject.affordable(subject.length + 60, most=2_000)
        return MemorisationSettings(samples=max(4, samples), length=subject.length)

    def tokens(self, subject: "Subject", settings: MemorisationSettings) -> int:
        """Its own texts, and the continuations of both corpora."""
        return settings.samples * (settings.length + 2 * (settings.prefix + settings.suffix))

    def missing(self, subject: "Subject", given: Mapping[str, Any]) -> Lack | None:
        """The training text is a setting, which `measure` and audits give in their own ways."""
        if not subject.has_model:
            return Lack(Need.model.words, Need.model.hint)
        return None if given.get("training") else Lack("training text", f"--set {self.name}.training=FILE")

    def depends_on(self, subject: "Subject", settings: MemorisationSettings) -> dict[str, Any]:
        """What the files hold."""
        from offscript.measures.subject import content_hash

        files = (*settings.training, *settings.control)
        return {"files": {name: content_hash(name) for name in files}, "limit": subject.limit}

    def measure(self, subject: "Subject", settings: MemorisationSettings, progress: Progress) -> Answer:
        """Every corpus is read once."""
        from offscript.measures.memorisation.estimation import Sizes, measure_memorisation

        sizes = Sizes(**{name: getattr(settings, name) for name in Sizes.__dataclass_fields__})
        corpora = 2 if settings.control else 1
        measurements, sources, own = measure_memorisation(
            subject.model,
            _texts(subject, settings, settings.training),
            _texts(subject, settings, settings.control) if settings.control else None,
            sizes=sizes,
            seed=subject.seed,
            batch_size=subject.rows_at_once(),
            progress=progress.start((1 + corpora) * settings.samples),
        )
        return self._answer(subject, settings, measurements, sources, own)

    def _answer(
        self,
        subject: "Subject",
        settings: MemorisationSettings,
        measurements: "list[Measurement]",
        sources: "dict[str, Source]",
        own: list[str],
    ) -> Answer:
        """The figures with what was extracted."""
        from offscript.measures.memorisation.estimation import extracted_texts, longest_runs
        from offscript.measures.subject import columns_of_texts

        shape = (subject.model.vocabulary, settings.prefix, settings.suffix, _SHOWN)
        extracted = {name: extracted_texts(source, *shape) for name, source in sources.items()}
        runs = {name: longest_runs(source, own, settings.run, _SHOWN) for name, source in sources.items()}
        exhibits = []
        if any(extracted.values()):
            columns = [(f"{name} corpus", rows) for name, rows in extracted.items() if rows]
            exhibits.append(columns_of_texts(columns, "Extracted: after the true text before ▸ it wrote the true rest"))
        for name, rows in runs.items():
            if rows:
                columns = [(key, [str(row[key]) for row in rows]) for key in ("written", "in the corpus")]
                exhibits.append(columns_of_texts(columns, f"Its own texts, with their runs ⟦ ⟧ of the {name} corpus"))
        tables = [Table([{"extracted": text} for text in extracted["training"]], "Extracted training texts")]
        tables.append(Table(runs["training"], "Verbatim runs of the training corpus in its own texts"))
        return Answer(
            measurements,
            exhibits=exhibits,
            details={"extracted": extracted, "runs": runs},
            tables=[table for table in tables if table.rows],
            title=f"{subject.model.name} on {', '.join(settings.training)}",
        )

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """Training text and control are given back alike: by extraction, and in its own texts."""
        from offscript.statistics import p_value_of

        excesses = {name: figures.get(f"{name}_excess") for name in _TESTED}
        return {
            name: p_value_of(entry.estimate, entry.n) if entry.value > 0 else 1.0
            for name, entry in excesses.items()
            if entry is not None
        }

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """Found where the training corpus comes back more often than the control."""
        if not figures:
            return None
        told = _told(figures, p_values)
        if not p_values:
            sentence = f"{told} Nothing tells how much of that is chance: add a control (--control FILE)."
            return Finding("No control to compare with", sentence, "cannot tell")
        if any(p < SIGNIFICANT for p in p_values.values()):
            return Finding("It has memorised training text", told, "found")
        if all(figures[f"{name}_excess"].interval.upper < MARGIN for name in p_values):
            sentence = f"{told} Both upper bounds are below {MARGIN:.0%}."
            return Finding("It gives back no more of its training text than of the control", sentence, "fine")
        return Finding("No memorisation detected", told, "cannot tell")


def _texts(subject: "Subject", settings: MemorisationSettings, files: Files) -> Iterator[str]:
    from itertools import islice

    from offscript.measures.subject import Subject

    return islice(Subject(corpus=files).sentences(settings), subject.limit)


def _told(figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> str:
    """Both figures, with those of the control."""
    sentences = []
    for name, words in (
        ("extracted", "of the training texts is completed word for word from its beginning"),
        ("verbatim", "of its own texts holds a long verbatim run of the training corpus"),
    ):
        if name not in figures:
            continue
        sentence = f"A share of {with_interval(figures[name])} {words}"
        if name in p_values and f"control.{name}" in figures:
            sentence += f"; of the control {with_interval(figures[f'control.{name}'])} ({p_value(p_values[name])})"
        sentences.append(f"{sentence}.")
    return " ".join(sentences)
