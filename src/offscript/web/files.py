"""Templates and static files of the pages; importing this imports no measure and no model."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

_HERE = Path(__file__).parent
STATIC_FILES = {
    "page.css": (_HERE.parent / "report" / "templates" / "page.css", "text/css"),
    "web.css": (_HERE / "static" / "web.css", "text/css"),
    "web.js": (_HERE / "static" / "web.js", "text/javascript"),
    "study.css": (_HERE / "static" / "study.css", "text/css"),
    "study.js": (_HERE / "static" / "study.js", "text/javascript"),
    "icon.svg": (_HERE / "static" / "icon.svg", "image/svg+xml"),
}


@cache
def environment() -> Environment:
    """The templates, all values escaped."""
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


async def static(name: str) -> Response:
    """Style, script and icon; no other file can be asked for."""
    if name not in STATIC_FILES:
        raise HTTPException(404)
    path, kind = STATIC_FILES[name]
    return FileResponse(path, media_type=kind, headers={"cache-control": "max-age=3600"})
