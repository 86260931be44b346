"""The quality-diversity trade-off of sampling algorithms (Chapter 5): which decoding setting, at what price?"""

import statistics
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from offscript.errors import OffscriptError
from offscript.measures.charts import Chart, trade_off_chart
from offscript.measures.question import (
    Answer,
    Finding,
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
    "top-k", "nucleus", "tempered", "max-entropy", "random-top-k", "random-mask", "target-entropy", "noised-top-k",
)  # fmt: skip
AUDITED = ("top-k", "nucleus", "tempered", "target-entropy")
REAL = "real text"
"""What stands in a sweep's figures in the place of a sampler, where the text was not sampled."""

_MOST = {"quick": 300, "standard": 2_000, "paper": 10_000}
_SHOWN = 4


class SamplingSettings(TextSettings):
    """Which samplers are swept, and over what."""

    samplers: Names = setting(SAMPLERS, "Names (their whole grid) or settings such as nucleus,p=0.9.")
    samples: int = setting(1000, "Prefixes to continue, and references at most.", ge=2)
    prefix: int = setting(10, "Tokens of a prefix.", ge=1)
    length: int = setting(50, "Tokens of a sequence, its prefix included.", ge=2)
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

    def plan(self, subject: "Subject") -> SamplingSettings:
        """Four algorithms; each setting continues as many prefixes as the budget allows."""
        from offscript.measures.sampling.estimation import grid_of

        return SamplingSettings(
            samplers=AUDITED,
            samples=min(subject.samples, _MOST[subject.budget.value]),
            prefix=min(10, subject.length // 2),
            length=subject.length,
            most_prefixes=subject.affordable(len(grid_of(AUDITED)) * subject.length),
            sentences=subject.samples,
        )

    def measure(self, subject: "Subject", settings: SamplingSettings, progress: Progress) -> Answer:
        """Continue the same prefixes with every setting and the same random numbers."""
        from offscript.measures.sampling.estimation import (
            diversity_of_real_text,
            grid_of,
            prefixes_and_references,
            sweep_samplers,
        )

        wanted = subject.limit if subject.corpus else 3 * settings.samples
        sentences = subject.tokens(settings, count=settings.sentences or wanted, length=settings.length)
        prefixes, references = prefixes_and_references(
            sentences, prefix=settings.prefix, samples=settings.samples, length=settings.length
        )
        prefixes = prefixes[: settings.most_prefixes]
        sweep = sweep_samplers(
            subject.model,
            prefixes,
            references,
            samplers=settings.samplers,
            length=settings.length,
            seed=subject.seed,
            order=settings.order,
            batch_size=2 * subject.rows_at_once(),
            progress=progress.start(len(prefixes) * len(grid_of(settings.samplers))),
        )
        real = diversity_of_real_text(subject.model, references[: len(prefixes)], subject.gold_recipe)
        return self._answer(subject, sweep, [*sweep.measurements(), real], len(prefixes))

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
        """The best setting among those as diverse as real text."""
        if not figures:
            return None
        by_sampler: dict[str, dict[str, Measurement]] = {}
        for name, entry in figures.items():
            kind = "quality" if ".corpus_bleu" in name else "diversity"
            by_sampler.setdefault(entry.recipe.get("sampler", REAL), {})[kind] = entry
        real = by_sampler.pop(REAL, {}).get("diversity")
        pairs = [(pair["quality"], pair["diversity"]) for pair in by_sampler.values()]
        if real is None:
            best = max(pairs, key=lambda pair: pair[0].value)
            return Finding("Quality against diversity", f"{_setting(best)} comes closest to real text.")
        diverse = [pair for pair in pairs if pair[1].value <= real.interval.upper]
        best = max(diverse, key=lambda pair: pair[0].value, default=min(pairs, key=lambda pair: pair[1].value))
        which = "Of the settings that are as diverse" if diverse else "No setting is as diverse"
        return Finding(
            f"Use {best[0].recipe['sampler']}",
            f"Real text has a self-BLEU of {with_interval(real)}. {which}, {_setting(best)} comes closest to it.",
            "for information" if diverse else "cannot tell",
        )

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Quality over diversity."""
        if not measurements:
            return []
        return [("Quality over diversity; crosses are intervals", trade_off_chart(measurements))]


def _setting(pair: "tuple[Measurement, Measurement]") -> str:
    quality, diversity = pair
    return (
        f"{quality.recipe['sampler']} with corpus-BLEU {with_interval(quality)} "
        f"and self-BLEU {with_interval(diversity)}"
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
