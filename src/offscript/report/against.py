"""Two models, one page: every figure of both, what differs by more than chance, and where the two part."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from offscript import _files
from offscript.audits.against import Against
from offscript.audits.audit import Record, Section
from offscript.measures.question import Finding, Need
from offscript.report.comparison import render_comparison
from offscript.report.figures import finding_of, findings_of_models, known_question
from offscript.report.page import command_for, section_of
from offscript.report.scorecard import drawing_of


def write_against(against: Against, path: Path) -> None:
    """Render both audits and their comparison, and write them whole.

    Args:
        against: What `run_against` or `read_against` gave.
        path: The HTML file.
    """
    _files.write_text(path, render_against(against))


def render_against(against: Against) -> str:
    """The page as text. Whatever came from a model or a file is escaped."""
    return render_comparison(
        against.comparison,
        pair=[_pair_section(answer, against.record) for answer in pair_answers(against.record)],
        findings=_findings(against),
        command=audit_command(against.record),
    )


def pair_answers(record: Record) -> list[Section]:
    """The answers of questions about two models together."""
    return [answer for answer in record.answers if Need.against in known_question(answer.name).needs]


def audit_command(record: Record) -> str:
    """The command that makes the page again."""
    words = shlex.split(command_for(record, ""))
    place = words.index("--only")
    return shlex.join([*words[:place], *words[place + 2 :]])


def _pair_section(answer: Section, record: Record) -> dict[str, Any]:
    finding, figures = (
        finding_of(answer.name, answer.measurements),
        {entry.name: entry for entry in answer.measurements},
    )
    drawing = drawing_of(answer.name, figures)
    return {**section_of(answer, record, finding), "drawings": [] if drawing is None else [drawing], "rows": []}


def _findings(against: Against) -> dict[str, Sequence[tuple[str, Finding]]]:
    """What each question found about the base and about the model."""
    labels = [run.label for run in against.comparison.runs]
    answers = [
        {answer.name: answer.measurements for answer in record.answers} for record in (against.base, against.record)
    ]
    return {
        name: [(label, finding) for label, finding in zip(labels, findings, strict=True) if finding is not None]
        for name, findings in findings_of_models(answers).items()
    }
