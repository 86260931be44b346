"""Figures in words: numbers, numbers with their intervals, and the names of what was measured."""

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offscript.measures.measurement import Measurement
    from offscript.statistics import Estimate

_LOCAL = re.compile(r"[/~]|\.\.?[/\\]|[A-Za-z]:[/\\]")
_COMMON = ("model", "adapter", "data", "train.txt", "text.txt")  # last parts that say little


def number(value: float, decimals: int | None = None) -> str:
    """So many decimals, or four digits that mean something."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if decimals is None:
        if value == 0:
            return "0"
        decimals = min(max(0, 3 - math.floor(math.log10(abs(value)))), 6)
    return f"{value:,.{decimals}f}".replace("-", "−")


def with_interval(entry: "Measurement | Estimate") -> str:
    """`4.21 (95%: 4.15 to 4.28)`, two digits of the interval's width; an exact figure says so."""
    if entry.interval.method == "exact":
        return f"{number(entry.value)} (exact)"
    decimals = _decimals(entry.interval.upper - entry.interval.lower)
    value, low, high = (_signed(each, decimals) for each in (entry.value, entry.interval.lower, entry.interval.upper))
    return f"{value} ({entry.interval.level:.0%}: {low} to {high})"


def _signed(value: float, decimals: int | None) -> str:
    """A number, with a digit more where it would be rounded to a zero: on which side it lies decides findings."""
    if decimals is None or value == 0 or abs(value) > 0.5 * 10.0**-decimals:
        return number(value, decimals)
    return number(value, min(max(decimals, -math.floor(math.log10(abs(value)))), 6))


def p_value(p: float) -> str:
    """`p = 0.031`, or `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _decimals(width: float) -> int | None:
    """Decimals that show two digits of a width."""
    if not math.isfinite(width) or width <= 0:
        return None
    return min(max(0, 1 - math.floor(math.log10(width))), 6)


def short_name(name: str) -> str:
    """Paths of this machine by their last part, since a page is passed on; every other name as it is.

    Args:
        name: A model string, a corpus or the title of a column.

    Returns:
        What a heading shows; the commands on the page have the whole.
    """
    path, *settings = name.split(",")
    pairs = [setting.partition("=") for setting in settings]
    return ",".join([_last_part(path), *(f"{key}{equals}{_last_part(value)}" for key, equals, value in pairs)])


def _last_part(path: str) -> str:
    if not _LOCAL.match(path):
        return path
    parts = re.split(r"[/\\]+", path.rstrip("/\\"))
    return "/".join(parts[-2:] if parts[-1] in _COMMON else parts[-1:])
