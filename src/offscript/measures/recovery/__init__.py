"""Self-recovery: how well does a model go on after a bad prefix?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from offscript.measures.charts import Chart, Specification, curve_chart, curves_of
from offscript.measures.question import (
    SIGNIFICANT,
    Answer,
    Compared,
    Finding,
    Gauge,
    Lack,
    Names,
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
    from offscript.measures.subject import Subject
    from offscript.statistics import Curve

_PREFIX = 10
_SHOWN = 4


class RecoverySettings(TextSettings):
    """How self-recovery is measured."""

    samples: int = setting(1000, "Sequences continued for each source.", ge=2)
    length: int | None = setting(None, "Tokens of a sequence; 50, or a table's own length.")
    prefix: int = setting(_PREFIX, "Tokens of a prefix.")
    sources: Names = setting(("model", "data", "shuffled", "random"), "Of model, data, shuffled, random, unrelated.")
    data: Literal["corpus", "oracle"] = setting("corpus", "Where prefixes and references come from if both are given.")
    show: int = setting(3, "Continuations to show for each source.", ge=0)


class Recovery(Question[RecoverySettings]):
    """Quality of continuations by distance from good and bad prefixes (Tables 1 and 4)."""

    name = "recovery"
    title = "Does it recover from bad prefixes?"
    about = (
        "Self-recovery: quality of continuations by distance from good and bad prefixes, and the texts side by side."
    )
    Settings = RecoverySettings
    needs = (Need.model, Need.gold)
    asked_by_default = True
    headlines = ("nll_gap.model", "corpus_bleu_4.model")
    compared = (Compared("nll_gap.model", "nats lost after model prefixes", 0.0),)
    of_amount = ("corpus_bleu_*",)
    words = (
        ("nll_oracle.*", "the oracle's surprise at its text after {} prefixes"),
        ("nll_gap.*", "nats per token lost after {} prefixes"),
        ("bleu_gap.*", "corpus-BLEU lost after {} prefixes"),
        ("corpus_bleu_4.*", "corpus-BLEU after {} prefixes"),
    )

    def plan(self, subject: "Subject") -> RecoverySettings:
        """Half of the text gives prefixes, the other half references."""
        from offscript.measures.recovery.estimation import ORDER

        length, half = subject.length, subject.samples // 2
        if not subject.has_oracle:
            length = subject.usual_length(subject.samples)
            half = len(subject.rows(count=subject.samples, length=length)) // 2
        samples = subject.affordable((10 if subject.has_oracle else 5) * length, most=max(2, half))
        prefix = min(_PREFIX, (length - ORDER) // 2)
        return RecoverySettings(samples=samples, length=length, prefix=prefix, show=_SHOWN, data="oracle")

    def missing(self, subject: "Subject", given: Mapping[str, Any]) -> Lack | None:
        """Texts that hold a prefix and an n-gram of BLEU after it."""
        from offscript.measures.recovery.estimation import ORDER

        lack = super().missing(subject, given)
        if lack is not None or not subject.corpus or subject.has_oracle or {"length", "prefix"} & given.keys():
            return lack
        needed = ORDER + 2  # a prefix of one token takes as much as what follows it beyond the n-gram
        enough = subject.usual_length(subject.samples) >= needed
        return None if enough else Lack(f"longer texts: half of them with {needed} tokens or more", "--corpus FILE")

    def tokens(self, subject: "Subject", settings: RecoverySettings) -> int:
        """Prefixes are drawn, continued and, with an oracle, read."""
        passes = len(settings.sources) + 1 + (len(settings.sources) if subject.has_oracle else 0)
        return passes * settings.samples * (settings.length or subject.length)

    def figures(self, subject: "Subject", settings: RecoverySettings) -> Sequence[str]:
        """Corpus-BLEU after each source and, with an oracle, its NLL; losses where real prefixes are compared."""
        from offscript.measures.recovery.estimation import ORDER

        bad = [source for source in settings.sources if source != "data"]
        names = [f"corpus_bleu_{ORDER}.{source}" for source in settings.sources]
        if "data" in settings.sources:
            names += [f"bleu_gap.{source}" for source in bad]
        if subject.has_oracle:
            names += [
                *(f"nll_oracle.{source}" for source in settings.sources),
                *(f"nll_gap.{source}" for source in bad),
            ]
        return names

    def measure(self, subject: "Subject", settings: RecoverySettings, progress: Progress) -> Answer:
        """Continue prefixes of every source with the same random numbers."""
        from offscript.measures.recovery.estimation import continuations, measure_recovery, side_by_side
        from offscript.measures.subject import columns_of_texts, natural_length

        model, oracle = subject.model, subject.oracle
        length, samples, data = natural_length(model, settings.length), settings.samples, None
        if subject.corpus and not (settings.data == "oracle" and oracle is not None):
            data = subject.rows(settings, count=subject.limit, length=length)
            samples = min(samples, len(data) // 2)
        asked: dict[str, Any] = {
            "length": length,
            "prefix": settings.prefix,
            "seed": subject.seed,
            "data": data,
            "sources": settings.sources,
        }
        measurements = measure_recovery(
            model,
            oracle,
            samples=samples,
            batch_size=subject.rows_at_once(),
            progress=progress.start(_passes(settings.sources, data is None, oracle is not None) * samples),
            **asked,
        )
        title = f"{model.name} after prefixes of {settings.prefix} tokens"
        if not settings.show:
            return Answer(measurements, title=title, details={"continuations": []})
        sequences = continuations(model, oracle, samples=max(2, min(settings.show, samples)), **asked)
        shown = side_by_side(model, sequences, settings.prefix)[: settings.show]
        columns = [(f"after {source} prefixes", [row[source] for row in shown]) for source in shown[0]]
        exhibit = columns_of_texts(columns, "prefix → how the model continues it")
        return Answer(
            measurements, title=title, exhibits=[exhibit], details={"continuations": shown}, tables=[Table(shown)]
        )

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """For each source: continuations are as good as after real prefixes."""
        from offscript.statistics import p_value_of

        return {name: p_value_of(entry.estimate, entry.n) for name, entry in _gaps(figures).items()}

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """By the oracle's view of pairs; without an oracle by corpus-BLEU, in pairs too."""
        if not figures:
            return None
        gaps = _gaps(figures)
        if not gaps:
            return Finding("Bad prefixes were not compared with real ones", _listed(figures), "cannot tell")
        kind = next(iter(gaps)).partition(".")[0]
        listed = "; ".join(
            f"{with_interval(entry)} after {name.partition('.')[2]} prefixes ({p_value(p_values[name])})"
            for name, entry in gaps.items()
        )
        sentence = f"{_LOSSES[kind]} compared with those of real prefixes: {listed}."
        worse = [name for name, entry in gaps.items() if p_values[name] < SIGNIFICANT and entry.value > 0]
        if all(entry.interval.upper < _MARGINS[kind] for entry in gaps.values()):
            return Finding("It recovers from bad prefixes", f"{sentence} All below {_MARGINS[kind]:g}.", "fine")
        if worse:
            sources = " and ".join(name.partition(".")[2] for name in worse)
            return Finding(f"Its text is worse after {sources} prefixes", sentence, "found")
        return Finding("No harm from bad prefixes detected", sentence, "cannot tell")

    def gauge(self, figures: "Mapping[str, Measurement]") -> Gauge | None:
        """The clearest loss, compared with continuations of real prefixes: what the finding rests on."""
        if not (gaps := _gaps(figures)):
            return super().gauge(figures)
        tests = self.tests(figures)
        clearest = min(gaps, key=lambda name: (gaps[name].value <= 0, tests[name], -gaps[name].value))
        kind, _, source = clearest.partition(".")
        unit = "nats per token" if kind == "nll_gap" else "corpus-BLEU"
        return Gauge(f"{kind}.{source}", f"loss after {source} prefixes", unit, 0.0, "as after real prefixes")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Gap, NLL and corpus-BLEU by distance from the prefix."""
        charts, away = [], "tokens from the prefix"
        if gaps := curves_of(measurements, "nll_gap."):
            title = "How much worse than after data prefixes the oracle finds the text, by kind of prefix"
            charts.append((title, _gap_chart(gaps, away)))
        if costs := curves_of(measurements, "nll_oracle."):
            charts.append(("The oracle's view of continuations", curve_chart(costs, x=away, y="NLL, nats per token")))
        quality = {
            name.rpartition(".")[2]: curve
            for name, curve in curves_of(measurements).items()
            if name.startswith("corpus_bleu")
        }
        if quality:
            title = "Continuations compared with real text at the same places"
            charts.append((title, curve_chart(quality, x="windows from the prefix", y="corpus-BLEU")))
        return charts


def _gap_chart(gaps: "dict[str, Curve]", away: str) -> Specification:
    return curve_chart(gaps, x=away, y="gap, nats per token", reference=0.0, meaning="as after data prefixes")


_LOSSES = {
    "nll_gap": "Nats per token that its continuations lose",
    "bleu_gap": "Corpus-BLEU that its continuations lose",
}
_MARGINS = {"nll_gap": 0.05, "bleu_gap": 0.01}
"""What is too little to matter: nats per token, and corpus-BLEU."""


def _gaps(figures: "Mapping[str, Measurement]") -> "dict[str, Measurement]":
    """What is lost after each kind of prefix: by the oracle where there is one, else by corpus-BLEU."""
    by_kind = [{name: entry for name, entry in figures.items() if name.startswith(f"{kind}.")} for kind in _LOSSES]
    return next(filter(None, by_kind), {})


def _listed(figures: "Mapping[str, Measurement]") -> str:
    return "; ".join(f"{name} {with_interval(entry)}" for name, entry in figures.items())


def _passes(sources: Sequence[str], drawn: bool, with_oracle: bool) -> int:
    """How often each sample is drawn or read: prefixes and references, continuations, and their likelihood."""
    continued = {*sources, "data"} if with_oracle else {*sources}
    return 2 * drawn + ("model" in continued) + len(continued) * (1 + with_oracle)
