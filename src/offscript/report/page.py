"""One audit, one page: self-contained HTML that opens offline."""

import json
import shlex
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, select_autoescape
from markupsafe import Markup

from offscript import __version__, _files
from offscript.audits.audit import Answered, Record
from offscript.report.charts.by_question import charts_of
from offscript.report.vega import vega_script
from offscript.report.words import number, verdict, with_interval

_TEMPLATES = Path(__file__).parent / "templates"


def write_page(record: Record, path: Path) -> None:
    """Render the record and write it whole."""
    _files.write_text(path, render_page(record))


def render_page(record: Record) -> str:
    """The page as text. Whatever came from a model or a file is escaped."""
    loader = FileSystemLoader(_TEMPLATES)
    environment = Environment(
        loader=loader, autoescape=select_autoescape(default=True), trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": number, "with_interval": with_interval}
    sections = [_section(answer, record) for answer in record.answers]
    charts = any(section["charts"] for section in sections)
    return environment.get_template("audit.html.j2").render(
        record=record,
        sections=sections,
        version=__version__,
        style=Markup((_TEMPLATES / "page.css").read_text(encoding="utf-8")),
        vega=Markup(vega_script()) if charts else None,
        drawing=Markup((_TEMPLATES / "charts.js").read_text(encoding="utf-8")),
    )


def _section(answer: Answered, record: Record) -> dict[str, Any]:
    recipes = {entry.recipe_hash: entry.recipe for entry in answer.measurements}
    return {
        "name": answer.name,
        "title": answer.title,
        "verdict": verdict(answer.name, answer.measurements),
        "measurements": answer.measurements,
        "charts": [
            {"title": title, "spec": _inert(spec)} for title, spec in charts_of(answer.name, answer.measurements)
        ],
        "exhibits": answer.exhibits,
        "recipes": [json.dumps(recipe, indent=2, ensure_ascii=False) for recipe in recipes.values()],
        "command": command_for(record, answer.name),
    }


def command_for(record: Record, question: str) -> str:
    """The command that answers one question of this audit again."""
    words = ["offscript", "audit", record.model]
    if record.oracle is not None:
        words += ["--oracle", record.oracle]
    for source in record.corpus:
        words += ["--corpus", source]
    if record.config.get("associations") is not None:
        words += ["--associations", record.config["associations"]]
    words += ["--only", question, "--budget", str(record.config["budget"]), "--seed", str(record.config["seed"])]
    words += ["--length", str(record.config["length"]), "--limit", str(record.config["samples"])]
    return shlex.join(words)


def _inert(specification: dict[str, Any]) -> Markup:
    """JSON that no text inside it can end: `<`, `>` and `&` are written as escapes."""
    text = json.dumps(specification, ensure_ascii=True)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
