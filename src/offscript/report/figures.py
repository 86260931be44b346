"""What a page shows of figures, by the questions they belong to: findings, charts, and charts of several runs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from offscript.experiments.reproduce import Reproduction
from offscript.measures.charts import SCHEMA, Chart, Specification, bar_chart, curve_chart
from offscript.measures.measurement import Measurement
from offscript.measures.question import Finding, Question
from offscript.measures.registry import questions
from offscript.measures.words import with_interval
from offscript.report.vega import stacked
from offscript.statistics import holm

_TOGETHER = 5  # curves that one chart shows together

Runs = Mapping[str, Mapping[str, Measurement]]
"""By label: one run's figures, by `QUESTION.NAME`."""


def known_question(name: str) -> Question[Any]:
    """The question of that name; figures of one that is not installed here are listed and drawn plainly."""
    return questions().get(name) or Question()


def in_words(entry: Measurement) -> str:
    """A figure's name as a sentence says it; its key where its question has no words for it."""
    words = known_question(entry.question).in_words(entry.name)
    return f"{entry.question}.{entry.name}" if words == entry.name else words


def findings_of(answers: Mapping[str, Sequence[Measurement]]) -> dict[str, Finding | None]:
    """What each question of one page found, by its name; None where it has no figures.

    The p-values of all tests on the page are corrected together (Holm), so that a page on which nothing is wrong says
    *found* at most once in twenty times, however many questions it asks.
    """
    found = findings_of_models([answers])
    return {name: findings[0] for name, findings in found.items()}


def findings_of_models(models: Sequence[Mapping[str, Sequence[Measurement]]]) -> dict[str, list[Finding | None]]:
    """What each question of one page found about each of several models; all tests are corrected together.

    Args:
        models: for each model the figures by question.

    Returns:
        By question one finding per model, None where a model has no figures.
    """
    named = list(dict.fromkeys(name for answers in models for name in answers))
    figures = {
        (name, place): {entry.name: entry for entry in answers.get(name, ())}
        for name in named
        for place, answers in enumerate(models)
    }
    lacking = {key: _lacking(key[0], own) for key, own in figures.items()}
    decided = {key: own for key, own in figures.items() if lacking[key] is None}
    tests = {(key, test): p for key, own in decided.items() for test, p in known_question(key[0]).tests(own).items()}
    corrected = dict(zip(tests, holm(np.array(list(tests.values()))).tolist(), strict=True))

    def finding(key: tuple[str, int]) -> Finding | None:
        p_values = {test: p for (asked, test), p in corrected.items() if asked == key}
        return known_question(key[0]).conclude(decided[key], p_values) if decided.get(key) else lacking[key]

    return {name: [finding((name, place)) for place in range(len(models))] for name in named}


def _lacking(name: str, figures: Mapping[str, Measurement]) -> Finding | None:
    """What is said where some figures were measured, but not those that the conclusion rests on."""
    missing = [figure for figure in known_question(name).rests_on if figure not in figures]
    if not figures or not missing:
        return None
    listed = "; ".join(f"{entry.name} {with_interval(entry)}" for entry in figures.values())
    return Finding(f"{' and '.join(missing)} cannot be computed", f"Known are: {listed}.", "cannot tell")


def finding_of(name: str, measurements: Sequence[Measurement]) -> Finding | None:
    """What a question found on a page of its own."""
    return findings_of({name: measurements})[name]


def charts_of(name: str, measurements: Sequence[Measurement], exhibits: Sequence[dict[str, Any]] = ()) -> list[Chart]:
    """A question's charts, those among its exhibits included."""
    drawn = [(exhibit["title"], exhibit["spec"]) for exhibit in exhibits if exhibit["kind"] == "chart"]
    return [*known_question(name).charts(measurements), *drawn]


def charts_of_runs(name: str, runs: Runs) -> list[Chart]:
    """Charts of the figures that a question is compared by, where two runs or more have them."""
    charts: list[Chart] = []
    bars: dict[str, dict[str, Measurement]] = {}
    for compared in known_question(name).compared:
        entries = _having(f"{name}.{compared.name}", runs)
        curves = {label: entry.by_position for label, entry in entries.items() if entry.by_position is not None}
        title = compared.title or known_question(name).in_words(compared.name)
        if len(curves) > 1:
            chart = curve_chart(curves, x="length", y=title, reference=compared.reference)
            drawn = chart if len(curves) <= _TOGETHER else small_multiples(chart)
            charts.append((f"{title} by length", drawn))
        elif len(entries) > 1:
            bars[title] = entries
    if bars:
        charts.append(("Figures side by side, with intervals", bar_chart(bars, y="value")))
    return charts


def small_multiples(chart: Specification) -> Specification:
    """A chart of many lines as one small chart per line, all with the same axes."""
    inner = {"width": 170, "height": 110, "layer": chart["layer"]}
    facet = {"field": "series", "type": "nominal", "title": None, "sort": None}
    return {"$schema": SCHEMA, "data": chart["data"], "facet": facet, "columns": 3, "spec": inner}


def charts_of_reproduction(reproduction: Reproduction) -> dict[str, Specification]:
    """By name: `VARIANT.QUESTION` and, of several variants together, `QUESTION`; `GROUP.FIRST~SECOND`."""
    groups, charts = reproduction.groups, {}
    for name in dict.fromkeys(entry.question for entry in reproduction.figures.values()):
        if together := charts_of_runs(name, groups):
            charts[name] = stacked(together)
        for group, figures in groups.items():
            own = [entry for entry in figures.values() if entry.question == name]
            if name == "correlation":
                charts |= {f"{group}.{entry.name}": scatter_chart(entry) for entry in own}
            elif own and (alone := charts_of(name, own)):
                charts[f"{group}.{name}"] = stacked(alone)
    return charts


def scatter_chart(correlation: Measurement) -> Specification:
    """The runs behind a correlation, coloured by variant; the correlation itself is the title (Table 4's plots)."""
    x, y = correlation.name.split("~")
    encoding = {"x": _axis(x), "y": _axis(y), "color": {"field": "variant", "type": "nominal", "sort": None}}
    return {
        "$schema": SCHEMA,
        "title": f"correlation {with_interval(correlation)}",
        "width": "container",
        "height": 380,
        "data": {"values": correlation.recipe["table"]},
        "mark": {"type": "point", "filled": True, "size": 70, "tooltip": {"content": "data"}},
        "encoding": encoding,
    }


def _axis(figure: str) -> Specification:
    return {"field": figure, "type": "quantitative", "title": figure, "scale": {"zero": False}}


def _having(figure: str, runs: Runs) -> dict[str, Measurement]:
    entries = {label: figures[figure] for label, figures in runs.items() if figure in figures}
    return {label: entry for label, entry in entries.items() if math.isfinite(entry.value)}
