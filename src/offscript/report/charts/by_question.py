"""Which charts a question's figures are shown in."""

from collections.abc import Callable, Sequence
from statistics import median

from offscript.measures.measurement import Measurement
from offscript.report.charts.bars import bar_chart
from offscript.report.charts.curves import Specification, curve_chart
from offscript.report.charts.trade_off import trade_off_chart
from offscript.statistics import Curve

Titled = tuple[str, Specification]
_HISTORY = "history length"
_WIDEST = 3  # how many times as wide as the narrowest a band may be


def charts_of(question: str, measurements: Sequence[Measurement]) -> list[Titled]:
    """Titled charts; a question that has none of its own shows each figure that is known at every length."""
    if question == "sampling" and measurements:
        return [("Quality over diversity; crosses are intervals", trade_off_chart(measurements))]
    if question == "stereotypes" and measurements:
        return [("Percent by domain, with intervals; a fair model has an ss of 50", _association_bars(measurements))]
    if question == "factuality":
        return _statement_bars(measurements)
    curves = {entry.name: entry.by_position for entry in measurements if entry.by_position is not None}
    if not curves:
        return []
    if question in _CHARTS:
        return _CHARTS[question](curves)
    return [(f"{name} by length", curve_chart({name: curve}, x="length", y=name)) for name, curve in curves.items()]


def _association_bars(measurements: Sequence[Measurement]) -> Specification:
    """lms, ss and icat of everything and of each domain, both tasks together."""
    bars: dict[str, dict[str, Measurement]] = {}
    for entry in measurements:
        domain, _, figure = entry.name.rpartition(".")
        if figure in ("lms", "ss", "icat") and "." not in domain:
            bars.setdefault(domain or "overall", {})[figure] = entry
    return bar_chart(bars, y="percent", reference=50.0)


def _statement_bars(measurements: Sequence[Measurement]) -> list[Titled]:
    """Shares of supported, refuted and undecided statements by sampler, a chart a kind of statement."""
    kinds: dict[str, dict[str, dict[str, Measurement]]] = {}
    for entry in measurements:
        rest, verdict = entry.name.rsplit(".", 1)
        sampler, kind = rest.rsplit(".", 1)
        if verdict != "checkable":
            kinds.setdefault(kind, {}).setdefault(sampler.replace(";", " "), {})[verdict.replace("_", " ")] = entry
    return [
        (f"Its {kind} statements before the fact checker, by sampler", bar_chart(bars, y="share"))
        for kind, bars in kinds.items()
    ]


def _exposure(curves: dict[str, Curve]) -> list[Titled]:
    charts = []
    for kind, title in (("eb_c.", "EB-C"), ("eb_m.", "EB-M")):
        narrow, wide = _by_width(_below(curves, kind))
        told = f"{title}: deviation on the model's own histories over that on the data's, by distance"
        drawn = {told: narrow, f"{title} by {', '.join(wide)}, with wider bands": wide}
        charts += [
            (name, curve_chart(chosen, x=_HISTORY, y=title, reference=1.0)) for name, chosen in drawn.items() if chosen
        ]
    for distance in ("tv", "js"):
        chosen = {
            name.removeprefix("cgd_").removesuffix(f".{distance}").replace("_", " "): curve
            for name, curve in curves.items()
            if name.startswith("cgd_") and name.endswith(f".{distance}")
        }
        if len(chosen) > 2:
            told = f"Deviation from the oracle after different kinds of history (CGD, {distance})"
            return [*charts, (told, curve_chart(chosen, x=_HISTORY, y="CGD"))]
    return charts


def _by_width(curves: dict[str, Curve]) -> tuple[dict[str, Curve], dict[str, Curve]]:
    """Distances with narrow and with wide bands, which would hide the others: few greedy choices are all noise."""
    widths = {name: _usual_width(curve) for name, curve in curves.items()}
    widest = _WIDEST * min((width for width in widths.values() if width > 0), default=0.0)
    narrow = {name: curve for name, curve in curves.items() if widths[name] <= widest}
    return narrow, {name: curve for name, curve in curves.items() if name not in narrow}


def _usual_width(curve: Curve) -> float:
    """The median width of the band; two equal infinities are no width."""
    return median(
        0.0 if lower == upper else upper - lower for lower, upper in zip(curve.lower, curve.upper, strict=True)
    )


def _regret(curves: dict[str, Curve]) -> list[Titled]:
    charts = []
    if "q_per_sequence" in curves:
        chart = curve_chart({"Q": curves["q_per_sequence"]}, x="tokens", y="Q (nats)")
        charts.append(("Regret gathered over the first tokens", chart))
    if "excess_acc_err" in curves:
        excess = {"excess": curves["excess_acc_err"]}
        chart = curve_chart(excess, x="tokens", y="excess accumulated error (%)", reference=0.0)
        charts.append(("Accumulated error beyond what the same errors would cost without exposure bias", chart))
    return charts


def _recovery(curves: dict[str, Curve]) -> list[Titled]:
    charts = []
    away = "tokens from the prefix"
    if chosen := _below(curves, "nll_gap."):
        told = "What the oracle finds worse than after data prefixes, by kind of prefix"
        charts.append((told, curve_chart(chosen, x=away, y="gap (nats)", reference=0.0)))
    if chosen := _below(curves, "nll_oracle."):
        charts.append(("The oracle's view of continuations", curve_chart(chosen, x=away, y="NLL (nats)")))
    if chosen := {name.rpartition(".")[2]: curve for name, curve in curves.items() if name.startswith("corpus_bleu")}:
        told = "Continuations against real text at the same places"
        charts.append((told, curve_chart(chosen, x="windows from the prefix", y="corpus-BLEU")))
    return charts


def _approximation(curves: dict[str, Curve]) -> list[Titled]:
    told = "How far ten more draws move an approximated distribution; the rule is the paper's boundary"
    return [(told, curve_chart({"error": curves["error"]}, x="draws, in steps", y="‖G₋₁₀ - G‖∞", reference=1e-3))]


def _below(curves: dict[str, Curve], prefix: str) -> dict[str, Curve]:
    return {name.removeprefix(prefix): curve for name, curve in curves.items() if name.startswith(prefix)}


_CHARTS: dict[str, Callable[[dict[str, Curve]], list[Titled]]] = {
    "approximation": _approximation,
    "exposure": _exposure,
    "recovery": _recovery,
    "regret": _regret,
}
