"""Templates become pages. Whatever is put into one is escaped; style and colours are the report's."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from offscript import __version__, report
from offscript.web.claims import LONGEST_CLAIM

_HERE = Path(__file__).parent
_REPORT = Path(report.__file__).parent
STATIC_FILES = {
    "page.css": (_REPORT / "templates" / "page.css", "text/css"),
    "web.css": (_HERE / "static" / "web.css", "text/css"),
    "web.js": (_HERE / "static" / "web.js", "text/javascript"),
    "icon.svg": (_HERE / "static" / "icon.svg", "image/svg+xml"),
}


def render(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A page; text that is no valid Unicode is shown with replacement characters."""
    common = {"version": __version__, "longest_claim": LONGEST_CLAIM, "audits": request.app.state.audits is not None}
    text = _environment().get_template(template).render(**common, **values)
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
