"""Where do two models part? KL per token on real text, the share of equal top tokens, the texts that differ most."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from offscript.measures.likelihood import GoldSettings
from offscript.measures.question import Answer, Compared, Finding, Gauge, Lack, Need, Progress, Question, setting
from offscript.measures.words import number, with_interval

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject


class DivergenceSettings(GoldSettings):
    """Which text both models read."""

    length: int = setting(100, "Cut sentences to this many tokens.", flag="--longest", ge=1)


class Divergence(Question[DivergenceSettings]):
    """KL(base‖model) after every token of real text: what a report on quantisation, pruning or distillation shows."""

    name = "divergence"
    title = "Where do the two models part?"
    about = "KL(base‖model) per token of a text, how often both have the same top token, and where."
    Settings = DivergenceSettings
    needs = (Need.model, Need.against, Need.gold)
    asked_by_default = True
    share = 1
    headlines = ("kl",)
    rests_on = ("same_top",)
    compared = (Compared("kl", "KL (nats)"), Compared("same_top", "same top token"))
    gauges = (Gauge("kl", "KL(base‖model)", "nats per token", 0.0, "the same model"),)
    words = (("kl_p*", "percentile {} of KL(base‖model)"),)

    def plan(self, subject: "Subject") -> DivergenceSettings:
        """As many sentences as the budget has samples."""
        return DivergenceSettings(samples=subject.affordable(subject.length), length=subject.length, whole=False)

    def tokens(self, subject: "Subject", settings: DivergenceSettings) -> int:
        """Every token of the text once."""
        return (settings.samples or subject.samples) * settings.length

    def figures(self, subject: "Subject", settings: DivergenceSettings) -> Sequence[str]:
        """The mean, percentiles, and the share of equal top tokens."""
        from offscript.measures.divergence.estimation import PERCENTILES

        return ("kl", *PERCENTILES, "same_top")

    def missing(self, subject: "Subject", given: Mapping[str, Any]) -> Lack | None:
        """Tokens must mean the same in both."""
        lack = super().missing(subject, given)
        if lack is None and not subject.shares_vocabulary:
            return Lack("two models of one vocabulary", "figures per character can be compared across vocabularies")
        return lack

    def depends_on(self, subject: "Subject", settings: DivergenceSettings) -> dict[str, Any]:
        """The second model."""
        return {"against": {"name": subject.against.name, "weights": subject.against.weight_hash}}

    def measure(self, subject: "Subject", settings: DivergenceSettings, progress: Progress) -> Answer:
        """Read every sentence once with each model, and keep where they differ most."""
        from offscript.measures.divergence.estimation import exhibits_of, measure_divergence, read_texts

        texts = subject.gold(settings)
        count = progress.start(len(texts.tokens))
        models = subject.against, subject.model
        found = read_texts(*models, texts, batch_size=subject.rows_at_once(64), progress=count)
        measurements = measure_divergence(*models, texts, found, seed=subject.seed)
        exhibits = [{**exhibit, "lead": True} for exhibit in exhibits_of(*models, found)]
        title = f"{subject.model.name} against {subject.against.name} on {subject.gold_name}"
        return Answer(measurements, exhibits, title=title)

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """How far apart they are: neither good nor bad."""
        if "same_top" not in figures:
            return None
        same = figures["same_top"]
        words = {"kl": "KL(base‖model) in nats per token", "kl_p50": "its median", "kl_p99": "its 99th percentile"}
        parts = [f"{words[name]}: {with_interval(figures[name])}" for name in words if name in figures]
        return Finding(
            f"They agree on the most probable token at {number(100 * same.value, 1)} % of the positions",
            f"{'; '.join([f'As a share: {with_interval(same)}', *parts])}.",
        )
