"""Gates: conditions on figures that a run must not meet, such as `exposure.eb_c.js>1.1`.

A gate looks at the figure's value, as its words say. `QUESTION.NAME.lower` and `QUESTION.NAME.upper` look at the bounds
of its interval instead: `exposure.eb_c.js.lower>1.1` fails only what is surely above, `exposure.eb_c.js.upper>1.1`
whatever is not surely below.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from offscript._specification import nearest
from offscript.errors import OffscriptError
from offscript.measures.measurement import figure_name
from offscript.statistics import Interval

_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_GATE = re.compile(
    r"(?P<question>[a-z][a-z0-9_-]*)\.(?P<name>[^<>]*[^<>\s])\s*(?P<relation>>=|<=|>|<)(?P<threshold>.+)"
)
_EXAMPLE = 'write e.g. "exposure.eb_c.js>1.1"'
_BOUNDS = (".lower", ".upper")


class Figure(Protocol):
    """What a gate looks at: a measurement, or a difference between two."""

    @property
    def value(self) -> float:
        """The figure itself."""

    @property
    def interval(self) -> Interval:
        """How sure it is."""


@dataclass(frozen=True)
class Gate:
    """A condition; `figure` is `QUESTION.NAME`, `side` what of it is looked at: `value`, `lower` or `upper`."""

    figure: str
    side: str
    relation: str
    threshold: float

    def __str__(self) -> str:
        side = "" if self.side == "value" else f".{self.side}"
        return f"{self.figure}{side}{self.relation}{self.threshold:.17g}"

    @property
    def question(self) -> str:
        """The question whose figure it is."""
        return self.figure.partition(".")[0]

    def result(self, figure: Figure) -> "GateResult":
        """Whether the figure fails the gate."""
        seen = figure.value if self.side == "value" else getattr(figure.interval, self.side)
        return GateResult(self, figure, failed=_RELATIONS[self.relation](seen, self.threshold))


@dataclass(frozen=True)
class GateResult:
    """A gate, the figure it looked at, and whether that failed."""

    gate: Gate
    figure: Figure
    failed: bool

    def __str__(self) -> str:
        interval = self.figure.interval
        told = f"{self.gate.figure} is {self.figure.value:.4g}"
        if interval.method == "exact":
            told += " (exact)"
        else:
            told += f" ({interval.level:.0%}: {interval.lower:.4g} to {interval.upper:.4g})"
        side = "" if self.gate.side == "value" else f"its {self.gate.side} bound "
        verdict = f"{self.gate.relation} {self.gate.threshold:g}"
        return f"{told}: {side}{verdict}" if self.failed else f"{told}: {side}not {verdict}"


def parse_gate(text: str) -> Gate:
    """Read `QUESTION.NAME>NUMBER`, or with `>=`, `<`, `<=`, or with `.lower` or `.upper` behind the name."""
    found = _GATE.fullmatch(text.strip())
    if found is None:
        raise OffscriptError(
            f"cannot use the gate {text!r}", why="it is not QUESTION.NAME, a relation and a number", next=_EXAMPLE
        )
    try:
        threshold = float(found["threshold"])
    except ValueError as fault:
        raise OffscriptError(f"cannot use the gate {text!r}", why=str(fault), next=_EXAMPLE) from fault
    if math.isnan(threshold):
        raise OffscriptError(f"cannot use the gate {text!r}", why="nothing is above or below NaN", next=_EXAMPLE)
    name, side = figure_name(found["name"]), "value"
    if name.endswith(_BOUNDS) and name not in _BOUNDS:
        name, _, side = name.rpartition(".")
    return Gate(f"{found['question']}.{name}", side, found["relation"], threshold)


def require_asked(gates: Iterable[Gate], figures: Mapping[str, Sequence[str] | None]) -> None:
    """Refuse a gate on a figure that the run will not have, before the work is done.

    Args:
        gates: The gates.
        figures: By question, the names of its figures, with `*` for any characters; None where nobody knows them.
    """
    for gate in gates:
        if gate.question not in figures:
            raise OffscriptError(
                f"cannot use the gate {gate}",
                why=f"{gate.question} is not asked in this run",
                next=nearest(gate.question, figures),
            )
        names, wanted = figures[gate.question], gate.figure.partition(".")[2]
        if names is not None and not any(fnmatchcase(wanted, pattern) for pattern in names):
            raise OffscriptError(
                f"cannot use the gate {gate}",
                why=f"this run will have no figure {gate.figure}",
                next=nearest(gate.figure, [f"{gate.question}.{name}" for name in names])
                if names
                else f"{gate.question} has no figures: gate another question",
            )


def check_gates(gates: Sequence[Gate], figures: Mapping[str, Figure]) -> list[GateResult]:
    """Every gate with the figure it names."""
    for gate in gates:
        if gate.figure not in figures:
            raise OffscriptError(
                f"cannot use the gate {gate}",
                why=f"there is no figure {gate.figure}",
                next=nearest(gate.figure, figures),
            )
    return [gate.result(figures[gate.figure]) for gate in gates]
