"""Figures in words: numbers with their intervals, and a verdict a question."""

import math
from collections.abc import Callable, Sequence

from offscript.measures.measurement import Measurement


def number(value: float) -> str:
    """Four digits that mean something."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}"


def with_interval(entry: Measurement) -> str:
    """`4.213 (95 %: 4.150 to 4.276)`; an exact figure says so."""
    if entry.interval.method == "exact":
        return f"{number(entry.value)} (exact)"
    bounds = f"{number(entry.interval.lower)} to {number(entry.interval.upper)}"
    return f"{number(entry.value)} ({entry.interval.level:.0%}: {bounds})"


def verdict(name: str, measurements: Sequence[Measurement]) -> str:
    """What a question found, in one plain sentence."""
    figures = {entry.name: entry for entry in measurements}
    if name in _VERDICTS and figures:
        return _VERDICTS[name](figures)
    return "; ".join(f"{entry.name} {with_interval(entry)}" for entry in measurements)


def _likelihood(figures: dict[str, Measurement]) -> str:
    return f"It predicts gold text with a perplexity of {with_interval(figures['ppl'])}."


_VERDICTS: dict[str, Callable[[dict[str, Measurement]], str]] = {"likelihood": _likelihood}
