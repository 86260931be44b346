"""A cloud of words, the frequent ones large and in the middle."""

import math
from collections.abc import Mapping
from typing import NamedTuple

WIDTH, HEIGHT = 320.0, 200.0
SMALLEST, LARGEST = 11.0, 30.0
MOST_WORDS = 36
LONGEST_WORD = 24
_LETTER, _LINE = 0.72, 1.15  # of the font size: a letter of bold text, safe for common fonts, and a line
_STEPS = 700


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
    for step in range(_STEPS):
        turn, reach = step * 0.35, step / _STEPS
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
