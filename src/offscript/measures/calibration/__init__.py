"""Calibration: is the model as often right as it is sure, and does its certainty change on its own text?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from offscript._abilities import Gives
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
    TextSettings,
    setting,
)
from offscript.measures.words import p_value, with_interval

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject

_PREFIX = 10
_MARGIN = 0.02
"""A difference of confidence and accuracy that is too small to matter."""

_TESTED = ("overconfidence", "entropy_drift")


class CalibrationSettings(TextSettings):
    """How calibration is measured."""

    samples: int = setting(1000, "Real sequences to read, each continued once by the model.", ge=20)
    length: int | None = setting(None, "Tokens of a sequence; 50, or a table's own length.")
    prefix: int = setting(_PREFIX, "Real tokens that the model continues.", ge=1)


class Calibration(Question[CalibrationSettings]):
    """Reliability of next-token probabilities on real text, and entropy on the model's own text against it."""

    name = "calibration"
    title = "Is it as sure as it is right?"
    about = "Next-token confidence against accuracy, and how the model's entropy changes on its own text."
    Settings = CalibrationSettings
    needs = (Need.model, Need.gold)
    reads = Gives.likelihoods
    headlines = ("overconfidence", "calibration_error", "entropy_drift")
    compared = (Compared("overconfidence", "overconfidence", 0.0), Compared("entropy_drift", "drift (nats)", 0.0))
    gauges = (Gauge("overconfidence", "confidence − accuracy", "", 0.0, "as sure as right"),)
    words = (
        ("calibration_error", "calibration error"),
        ("entropy_drift", "drift of the entropy"),
    )

    def plan(self, subject: "Subject") -> CalibrationSettings:
        """Sequences are read, continued and read again."""
        length = subject.usual_length(subject.samples) if subject.corpus else subject.length
        samples = subject.affordable(3 * length)
        return CalibrationSettings(samples=max(20, samples), length=length, prefix=min(_PREFIX, max(1, length // 2)))

    def tokens(self, subject: "Subject", settings: CalibrationSettings) -> int:
        """Three passes over every sequence."""
        return 3 * settings.samples * (settings.length or subject.length)

    def figures(self, subject: "Subject", settings: CalibrationSettings) -> Sequence[str]:
        """The same for every model."""
        return ("right", "confidence", "calibration_error", "overconfidence", "entropy.*", "entropy_drift")

    def measure(self, subject: "Subject", settings: CalibrationSettings, progress: Progress) -> Answer:
        """Read real text, continue its first tokens, and read the continuations."""
        from offscript.measures.calibration.estimation import going_on, measure_calibration, passes
        from offscript.measures.subject import natural_length
        from offscript.sampling.generation import generate

        model, length = subject.model, natural_length(subject.model, settings.length)
        if subject.corpus:
            data = subject.rows(settings, count=subject.limit, length=length)[: settings.samples]
        else:
            data = generate(subject.required_oracle, settings.samples, length, seed=subject.seed).tokens
        measurements = measure_calibration(
            model,
            data,
            prefix=settings.prefix,
            seed=subject.seed,
            batch_size=subject.rows_at_once(),
            progress=progress.start(passes(model) * len(going_on(model, data, settings.prefix))),
        )
        return Answer(measurements, title=f"{model.name} on {subject.gold_name}")

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """Confidence equals accuracy; entropy on its own text equals that on real text."""
        from offscript.statistics import p_value_of

        return {name: p_value_of(figures[name].estimate, figures[name].n) for name in _TESTED if name in figures}

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """By the mean difference of confidence and accuracy; the drift of entropy is told beside it."""
        if not figures:
            return None
        gap = figures["overconfidence"]
        right, sure = (with_interval(figures[name]) for name in ("right", "confidence"))
        sentence = (
            f"Its likeliest next token is right at a rate of {right}, with a mean confidence of {sure}: they differ by "
            f"{with_interval(gap)} ({p_value(p_values['overconfidence'])}). {_drift(figures, p_values)}"
        )
        if abs(gap.interval.lower) < _MARGIN and abs(gap.interval.upper) < _MARGIN:
            return Finding("It is as sure as it is right", f"{sentence} Both bounds are within {_MARGIN:g}.", "fine")
        if p_values["overconfidence"] < SIGNIFICANT:
            return Finding("It is overconfident" if gap.value > 0 else "It is underconfident", sentence, "found")
        return Finding("No miscalibration detected", sentence, "cannot tell")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """Accuracy over confidence, and entropy by position."""
        curves = curves_of(measurements)
        reliability = {name: curve for name, curve in curves.items() if name in ("right", "confidence")}
        entropies = curves_of(measurements, "entropy.")
        charts = []
        if reliability:
            title = "How often the likeliest token is right, by tenths of predictions from the least sure"
            charts.append((title, curve_chart(reliability, x="tenth of predictions", y="share")))
        if entropies:
            title = "Entropy of the next token on real text and on the model's own continuation"
            charts.append((title, curve_chart(entropies, x="tokens from the prefix", y="entropy, nats per token")))
        return charts


def _drift(figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> str:
    """How entropy changes on the model's own text, in a sentence."""
    if "entropy_drift" not in figures:
        return "Its entropy is not known: the model gives no whole distributions."
    drift, p = figures["entropy_drift"], p_values["entropy_drift"]
    direction = "falls" if drift.value < 0 else "rises"
    moved = f"its entropy {direction}" if p < SIGNIFICANT else "no change is detected"
    return f"On its own text, {moved}: {with_interval(drift)} nats per token against real text ({p_value(p)})."
