"""Self-recovery of a translation model: does it still translate the source after a wrong prefix (App. A, Table 2)?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offscript.measures.charts import Chart, bar_chart
from offscript.measures.question import (
    SIGNIFICANT,
    Answer,
    Compared,
    Finding,
    Gauge,
    Names,
    Need,
    Progress,
    Question,
    Settings,
    Table,
    setting,
)
from offscript.measures.words import p_value, with_interval

if TYPE_CHECKING:
    from offscript.corpora.parallel import SentencePair
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject

NORMAL, DATA = "normal", "data"
KINDS = (NORMAL, DATA, "unrelated", "shuffled", "random")
MARGIN = 0.1
"""The share of the content that a translation may lose after a wrong prefix and still count as recovered."""


class TranslationSettings(Settings):
    """Which pairs are translated, and after which prefixes."""

    pairs: str = setting(..., "A parallel corpus (.tsv, .csv, .jsonl), or the text file of its sources.")
    targets: str | None = setting(None, "The text file of the targets, if the sources have a file of their own.")
    samples: int = setting(500, "Pairs to translate, from the first.", ge=4)
    prefix: int = setting(3, "Tokens that every translation is forced to begin with.", ge=1)
    kinds: Names = setting(KINDS, "Prefixes, of normal (none), data, unrelated, shuffled, random.")
    length: int = setting(100, "The most tokens of a translation.", ge=2)
    beams: int = setting(1, "Candidates of beam search; 1 is greedy search.", ge=1)
    back: str | None = setting(None, "A model that translates back, to compare with the source.")
    show: int = setting(4, "Translations to show.", ge=0)


class Translation(Question[TranslationSettings]):
    """Content kept, chrF, BLEU and likelihood of what follows each kind of prefix."""

    name = "translation"
    title = "Does its translation recover from wrong prefixes?"
    about = "Self-recovery of a translation model: what it writes after right, wrong and random first tokens."
    Settings = TranslationSettings
    limited = "pairs of sentences"
    example = "runs/multi30k --pairs test.tsv"
    needs = (Need.model,)
    rests_on = (f"content.{NORMAL}",)
    headlines = ("content_gap.random", "content.normal")
    gauges = (Gauge("content_gap.random", "content lost after random prefixes", "share", 0.0, "as without a prefix"),)
    compared = (Compared("content_gap.random", "content lost", 0.0),)

    def figures(self, subject: "Subject", settings: TranslationSettings) -> list[str]:
        """For each kind of prefix; losses compared with translations without one."""
        scores = (
            "content",
            "hallucinated",
            "chrf",
            "nll",
            "repetition",
            "copied",
            *(("back",) if settings.back else ()),
        )
        names = [f"{score}.{kind}" for score in scores for kind in settings.kinds]
        names += [f"bleu.{kind}" for kind in settings.kinds if kind in (NORMAL, DATA)]
        wrong = [kind for kind in settings.kinds if kind != NORMAL] if NORMAL in settings.kinds else []
        return names + [f"{score}_gap.{kind}" for score in ("content", "chrf") for kind in wrong]

    def measure(self, subject: "Subject", settings: TranslationSettings, progress: Progress) -> Answer:
        """Translate every source after every kind of prefix."""
        from offscript.errors import OffscriptError
        from offscript.measures.subject import columns_of_texts
        from offscript.measures.translation.estimation import measure_translation
        from offscript.models.registry import load_model
        from offscript.models.sources import Seq2SeqLanguageModel

        model = subject.model
        back = None if settings.back is None else load_model(settings.back, device=subject.device)
        for each in (model, back):
            if each is not None and not isinstance(each, Seq2SeqLanguageModel):
                raise OffscriptError(
                    f"{each.name} is no translation model", next="name one with an encoder, without ,sources="
                )
        pairs = _read(settings, subject.limit)
        found = measure_translation(
            model,  # type: ignore[arg-type]
            pairs,
            prefix=settings.prefix,
            kinds=settings.kinds,
            length=settings.length,
            beams=settings.beams,
            back=back,  # type: ignore[arg-type]
            seed=subject.seed,
            batch_size=subject.rows_at_once(64),
            progress=progress.start(len(pairs) * len(settings.kinds)),
        )
        rows = found.side_by_side(settings.show)
        title = f"{model.name} after prefixes of {settings.prefix} tokens"
        details: dict[str, Any] = {"translations": rows, "bleu": found.measurements[0].recipe["bleu"]}
        if not rows:
            return Answer(found.measurements, title=title, details=details)
        columns = [(name, [row[name] for row in rows]) for name in rows[0]]
        exhibit = columns_of_texts(columns, "forced prefix → how the model goes on, for the same source")
        return Answer(found.measurements, title=title, exhibits=[exhibit], details=details, tables=_tables(rows))

    def depends_on(self, subject: "Subject", settings: TranslationSettings) -> dict[str, Any]:
        """The pairs, and the model that translates back."""
        from offscript._files import sha256_of

        named = [path for path in (settings.pairs, settings.targets) if path is not None]
        return {path: sha256_of(Path(path)) for path in named if Path(path).is_file()}

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """For each kind of prefix: the translation keeps as much content as without one."""
        from offscript.statistics import p_value_of

        return {name: p_value_of(entry.estimate, entry.n) for name, entry in _gaps(figures).items()}

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """Recovered: after every wrong prefix less than a tenth of the content is lost, beyond doubt."""
        gaps = _gaps(figures)
        if not gaps:
            return None if not figures else Finding("Wrong prefixes were not compared", "", "cannot tell")
        kept = with_interval(figures[f"content.{NORMAL}"])
        listed = "; ".join(
            f"{with_interval(entry)} after {name.partition('.')[2]} prefixes ({p_value(p_values[name])})"
            for name, entry in gaps.items()
        )
        sentence = f"Of the reference's content words {kept} occur without a prefix. Share of them lost: {listed}."
        wrong = {name: entry for name, entry in gaps.items() if not name.endswith(f".{DATA}")}
        if wrong and all(entry.interval.upper < MARGIN for entry in wrong.values()):
            return Finding("It recovers from wrong prefixes", f"{sentence} All below {MARGIN:g}.", "fine")
        lost = [name for name, entry in wrong.items() if entry.interval.lower > MARGIN and p_values[name] < SIGNIFICANT]
        if lost:
            kinds = " and ".join(name.partition(".")[2] for name in lost)
            return Finding(f"It loses the source's content after {kinds} prefixes", sentence, "found")
        return Finding("Whether it recovers cannot be told", sentence, "cannot tell")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Content kept and hallucinated outputs by kind of prefix."""
        named = {entry.name: entry for entry in measurements}
        charts = []
        for figure, title, y in (
            ("content", "Content words of the reference that the rest of the translation has", "share"),
            ("hallucinated", "Translations that share no content word with the reference", "share"),
            ("nll", "How unlikely the model finds the rest after the right prefix", "nats per token"),
        ):
            groups = {kind: {figure: named[f"{figure}.{kind}"]} for kind in KINDS if f"{figure}.{kind}" in named}
            if groups:
                charts.append((title, bar_chart(groups, y=y)))
        return charts


def _read(settings: TranslationSettings, limit: int | None) -> "list[SentencePair]":
    from itertools import islice

    from offscript.corpora.parallel import read_pairs

    count = min(settings.samples, limit or settings.samples)
    return list(islice(read_pairs(settings.pairs, settings.targets), count))


def _tables(rows: "Sequence[Mapping[str, str]]") -> list[Table]:
    """One table per source, as Table 2 has them: a column of five sentences would be too narrow to read."""
    return [Table([{"": name, "text": text} for name, text in row.items()]) for row in rows]


def _gaps(figures: "Mapping[str, Measurement]") -> "dict[str, Measurement]":
    return {name: entry for name, entry in figures.items() if name.startswith("content_gap.")}
