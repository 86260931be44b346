"""Exposure bias: is a model further from the data on its own histories than on the data's (EB-M, EB-C)?"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from offscript.errors import OffscriptError
from offscript.measures.charts import Chart, Specification, choices, curve_chart, curves_of
from offscript.measures.question import (
    Answer,
    Compared,
    Finding,
    Gauge,
    Names,
    Need,
    Progress,
    Question,
    Settings,
    TextSettings,
    setting,
)
from offscript.measures.words import number, with_interval

if TYPE_CHECKING:
    from torch import Tensor

    from offscript.measures.measurement import Measurement
    from offscript.measures.subject import Subject
    from offscript.statistics import Curve

WRONG = ("corrupted,rate=0.1", "corrupted,rate=0.3", "corrupted,rate=0.5", "random")
"""The wrong histories of an audit, from Figure 3."""

MARGIN = 0.0025
"""A gap in nats of js that is small: a quarter of the 0.01 nats per token of KL that regret counts as small.

Near each other distributions have js ≈ KL / 4, and 0.01 nats per token are one percent of a perplexity.
"""

_HISTORY = "history length"
_WINDOW = "window of positions after the anchor"


class ExposureSettings(TextSettings):
    """How exposure bias is measured."""

    samples: int = setting(1000, "Sequences drawn from each source.", ge=2)
    length: int | None = setting(None, "Tokens of a sequence; 50, or a table's own length.")
    prefix: int | None = setting(
        None, "Without an oracle: tokens of each text that the model continues; 0 for none. Usually 10.", ge=0
    )
    distances: Names = setting(("tv", "js", "gd"), "Of tv, js, gd, kl, kl_reverse, hellinger.")
    histories: Names = setting((), "Also after: corrupted,rate=0.1 · shuffled · random.", flag="--history")
    coupled: bool = setting(True, "Draw model and data histories with the same random numbers.")
    marginal: bool = setting(True, "Measure EB-M too, which takes memory.")
    data: Literal["corpus", "oracle"] = setting("corpus", "Where data histories come from if both are given.")
    exact: bool = setting(False, "By enumeration of every sequence, for small models.")


class Exposure(Question[ExposureSettings]):
    """EB-M (eq. 2-6) and, against an oracle, EB-C (eq. 7-9) at every history length."""

    name = "exposure"
    shares_rows = True
    title = "Does it have exposure bias?"
    about = "Exposure bias at every history length: EB-M and, against an oracle, EB-C."
    Settings = ExposureSettings
    needs = (Need.model, Need.gold)
    asked_by_default = True
    share = 3
    headlines = ("eb_c.js", "mgd_gap.js", "eb_m.js")
    compared = (
        Compared("eb_c.js", "EB-C (js)", 1.0),
        Compared("mgd_gap.js", "Gap of MGD (js)", 0.0),
        Compared("eb_m.js", "EB-M (js)", 1.0),
    )
    gauges = (
        Gauge("eb_c.js", "EB-C (js)", "times the deviation on the oracle's histories", 1.0, "no exposure bias"),
        Gauge("mgd_gap.js", "Gap of MGD (js)", "nats", 0.0, "no exposure bias"),
        Gauge("eb_m.js", "EB-M (js)", "times the deviation on the text's histories", 1.0, "no exposure bias"),
    )
    words = (
        ("mgd_model.*", "MGD after its own histories ({})"),
        ("mgd_data.*", "MGD after real histories ({})"),
        ("cgd_model.*", "CGD after its own histories ({})"),
        ("cgd_data.*", "CGD after real histories ({})"),
        ("eb_c.*", "EB-C ({})"),
        ("eb_m.*", "EB-M ({})"),
        ("eb_m_plain.*", "plain EB-M ({})"),
        ("mgd_gap.*", "gap of MGD ({})"),
        ("cgd_corrupted_*.*", "CGD after histories corrupted at a rate of {} ({})"),
        ("cgd_random.*", "CGD after random histories ({})"),
    )

    def plan(self, subject: "Subject") -> ExposureSettings:
        """With an oracle EB-C after wrong histories too; without one EB-M, on as many sentences as there are."""
        if subject.has_oracle:
            passes = (4 + 2 * len(WRONG)) * subject.length
            samples = subject.affordable(passes)
            return ExposureSettings(
                samples=samples, length=subject.length, histories=WRONG, marginal=False, data="oracle"
            )
        length = subject.usual_length(subject.samples)
        rows = subject.rows(count=subject.samples, length=length)
        return ExposureSettings(samples=subject.affordable(3 * length, most=len(rows)), length=length)

    def tokens(self, subject: "Subject", settings: ExposureSettings) -> int:
        """Draws and readings of every sample."""
        length, with_text = settings.length or subject.length, bool(subject.corpus) and settings.data == "corpus"
        return (3 + (not with_text) + 2 * len(settings.histories)) * length * settings.samples

    def figures(self, subject: "Subject", settings: ExposureSettings) -> Sequence[str]:
        """EB-C and deviations against an oracle; else what can be said from text."""
        if not subject.has_oracle:
            from offscript.measures.exposure.anchored import PLAIN_DISTANCES

            plain = [name for name in settings.distances if name in PLAIN_DISTANCES]
            kinds = ("mgd_gap", "mgd_gap_p", "mgd_model", "mgd_data", "eb_m") if "js" in plain else ()
            return [*(f"{kind}.js" for kind in kinds), *(f"eb_m_plain.{name}" for name in plain)]
        kinds = ("eb_c", "cgd_*", *(("eb_m", "mgd_*") if settings.marginal else ()))
        return [f"{kind}.{name}" for kind in kinds for name in settings.distances]

    def measure(self, subject: "Subject", settings: ExposureSettings, progress: Progress) -> Answer:
        """By sampling, or by enumeration."""
        from offscript.measures.exposure.estimation import measure_exposure, measure_exposure_exactly
        from offscript.measures.subject import natural_length

        length = natural_length(subject.model, settings.length)
        against = subject.required_oracle.name if subject.has_oracle else ", ".join(subject.corpus)
        title = f"{subject.model.name} against {against}"
        if settings.exact:
            if not subject.has_oracle or subject.corpus or settings.histories:
                raise OffscriptError(
                    "--exact takes an oracle and neither a corpus nor histories", next="give --oracle MODEL"
                )
            oracle = subject.required_oracle
            exact = measure_exposure_exactly(subject.model, oracle, length=length, distances=settings.distances)
            return Answer(exact, title=title)
        data = None
        if subject.corpus and not (settings.data == "oracle" and subject.has_oracle):
            data = subject.rows(settings, count=subject.limit, length=length)
        samples = settings.samples if data is None else min(settings.samples, len(data))
        sizes: dict[str, Any] = {"samples": samples, "length": length, "seed": subject.seed}
        sizes |= {"distances": settings.distances, "batch_size": subject.rows_at_once()}
        sizes["progress"] = progress.start(_passes(settings, data) * samples)
        if not subject.has_oracle and data is not None:
            return Answer(self._from_text(subject, settings, data, sizes), title=title)
        if settings.prefix:
            raise OffscriptError(
                "cannot use --prefix with an oracle",
                why="against an oracle histories begin at the start",
                next="leave one out",
            )
        shared = self._shared(subject, settings, samples, length) if data is None and not settings.marginal else None
        measurements = measure_exposure(
            subject.model,
            subject.oracle,
            histories=settings.histories,
            coupled=settings.coupled,
            data=data,
            marginal=settings.marginal,
            deviations=shared,
            **sizes,
        )
        return Answer(measurements, title=title)

    def _from_text(
        self, subject: "Subject", settings: ExposureSettings, data: "Tensor", sizes: "Mapping[str, Any]"
    ) -> "list[Measurement]":
        """Without an oracle: after anchors of real text."""
        from offscript.measures.exposure.anchored import measure_exposure_gap

        if settings.histories:
            raise OffscriptError(
                "cannot use --history without an oracle", why="CGD needs one", next="add --oracle MODEL"
            )
        return measure_exposure_gap(subject.model, data, prefix=settings.prefix, **sizes)

    def _shared(self, subject: "Subject", settings: ExposureSettings, samples: int, length: int) -> Any:
        """The deviations found by several workers, where the work is shared out."""
        if subject.shared_deviations is None:
            return None
        chosen = {"distances": list(settings.distances), "histories": list(settings.histories)}
        return subject.shared_deviations(
            samples=samples, length=length, seed=subject.seed, batch_size=subject.rows_at_once(), **chosen
        )

    def reason(self, entry: "Measurement", figures: "Mapping[str, Measurement]") -> str:
        """A ratio says what its two deviations are."""
        kind, _, distance = entry.name.partition(".")
        if kind not in ("eb_c", "eb_m"):
            return super().reason(entry, figures)
        deviations = [figures.get(f"{kind[-1]}gd_{source}.{distance}") for source in ("model", "data")]
        on_model, on_data = (None if deviation is None else deviation.value for deviation in deviations)
        if on_model == on_data == 0:
            return "both deviations are zero"
        if on_data == 0:
            return "the data-side deviation is zero"
        if on_data is not None and math.isinf(on_data):
            return "the data-side deviation is infinite: the two distributions have different supports"
        curve = None if deviations[1] is None else deviations[1].by_position
        if curve is not None and 0.0 in curve.values:
            return "the data-side deviation is zero at some lengths"
        return super().reason(entry, figures)

    def tests(self, figures: "Mapping[str, Measurement]") -> dict[str, float]:
        """That the gap of js is 0 where there is no oracle, else that the ratio is 1."""
        from offscript.statistics import p_value_of

        if "mgd_gap.js" in figures and "eb_c.js" not in figures:
            return {"mgd_gap.js": figures["mgd_gap_p.js"].value}
        ratios = [figures[name] for name in ("eb_c.js", "eb_m.js") if name in figures][:1]
        return {ratio.name: p_value_of(ratio.estimate, ratio.n, 1.0) for ratio in ratios}

    def conclude(self, figures: "Mapping[str, Measurement]", p_values: Mapping[str, float]) -> Finding | None:
        """By EB-C where there is an oracle, else by the gap of js, which is the one distance that decides."""
        if "eb_c.js" in figures:
            sentence = "After its own histories it deviates {} times as much as after the oracle's (EB-C)."
            return _ratio_finding(figures["eb_c.js"], p_values["eb_c.js"], sentence)
        if "mgd_gap.js" in figures:
            return _gap_finding(figures, p_values["mgd_gap.js"])
        if "eb_m.js" in figures:
            sentence = "Its marginals deviate {} times as much on its own histories as on the text's (EB-M)."
            return _ratio_finding(figures["eb_m.js"], p_values["eb_m.js"], sentence)
        return super().conclude(figures, p_values)

    def charts(self, measurements: "Sequence[Measurement]") -> list[Chart]:
        """EB-C and EB-M by distance, and CGD after each kind of history."""
        charts: list[Chart] = []
        for kind, title in (("eb_c.", "EB-C"), ("eb_m.", "EB-M")):
            group = f"{title}: deviation on the model's own histories over that on the data's, by distance"
            charts += choices(group, _by_distance(curves_of(measurements, kind), title))
        if gaps := curves_of(measurements, "mgd_gap."):
            title = "Deviation after its own continuations less that after the text (MGD)"
            settings: dict[str, Any] = {"reference": 0.0, "meaning": "no exposure bias"}
            charts.append((title, curve_chart(gaps, x=_WINDOW, y="gap of MGD, nats", **settings)))
        if plain := curves_of(measurements, "eb_m_plain."):
            title = "EB-M as the paper estimates it, which few samples push towards 1"
            settings = {"reference": 1.0, "meaning": "no exposure bias"}
            charts.append((title, curve_chart(plain, x=_HISTORY, y="EB-M", **settings)))
        return [*charts, *_deviations_by_history(measurements)]


class DeviationSettings(Settings):
    """Which rows of a larger measurement are read, and how."""

    rows: tuple[int, int]
    length: int
    distances: Names = ("tv", "js", "gd")
    histories: Names = ()
    coupled: bool = True
    batch_size: int = 256


class Deviations(Question[DeviationSettings]):
    """What EB-C is made of, for some of its rows: a share of a larger measurement's work, done by one worker."""

    name = "deviations"
    title = "Deviations of some rows"
    about = "The deviations behind EB-C, for rows from the first to before the last."
    Settings = DeviationSettings
    needs = (Need.model, Need.oracle)
    hidden = True

    def measure(self, subject: "Subject", settings: DeviationSettings, progress: Progress) -> Answer:
        """`per_item` holds the deviations, [rows, length-1]."""
        from offscript.measures.exposure.estimation import measure_deviations

        chosen = settings.model_dump(exclude={"rows"})
        rows = range(*settings.rows)
        return Answer(measure_deviations(subject.model, subject.required_oracle, rows, seed=subject.seed, **chosen))


