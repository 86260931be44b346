"""The scorecard: one row per finding, with its status and its figure as a dot on an axis that shows the reference."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from offscript.measures.measurement import Measurement
from offscript.measures.question import Finding, Gauge, Status
from offscript.measures.words import number, with_interval
from offscript.report.figures import known_question
from offscript.statistics import Estimate

WIDTH, EDGE = 280.0, 12.0
_TOP, _LANE, _AXIS = 18.0, 16.0, 18.0
_PADDING = 0.12
_ORDER: tuple[Status, ...] = ("found", "cannot tell", "fine", "for information")
_FEWEST_TICKS = 2


@dataclass(frozen=True)
class Mark:
    """A dot with its interval, in the drawing's coordinates; an open end is one that goes on to infinity."""

    label: str
    told: str
    place: float
    left: float
    right: float
    height: float
    open_left: bool
    open_right: bool


@dataclass(frozen=True)
class Drawing:
    """A gauge as numbers for an SVG: dots in lanes above an axis, and a named line where the reference is."""

    caption: str
    told: str
    height: float
    marks: list[Mark]
    ticks: list[tuple[float, str]]
    reference: float | None
    meaning: str
    width: float = WIDTH
    edge: float = EDGE

    @property
    def base(self) -> float:
        """The height of the axis."""
        return self.height - _AXIS

    @property
    def anchor(self) -> str:
        """Which way the reference's name goes so that it stays within the drawing."""
        if self.reference is None or self.width / 3 <= self.reference <= 2 * self.width / 3:
            return "middle"
        return "start" if self.reference < self.width / 3 else "end"


@dataclass(frozen=True)
class Row:
    """One finding of the scorecard."""

    name: str
    title: str
    finding: Finding
    drawing: Drawing | None

    @property
    def tone(self) -> str:
        """The status as a class of the style sheet."""
        return tone(self.finding.status)


def tone(status: str) -> str:
    """A status as the name of a class."""
    return status.replace(" ", "-")


def in_order(rows: Sequence[Row]) -> list[Row]:
    """What was found first, then what is open, then what is fine; equal ones in the order of the page."""
    return sorted(rows, key=lambda row: _ORDER.index(row.finding.status))


def counted(rows: Sequence[Row]) -> list[tuple[Status, int]]:
    """How many findings have each status; those that none has are left out."""
    counts = [(status, sum(row.finding.status == status for row in rows)) for status in _ORDER]
    return [(status, count) for status, count in counts if count]


def drawing_of(name: str, figures: Mapping[str, Measurement]) -> Drawing | None:
    """What a question's scorecard shows of one run's figures."""
    gauge = known_question(name).gauge(figures)
    if gauge is None or not math.isfinite(figures[gauge.figure].value):
        return None
    return draw(gauge, {"": figures[gauge.figure]})


def draw(gauge: Gauge, entries: Mapping[str, Measurement | Estimate]) -> Drawing:
    """Dots of one figure in one or several runs on one axis.

    Args:
        gauge: the figure's name, unit and reference.
        entries: the figure, or its difference, by run; one run needs no name.

    Returns:
        Coordinates and words.
    """
    low, high = _domain(gauge, list(entries.values()))

    def across(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(EDGE + share * (WIDTH - 2 * EDGE), 2)

    marks = [
        Mark(
            label,
            with_interval(entry),
            across(entry.value),
            across(entry.interval.lower),
            across(entry.interval.upper),
            _TOP + _LANE * (lane + 0.5),
            math.isinf(entry.interval.lower),
            math.isinf(entry.interval.upper),
        )
        for lane, (label, entry) in enumerate(entries.items())
    ]
    unit = f", {gauge.unit}" if gauge.unit else ""
    read = "; ".join(f"{mark.label} {mark.told}".strip() for mark in marks)
    against = "" if gauge.reference is None else f"; {gauge.meaning or 'reference'}: {number(gauge.reference)}"
    return Drawing(
        f"{gauge.label}{unit}",
        f"{gauge.label}{unit}: {read}{against}",
        _TOP + _LANE * len(marks) + _AXIS,
        marks,
        [(across(tick), text) for tick, text in ticks(low, high)],
        None if gauge.reference is None else across(gauge.reference),
        gauge.meaning,
    )


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Two to five round numbers between two others, with as many decimals as they need."""
    step = 10.0 ** math.floor(math.log10(high - low))
    for part in (1.0, 0.5, 0.2, 0.1):
        size = step * part
        places = range(math.ceil(low / size), math.floor(high / size) + 1)
        if len(places) >= _FEWEST_TICKS:
            decimals = max(0, -math.floor(math.log10(size) + 1e-9))
            return [(place * size, _short(place * size, decimals)) for place in _thinned(places)]
    return []


def _thinned(places: range) -> list[int]:
    """At most five of them, and zero among them where it is there: most references are zero."""
    stride = math.ceil(len(places) / 5)
    return [place for place in places if place % stride == 0]


def _short(value: float, decimals: int) -> str:
    return f"{value + 0.0:,.{decimals}f}".replace("-", "−")


def _domain(gauge: Gauge, entries: Sequence[Measurement | Estimate]) -> tuple[float, float]:
    """From the lowest to the highest of all that is drawn, with a margin."""
    values = [value for entry in entries for value in (entry.value, entry.interval.lower, entry.interval.upper)]
    values += [] if gauge.reference is None else [gauge.reference]
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite), max(finite)
    room = (high - low) * _PADDING or abs(low) * _PADDING or 1.0
    return low - room, high + room
