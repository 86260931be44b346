"""A pie of the stances."""

import math
from collections.abc import Mapping
from typing import NamedTuple

_WHOLE = 0.9999  # an arc from a point to itself would draw nothing


class Slice(NamedTuple):
    """A slice of a circle of radius 1 around the origin, as an SVG path."""

    name: str
    share: float
    path: str

    @property
    def percent(self) -> int:
        """Rounded, for the label."""
        return round(100 * self.share)


def cut(shares: Mapping[str, float]) -> list[Slice]:
    """Slices clockwise from the top; names without a share are left out."""
    total = sum(shares.values())
    slices, start = [], 0.0
    for name, share in shares.items():
        if share > 0:
            slices.append(Slice(name, share / total, _path(start, min(share / total, _WHOLE))))
            start += share / total
    return slices


def _path(start: float, share: float) -> str:
    large = int(share > 0.5)
    return f"M0 0L{_on_circle(start)}A1 1 0 {large} 1 {_on_circle(start + share)}Z"


def _on_circle(turn: float) -> str:
    return f"{math.sin(2 * math.pi * turn):.4f} {-math.cos(2 * math.pi * turn):.4f}"
