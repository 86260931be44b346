"""Does its text degenerate: loops, copies of the prompt, empty texts, no end; by sampler, beside real text?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from offscript._abilities import Gives
from offscript.measures.charts import Chart, bar_chart, curve_chart
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
    Table,
    TextSettings,
    setting,
)
from offscript.measures.words import p_value, with_interval

if TYPE_CHECKING:
    from offscript.measures.degeneration.estimation import Continuations
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject

REAL = "real text"
"""What stands in figures in the place of a sampler, where the text was not sampled."""

KINDS = ("loops", "empty", "copied", "degenerate", "no_end", "truncated")
"""Faults of a text; `degenerate` is one of the first three."""

SAMPLERS = ("greedy", "ancestral", "nucleus,p=0.9")
MARGIN = 0.02
"""A share of degenerate texts that is too small to matter: one of fifty."""

_PREFIX, _LENGTH, _ORDER = 10, 100, 4
_SHOWN = 4
_DETERMINISTIC = "greedy"
_WORDS = {"loops": "end in a loop", "copied": "copy the prompt", "empty": "are empty"}


class DegenerationSettings(TextSettings):
    """Which samplers write how many texts."""

    samplers: Names = setting(SAMPLERS, "Samplers that continue the prompts; greedy needs prompts.")
    samples: int = setting(500, "Texts of each sampler, one per prompt.", ge=3)
    length: int | None = setting(None, "The most tokens of a text, its prompt included; 100, or a table's own length.")
    prefix: int = setting(_PREFIX, "Tokens of a real text that the model continues.", ge=1)


class Degeneration(Question[DegenerationSettings]):
    """Shares of degenerate texts by sampler, against the real continuations of the same prompts."""

    name = "degeneration"
    title = "Does its text degenerate?"
    about = (
        "Loops, copied prompts, empty, endless and truncated texts, repetition and Zipf, by sampler beside real text."
    )
    Settings = DegenerationSettings
    takes = (Need.gold,)
    reads = Gives.texts
    asked_by_default = True
    headlines = ("greedy.degenerate", "ancestral.degenerate")
    compared = (Compared("greedy.loops", "loops, greedy"), Compared("ancestral.loops", "loops, ancestral"))
    words = (
        ("*.degenerate", "degenerate texts with {}"),
        ("*.loops", "looping texts with {}"),
        ("*.empty", "empty texts with {}"),
        ("*.copied", "copied prompts with {}"),
        ("*.no_end", "endless texts with {}"),
        ("*.truncated", "truncated texts with {}"),
        ("*.loop_start", "where loops start with {}"),
        ("*.repetition", "repetition with {}"),
        ("*.zipf", "Zipf exponent with {}"),
        ("*.excess", "degenerate texts with {}, over real text"),
    )

    def plan(self, subject: "Subject") -> DegenerationSettings:
        """Every sampler continues what the budget allows."""
        usual = subject.usual_length(subject.samples) if subject.corpus else subject.length
        prefix = max(1, min(_PREFIX, usual // 2))
        samples = subject.affordable(len(SAMPLERS) * subject.length, _most(subject))
        return DegenerationSettings(samples=max(3, samples), length=subject.length, prefix=prefix)

    def tokens(self, subject: "Subject", settings: DegenerationSettings) -> int:
        """Prompts are read once, and every sampler continues them."""
        length = settings.length or _LENGTH
        return settings.samples * (settings.prefix + len(settings.samplers) * max(0, length - settings.prefix))

    def figures(self, subject: "Subject", settings: DegenerationSettings) -> Sequence[str]:
        """The same for every sampler and for real text."""
        from offscript.sampling.transforms import parse_transform

        kinds = (*KINDS, "loop_start", "repetition", "zipf", "excess")
        sources = (*(str(parse_transform(each)) for each in settings.samplers), REAL)
        return [f"{source}.{kind}" for source in sources for kind in kinds]

    def measure(self, subject: "Subject", settings: DegenerationSettings, progress: Progress) -> Answer:
        """Continue the beginnings of real texts; without any, begin at the start token."""
        from offscript.measures.degeneration.estimation import measure_degeneration
        from offscript.models.tabular import Tabular

        model, prompted = subject.model, bool(subject.corpus) or subject.has_oracle
        samplers = tuple(each for each in settings.samplers if prompted or each.strip() != _DETERMINISTIC)
        length = settings.length or (model.length if isinstance(model, Tabular) else _LENGTH)
        real = _real_rows(subject, settings, length) if prompted else []
        texts = min(settings.samples, sum(len(row) >= settings.prefix for row in real) or settings.samples)
        measurements, sources = measure_degeneration(
            model,
            real,
            samplers=samplers or ("ancestral",),
            samples=settings.samples,
            prefix=settings.prefix,
            length=length,
            seed=subject.seed,
            batch_size=subject.rows_at_once(),
            progress=progress.start(texts * max(1, len(samplers))),
        )
        return self._answer(subject, measurements, sources)

    def _answer(self, subject: "Subject", measurements: "list[Measurement]", sources: "list[Continuations]") -> Answer:
        """The figures and the worst texts."""
        from offscript.measures.degeneration.estimation import worst
        from offscript.measures.subject import columns_of_texts

        columns, faults = [], []
        for source in sources:
            told = worst(source, subject.model.vocabulary, _SHOWN)
            faults += [{"source": source.source, **each} for each in told]
            if told:
                columns.append((source.source, [f"[{each['fault']}] {each['text']}" for each in told]))
        exhibits = [columns_of_texts(columns, "The worst texts; ▸ stands between prompt and continuation")]
        return Answer(
            measurements,
            exhibits=exhibits if columns else [],
            details={"worst": faults},
            tables=[Table(faults, "The worst texts; ▸ stands between prompt and continuation")] if faults else [],
            title=f"{subject.model.name}: {len(sources[0].texts)} texts of each sampler",
        )

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """For each sampler: as many degenerate texts as in real text; without any, no more than one of fifty."""
        from offscript.statistics import p_value_of

        tests = {}
        for sampler, entry in _tested(figures).items():
            null = 0.0 if entry.name.endswith(".excess") else MARGIN
            tests[sampler] = p_value_of(entry.estimate, entry.n, null) if entry.value > null else 1.0
        return tests

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """Which samplers degenerate, and how."""
        tested = _tested(figures)
        if not tested:
            return None
        told = " ".join(_sentence(sampler, figures, p_values) for sampler in tested)
        if f"{REAL}.degenerate" in figures:
            told += f" Real text: {with_interval(figures[f'{REAL}.degenerate'])}."
        found = [sampler for sampler in tested if p_values[sampler] < SIGNIFICANT]
        if found:
            kind = max(_WORDS, key=lambda kind: max(_value(figures, f"{sampler}.{kind}") for sampler in found))
            words = {"loops": "loops", "copied": "copies the prompt", "empty": "writes nothing"}[kind]
            return Finding(f"It {words} with {' and '.join(found)}", told, "found")
        if all(entry.interval.upper < MARGIN for entry in tested.values()):
            against = "than real text" if f"{REAL}.degenerate" in figures else "degenerate"
            return Finding("Its text does not degenerate", f"{told} At most {MARGIN:.0%} more {against}.", "fine")
        return Finding("No degeneration detected", told, "cannot tell")

    def gauge(self, figures: "Mapping[str, Measurement]") -> Gauge | None:
        """The sampler with the most degenerate texts."""
        shares = {name: entry for name, entry in figures.items() if _is_share(name) and not name.startswith(REAL)}
        if not shares:
            return None
        name = max(shares, key=lambda name: shares[name].value)
        real = figures.get(f"{REAL}.degenerate")
        label = f"degenerate texts, {name.rpartition('.')[0]}"
        return Gauge(name, label, "", None if real is None else real.value, "real text")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Shares by kind, loops and repetition by position, frequencies by rank."""
        named = {entry.name: entry for entry in measurements}
        sources = list(dict.fromkeys(name.rpartition(".")[0] for name in named))
        bars = {
            kind.replace("_", " "): {
                source: named[f"{source}.{kind}"] for source in sources if f"{source}.{kind}" in named
            }
            for kind in KINDS
            if kind != "degenerate"
        }
        drawn = {kind: own for kind, own in bars.items() if own}
        charts = [("Shares of texts with each fault", bar_chart(drawn, y="share of texts"))] if drawn else []
        for kind, title, x, y, first in _CURVES:
            curves = {
                source: curve
                for source in sources
                if (entry := named.get(f"{source}.{kind}")) is not None and (curve := entry.by_position) is not None
            }
            if curves:
                charts.append((title, curve_chart(curves, x=x, y=y, first=first)))
        return charts


