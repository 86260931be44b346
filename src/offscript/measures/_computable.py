"""Figures that cannot be computed: an infinite one, or one whose interval has no width, leaves as a reason instead."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from offscript.measures.words import number

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.measures.question import Answer

TITLE = "Cannot be computed"
ROUNDING = 1e-9
"""An interval whose width is no larger part of its bounds has no width: sums differ so much by rounding."""

Reason = Callable[["Measurement", "Mapping[str, Measurement]"], str]
"""Why a figure cannot be computed, given all figures of its answer by name."""


def is_computed(entry: "Measurement") -> bool:
    """Whether a figure has a finite interval of some width, or was found by enumeration, which leaves no doubt."""
    if entry.interval.method == "exact":
        return True
    lower, upper = entry.interval.lower, entry.interval.upper
    if not all(math.isfinite(bound) for bound in (entry.value, lower, upper)):
        return False
    return upper - lower > ROUNDING * max(abs(lower), abs(upper))


def plain_reason(entry: "Measurement") -> str:
    """Why such a figure cannot be computed, as far as it shows in the figure itself."""
    if math.isinf(entry.value):
        return "it is infinite: something impossible was seen, or what it is divided by is zero"
    if math.isinf(entry.interval.lower) or math.isinf(entry.interval.upper):
        return f"these {entry.n:,} samples do not bound it"
    return f"it is {number(entry.value)} however the {entry.n:,} samples are drawn again: nothing tells how it varies"


def is_finite(entry: "Measurement") -> bool:
    """Whether a figure and its interval are finite, or it was found by enumeration."""
    numbers = (entry.value, entry.interval.lower, entry.interval.upper)
    return entry.interval.method == "exact" or all(map(math.isfinite, numbers))


def computed(answer: "Answer", reason: Reason, *, constants: bool = False) -> "Answer":
    """The answer without figures that cannot be computed, which an exhibit and a table list with their reasons.

    Args:
        answer: What a question measured.
        reason: Why a figure cannot be computed.
        constants: Whether finite figures whose interval has no width stay: a stereotype score of 100 is a figure, but
            no page may conclude anything from its interval.

    Returns:
        The answer itself where every figure can be.
    """
    from offscript.measures.question import Table

    figures = {entry.name: entry for entry in answer.measurements}
    stays = is_finite if constants else is_computed
    reasons = {name: reason(entry, figures) for name, entry in figures.items() if not stays(entry)}
    if not reasons:
        return answer
    texts = [f"{name}: {why}" for name, why in reasons.items()]
    exhibit = {"kind": "texts", "title": TITLE, "columns": [{"title": "Figure, and why", "texts": texts}]}
    rows = [{"figure": name, "cannot be computed": why} for name, why in reasons.items()]
    return replace(
        answer,
        measurements=[entry for entry in answer.measurements if entry.name not in reasons],
        exhibits=[*answer.exhibits, exhibit],
        details={**answer.details, "cannot_be_computed": reasons},
        tables=[*answer.tables, Table(rows)],
    )
