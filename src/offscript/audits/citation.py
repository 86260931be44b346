"""Figures that somebody cited, found again among stored results."""

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from offscript.audits.audit import Record, read_record
from offscript.audits.store import read_document, read_results
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement


class Stored(NamedTuple):
    """A figure, its results file, and where an audit measured it the audit and the question's settings."""

    results: Path
    entry: Measurement
    record: Record | None
    settings: Mapping[str, Any]


def figure_of(fits: Callable[[Measurement], bool], runs: Path) -> Stored:
    """The newest stored figure that fits, in a folder or up to three folders below it.

    Args:
        fits: Says whether a figure is meant.
        runs: Where to look.

    Returns:
        The figure and where it is stored.
    """
    places = [path for depth in range(4) for path in runs.glob("*/" * depth + "results_*.json")]
    for path in sorted(places, key=lambda path: path.name, reverse=True):
        with contextlib.suppress(OffscriptError):  # not a file of ours, or damaged
            for entry in read_results(path):
                if fits(entry):
                    record = read_record(path) if read_document(path).audit is not None else None
                    sections = () if record is None else record.answers
                    asked = next((each.settings for each in sections if entry in each.measurements), {})
                    return Stored(path, entry, record, asked)
    raise OffscriptError(
        f"no results below {runs} hold that figure", next="name the folder of the run with --runs, or measure it again"
    )
