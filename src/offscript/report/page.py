"""One audit, one page: self-contained HTML that opens offline."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from offscript import _files
from offscript.audits.against import AGAINST
from offscript.audits.audit import Record, Section
from offscript.audits.store import explaining_results
from offscript.measures.question import Finding
from offscript.report.exhibits import views_of
from offscript.report.figures import charts_of, findings_of
from offscript.report.glossary import glossary, terms_in
from offscript.report.rendering import flat, grouped, inert, render
from offscript.report.scorecard import Row, counted, drawing_of, in_order


def write_page(record: Record, path: Path) -> None:
    """Render the record and write it whole.

    Args:
        record: What an audit stored, from `run_audit` or `read_record`.
        path: The HTML file.
    """
    _files.write_text(path, render_page(record))


def render_page(record: Record) -> str:
    """The page as text. Whatever came from a model or a file is escaped; a record that lacks figures is refused."""
    with explaining_results(record.results):
        return _rendered(record)


def _rendered(record: Record) -> str:
    findings = findings_of({answer.name: answer.measurements for answer in record.answers})
    sections = [section_of(answer, record, findings[answer.name]) for answer in record.answers]
    rows = in_order([row for answer in record.answers if (row := _row(answer, findings[answer.name])) is not None])
    charts = any(section["charts"] for section in sections)
    return render(
        "audit.html.j2",
        charts=charts,
        record=record,
        sections=sections,
        rows=rows,
        counts=counted(rows),
        glossary=glossary(),
        figures=inert([flat(entry) for answer in record.answers for entry in answer.measurements]),
    )


def _row(answer: Section, finding: Finding | None) -> Row | None:
    if finding is None:
        return None
    figures = {entry.name: entry for entry in answer.measurements}
    return Row(answer.name, answer.title, finding, drawing_of(answer.name, figures))


def section_of(answer: Section, record: Record, finding: Finding | None) -> dict[str, Any]:
    """One question as the templates show it."""
    recipes = {entry.recipe_hash: entry.recipe for entry in answer.measurements}
    charts = charts_of(answer.name, answer.measurements, answer.exhibits)
    said = [] if finding is None else [str(finding)]
    return {
        "name": answer.name,
        "title": answer.title,
        "finding": finding,
        "status": None if finding is None else finding.status,
        "measurements": answer.measurements,
        "charts": grouped(charts),
        "exhibits": views_of(answer.exhibits),
        "terms": terms_in([answer.title, *said, *(title for title, _ in charts)]),
        "recipes": [json.dumps(recipe, indent=2, ensure_ascii=False) for recipe in recipes.values()],
        "command": command_for(record, answer.name, answer.settings),
    }


def command_for(record: Record, question: str, settings: Mapping[str, Any] | None = None) -> str:
    """The command that answers one question of this audit again.

    Args:
        record: The audit.
        question: The question's name.
        settings: What it was asked with; named in the command where its sizes were planned by the pace of a large
            model, since a question that is asked alone would have more time.

    Returns:
        A line for a shell.
    """
    words = ["offscript", "audit", record.model]
    if record.oracle is not None:
        words += ["--oracle", record.oracle]
    for source in record.corpus:
        words += ["--corpus", source]
    if record.config.get(AGAINST) is not None:
        words += ["--against", record.config[AGAINST]["model"]]
    if record.config.get("associations") is not None:
        words += ["--associations", record.config["associations"]]
    words += ["--only", question, "--budget", str(record.config["budget"]), "--seed", str(record.config["seed"])]
    if record.config.get("pace") is not None:
        words += ["--pace", f"{record.config['pace']:g}"]
        for name, value in (settings or {}).items():
            words += ["--set", f"{question}.{name}={json.dumps(value, ensure_ascii=False)}"]
    words += ["--length", str(record.config["length"]), "--limit", str(record.config["samples"])]
    return shlex.join(words)
