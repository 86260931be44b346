"""Two figures over many training runs: a point a run (Table 4's plots)."""

from offscript.measures.measurement import Measurement
from offscript.report.charts.curves import SCHEMA, Specification
from offscript.report.words import with_interval

_TITLES = {
    "q_per_token": "exposure bias Q, nats a token",
    "nll_oracle": "oracle NLL, nats a token",
    "ppl": "perplexity",
}


def scatter_chart(correlation: Measurement) -> Specification:
    """The runs behind a correlation, coloured by variant; the correlation itself is the title."""
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
    title = _TITLES.get(figure, figure)
    return {"field": figure, "type": "quantitative", "title": title, "scale": {"zero": False}}
