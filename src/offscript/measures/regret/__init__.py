"""Exposure bias as regret: how far is a model's own text from its oracle's, Q = KL(p‖o)?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from offscript.measures.charts import Chart, curve_chart, curves_of
from offscript.measures.question import (
    SIGNIFICANT,
    Answer,
    Compared,
    Finding,
    Gauge,
    Need,
    Progress,
    Question,
    Settings,
    Table,
    setting,
)
from offscript.measures.words import p_value, with_interval

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject


_MARGIN = 0.01  # nats per token: one percent of a perplexity


class RegretSettings(Settings):
    """How regret is measured."""

    samples: int = setting(1000, "Sequences drawn from the model.", ge=2)
    length: int | None = setting(None, "Tokens of a sequence; 50, or a table's own length.")
    exact: bool = setting(False, "By enumeration of every sequence, for small models.")
    show: int = setting(0, "Also show this many sentences, from the worst to the best Q.", ge=0)


class Regret(Question[RegretSettings]):
    """Q per token and per sequence, the oracle's NLL, accumulated errors (eq. 17-20)."""

    name = "regret"
    title = "How far is its text from the oracle's?"
    about = "Exposure bias as regret, Q = KL(p‖o), per token and per sequence; the oracle's NLL; accumulated errors."
    Settings = RegretSettings
    needs = (Need.model, Need.oracle)
    flags = ("seed", "device", "batch_size")
    asked_by_default = True
    rests_on = ("q_per_token", "nll_oracle")
    headlines = ("q_per_token",)
    figure_names = (
        "q_per_token",
        "q_per_token_sampled",
        "q_per_sequence",
        "q_per_sequence_sampled",
        "nll_oracle",
        "acc_err",
        "excess_acc_err",
        "q_nll_correlation",
    )
    compared = (Compared("q_per_sequence", "Q (nats)"),)
    gauges = (Gauge("q_per_token", "regret Q", "nats per token", 0.0, "the oracle's own text"),)
    words = (
        ("nll_oracle", "the oracle's surprise at its text"),
        ("q_per_token_sampled", "regret Q by the tokens drawn"),
        ("q_per_sequence", "regret per text"),
        ("q_per_sequence_sampled", "regret per text by the tokens drawn"),
        ("acc_err", "accumulated error"),
        ("excess_acc_err", "excess accumulated error"),
    )

    def plan(self, subject: "Subject") -> RegretSettings:
        """As many samples as two models may read and draw."""
        return RegretSettings(samples=subject.affordable(4 * subject.length), length=subject.length)

    def tokens(self, subject: "Subject", settings: RegretSettings) -> int:
        """Four passes."""
        return 4 * settings.samples * (settings.length or subject.length)

    def measure(self, subject: "Subject", settings: RegretSettings, progress: Progress) -> Answer:
        """By sampling, or by enumeration."""
        from offscript.measures.regret.estimation import measure_regret, measure_regret_exactly
        from offscript.measures.subject import natural_length

        model, oracle = subject.model, subject.required_oracle
        length = natural_length(model, settings.length)
        title = f"{model.name} against {oracle.name}"
        if settings.exact:
            return Answer(measure_regret_exactly(model, oracle, length=length), title=title)
        measurements = measure_regret(
            model,
            oracle,
            samples=settings.samples,
            length=length,
            seed=subject.seed,
            batch_size=subject.rows_at_once(),
            progress=progress.start(4 * settings.samples),
        )
        if not settings.show:
            return Answer(measurements, title=title)
        sentences = _sentences(subject, measurements, length, settings.show)
        measurements = [*measurements, *_of_samples(measurements)]
        return Answer(measurements, title=title, details={"sentences": sentences}, tables=[Table(sentences)])

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """No regret: the model's text is the oracle's."""
        from offscript.statistics import p_value_of

        regret = figures.get("q_per_token")
        return {} if regret is None else {"q_per_token": p_value_of(regret.estimate, regret.n)}

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """Small enough not to matter, more than chance, or neither."""
        if not figures:
            return None
        regret, p = figures["q_per_token"], p_values["q_per_token"]
        sentence = (
            f"It costs {with_interval(regret)} nats of regret per token ({p_value(p)}); "
            f"the oracle gives that text {with_interval(figures['nll_oracle'])} nats per token."
        )
        if regret.interval.upper < _MARGIN:
            return Finding(f"Its text is within {_MARGIN:g} nats per token of the oracle's", sentence, "fine")
        if p < SIGNIFICANT and regret.value > 0:
            return Finding("Its text drifts from the oracle's", sentence, "found")
        return Finding("No drift from the oracle's text detected", sentence, "cannot tell")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Regret and excess accumulated error over the first tokens."""
        curves, charts = curves_of(measurements), []
        if "q_per_sequence" in curves:
            chart = curve_chart({"Q": curves["q_per_sequence"]}, x="tokens", y="Q (nats)")
            charts.append(("Regret accumulated over the first tokens", chart))
        if "excess_acc_err" in curves:
            excess = {"excess": curves["excess_acc_err"]}
            y = "excess accumulated error (%)"
            chart = curve_chart(excess, x="tokens", y=y, reference=0.0, meaning="no accumulation")
            charts.append(("Accumulated error beyond what the same errors would cost without exposure bias", chart))
        return charts


def _of_samples(measurements: "Sequence[Measurement]") -> "list[Measurement]":
    """How a sample's own Q and the oracle's NLL of it go together: Pearson's correlation over samples (Table 5).

    There is none where one of the two is the same for all samples, or where there are fewer than six.
    """
    import numpy as np

    from offscript.measures.measurement import Measurement
    from offscript.statistics import correlation_interval
    from offscript.statistics.jackknife import LEAST_PAIRS

    q, nll = (
        next(each for each in measurements if each.name == name) for name in ("q_per_token_sampled", "nll_oracle")
    )
    assert q.per_item is not None
    assert nll.per_item is not None
    if len(q.per_item) < LEAST_PAIRS["pearson"] or not np.ptp(q.per_item) or not np.ptp(nll.per_item):
        return []
    found = correlation_interval(q.per_item, nll.per_item)
    kept = {"question": q.question, "n": q.n, "seed": q.seed, "seconds": q.seconds, "recipe": q.recipe}
    return [Measurement.of(found, name="q_nll_correlation", **kept)]


def _sentences(
    subject: "Subject", measurements: "Sequence[Measurement]", length: int, count: int
) -> list[dict[str, Any]]:
    """Samples evenly spread from the highest to the lowest Q of their own tokens (Table 5)."""
    import numpy as np

    from offscript.sampling.generation import generate, texts

    [q] = [entry.per_item for entry in measurements if entry.name == "q_per_token_sampled"]
    assert q is not None
    order = np.argsort(-q)
    chosen = order[np.linspace(0, len(q) - 1, min(count, len(q))).astype(int)]
    rows = []
    for row in chosen.tolist():
        generated = generate(subject.model, 1, length, seed=subject.seed, first_row=row)
        rows.append({"Q": round(float(q[row]), 4), "text": next(texts(subject.model, generated))})
    return rows
