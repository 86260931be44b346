"""Geometry of the drawings. The templates write it as SVG, so that a page shows them without any script."""

import math
from collections.abc import Mapping
from typing import NamedTuple

_WHOLE = 0.9999  # an arc from a point to itself would draw nothing
_RINGS = 4
_ROUND = (1.0, 2.0, 5.0)  # tops of a scale that can be labelled
WIDTH, HEIGHT = 320.0, 200.0
SMALLEST, LARGEST = 11.0, 30.0
MOST_WORDS = 36
LONGEST_WORD = 24
_LETTER, _LINE = 0.72, 1.15  # of the font size: a letter of bold text, safe for common fonts, and a line
_SPIRAL_STEPS = 700


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
    rings = [_points([(ring / _RINGS, turn) for turn in turns]) for ring in range(1, _RINGS + 1)]
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
    return next((step * power for step in _ROUND if step * power >= score), 10 * power)


def _points(places: list[tuple[float, float]]) -> str:
    return " ".join("{:.4f},{:.4f}".format(*_place(radius, turn)) for radius, turn in places)


def _place(radius: float, turn: float) -> tuple[float, float]:
    return (round(radius * math.sin(2 * math.pi * turn), 4), round(-radius * math.cos(2 * math.pi * turn), 4))


class PlacedWord(NamedTuple):
    """A word by the middle of its base line's box."""

    word: str
    times: int
    across: float
    down: float
    size: float


def place_words(counts: Mapping[str, int]) -> list[PlacedWord]:
    """The most frequent words without overlap, found along a spiral; what finds no room is left out."""
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:MOST_WORDS]
    placed: list[PlacedWord] = []
    for word, count in ranked:
        shown = word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"
        size = _size(count, ranked[0][1])
        found = _free_place(shown, size, placed)
        if found is not None:
            placed.append(PlacedWord(shown, count, *found, size))
    return placed


def _size(count: int, most: int) -> float:
    return round(SMALLEST + (LARGEST - SMALLEST) * math.sqrt(count / most) * min(1.0, 0.5 + most / 8), 1)


def _free_place(word: str, size: float, placed: list[PlacedWord]) -> tuple[float, float] | None:
    half_width, half_height = len(word) * size * _LETTER / 2, size * _LINE / 2
    for step in range(_SPIRAL_STEPS):
        turn, reach = step * 0.35, step / _SPIRAL_STEPS
        across = WIDTH / 2 * (1 + reach * math.cos(turn))
        down = HEIGHT / 2 * (1 + reach * math.sin(turn))
        inside = half_width <= across <= WIDTH - half_width and half_height <= down <= HEIGHT - half_height
        if inside and not any(_overlap(across, down, half_width, half_height, other) for other in placed):
            return round(across, 1), round(down, 1)
    return None


def _overlap(across: float, down: float, half_width: float, half_height: float, other: PlacedWord) -> bool:
    reach_across = half_width + len(other.word) * other.size * _LETTER / 2
    reach_down = half_height + other.size * _LINE / 2
    return abs(across - other.across) < reach_across and abs(down - other.down) < reach_down