def _passes(settings: ExposureSettings, data: "Tensor | None") -> int:
    """How often each sample is read or drawn; wrong histories are made of those drawn, and read."""
    return 3 + (data is None) + len(settings.histories)


def _ratio_finding(ratio: "Measurement", p_value: float, sentence: str) -> Finding:
    """Found where the ratio is above 1 beyond chance, fine where it is not or hardly, else undecided."""
    sentence = sentence.format(with_interval(ratio))
    if ratio.interval.lower == 0 and math.isinf(ratio.interval.upper):
        return Finding("Too few samples to tell", f"{sentence} Draw more samples than there are tokens.", "cannot tell")
    if ratio.interval.lower > 1 and p_value < 0.05:
        return Finding("Exposure bias found", sentence, "found")
    if ratio.interval.upper < 1 and p_value < 0.05:
        return Finding("It deviates less on its own histories", sentence, "fine")
    return Finding("No exposure bias detected", sentence, "fine" if ratio.interval.upper < 1.1 else "cannot tell")


def _gap_finding(figures: "Mapping[str, Measurement]", p_value: float) -> Finding:
    """Found where the gap's p-value is below 0.05, fine where the gap is below the margin, else undecided."""
    gap, bounds = figures["mgd_gap.js"], figures["mgd_gap.js"].interval
    sentence = (
        f"After its own continuations its marginals deviate {with_interval(gap)} nats more from the text than after "
        f"the text itself (gap of MGD by js, p = {number(p_value, 3)}). {_ratio_words(figures)}"
    )
    if p_value < 0.05 and bounds.lower > 0:
        if bounds.upper < MARGIN:
            return Finding("Negligible exposure bias", f"{sentence} The gap is below the margin of {MARGIN}.", "fine")
        return Finding("Exposure bias found", sentence, "found")
    if p_value < 0.05 and bounds.upper < 0:
        return Finding("It deviates less on its own histories", sentence, "fine")
    if bounds.upper < MARGIN:
        return Finding("No exposure bias detected", f"{sentence} The gap is below the margin of {MARGIN}.", "fine")
    return Finding(
        "Too few samples to tell", f"{sentence} About {_deciding(gap):,} samples would decide.", "cannot tell"
    )


