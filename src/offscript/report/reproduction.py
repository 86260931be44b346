"""A paper's table or figure, drawn: the curves of its variants, and its correlations as scatter plots."""

from offscript.audits.reproduce import Reproduction
from offscript.report.charts.by_question import charts_of
from offscript.report.charts.curves import Specification
from offscript.report.charts.runs import charts_of_runs
from offscript.report.charts.scatter import scatter_chart
from offscript.report.vega import stacked


def charts_of_reproduction(found: Reproduction) -> dict[str, Specification]:
    """By name: `VARIANT.QUESTION` and, of several variants together, `QUESTION`; `GROUP.FIRST~SECOND`."""
    groups, charts = found.groups, {}
    for question in dict.fromkeys(entry.question for entry in found.figures.values()):
        if together := charts_of_runs(question, groups):
            charts[question] = stacked(together)
        for group, figures in groups.items():
            own = [entry for entry in figures.values() if entry.question == question]
            if question == "correlation":
                charts |= {f"{group}.{entry.name}": scatter_chart(entry) for entry in own}
            elif alone := charts_of(question, own):
                charts[f"{group}.{question}"] = stacked(alone)
    return charts
