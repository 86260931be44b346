"""The quality-diversity trade-off of sampling algorithms (Chapter 5): which decoding setting, and at what cost?"""

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from offscript.errors import OffscriptError
from offscript.measures.charts import Chart, trade_off_chart
from offscript.measures.question import (
    Answer,
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
from offscript.measures.words import with_interval

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.sampling.estimation import Sweep
    from offscript.measures.subject import Subject

SAMPLERS = (
    "top-k", "nucleus", "tempered", "tempered-top-k", "max-entropy", "random-top-k", "random-mask", "random-mask-all",
    "target-entropy", "noised-top-k",
)  # fmt: skip
AUDITED = ("top-k", "nucleus", "tempered", "target-entropy")
REAL = "real text"
"""What stands in a sweep's figures in the place of a sampler, where the text was not sampled."""

_MOST = {"quick": 300, "standard": 2_000, "paper": 10_000}
_FEWEST_PREFIXES = 100
_SHOWN = 4
_POWER = 0.84  # standard errors beyond the bound for a chance of 80 %
SIMPLEST = (
    "ancestral", "tempered", "top-k", "nucleus", "min-p", "epsilon", "eta", "typical", "tempered-top-k", "max-entropy",
    "target-entropy", "random-top-k", "random-mask", "random-mask-all", "noised-top-k",
)  # fmt: skip
"""Algorithms from the plainest on; among equals the advice names the first, fewer parameters before more."""


class SamplingSettings(TextSettings):
    """Which samplers are swept, and over what."""

    samplers: Names = setting(SAMPLERS, "Names (their whole grid) or settings such as nucleus,p=0.9.")
    samples: int = setting(1000, "Prefixes to continue, and references at most.", ge=2)
    prefix: int = setting(10, "Tokens of a prefix.", ge=1)
    length: int = setting(50, "Tokens of a sequence, its prefix included.", ge=2)
    shortest: int = setting(
        0, "Only real sentences and continuations of this many to --length tokens; 40 in the thesis.", ge=0
    )
    order: int = setting(4, "Order of BLEU.", ge=1, le=5)
    most_prefixes: int | None = setting(None, "Continue only this many of the prefixes.", hidden=True)
    sentences: int | None = setting(None, "Read or draw this many sentences.", hidden=True)


class Sampling(Question[SamplingSettings]):
    """Corpus-BLEU over self-BLEU of every setting."""

    name = "sampling"
    title = "Which decoding settings work best?"
    about = (
        "Sweep sampling algorithms: corpus-BLEU over self-BLEU, which algorithms are on par, samples at one diversity."
    )
    Settings = SamplingSettings
    needs = (Need.model, Need.gold)
    asked_by_default = True
    share = 4
    of_amount = ("*bleu*", "*.entropy_*")
    words = (
        ("*.corpus_bleu_*", "corpus-BLEU with {}"),
        ("*.self_bleu_*", "self-BLEU with {}"),
        ("*.entropy_*", "n-gram entropy with {}"),
        ("*.behind_best", "corpus-BLEU that {} is behind"),
        ("*.ahead", "corpus-BLEU that {} is ahead"),
    )

    def plan(self, subject: "Subject") -> SamplingSettings:
        """Four algorithms; each setting continues as many prefixes as the budget allows.

        Where that would be fewer than 100, every second or every third setting is asked about.
        """
        length = subject.usual_length(subject.samples) if subject.corpus else subject.length
        for step in (1, 2, 3):
            samplers = AUDITED if step == 1 else _thinned(AUDITED, step)
            prefixes = subject.affordable(_count(samplers) * length)
            if prefixes >= min(_FEWEST_PREFIXES, subject.samples):
                break
        return SamplingSettings(
            samplers=samplers,
            samples=min(subject.samples, _MOST[subject.budget.value]),
            prefix=min(10, length // 2),
            length=length,
            most_prefixes=prefixes,
            sentences=subject.samples,
        )

    def tokens(self, subject: "Subject", settings: SamplingSettings) -> int:
        """Every setting draws what follows every prefix."""
        prefixes = min(settings.samples, settings.most_prefixes or settings.samples)
        return prefixes * (settings.prefix + _count(settings.samplers) * (settings.length - settings.prefix))

    def figures(self, subject: "Subject", settings: SamplingSettings) -> Sequence[str]:
        """Of every setting and of real text."""
        from offscript.measures.sampling.estimation import AGREEMENT, ENTROPY_ORDER, grid_of

        kinds = (f"corpus_bleu_{settings.order}", f"self_bleu_{settings.order}", f"entropy_{ENTROPY_ORDER}")
        names, labels = zip(*grid_of(settings.samplers), strict=True)
        behind = [f"{label}.behind_best" for label in labels] + [f"{name}.ahead" for name in dict.fromkeys(names)]
        return [*(f"{label}.{kind}" for label in (*labels, REAL) for kind in kinds), *behind, AGREEMENT]

    def measure(self, subject: "Subject", settings: SamplingSettings, progress: Progress) -> Answer:
        """Continue the same prefixes with every setting and the same random numbers."""
        from offscript.measures.sampling.estimation import (
            RealText,
            grid_of,
            measure_real_text,
            real_text,
            sweep_samplers,
        )

        wanted = subject.limit if subject.corpus else 3 * settings.samples
        longest = settings.length + 1 if settings.shortest else settings.length  # one more shows which are longer
        sentences = subject.tokens(settings, count=settings.sentences or wanted, length=longest)
        sizes = settings.model_dump(include={"prefix", "samples", "length", "shortest"})
        originals, references = real_text(sentences, **sizes)
        text = RealText(originals[: settings.most_prefixes], references)
        prefixes = text.prefixes(settings.prefix)
        sweep = sweep_samplers(
            subject.model,
            prefixes,
            references,
            samplers=settings.samplers,
            length=settings.length,
            seed=subject.seed,
            order=settings.order,
            shortest=settings.shortest,
            batch_size=2 * subject.rows_at_once(),
            progress=progress.start(len(prefixes) * len(grid_of(settings.samplers))),
        )
        real = measure_real_text(subject.model, text, subject.gold_recipe, settings.order)
        [diversity] = [entry.estimate for entry in real if ".self_bleu" in entry.name]
        measurements = [*sweep.measurements(), *real, *sweep.behind_best(diversity)]
        measurements += [*sweep.ahead_of_first(), *sweep.agreement_of_diversities()]
        return self._answer(subject, sweep, measurements, len(prefixes))

    def _answer(self, subject: "Subject", sweep: "Sweep", measurements: "list[Measurement]", prefixes: int) -> Answer:
        """The figures with samples at about the same diversity, and the algorithms compared in pairs."""
        from offscript.measures.sampling.estimation import at_diversity
        from offscript.measures.subject import columns_of_texts
        from offscript.sampling.generation import texts

        middle = statistics.median(float(each.diversity.mean()) for each in sweep.settings)
        columns = [
            (each.sampler, list(islice(texts(subject.model, each.generated), _SHOWN)))
            for each in at_diversity(sweep, middle).values()
        ]
        samples = [{"sampler": sampler, "text": shown[0]} for sampler, shown in columns]
        rows = _comparisons(sweep, subject.seed)
        comparisons = [row for row in rows if row["on par"]]
        return Answer(
            measurements,
            exhibits=[columns_of_texts(columns, "The same prefixes at about the same diversity")],
            details={"comparisons": comparisons, "samples": samples},
            tables=[Table(rows), Table(samples)],
            title=f"{subject.model.name}: {prefixes} prefixes",
        )

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """The simplest of the settings that cannot be told apart from the best among those as diverse as real text."""
        if not figures:
            return None
        real, by_sampler = _by_sampler(figures)
        if not by_sampler:
            return super().conclude(figures, p_values)
        if "self_bleu" not in real:
            best = max(by_sampler.values(), key=lambda kinds: kinds["corpus_bleu"].value)
            return Finding("Quality against diversity", f"{_setting(best)} comes closest to real text.")
        known, diverse = _real_text(real), _as_diverse(by_sampler, real["self_bleu"])
        if not diverse:
            closest = min(by_sampler.values(), key=lambda kinds: kinds["self_bleu"].value)
            sentence = f"{known} No setting is as diverse; {_setting(closest)} comes closest to it."
            return Finding("No setting is as diverse as real text", sentence, "cannot tell")
        best, rivals, chosen = _choice(diverse)
        if len(diverse) == 1:
            return Finding(f"Use {_sampler(best)}", f"{known} The only setting that is as diverse is {_setting(best)}.")
        sentence = f"{known} Of {len(diverse)} settings that are as diverse, {_setting(best)} scores highest"
        if not rivals:
            return Finding(f"Use {_sampler(best)}", f"{sentence}, and all others are significantly worse.")
        named = ", ".join(_sampler(kinds) for kinds in sorted(rivals, key=_simplicity))
        return Finding(
            f"Use {_sampler(chosen)}, the simplest of {len(rivals) + 1} settings that cannot be told apart",
            f"{sentence}; not significantly worse, prefix by prefix: {named}. {_prefixes_needed(best, chosen, rivals)}",
        )

    def gauge(self, figures: "Mapping[str, Measurement]") -> Gauge | None:
        """The self-BLEU of the recommended setting beside that of real text."""
        real, by_sampler = _by_sampler(figures)
        diverse = _as_diverse(by_sampler, real["self_bleu"]) if "self_bleu" in real else {}
        if not diverse:
            return super().gauge(figures)
        chosen = _choice(diverse)[2]
        reference = real["self_bleu"].value
        return Gauge(chosen["self_bleu"].name, f"self-BLEU of {_sampler(chosen)}", "", reference, "real text")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Quality over diversity."""
        if not measurements:
            return []
        title = "Quality over diversity, with intervals; ringed: settings that cannot be told apart from the best"
        return [(title, trade_off_chart(measurements))]


def _count(samplers: Sequence[str]) -> int:
    """How many settings the names of samplers stand for."""
    from offscript.measures.sampling.estimation import grid_of

    return len(grid_of(samplers))


def _thinned(samplers: Sequence[str], step: int) -> tuple[str, ...]:
    """Every so manieth setting of each algorithm's grid, counted from the freest, which is the most like real text."""
    from offscript.measures.sampling.estimation import GRIDS

    return tuple(setting for name in samplers for setting in GRIDS[name][::-1][::step][::-1])


Kinds = dict[str, "Measurement"]
"""A setting's figures by kind: corpus_bleu, self_bleu, entropy, behind_best."""


def _by_sampler(figures: "Mapping[str, Measurement]") -> tuple[Kinds, dict[str, Kinds]]:
    """The figures of real text, and those of every setting whose quality and diversity are known."""
    by_sampler: dict[str, Kinds] = {}
    for name, entry in figures.items():
        if "algorithm" in entry.recipe:  # of a whole grid, not of a setting
            continue
        kind = name.rpartition(".")[2].rstrip("0123456789").rstrip("_")
        by_sampler.setdefault(entry.recipe.get("sampler", REAL), {})[kind] = entry
    real = by_sampler.pop(REAL, {})
    return real, {name: kinds for name, kinds in by_sampler.items() if {"corpus_bleu", "self_bleu"} <= kinds.keys()}


def _as_diverse(by_sampler: dict[str, Kinds], real: "Measurement") -> dict[str, Kinds]:
    return {sampler: kinds for sampler, kinds in by_sampler.items() if kinds["self_bleu"].value <= real.interval.upper}


def _choice(diverse: dict[str, Kinds]) -> tuple[Kinds, list[Kinds], Kinds]:
    """The best setting, those that cannot be told apart from it, and the simplest of all these."""
    best = max(diverse.values(), key=lambda kinds: kinds["corpus_bleu"].value)
    rivals = [kinds for kinds in diverse.values() if kinds is not best and _is_rival(kinds, best)]
    return best, rivals, min([best, *rivals], key=_simplicity)


def _is_rival(kinds: Kinds, best: Kinds) -> bool:
    """Whether it cannot be told apart from the best; one that writes the same texts has no interval of its own."""
    if "behind_best" in kinds:
        return 0 in kinds["behind_best"].interval
    return kinds["corpus_bleu"].value == best["corpus_bleu"].value


def _real_text(real: Kinds) -> str:
    quality = f" and a corpus-BLEU of {with_interval(real['corpus_bleu'])}" if "corpus_bleu" in real else ""
    return f"Real text has a self-BLEU of {with_interval(real['self_bleu'])}{quality}."


def _sampler(kinds: Kinds) -> str:
    return str(kinds["corpus_bleu"].recipe["sampler"])


def _setting(kinds: Kinds) -> str:
    quality, diversity = with_interval(kinds["corpus_bleu"]), with_interval(kinds["self_bleu"])
    return f"{_sampler(kinds)} with corpus-BLEU {quality} and self-BLEU {diversity}"


def _simplicity(kinds: Kinds) -> tuple[int, int, float]:
    """Fewest parameters first, then the plainest algorithm, then the best; a temperature of 1 is no parameter."""
    sampler = _sampler(kinds)
    algorithm, *parameters = sampler.split(",")
    changed = [each for each in parameters if each.replace(" ", "") not in ("temperature=1.0", "temperature=1")]
    place = SIMPLEST.index(algorithm) if algorithm in SIMPLEST else len(SIMPLEST)
    return len(changed), place, -kinds["corpus_bleu"].value


def _prefixes_needed(best: Kinds, chosen: Kinds, rivals: list[Kinds]) -> str:
    """How many prefixes would separate the recommended setting from the best, or the best from the next best."""
    compared = [chosen] if chosen is not best else rivals
    if same := [kinds for kinds in compared if "behind_best" not in kinds]:
        return f"{_sampler(best)} and {_sampler(same[0])} score the same after every prefix."
    gap = min((kinds["behind_best"] for kinds in compared), key=lambda entry: entry.value)
    other = gap.recipe["sampler"]
    if gap.value <= 0:
        return f"{_sampler(best)} and {other} score the same."
    errors = (gap.interval.upper - gap.value) / gap.standard_error + _POWER
    needed = math.ceil(gap.n * (errors * gap.standard_error / gap.value) ** 2)
    rounded = round(needed, 2 - len(str(needed)))
    return (
        f"{other} is {with_interval(gap)} behind {_sampler(best)} on {gap.n:,} prefixes; "
        f"if that is the true difference, about {max(rounded, gap.n + 1):,} would separate them."
    )


def _comparisons(sweep: "Sweep", seed: int) -> list[dict[str, Any]]:
    """Every algorithm against the first; those that cannot be matched say why."""
    import numpy as np

    from offscript.measures.sampling.estimation import compare_algorithms

    first, *others = sweep.algorithms
    rows = []
    for other in others:
        row = {"algorithm": other, "against": first}
        try:
            compared = compare_algorithms(sweep, other, first, generator=np.random.default_rng(seed))
        except OffscriptError as fault:
            rows.append({**row, "BLEU at matched diversity": "", "interval": str(fault), "on par": ""})
            continue
        bounds = compared.difference.interval
        rows.append(
            {
                **row,
                "BLEU at matched diversity": f"{compared.difference.value:+.4f}",
                "interval": f"{bounds.lower:+.4f} … {bounds.upper:+.4f}",
                "on par": "yes" if compared.on_par else "no",
            }
        )
    return rows
