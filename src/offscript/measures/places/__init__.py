"""Where does a model go off script? Every token of its samples, coloured by how far it is off at that place."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from offscript.measures.charts import Chart, curve_chart
from offscript.measures.question import Answer, Finding, Gauge, Need, Progress, Question, TextSettings, setting
from offscript.measures.words import number, with_interval

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject
    from offscript.sampling.generation import Generated

_FEWEST = 4  # that an interval needs
_MOST = 500
_STREAM = 5  # of random numbers, for the oracle's text


class PlacesSettings(TextSettings):
    """How many samples are looked at."""

    samples: int = setting(_MOST, "Sequences drawn from the model, and texts of real text at most.", ge=_FEWEST)
    length: int = setting(50, "Tokens of a sequence at most.", ge=2)


class Places(Question[PlacesSettings]):
    """KL(model‖oracle) of every token of the samples; without an oracle, the model's surprise."""

    name = "places"
    title = "Where does it go off script?"
    about = "Samples with every token coloured by KL(model‖oracle), else by surprise; the worst places; a map of all."
    Settings = PlacesSettings
    takes = (Need.oracle, Need.corpus)
    of_tokens = ("*",)
    rests_on = ("half", "deviation")
    asked_by_default = True
    words = (
        ("half", "share of tokens that hold half of the deviation"),
        ("half.real", "share of real tokens that hold half of the deviation"),
        ("deviation", "deviation per token"),
        ("deviation.real", "deviation per token of real text"),
        ("after_bad", "deviation after a bad token"),
        ("after_bad.real", "deviation after a bad token of real text"),
    )

    def plan(self, subject: "Subject") -> PlacesSettings:
        """At most as many samples as a screen has lines for."""
        affordable = subject.affordable(4 * subject.length, most=_MOST)
        return PlacesSettings(samples=max(_FEWEST, affordable), length=subject.length)

    def tokens(self, subject: "Subject", settings: PlacesSettings) -> int:
        """Samples are drawn and read, and as much real text is read."""
        return 3 * settings.samples * settings.length

    def figures(self, subject: "Subject", settings: PlacesSettings) -> tuple[str, ...]:
        """The same figures of its own text and of real text."""
        return ("half*", "deviation*", "after_bad*")

    def measure(self, subject: "Subject", settings: PlacesSettings, progress: Progress) -> Answer:
        """Draw, read once with each model, and keep what the page shows."""
        from offscript.measures.places.estimation import measure_places, trace
        from offscript.measures.places.exhibits import SHOWN, TokenTexts, map_exhibit, worst_exhibit
        from offscript.sampling.generation import generate

        began, text = time.monotonic(), self._text(subject, settings)
        count = progress.start(2 * settings.samples + (0 if text is None else len(text)))
        drawing: dict[str, Any] = {"batch_size": subject.rows_at_once(), "progress": count}
        drawn = generate(subject.model, settings.samples, settings.length, seed=subject.seed, **drawing)
        own = trace(subject.model, subject.oracle, drawn, **drawing)
        real = None if text is None else trace(subject.model, subject.oracle, text, **drawing)
        measurements = measure_places(subject.model, subject.oracle, own, real, seed=subject.seed, began=began)
        makes = TokenTexts(subject.model, subject.oracle, own)
        columns = [(subject.model.name, makes.texts(own, range(min(SHOWN, len(drawn)))))]
        if real is not None:
            columns.append((subject.gold_name, makes.texts(real, range(min(SHOWN, len(real.sequences))))))
        exhibits = [
            worst_exhibit(makes, own),
            makes.exhibit("Its samples" + (" beside real text" if real is not None else ""), columns),
            map_exhibit(subject.model, subject.oracle, own, real),
        ]
        exhibits = [{**exhibit, "lead": True} for exhibit in exhibits]  # before the chart
        return Answer(measurements, exhibits, title=f"{len(drawn)} samples of {subject.model.name}")

    def _text(self, subject: "Subject", settings: PlacesSettings) -> "Generated | None":
        """Text of the corpus, else of the oracle, to be read like the samples."""
        from offscript.measures.places.estimation import padded
        from offscript.sampling.generation import generate

        if subject.corpus:
            rows = subject.tokens(settings, count=min(settings.samples, subject.limit or settings.samples))
            return padded(rows, settings.length, subject.model.vocabulary.end or 0)
        if subject.oracle is None:
            return None
        sizes: dict[str, Any] = {"batch_size": subject.rows_at_once(), "seed": (subject.seed, _STREAM)}
        return generate(subject.oracle, settings.samples, settings.length, **sizes)

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """How concentrated the deviation is: neither good nor bad."""
        if "half" not in figures:
            return None
        half, real = figures["half"], figures.get("half.real")
        what = "regret" if half.recipe["oracle"] else "surprise"
        beside = "" if real is None else f"; of real text in {with_interval(real)}"
        return Finding(
            f"Half of its {what} sits in {number(100 * half.value, 0)} % of its tokens",
            f"As a share of the tokens: {with_interval(half)}{beside}. "
            f"On average {with_interval(figures['deviation'])} nats per token.",
        )

    def gauge(self, figures: "Mapping[str, Measurement]") -> Gauge | None:
        """The share beside that of real text."""
        if "half" not in figures:
            return None
        label = f"tokens that hold half of the {'regret' if figures['half'].recipe['oracle'] else 'surprise'}"
        if "half.real" not in figures:
            return Gauge("half", label, "share")
        return Gauge("half", label, "share", figures["half.real"].value, "real text")

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """What follows the first bad token of a sequence, in the model's text and in real text."""
        figures = {entry.name: entry for entry in measurements}
        curves = {
            label: curve
            for label, name in (("its own text", "after_bad"), ("real text", "after_bad.real"))
            if name in figures and (curve := figures[name].by_position) is not None
        }
        if not curves:
            return []
        usual = figures.get("deviation.real", figures["deviation"])
        y = "KL(model‖oracle), nats" if usual.recipe["oracle"] else "surprise, nats"
        chart = curve_chart(
            curves,
            x="tokens after the first bad one",
            y=y,
            first=0,
            reference=usual.value,
            meaning="mean of all tokens",
        )
        return [("Recovery: after the first bad token of a sequence", chart)]
