"""What every page is made with: templates that escape, one style, and charts that open offline."""

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, select_autoescape
from markupsafe import Markup

from offscript import __version__
from offscript.measures.words import number, with_interval
from offscript.report.vega import vega_script

_TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, *, charts: bool, **values: Any) -> str:
    """A template with the page's style and, where there are charts, the script that draws them."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "with_interval": with_interval}
    return environment.get_template(template).render(
        version=__version__,
        style=Markup((_TEMPLATES / "page.css").read_text(encoding="utf-8")),
        vega=Markup(vega_script()) if charts else None,
        drawing=Markup((_TEMPLATES / "charts.js").read_text(encoding="utf-8")),
        **values,
    )


def inert(specification: dict[str, Any]) -> Markup:
    """JSON that no text inside it can end: `<`, `>` and `&` are written as escapes."""
    text = json.dumps(specification, ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
