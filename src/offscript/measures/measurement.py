"""A figure that can be reproduced: its value and interval, what it was made from, and how it is written down."""

import hashlib
import json
import math
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np

from offscript import __version__
from offscript._types import FloatArray
from offscript.errors import OffscriptError, missing_package
from offscript.statistics import Curve, Estimate, Interval, contributions, samples_for_width

INFINITIES = {"inf": math.inf, "-inf": -math.inf}
MACHINE = "machine"  # the one part of a recipe that its hash leaves out

P_VALUE = "p-value"
"""The method of an interval around a p-value, which resampling leaves in doubt: it says how sure a figure is."""

_DEPENDENT = "jackknife"  # its items are not independent: each is scored against the others
_QUESTION = re.compile(r"[a-z][a-z0-9_-]*")
WEIGHT = ",weight"
"""What follows a figure's name where the weights of its items are stored."""

_NAME = re.compile(rf"(?!ci$|alias$|by_length\.)\S([^\n]*\S)?(?<!_stderr)(?<!{WEIGHT})")  # results use these


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One figure under `question` and `name`, with its interval; there is none without.

    `by_position` holds the figure at every length or position, from the first. `higher_is_better` is None where neither
    is. `recipe` is what it takes to make the figure again, as JSON knows it. `per_item` [n] or [n, positions] holds the
    values behind the figure, NaN where an item has none, and `weights` [n] how much each counts where not all count
    alike, such as a sentence's tokens in a rate a token; both stay out of JSON and of comparison.
    """

    question: str
    name: str
    value: float
    standard_error: float
    interval: Interval
    n: int
    seed: int | None
    seconds: float
    recipe: dict[str, Any]
    by_position: Curve | None = None
    higher_is_better: bool | None = None
    per_item: FloatArray | None = field(default=None, compare=False, repr=False)
    weights: FloatArray | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not _QUESTION.fullmatch(self.question):
            raise OffscriptError(f"cannot store a question named {self.question!r}", next="use a-z, 0-9, _ and -")
        if not _NAME.fullmatch(self.name):
            raise OffscriptError(
                f"cannot store a measurement named {self.name!r}", why="results keep that name for other things"
            )
        object.__setattr__(self, "name", figure_name(self.name))
        object.__setattr__(self, "value", _number(self.value, f"{self.question}.{self.name}"))
        object.__setattr__(self, "standard_error", _number(self.standard_error, f"the error of {self.name}"))
        if not isinstance(self.interval, Interval):
            raise OffscriptError(f"{self.question}.{self.name} has no interval", why="a bare figure tells too little")
        if self.value not in self.interval and self.interval.method == "exact":
            raise OffscriptError(f"{self.name} = {self.value} lies outside its exact interval")
        object.__setattr__(self, "recipe", as_json(self.recipe))
        for name in ("per_item", "weights"):
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, np.asarray(values, dtype=np.float64))

    @classmethod
    def of(cls, estimate: Estimate, **fields: Any) -> "Measurement":
        """From an estimate and the other fields."""
        return cls(value=estimate.value, standard_error=estimate.standard_error, interval=estimate.interval, **fields)

    @classmethod
    def exact(cls, value: float, **fields: Any) -> "Measurement":
        """From a value found by enumeration."""
        return cls(value=value, standard_error=0.0, interval=Interval.exact(value), **fields)

    @property
    def estimate(self) -> Estimate:
        """Value, standard error and interval alone."""
        return Estimate(self.value, self.standard_error, self.interval)

    def contributions(self) -> FloatArray | None:
        """Each item's part in the figure, [n]; None where independent items do not make the figure."""
        if self.per_item is None or self.interval.method == _DEPENDENT:
            return None
        return contributions(self.value, self.per_item, self.weights)

    @property
    def recipe_hash(self) -> str:
        """The hash of its recipe."""
        return recipe_hash(self.recipe)

    def to_json(self) -> dict[str, Any]:
        """Everything but the items, as strict JSON: infinities are the strings "inf" and "-inf"."""
        return {
            "question": self.question,
            "name": self.name,
            "value": number_to_json(self.value),
            "standard_error": number_to_json(self.standard_error),
            "interval": interval_to_json(self.interval),
            "n": self.n,
            "seed": self.seed,
            "seconds": self.seconds,
            "higher_is_better": self.higher_is_better,
            "by_position": None if self.by_position is None else curve_to_json(self.by_position),
            "recipe": self.recipe,
        }

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> "Measurement":
        """What `to_json` wrote."""
        fields = dict(written)
        curve = fields.pop("by_position")
        return cls(
            value=number_from_json(fields.pop("value")),
            standard_error=number_from_json(fields.pop("standard_error")),
            interval=interval_from_json(fields.pop("interval")),
            by_position=None if curve is None else curve_from_json(curve),
            **fields,
        )


