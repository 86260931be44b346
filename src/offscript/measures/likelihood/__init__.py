"""How well a model predicts a text: nats per token, perplexity, bits per character."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from offscript.measures.question import (
    Answer,
    Compared,
    Finding,
    Gauge,
    Need,
    Progress,
    Question,
    TextSettings,
    setting,
)
from offscript.measures.words import with_interval

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
    asked_by_default = True
    share = 1
    rests_on = ("nll", "ppl", "bpc")
    headlines = ("ppl",)
    of_tokens = ("nll*", "ppl*")
    compared = (Compared("nll"), Compared("bpc"))
    gauges = (Gauge("ppl", "perplexity"),)

    def plan(self, subject: "Subject") -> GoldSettings:
        """As many sentences as the budget has samples."""
        samples = subject.affordable(subject.usual_length(subject.samples) if subject.corpus else subject.length)
        return GoldSettings(samples=samples, length=subject.length, whole=False)

    def tokens(self, subject: "Subject", settings: GoldSettings) -> int:
        """Every token of the text once."""
        if not subject.corpus:
            return (settings.samples or 0) * (settings.length or subject.length)
        return sum(len(row) for row in subject.gold(settings).tokens)

    def figures(self, subject: "Subject", settings: GoldSettings) -> Sequence[str]:
        """Without the end token too, where texts have one."""
        names = ("nll", "ppl", "bpc")
        ends = () if subject.model.vocabulary.end is None else ("nll_without_end", "ppl_without_end")
        return (*names, *ends, "never_drawn")

    def measure(self, subject: "Subject", settings: GoldSettings, progress: Progress) -> Answer:
        """Score every sentence once."""
        from offscript.measures.likelihood.estimation import measure_likelihood

        texts = subject.gold(settings)
        measurements = measure_likelihood(
            subject.model, texts, batch_size=subject.rows_at_once(64), progress=progress.start(len(texts.tokens))
        )
        return Answer(measurements, title=f"{subject.model.name} on {subject.gold_name}")

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """A perplexity is neither good nor bad on its own."""
        if not figures:
            return None
        nll, ppl, bpc = (with_interval(figures[name]) for name in ("nll", "ppl", "bpc"))
        sentence = f"That is {nll} nats per token and {bpc} bits per character."
        if "ppl_without_end" in figures:
            plain, cost = (with_interval(figures[f"{name}_without_end"]) for name in ("ppl", "nll"))
            sentence += f" Without the token that ends each text: perplexity {plain}, {cost} nats per token."
        return Finding(f"Perplexity {ppl}", sentence)
