"""Several runs in one chart: their curves, or their figures as bars side by side."""

import math
from collections.abc import Mapping

from offscript.measures.measurement import Measurement
from offscript.report.charts.bars import bar_chart
from offscript.report.charts.curves import Specification, curve_chart

Titled = tuple[str, Specification]
Runs = Mapping[str, Mapping[str, Measurement]]
"""By label: one run's figures, by `QUESTION.NAME`."""

_CURVES = {
    "exposure": (("eb_c.js", "EB-C (js)", 1.0), ("eb_m.js", "EB-M (js)", 1.0)),
    "regret": (("q_per_sequence", "Q (nats)", None),),
    "recovery": (("nll_gap.model", "gap (nats)", 0.0),),
}
_BARS = {"likelihood": ("nll", "bpc"), "stereotypes": ("lms", "ss", "icat")}


def charts_of_runs(question: str, runs: Runs) -> list[Titled]:
    """Charts of the figures that a question is known by, where two runs or more have them."""
    charts = []
    for name, title, reference in _CURVES.get(question, ()):
        curves = {label: entry.by_position for label, entry in _having(f"{question}.{name}", runs).items()}
        known = {label: curve for label, curve in curves.items() if curve is not None}
        if len(known) > 1:
            charts.append((f"{title} by length", curve_chart(known, x="length", y=title, reference=reference)))
    bars = {name: _having(f"{question}.{name}", runs) for name in _BARS.get(question, ())}
    drawn = {name: of_runs for name, of_runs in bars.items() if len(of_runs) > 1}
    if drawn:
        charts.append(("Figures side by side, with intervals", bar_chart(drawn, y="value")))
    return charts


def _having(figure: str, runs: Runs) -> dict[str, Measurement]:
    found = {label: figures[figure] for label, figures in runs.items() if figure in figures}
    return {label: entry for label, entry in found.items() if math.isfinite(entry.value)}
