"""The chemical elements: mendeleev (MIT)."""

import math
import re
from collections.abc import Iterator
from typing import Any

from offscript.factcheck.almanac.facts import Fact, Relation

URL = "https://mendeleev.readthedocs.io/en/stable/data.html"
ZERO_CELSIUS = 273.15
SERIES = {
    "Nonmetals": "a nonmetal",
    "Noble gases": "a noble gas",
    "Alkali metals": "an alkali metal",
    "Alkaline earth metals": "an alkaline earth metal",
    "Metalloids": "a metalloid",
    "Halogens": "a halogen",
    "Transition metals": "a transition metal",
    "Lanthanides": "a lanthanide",
    "Actinides": "an actinide",
}
_PEOPLE = re.compile(r"[A-Z][\w.'’-]*(?: (?:[A-Z][\w.'’-]*|de|von|da|del|la|y|&|and))*")


def _property(name: str, value_type: str, phrase: str, after: str = "", also: str = "") -> Relation:
    """`The PHRASE of iron is VALUE.`, and as a claim also `Iron has the PHRASE VALUE.`"""
    sentence = f"The {phrase} of {{subject}} is {{values}}{after}."
    claim = f"{{subject}} has the {phrase} {{value}}{after}."
    return Relation.of(name, "element", value_type, sentence, claim, also=(also,) if also else ())


SYMBOL = _property("symbol", "symbol", "chemical symbol")
ATOMIC_NUMBER = _property("atomic-number", "number", "atomic number", also="An atom of {subject} has {values} protons.")
ATOMIC_WEIGHT = _property("atomic-weight", "number", "atomic weight")
MELTING_POINT = _property("melting-point", "number", "melting point", " degrees Celsius")
BOILING_POINT = _property("boiling-point", "number", "boiling point", " degrees Celsius")
CONFIGURATION = _property("configuration", "configuration", "electron configuration")
GROUP = Relation.of(
    "group", "element", "number", "{subject} is a chemical element of group {values}.", "{subject} is in group {value}."
)
PERIOD = Relation.of(
    "period",
    "element",
    "number",
    "{subject} is a chemical element of period {values}.",
    "{subject} is in period {value}.",
)
SERIES_OF = Relation(
    "series",
    "element",
    "series",
    "The element {subject} is {values}.",
    ("{subject} is {value}.", "The element {subject} is {value}."),
)
DISCOVERER = Relation.of(
    "discoverer", "element", "person", "{subject} was discovered by {values}.", "{value} discovered {subject}."
)
DISCOVERY_YEAR = Relation.of("discovery-year", "element", "year", "{subject} was discovered in {values}.")


def chemistry() -> Iterator[Fact]:
    """Every fact of every element."""
    from mendeleev.fetch import fetch_table

    series = dict(fetch_table("series")[["id", "name"]].itertuples(index=False))
    points = _phase_changes(fetch_table("phasetransitions").to_dict("records"))
    for element in fetch_table("elements").to_dict("records"):
        subject = element["name"].lower()
        for relation, value in _values(element, series, points.get(element["atomic_number"], {})):
            if value:
                yield Fact(relation, subject, (value,), URL)


def _values(
    element: dict[str, Any], series: dict[int, str], points: dict[str, float]
) -> Iterator[tuple[Relation, str | None]]:
    yield SYMBOL, element["symbol"]
    yield ATOMIC_NUMBER, str(element["atomic_number"])
    yield ATOMIC_WEIGHT, f"{element['atomic_weight']:.3f}".rstrip("0").rstrip(".")
    yield CONFIGURATION, element["electronic_configuration"]
    yield PERIOD, str(element["period"])
    yield GROUP, _whole(element["group_id"])
    yield SERIES_OF, SERIES.get(series[element["series_id"]])
    yield DISCOVERY_YEAR, _whole(element["discovery_year"])
    yield DISCOVERER, _people(element["discoverers"])
    yield MELTING_POINT, _celsius(points.get("melting_point"))
    yield BOILING_POINT, _celsius(points.get("boiling_point"))


def _phase_changes(rows: list[dict[str, Any]]) -> dict[int, dict[str, float]]:
    """Of elements with one form only: allotropes melt at points of their own."""
    by_number: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_number.setdefault(row["atomic_number"], []).append(row)
    return {number: same[0] for number, same in by_number.items() if len(same) == 1 and not _sublimes(same[0])}


def _sublimes(row: dict[str, Any]) -> bool:
    return bool(row["is_sublimation_point"] == 1)


def _whole(number: float) -> str | None:
    return None if math.isnan(number) else str(int(number))


def _celsius(kelvin: float | None) -> str | None:
    return None if kelvin is None or math.isnan(kelvin) else f"{kelvin - ZERO_CELSIUS:.0f}"


def _people(discoverers: object) -> str | None:
    """The names, where names are all that is told."""
    text = discoverers.strip().rstrip(".") if isinstance(discoverers, str) else ""
    return text if all(_PEOPLE.fullmatch(part.strip()) for part in text.split(",")) else None
