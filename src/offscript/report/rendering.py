"""What every page is made with: templates that escape, one style, and charts that open offline."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, select_autoescape
from markupsafe import Markup

from offscript import __version__
from offscript.measures.charts import Chart
from offscript.measures.measurement import Measurement, number_to_json
from offscript.measures.signature import signature
from offscript.measures.words import number, short_name, with_interval
from offscript.report.vega import vega_script

_TEMPLATES = Path(__file__).parent / "templates"
_STYLES, _SCRIPTS = ("page.css", "exhibits.css"), ("exhibits.js", "page.js")


def render(template: str, *, charts: bool, **values: Any) -> str:
    """A template with the page's style and, where there are charts, the script that draws them."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number,
        "short_name": short_name,
        "with_interval": with_interval,
        "place": place_of,
        "signature": cited,
    }
    return environment.get_template(template).render(
        version=__version__,
        style=Markup("").join(map(_part, _STYLES)),
        vega=Markup(vega_script()) if charts else None,
        scripts=[_part(name) for name in (*_SCRIPTS, *(["charts.js"] if charts else []))],
        **values,
    )


def _part(name: str) -> Markup:
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def grouped(charts: Sequence[Chart]) -> list[dict[str, Any]]:
    """Charts in groups of which one is shown at a time; most are alone."""
    groups: dict[str, dict[str, Any]] = {}
    for place, (title, spec) in enumerate(charts):
        choice = spec.get("usermeta", {})
        group = groups.setdefault(choice.get("group", f"{place} {title}"), {"title": choice.get("group"), "charts": []})
        group["charts"].append({"title": title, "choice": choice.get("choice", title), "spec": inert(spec)})
    return list(groups.values())


def place_of(entry: Measurement) -> str:
    """The id of a figure's row, which a link may name."""
    return "_".join(f"{entry.question}.{entry.name}".split())


def cited(entry: Measurement) -> str:
    """A figure as it can be cited: its name, value and interval, and its signature, which reproduces it."""
    return f"{entry.question}.{entry.name} {with_interval(entry)} {signature(entry)}"


def flat(entry: Measurement) -> dict[str, Any]:
    """A figure as a row of a table for download."""
    return {
        "question": entry.question,
        "name": entry.name,
        "value": number_to_json(entry.value),
        "lower": number_to_json(entry.interval.lower),
        "upper": number_to_json(entry.interval.upper),
        "level": entry.interval.level,
        "method": entry.interval.method,
        "n": entry.n,
        "seed": entry.seed,
        "recipe": entry.recipe_hash,
    }


def inert(specification: Any) -> Markup:
    """JSON that no text inside it can end: `<`, `>` and `&` are written as escapes."""
    text = json.dumps(specification, ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