_CURVES = (
    ("loops", "Texts that are caught in a loop, by position", "token of the continuation", "share of texts", 1),
    ("repetition", "Tokens that end a 4-gram seen before in the text", "token of the continuation", "share", _ORDER),
    ("zipf", "Frequencies of tokens by rank, in as much text of each", "log₂ of the rank", "log₁₀ of the frequency", 0),
)


def _most(subject: "Subject") -> int:
    return {"quick": 300, "standard": 2_000, "paper": 10_000}[subject.budget.value]


def _real_rows(subject: "Subject", settings: DegenerationSettings, length: int) -> list[list[int]]:
    """Real texts without end tokens, up to one token more than the limit, which shows that they go on.

    A table says nothing beyond its own length: texts of such an oracle end there.
    """
    from offscript.models.tabular import Tabular

    end, longest = subject.model.vocabulary.end, length + 1
    if not subject.corpus and isinstance(subject.oracle, Tabular):
        longest = min(longest, subject.oracle.length)
    wanted = subject.limit if subject.corpus else settings.samples
    rows = subject.tokens(settings, count=wanted, length=longest)
    return [[token for token in row if token != end] for row in rows]


def _tested(figures: "Mapping[str, Measurement]") -> "dict[str, Measurement]":
    """The figure that decides about each sampler: its excess over real text, else its share."""
    names = [name for name in figures if _is_share(name) and not name.startswith(f"{REAL}.")]
    samplers = [name.rpartition(".")[0] for name in names]
    return {each: figures.get(f"{each}.excess", figures[f"{each}.degenerate"]) for each in samplers}


def _is_share(name: str) -> bool:
    return name.endswith(".degenerate")


def _value(figures: "Mapping[str, Measurement]", name: str) -> float:
    return figures[name].value if name in figures else 0.0


def _sentence(sampler: str, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> str:
    """One sampler in words: how many texts degenerate, and the kinds that occur."""
    kinds = []
    for kind, words in _WORDS.items():
        if _value(figures, f"{sampler}.{kind}"):
            where = figures.get(f"{sampler}.loop_start") if kind == "loops" else None
            begins = "" if where is None else f", from token {where.value:.0f} on average"
            kinds.append(f"{_value(figures, f'{sampler}.{kind}'):.1%} {words}{begins}")
    listed = f" ({'; '.join(kinds)})" if kinds else ""
    share = with_interval(figures[f"{sampler}.degenerate"])
    return f"With {sampler}, a share of {share} of the texts degenerates{listed}, {p_value(p_values[sampler])}."
