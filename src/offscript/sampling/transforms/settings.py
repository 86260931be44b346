"""The settings of a transform: which values each may take, and one clear line for every other."""

import math
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from offscript.errors import OffscriptError


@dataclass(frozen=True)
class Range:
    """Numbers from `lower` to `upper`; `letter` is the thesis's name for a setting that is spelled out here."""

    lower: float
    upper: float = math.inf
    includes_lower: bool = False
    includes_upper: bool = True
    whole: bool = False
    letter: str = ""

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return False
        above = value >= self.lower if self.includes_lower else value > self.lower
        below = value <= self.upper if self.includes_upper else value < self.upper
        return above and below and math.isfinite(value)

    def describe(self, name: str) -> str:
        """`0 < p <= 1`, as in an error message."""
        kind = ", a whole number" if self.whole else ""
        below = f" {'<=' if self.includes_upper else '<'} {self.upper:g}" if math.isfinite(self.upper) else ""
        return f"{self.lower:g} {'<=' if self.includes_lower else '<'} {name}{below}{kind}"


def ranges(transform: type[Any]) -> dict[str, Range]:
    """The range of every setting of a transform, in the order of its settings."""
    hints = get_type_hints(transform, include_extras=True)
    return {field.name: hints[field.name].__metadata__[0] for field in fields(transform)}


def check_settings(transform: Any) -> None:
    """Refuse a transform whose settings are out of range."""
    for name, allowed in ranges(type(transform)).items():
        value = getattr(transform, name)
        if value not in allowed:
            raise OffscriptError(f"{transform.name} with {name}={value!r}", next=f"it takes {allowed.describe(name)}")
