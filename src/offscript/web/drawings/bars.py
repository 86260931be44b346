"""A bar divided by shares: verdicts and stances."""

from collections.abc import Mapping
from typing import NamedTuple


class Part(NamedTuple):
    """A part of a bar, in hundredths of its length."""

    name: str
    start: float
    width: float

    @property
    def percent(self) -> int:
        """Rounded, for the label."""
        return round(self.width)


def divide(shares: Mapping[str, float]) -> list[Part]:
    """One part a share, side by side in the order given; shares need not add up to one."""
    total = sum(shares.values()) or 1.0
    parts, start = [], 0.0
    for name, share in shares.items():
        parts.append(Part(name, round(start, 3), round(100 * share / total, 3)))
        start += 100 * share / total
    return parts
