"""Exhibits as the page shows them, by their kind; no question is known here.

| kind | shows |
|---|---|
| `texts` | columns of plain texts |
| `tokens` | columns of texts with every token coloured by a value, and its alternatives on demand |
| `map` | rows by positions as a heat map with the texts behind it |
| `statements` | texts with a verdict each, and the evidence on demand |
| `pairs` | pairs of texts with their probabilities as bars |
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from offscript.measures.words import number, short_name
from offscript.report.rendering import inert

_RIBBON = 24.0  # height of a ribbon, in its own units


def views_of(exhibits: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the templates show; kinds that are not known here are left out."""
    return [_VIEWS[exhibit["kind"]](exhibit) for exhibit in exhibits if exhibit["kind"] in _VIEWS]


def level(value: float | str, full: float) -> float:
    """How much of the colour a value has: 0 to 1, to three decimals."""
    share = float(value) / full
    return round(min(max(share, 0.0), 1.0), 3) if not math.isnan(share) else 0.0


def _tokens(exhibit: Mapping[str, Any]) -> dict[str, Any]:
    measures = list(exhibit["measures"])
    texts = [text for column in exhibit["columns"] for text in column["texts"]]
    highest = max((abs(float(value)) for text in texts for value in text["running"] if _finite(value)), default=1.0)
    columns = [
        {
            "title": short_name(column["title"]),
            "texts": [_token_text(text, measures[0], highest) for text in column["texts"]],
        }
        for column in exhibit["columns"]
    ]
    data = {
        "models": [short_name(name) for name in exhibit["models"]],
        "measures": measures,
        "words": exhibit["words"],
        "texts": [
            {key: text[key] for key in ("pieces", "values", "running", "alternatives", "probabilities")}
            for text in texts
        ],
    }
    legend = {"label": measures[0]["label"], "unit": measures[0]["unit"], "top": number(float(measures[0]["scale"]))}
    return {**exhibit, "columns": columns, "data": inert(data), "legend": legend}


def _token_text(text: Mapping[str, Any], measure: Mapping[str, Any], highest: float) -> dict[str, Any]:
    values = text["values"][measure["name"]]
    levels = [level(value, float(measure["scale"])) for value in values]
    focus = text.get("focus")
    spans = [
        {"text": piece, "level": share, "focus": place == focus}
        for place, (piece, share) in enumerate(zip(text["pieces"], levels, strict=True))
    ]
    last = text["running"][-1] if text["running"] else 0.0
    return {
        "label": text.get("label", ""),
        "spans": spans,
        "ribbon": _ribbon(text["running"], highest),
        "total": number(float(last)),
        "cut_before": bool(text.get("cut_before")),
        "cut_after": bool(text.get("cut_after")),
    }


def _ribbon(running: Sequence[float | str], highest: float) -> str:
    """The running sum as the outline of an area, from left to right in 0 … 100."""
    if not running:
        return ""
    low = min(0.0, *(float(value) for value in running if _finite(value)))
    spread = (highest - low) or 1.0
    points = [min(max((float(value) - low) / spread, 0.0), 1.0) for value in running]
    step, base = 100 / len(points), _RIBBON * (1 + low / spread)
    steps = "".join(
        f"L{place * step:.2f} {_RIBBON * (1 - share):.2f}L{(place + 1) * step:.2f} {_RIBBON * (1 - share):.2f}"
        for place, share in enumerate(points)
    )
    return f"M0 {base:.2f}{steps}L100 {base:.2f}Z"


def _map(exhibit: Mapping[str, Any]) -> dict[str, Any]:
    rows, columns = (int(size) for size in exhibit["shape"])
    measure = exhibit["measure"]
    data = {key: exhibit[key] for key in ("shape", "levels", "starts", "words", "texts")}
    return {
        **exhibit,
        "rows": rows,
        "columns": columns,
        "data": inert(data),
        "bound": number(float(exhibit["bound"])),
        "bound_of": exhibit.get("bound_of", "real text"),
        "legend": {"label": measure["label"], "unit": measure["unit"], "top": number(float(measure["scale"]))},
        "summary": [
            {"tokens": row["tokens"], "mean": number(float(row["mean"])), "bad": f"{float(row['bad']):.1%}"}
            for row in exhibit["summary"]
        ],
    }


def _statements(exhibit: Mapping[str, Any]) -> dict[str, Any]:
    return {**exhibit}


def _pairs(exhibit: Mapping[str, Any]) -> dict[str, Any]:
    groups = [
        {
            "title": group["title"],
            "pairs": [
                {**pair, "bars": [{**side, "width": level(side["share"], 1.0)} for side in pair["sides"]]}
                for pair in group["pairs"]
            ],
        }
        for group in exhibit["groups"]
    ]
    return {**exhibit, "groups": groups}


def _plain(exhibit: Mapping[str, Any]) -> dict[str, Any]:
    return {**exhibit}


def _finite(value: float | str) -> bool:
    return math.isfinite(float(value))


_VIEWS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "texts": _plain,
    "tokens": _tokens,
    "map": _map,
    "statements": _statements,
    "pairs": _pairs,
}