def figure_name(text: str) -> str:
    """The name of a figure, with samplers as they are typed: `nucleus,p=0.9`.

    Earlier versions wrote `nucleus;p=0.9` in names of figures; stored results and gates with such names are still read.

    Args:
        text: A name, old or new.

    Returns:
        The name as results and gates have it now.
    """
    return text.replace(";", ",")


def to_frame(measurements: Sequence[Measurement]) -> Any:
    """Measurements as a pandas table, one row per figure.

    Args:
        measurements: as a question, `read_results` or an audit's record give them.

    Returns:
        A `pandas.DataFrame` with the columns question, name, value, lower, upper, level, method, n and seed.
    """
    try:
        import pandas as pd
    except ImportError as fault:
        raise missing_package("a table of figures", "pandas", extra="pandas") from fault
    return pd.DataFrame(
        [
            {
                "question": entry.question,
                "name": entry.name,
                "value": entry.value,
                "lower": entry.interval.lower,
                "upper": entry.interval.upper,
                "level": entry.interval.level,
                "method": entry.interval.method,
                "n": entry.n,
                "seed": entry.seed,
            }
            for entry in measurements
        ]
    )


def plan_samples(measurements: Sequence[Measurement], width: float) -> dict[str, int]:
    """How many samples give each figure an interval of the wished width, by a pilot's measurements.

    Figures whose pilot says nothing, because their interval is unbounded or came by enumeration, are left out.
    """
    return {
        entry.name: samples_for_width(Estimate(entry.value, entry.standard_error, entry.interval), entry.n, width)
        for entry in measurements
        if math.isfinite(entry.standard_error) and entry.interval.method != "exact"
    }


def environment() -> dict[str, Any]:
    """The part of a recipe that the caller need not choose: versions, and the machine (which is not hashed)."""
    versions = {"offscript": __version__, "python": platform.python_version()}
    versions |= {package: metadata.version(package) for package in ("numpy", "torch")}
    return {"versions": versions, MACHINE: f"{platform.system()} {platform.machine()}"}


def recipe_hash(recipe: dict[str, Any]) -> str:
    """A name for what a recipe makes: equal for equal recipes whatever the order of their keys.

    The machine is left out: a sweep that began on one may go on on another.
    """
    hashed = {key: value for key, value in as_json(recipe).items() if key != MACHINE}
    listed = json.dumps(hashed, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(listed.encode()).hexdigest()[:32]


def as_json(value: Any) -> Any:
    """The value as JSON reads it back: tuples as lists, numpy's numbers as Python's, infinities as strings."""
    if isinstance(value, dict):
        return {_key(key): as_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(entry) for entry in value]
    if isinstance(value, np.generic):
        return as_json(value.item())
    if isinstance(value, float):
        return number_to_json(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise OffscriptError(
        f"cannot store a recipe that holds {type(value).__name__}", next="write it as text, numbers and lists"
    )


def number_to_json(number: float) -> float | str:
    """A float as strict JSON has it; "inf" and "-inf" for the infinities."""
    if math.isnan(number):
        raise OffscriptError("NaN is not a result", next="look at the values it was made from")
    return str(number) if math.isinf(number) else float(number)


def number_from_json(written: float | str) -> float:
    """What `number_to_json` wrote."""
    if isinstance(written, str):
        if written not in INFINITIES:
            raise OffscriptError(f"found {written!r} where a number should be", next="look at the results file")
        return INFINITIES[written]
    return float(written)


def interval_to_json(interval: Interval) -> dict[str, Any]:
    """Bounds, level and method."""
    bounds = {"lower": number_to_json(interval.lower), "upper": number_to_json(interval.upper)}
    return {**bounds, "level": interval.level, "method": interval.method}


def interval_from_json(written: dict[str, Any]) -> Interval:
    """What `interval_to_json` wrote."""
    bounds = number_from_json(written["lower"]), number_from_json(written["upper"])
    return Interval(*bounds, level=written["level"], method=written["method"])


def curve_to_json(curve: Curve) -> dict[str, Any]:
    """Values and bounds as lists, level and method."""
    lists = {name: [number_to_json(n) for n in getattr(curve, name)] for name in ("values", "lower", "upper")}
    return {**lists, "level": curve.level, "method": curve.method}


def curve_from_json(written: dict[str, Any]) -> Curve:
    """What `curve_to_json` wrote."""
    values, lower, upper = (_numbers(written[name]) for name in ("values", "lower", "upper"))
    return Curve(values, lower, upper, written["level"], written["method"])


def _numbers(written: Sequence[float | str]) -> tuple[float, ...]:
    return tuple(number_from_json(number) for number in written)


def _number(value: float | None, what: str) -> float:
    if value is None or math.isnan(value):
        raise OffscriptError(f"{what} is {value}", why="a figure needs a value", next="look at what it was made from")
    return float(value)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise OffscriptError(f"cannot store a recipe with the key {key!r}", next="make every key text")
    return key
