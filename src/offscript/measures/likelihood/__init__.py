"""How well a model predicts a text: nats per token, perplexity, bits per character."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from offscript._abilities import Gives
from offscript.measures.charts import Chart, bar_chart
from offscript.measures.question import (
    Answer,
    Compared,
    Finding,
    Gauge,
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


class GoldSettings(TextSettings):
    """Which text is predicted: of the corpus, or drawn from the oracle."""

    samples: int | None = setting(None, "Read only this many sentences, or draw this many from the oracle.", ge=2)
    length: int | None = setting(None, "Cut sentences to this many tokens.", flag="--longest", ge=1)
    whole: bool = setting(True, "Draw sequences of exactly this length from the oracle, with no end.", hidden=True)


class Likelihood(Question[GoldSettings]):
    """`nll`, `ppl` and `bpc` over all the texts."""

    name = "likelihood"
    title = "How well does it predict held-out text?"
    about = "Negative log-likelihood, perplexity and bits per character of a text."
    Settings = GoldSettings
    needs = (Need.model, Need.gold)
    reads = Gives.likelihoods
    asked_by_default = True
    share = 1
    rests_on = ("nll", "ppl", "bpc")
    headlines = ("ppl",)
    of_tokens = ("nll*", "ppl*", "*.nll*", "*.ppl*")
    compared = (Compared("nll"), Compared("bpc"))
    gauges = (Gauge("ppl", "perplexity"),)
    words = (
        ("nll", "nats per token"),
        ("bpc", "bits per character"),
        ("nll_without_end", "nats per token without the end"),
        ("ppl_without_end", "perplexity without the end"),
        ("*.ppl", "perplexity on {}"),
        ("*.nll", "nats per token on {}"),
        ("*.bpc", "bits per character on {}"),
        ("*.bpc_gap", "bits per character lost on {}"),
    )

    def plan(self, subject: "Subject") -> GoldSettings:
        """As many sentences as the budget has samples, shared by the domains."""
        samples = subject.affordable(subject.usual_length(subject.samples) if subject.corpus else subject.length)
        each = max(1, len(subject.domains))
        return GoldSettings(samples=max(2, samples // each), length=subject.length, whole=False)

    def tokens(self, subject: "Subject", settings: GoldSettings) -> int:
        """Every token of the text once."""
        if not subject.corpus:
            return (settings.samples or 0) * (settings.length or subject.length)
        texts = subject.gold_by_domain(settings).values() if subject.domains else [subject.gold(settings)]
        return sum(len(row) for each in texts for row in each.tokens)

    def figures(self, subject: "Subject", settings: GoldSettings) -> Sequence[str]:
        """Without the end token too, where texts have one; and all of each domain."""
        ends = () if subject.model.vocabulary.end is None else ("nll_without_end", "ppl_without_end")
        names = ("nll", "ppl", "bpc", *ends, "never_drawn")
        by_domain = [f"{domain}.{name}" for domain in subject.domains for name in (*names, "bpc_gap")]
        return (*names, *by_domain)

    def measure(self, subject: "Subject", settings: GoldSettings, progress: Progress) -> Answer:
        """Score every sentence once."""
        from offscript.measures.likelihood.estimation import measure_by_domain, measure_likelihood

        rows = subject.rows_at_once(64)
        if subject.domains:
            domains = subject.gold_by_domain(settings)
            total = sum(len(texts.tokens) for texts in domains.values())
            measurements = measure_by_domain(subject.model, domains, batch_size=rows, progress=progress.start(total))
            table = Table(_by_domain(measurements, domains), "By domain")
            return Answer(measurements, tables=[table], title=f"{subject.model.name} on {', '.join(domains)}")
        texts = subject.gold(settings)
        measurements = measure_likelihood(
            subject.model, texts, batch_size=rows, progress=progress.start(len(texts.tokens))
        )
        return Answer(measurements, title=f"{subject.model.name} on {subject.gold_name}")

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """Each domain has as many bits per character as the first."""
        from offscript.statistics import p_value_of

        gaps = {name: entry for name, entry in figures.items() if name.endswith(_GAP)}
        return {name: p_value_of(entry.estimate, entry.n) for name, entry in gaps.items()}

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """A perplexity is neither good nor bad on its own."""
        if not figures:
            return None
        nll, ppl, bpc = (with_interval(figures[name]) for name in ("nll", "ppl", "bpc"))
        sentence = f"That is {nll} nats per token and {bpc} bits per character."
        if "ppl_without_end" in figures:
            plain, cost = (with_interval(figures[f"{name}_without_end"]) for name in ("ppl", "nll"))
            sentence += f" Without the token that ends each text: perplexity {plain}, {cost} nats per token."
        return Finding(f"Perplexity {ppl}", f"{sentence}{_gaps(figures, p_values)}")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Bits per character of each domain."""
        bars = {
            name: {"bpc": entry}
            for entry in measurements
            for name, _, figure in [entry.name.rpartition(".")]
            if name and figure == "bpc"
        }
        return [("Bits per character, by domain", bar_chart(bars, y="bits per character"))] if bars else []


_GAP = ".bpc_gap"


def _gaps(figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> str:
    """How far each domain is from the first, in words."""
    gaps = {name: figures[name] for name in p_values}
    if not gaps:
        return ""
    base = next(iter(gaps.values())).recipe["compared_with"]
    told = [
        f"on {name.removesuffix(_GAP)} {with_interval(entry)} ({p_value(p_values[name])})"
        for name, entry in gaps.items()
    ]
    rate = with_interval(figures[f"{base}.bpc"]) if f"{base}.bpc" in figures else "unknown"
    return f" Bits per character on {base}: {rate}; the difference from it is {', '.join(told)}."


def _by_domain(measurements: "Sequence[Measurement]", domains: Iterable[str]) -> list[dict[str, str]]:
    """One row per domain."""
    named = {entry.name: entry for entry in measurements}
    figures = {"nll": "nats per token", "ppl": "perplexity", "bpc": "bits per character", "bpc_gap": "less the first"}
    return [
        {
            "domain": domain,
            **{
                words: with_interval(named[f"{domain}.{name}"]) if f"{domain}.{name}" in named else "–"
                for name, words in figures.items()
            },
        }
        for domain in domains
    ]
