"""Several runs, one page: what differs from the first by more than chance."""

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from offscript import _files
from offscript.audits.comparison import Comparison, Contrast
from offscript.measures.measurement import Measurement, interval_to_json, number_to_json
from offscript.measures.question import Finding, Gauge
from offscript.measures.words import with_interval
from offscript.report.axes import charts_along, numeric_axes
from offscript.report.differences import difference_finding, known_by, told
from offscript.report.figures import charts_of_runs, in_words, known_question
from offscript.report.glossary import glossary, terms_in
from offscript.report.rendering import flat, grouped, inert, render
from offscript.report.scorecard import Drawing, draw

_TONES = {
    "better": "fine",
    "worse": "found",
    "different": "cannot-tell",
    "no significant difference": "for-information",
}


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Render the comparison and write it whole.

    Args:
        comparison: What `compare_runs` gave.
        path: The HTML file.
    """
    _files.write_text(path, render_comparison(comparison))


def render_comparison(
    comparison: Comparison,
    *,
    pair: Sequence[Mapping[str, Any]] = (),
    findings: Mapping[str, Sequence[tuple[str, Finding]]] | None = None,
    command: str = "",
) -> str:
    """The page as text. Whatever came from a model or a file is escaped.

    Args:
        comparison: What `compare_runs` gave.
        pair: Sections about two models together, which stand before the others.
        findings: By question, what it found about each run.
        command: What makes the page again; by default the comparison of the stored runs.

    Returns:
        HTML.
    """
    sections = [*pair, *(_section(question, comparison, findings or {}) for question in _questions(comparison))]
    figures = [{"run": run.label, **flat(entry)} for run in comparison.runs for entry in run.figures.values()]
    return render(
        "comparison.html.j2",
        glossary=glossary(),
        figures=inert(figures),
        charts=any(section["charts"] for section in sections),
        comparison=comparison,
        summaries=[
            (run.label, difference_finding(comparison, run.label), tally(comparison, run.label))
            for run in comparison.runs[1:]
        ],
        sections=sections,
        command=command or shlex.join(["offscript", "compare", *(str(run.path) for run in comparison.runs)]),
    )


def tally(comparison: Comparison, run: str) -> str:
    """How a run's figures stand to the first run's, counted: `2 better, 1 worse, 40 without a difference`."""
    counts = Counter(contrast.verdict for contrast in comparison.contrasts if contrast.run == run)
    told = [f"{counts[verdict]} {verdict}" for verdict in ("better", "worse", "different") if counts[verdict]]
    return ", ".join([*told, f"{counts['no significant difference']} without a significant difference"])


def headlines(comparison: Comparison) -> list[Contrast]:
    """The contrasts of the figures that the questions are known by, question by question."""
    found = []
    for question in _questions(comparison):
        figures = {entry.name: entry for entry in comparison.runs[0].figures.values() if entry.question == question}
        for name in known_by(question, figures):
            chosen = [contrast for contrast in comparison.contrasts if contrast.figure == f"{question}.{name}"]
            if chosen:
                found += chosen
                break
    return found


def comparison_as_json(comparison: Comparison) -> dict[str, Any]:
    """Runs, contrasts and what was left out, as plain data."""
    return {
        "runs": [
            {"label": run.label, "model": run.model, "results": str(run.path), "date": run.date}
            for run in comparison.runs
        ],
        "contrasts": [
            {
                "run": contrast.run,
                "figure": contrast.figure,
                "first": number_to_json(contrast.first.value),
                "second": number_to_json(contrast.second.value),
                "difference": number_to_json(contrast.value),
                "ci": interval_to_json(contrast.interval),
                "p_value": contrast.difference.p_value,
                "corrected_p_value": contrast.corrected,
                "paired": contrast.paired,
                "verdict": contrast.verdict,
            }
            for contrast in comparison.contrasts
        ],
        "left_out": [{"figure": figure, "reason": reason} for figure, reason in comparison.left_out],
    }


def _questions(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(contrast.figure.partition(".")[0] for contrast in comparison.contrasts))


def _section(
    question: str, comparison: Comparison, findings: Mapping[str, Sequence[tuple[str, Finding]]]
) -> dict[str, Any]:
    contrasts = [contrast for contrast in comparison.contrasts if contrast.figure.partition(".")[0] == question]
    runs = {run.label: run.figures for run in comparison.runs}
    gauge, entries = _gauged(question, comparison)
    along = charts_along(numeric_axes(comparison.runs), entries, comparison.runs) if entries else []
    charts = [*along, *charts_of_runs(question, runs)]
    title = getattr(known_question(question), "title", question)
    rows = [_row(contrast) for contrast in contrasts]
    return {
        "name": question,
        "title": title,
        "status": None,
        "findings": findings.get(question, ()),
        "drawings": [] if gauge is None or len(entries) < 2 else _drawings(gauge, entries, contrasts),
        "charts": grouped(charts),
        "terms": terms_in([title, *(name for name, _ in charts), *(row["figure"] for row in rows)]),
        "headlines": [_row(contrast) for contrast in headlines(comparison) if contrast in contrasts],
        "rows": rows,
    }


def _gauged(question: str, comparison: Comparison) -> tuple[Gauge | None, dict[str, Measurement]]:
    """What the first run's scorecard draws, and that figure in every run that has it."""
    own = {entry.name: entry for entry in comparison.runs[0].figures.values() if entry.question == question}
    gauge = known_question(question).gauge(own)
    if gauge is None:
        return None, {}
    figure = f"{question}.{gauge.figure}"
    entries = {run.label: run.figures[figure] for run in comparison.runs if figure in run.figures}
    return gauge, {label: entry for label, entry in entries.items() if math.isfinite(entry.value)}


def _drawings(gauge: Gauge, entries: Mapping[str, Measurement], contrasts: Sequence[Contrast]) -> list[Drawing]:
    """The runs on one axis and, of two runs, their difference on another."""
    drawn = [draw(gauge, entries)]
    differences = [contrast.difference for contrast in contrasts if contrast.first.name == gauge.figure]
    if len(entries) == 2 and differences:
        apart = Gauge(gauge.figure, f"difference in {gauge.label}", gauge.unit, 0.0, "no difference")
        drawn.append(draw(apart, {"": differences[0]}))
    return drawn


def _row(contrast: Contrast) -> dict[str, Any]:
    return {
        "run": contrast.run,
        "figure": contrast.figure,
        "words": in_words(contrast.first),
        "first": contrast.first,
        "second": contrast.second,
        "told": told(contrast),
        "value": contrast.value,
        "difference": with_interval(contrast.difference),
        "corrected": contrast.corrected,
        "paired": contrast.paired,
        "verdict": contrast.verdict,
        "tone": _TONES[contrast.verdict],
    }
