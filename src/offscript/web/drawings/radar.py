"""A radar of the language scores."""

import math
from collections.abc import Mapping
from typing import NamedTuple

RINGS = 4
_STEPS = (1.0, 2.0, 5.0)


class Axis(NamedTuple):
    """A spoke of length 1, its score, and the place of its label."""

    name: str
    score: float
    end: tuple[float, float]
    label: tuple[float, float]
    anchor: str


class Radar(NamedTuple):
    """Polygons as SVG points around the origin; the outermost ring stands for the score `top`."""

    axes: list[Axis]
    rings: list[str]
    shape: str
    top: float


def draw_radar(scores: Mapping[str, float]) -> Radar | None:
    """The radar of at least three scores; with fewer there is no shape to see."""
    if len(scores) < 3:
        return None
    top = _round_up(max(scores.values()))
    turns = [number / len(scores) for number in range(len(scores))]
    axes = [_axis(name, score, turn) for (name, score), turn in zip(scores.items(), turns, strict=True)]
    rings = [_points([(ring / RINGS, turn) for turn in turns]) for ring in range(1, RINGS + 1)]
    shape = _points([(min(score / top, 1.0), turn) for score, turn in zip(scores.values(), turns, strict=True)])
    return Radar(axes, rings, shape, top)


def _axis(name: str, score: float, turn: float) -> Axis:
    across, down = _place(1.0, turn)
    anchor = "middle" if abs(across) < 0.01 else "start" if across > 0 else "end"
    return Axis(name, score, (across, down), _place(1.14, turn), anchor)


def _round_up(score: float) -> float:
    """The next of 1, 2, 5, 10, … per cent or thousandths, so that the ring can be labelled."""
    if not score > 0:
        return 0.01
    power = 10.0 ** math.floor(math.log10(score))
    return next((step * power for step in _STEPS if step * power >= score), 10 * power)


def _points(places: list[tuple[float, float]]) -> str:
    return " ".join("{:.4f},{:.4f}".format(*_place(radius, turn)) for radius, turn in places)


def _place(radius: float, turn: float) -> tuple[float, float]:
    return (round(radius * math.sin(2 * math.pi * turn), 4), round(-radius * math.cos(2 * math.pi * turn), 4))
