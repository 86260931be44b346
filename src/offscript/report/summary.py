"""A run or a comparison as Markdown, for places such as a GitHub step summary."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from offscript import _files
from offscript.audits.audit import Record
from offscript.audits.comparison import Comparison
from offscript.audits.gates import GateResult
from offscript.measures.words import with_interval
from offscript.report.comparison import tally
from offscript.report.figures import findings_of

_MARKUP = re.compile(r"([\\`*_\[\]|~$])")
_SIGNS = {"fine": "✅", "found": "⚠️", "cannot tell": "❔", "for information": "ℹ️"}


def add_summary(path: Path, text: str) -> None:
    """Put a summary behind what the file holds already, as steps of one job share a file."""
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    _files.write_text(path, f"{before}{text}")


def audit_summary(record: Record, results: Sequence[GateResult] = ()) -> str:
    """Findings, gates and what was left out; every figure in a part that unfolds."""
    return "\n".join(
        [
            f"## offscript audit of {plain(record.model)}",
            "",
            *_gates(results),
            *_table(("", "question", "found"), _findings(record)),
            "",
            *_unfolding("All figures", _table(("figure", "value", "n"), _figures(record))),
            "",
        ]
    )


def comparison_summary(comparison: Comparison, results: Mapping[str, Sequence[GateResult]]) -> str:
    """How many figures of each run differ from the first's, and those whose difference is real."""
    first, *others = comparison.runs
    rows = [
        (each.verdict, plain(each.run), plain(each.figure), *map(with_interval, (each.first, each.second)),
         with_interval(each.difference))
        for each in comparison.real
    ]  # fmt: skip
    headings = ("", "run", "figure", "first", "the run", "difference")
    return "\n".join(
        [
            f"## offscript comparison with {plain(first.label)}",
            "",
            *(line for of_run in results.values() for line in _gates(of_run)),
            *(f"- {plain(run.label)}: {tally(comparison, run.label)}" for run in others),
            "",
            *(_table(headings, rows) if rows else ["No figure differs by more than chance."]),
            "",
        ]
    )


def plain(text: str) -> str:
    """Text that Markdown and HTML show as it is, on one line."""
    escaped = _MARKUP.sub(r"\\\1", " ".join(text.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _gates(results: Sequence[GateResult]) -> list[str]:
    lines = [f"- {'❌' if each.failed else '✅'} {plain(str(each.gate))}: {plain(str(each))}" for each in results]
    return [*lines, ""] if lines else []


def _findings(record: Record) -> Iterator[tuple[str, ...]]:
    findings = findings_of({answer.name: answer.measurements for answer in record.answers})
    for answer in record.answers:
        if (finding := findings[answer.name]) is not None:
            told = f"**{plain(finding.headline)}.** {plain(finding.sentence)}"
            yield _SIGNS[finding.status], plain(answer.title), told
    for title, reason in record.left_out:
        yield "–", plain(title), f"Skipped: {plain(reason)}"


def _figures(record: Record) -> Iterator[tuple[str, ...]]:
    for answer in record.answers:
        for entry in answer.measurements:
            yield plain(f"{entry.question}.{entry.name}"), plain(with_interval(entry)), str(entry.n)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]] | Iterator[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows)]


def _unfolding(title: str, lines: list[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>"]