def _ratio_words(figures: "Mapping[str, Measurement]") -> str:
    if "eb_m.js" in figures:
        return f"The ratio (EB-M) is {with_interval(figures['eb_m.js'])}."
    if "mgd_model.js" in figures and figures["mgd_model.js"].interval.lower > 0:
        return "The deviation after the text is within noise, so there is no ratio."
    return "Both deviations are within noise, so there is no ratio."


def _deciding(gap: "Measurement") -> int:
    """Samples whose interval would leave out 0 or the margin, if the gap stays what it is: errors fall as 1/√n."""
    reach = max(gap.interval.upper - gap.value, gap.value - gap.interval.lower)
    room = max(abs(gap.value), MARGIN - gap.value)
    return math.ceil(gap.n * max(1.2, (reach / room) ** 2))


def _deviations_by_history(measurements: "Sequence[Measurement]") -> list[Chart]:
    """CGD after model, data and wrong histories, by the first distance that has them."""
    curves = curves_of(measurements, "cgd_")
    for distance in ("tv", "js"):
        chosen = {
            name.removesuffix(f".{distance}").replace("_", " "): curve
            for name, curve in curves.items()
            if name.endswith(f".{distance}")
        }
        if len(chosen) > 2:
            title = f"Deviation from the oracle after different kinds of history (CGD, {distance})"
            return [(title, curve_chart(chosen, x=_HISTORY, y="CGD"))]
    return []


def _by_distance(curves: "dict[str, Curve]", title: str) -> "dict[str, Specification]":
    """A chart for each distance with a finite value, since bands differ in width; js, which decides, comes first."""
    finite = [name for name, curve in curves.items() if any(map(math.isfinite, curve.values))]
    order = sorted(finite, key=lambda name: name != "js")
    settings: dict[str, Any] = {"x": _HISTORY, "y": title, "reference": 1.0, "meaning": "no exposure bias"}
    return {name: curve_chart({name: curves[name]}, **settings) for name in order}
