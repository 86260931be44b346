"""Ratings of samples by people: one layout that everything reads, and the tables of other studies and crowd platforms.

The layout is `item,rater,system,rating[,seconds][,passed]` as CSV or JSON lines: one row per rater and item, the rating
a number or a category. Tables with other columns are recognised by their header, or told by `columns`.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from offscript._specification import nearest
from offscript._types import FloatArray
from offscript.corpora.lines import Lines, check_file, kind_of
from offscript.corpora.records import read_objects, table_rows
from offscript.errors import OffscriptError

FIELDS = ("item", "rater", "system", "rating", "seconds", "passed", "log_prob", "text")
REQUIRED = ("item", "rater", "rating")
ONLY_SYSTEM = "all"
JOIN = "+"
_TRUTH = {"1": True, "true": True, "yes": True, "1.0": True, "0": False, "false": False, "no": False, "0.0": False}
_CONDITION = re.compile(r"(?P<column>[^=!]+)(?P<sign>!?=)(?P<value>.*)", re.DOTALL)
_NUMBERED = re.compile(r"Answer\.(?P<field>.*?)[_.-]?(?P<number>\d+)(?:\.\w+)?")
Strings = npt.NDArray[np.str_]
Row = Mapping[str, str]


@dataclass(frozen=True)
class Layout:
    """How a kind of table names what the ratings need.

    Attributes:
        name: What the table is.
        marks: Columns by which it is recognised.
        columns: For each field its column, or several joined by `+`.
        time_of: What `seconds` is the time of: one rating, or everything that a rater did.
        empty: The category that an empty rating stands for; without one it is a rating that is missing.
    """

    name: str
    marks: tuple[str, ...]
    columns: Mapping[str, str]
    time_of: str = "rating"
    empty: str | None = None


def _layout(name: str, marks: str, time_of: str = "rating", empty: str | None = None, **columns: str) -> Layout:
    return Layout(name, tuple(marks.split()), columns, time_of, empty)


LAYOUTS = (
    _layout(
        "min-p user study",
        "study passed_attention_check setting temperature sampler quality",
        item="study+setting+temperature+sampler",
        rater="study+rater",
        system="setting+temperature+sampler",
        rating="quality",
        passed="passed_attention_check",
    ),
    _layout(
        "recipe ratings",
        "item recipe system rater overall seconds_total",
        "rater",
        item="item",
        rater="rater",
        system="system",
        rating="overall",
        seconds="seconds_total",
    ),
    _layout(
        "CrowS-Pairs validation",
        "item bias_type annotator labels",
        empty="none",
        item="item",
        rater="annotator",
        system="bias_type",
        rating="labels",
    ),
    _layout(
        "Mechanical Turk",
        "HITId WorkerId WorkTimeInSeconds",
        item="Input.item",
        rater="WorkerId",
        system="Input.system",
        rating="Answer.rating",
        seconds="WorkTimeInSeconds",
        passed="Answer.passed",
    ),
    _layout(
        "Toloka",
        "ASSIGNMENT:worker_id",
        item="INPUT:item",
        rater="ASSIGNMENT:worker_id",
        system="INPUT:system",
        rating="OUTPUT:rating",
    ),
    _layout("Appen", "_unit_id _worker_id", item="_unit_id", rater="_worker_id", system="system", rating="rating"),
    _layout(
        "Label Studio",
        "annotation_id annotator lead_time",
        item="id",
        rater="annotator",
        system="system",
        rating="rating",
        seconds="lead_time",
    ),
    _layout("ratings", "", **{name: name for name in FIELDS}),
)
"""Known tables; the last is the layout that offscript writes."""


@dataclass(frozen=True)
class Ratings:
    """Ratings as columns, one entry each [n].

    Attributes:
        items: What was rated.
        raters: Who rated it.
        systems: What made the item; "all" where nothing says so.
        values: Numbers, or categories as text.
        seconds: How long each took, NaN where unknown.
        passed: 0 where the rater failed a check of attention, 1 where not, NaN where unknown.
        time_of: What `seconds` is the time of.
        left_out: How many rows were left out, by reason.
        log_probs: By item, the model's own mean log-probability per token, where known.
        texts: By item, where known.
    """

    items: Strings
    raters: Strings
    systems: Strings
    values: npt.NDArray[Any]
    seconds: FloatArray
    passed: FloatArray
    time_of: str = "rating"
    left_out: Mapping[str, int] = field(default_factory=dict)
    log_probs: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def numeric(self) -> bool:
        """Whether the ratings are numbers."""
        return self.values.dtype.kind == "f"

    @property
    def names(self) -> list[str]:
        """The systems, in order of appearance."""
        return list(dict.fromkeys(self.systems.tolist()))

    def select(self, kept: npt.NDArray[Any]) -> "Ratings":
        """Some of the ratings, by mask or places."""
        columns = ("items", "raters", "systems", "values", "seconds", "passed")
        return replace(self, **{name: getattr(self, name)[kept] for name in columns})

    def of(self, system: str) -> "Ratings":
        """The ratings of one system."""
        return self.select(self.systems == system)


def read_ratings(
    path: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    where: Sequence[str] = (),
    empty: str | None = None,
    time_of: str | None = None,
) -> Ratings:
    """Ratings of a table (CSV, TSV) or of JSON lines, plain or compressed.

    Args:
        path: The file.
        columns: For a field, such as `rating`, the column that holds it, or several joined by `+`; else as the header
            tells.
        where: Conditions such as `study=v2` or `system!=gold`; rows that fail one are not read.
        empty: The category that an empty rating stands for.
        time_of: `rating` or `rater`: what the seconds are the time of.

    Returns:
        The ratings, without those that are empty or given twice.
    """
    file = check_file(Path(path))
    rows = _rows(file)
    first = next(rows, None)
    if first is None:
        raise OffscriptError(f"{path} holds no rating", next="begin with item,rater,system,rating")
    layout = layout_of(list(first[1]))
    chosen = {**layout.columns, **{name: told for name, told in (columns or {}).items() if told}}
    layout = replace(layout, columns=_present(chosen, first[1], path, told=set(columns or {})))
    conditions = [_condition(each, first[1], path) for each in where]
    entries = (
        (place, entry)
        for place, row in _chain(first, rows)
        if all((row.get(name) == value) == equal for name, equal, value in conditions)
        for entry in _entries(row, layout)
    )
    gap = layout.empty if empty is None else empty
    return _collected(entries, gap, time_of or layout.time_of, str(path))


def layout_of(header: Sequence[str]) -> Layout:
    """The first known layout whose marks the header has."""
    return next(layout for layout in LAYOUTS if set(layout.marks) <= set(header))


def layout_of_file(path: Path | str) -> Layout:
    """The layout of a file of ratings, by its first row."""
    _, row = next(_rows(check_file(Path(path))), ("", {}))
    return layout_of(list(row))


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows with their places, as text."""
    lines = Lines(path)
    if kind_of(path) in (".jsonl", ".ndjson", ".json"):
        for record in read_objects(lines):
            yield lines.place, {name: _text(value) for name, value in record.items()}
        return
    table = table_rows(lines, delimiter="\t" if kind_of(path) == ".tsv" else ",")
    header = next(table, [])
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise lines.fault(f"two columns {twice!r}", next="give every column its own name")
    for row in table:
        yield lines.place, dict(zip(header, row, strict=True))


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return "" if value is None else str(value)


def _chain(first: tuple[str, Row], rest: Iterable[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
    yield first
    yield from rest


def _present(columns: Mapping[str, str], row: Row, path: Path | str, told: set[str]) -> dict[str, str]:
    """The columns that the table has; one that is required, or was asked for, must be there."""
    present: dict[str, str] = {}
    numbered = {match["field"] for name in row if (match := _NUMBERED.fullmatch(name))}
    for name, joined in columns.items():
        absent = [part for part in joined.split(JOIN) if part not in row]
        if not absent or (joined.startswith("Answer.") and joined.removeprefix("Answer.") in numbered):
            present[name] = joined
        elif name in told or (name in REQUIRED and not (name == "item" and "Input.item" in joined)):
            raise OffscriptError(
                f"{path}: no column {absent[0]!r} for the {name}",
                why=f"it has {', '.join(list(row)[:12])}",
                next=f"name it with --{name} ({nearest(absent[0], row)})",
            )
    return present


def _condition(text: str, row: Row, path: Path | str) -> tuple[str, bool, str]:
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise OffscriptError(f"--where {text!r}", next="write COLUMN=VALUE or COLUMN!=VALUE")
    if match["column"] not in row:
        raise OffscriptError(f"{path}: no column {match['column']!r}", next=nearest(match["column"], row))
    return match["column"], match["sign"] == "=", match["value"]


def _entries(row: Row, layout: Layout) -> Iterator[dict[str, str]]:
    """The ratings of one row: one, or of a crowd platform as many as its form had, `Answer.rating_1` and so on."""
    rating = layout.columns.get("rating", "")
    if rating in row or not rating.startswith("Answer."):
        yield {
            name: "/".join(row.get(part, "") for part in joined.split(JOIN)) for name, joined in layout.columns.items()
        }
        return
    asked = rating.removeprefix("Answer.")
    for name, value in row.items():
        match = _NUMBERED.fullmatch(name)
        if match and match["field"] == asked:
            number = match["number"]
            entry = {"rater": row["WorkerId"], "seconds": row.get("WorkTimeInSeconds", ""), "rating": value}
            for wanted in ("item", "system", "passed"):
                names = (f"{kind}.{wanted}{join}{number}" for kind in ("Input", "Answer") for join in ("_", "", "."))
                entry[wanted] = next((row[name] for name in names if row.get(name)), "")
            entry["item"] = entry["item"] or f"{row['HITId']}/{number}"
            yield entry


def _collected(entries: Iterable[tuple[str, dict[str, str]]], empty: str | None, time_of: str, source: str) -> Ratings:
    left_out = {"empty": 0, "given twice": 0}
    taken: dict[tuple[str, str], dict[str, Any]] = {}
    for place, entry in entries:
        key = (entry.get("item", ""), entry.get("rater", ""))
        if not all(key):
            raise OffscriptError(f"{place}: no {'item' if key[1] else 'rater'}", next="give every rating both")
        rating = entry["rating"].strip() or empty
        if rating is None:
            left_out["empty"] += 1
        elif key in taken:
            left_out["given twice"] += 1
        else:
            seconds = _number(entry.get("seconds", ""), place, "seconds")
            taken[key] = {**entry, "rating": rating, "seconds": seconds, "passed": _truth(entry, place)}
    if not taken:
        raise OffscriptError(f"{source} holds no rating", why="no row has one", next="look at --where and --rating")
    return ratings_of(list(taken.values()), time_of=time_of, left_out={key: n for key, n in left_out.items() if n})


def ratings_of(
    entries: Sequence[Mapping[str, Any]], *, time_of: str = "rating", left_out: Mapping[str, int] | None = None
) -> Ratings:
    """Ratings from rows of plain values; numbers if all are.

    Args:
        entries: One per rating: item, rater, rating, and system, seconds, passed, log_prob, text where known.
        time_of: What `seconds` is the time of.
        left_out: What was left out before.
    """
    values = [str(entry["rating"]) for entry in entries]
    numbers = [_as_number(value) for value in values]
    numeric = all(math.isfinite(number) for number in numbers)
    log_probs = {str(e["item"]): float(e["log_prob"]) for e in entries if str(e.get("log_prob") or "").strip()}
    return Ratings(
        items=np.array([str(entry["item"]) for entry in entries]),
        raters=np.array([str(entry["rater"]) for entry in entries]),
        systems=np.array([str(entry.get("system") or ONLY_SYSTEM) for entry in entries]),
        values=np.array(numbers) if numeric else np.array(values),
        seconds=np.array([_known(entry.get("seconds")) for entry in entries]),
        passed=np.array([_known(entry.get("passed")) for entry in entries]),
        time_of=time_of,
        left_out=dict(left_out or {}),
        log_probs=log_probs,
        texts={str(entry["item"]): str(entry["text"]) for entry in entries if entry.get("text")},
    )


def _known(value: Any) -> float:
    return math.nan if value is None or value == "" else float(value)


def _as_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _number(text: str, place: str, name: str) -> float:
    if not text.strip():
        return math.nan
    number = _as_number(text)
    if not (math.isfinite(number) and number >= 0):
        raise OffscriptError(f"{place}: {name} {text!r} is no time", next="give seconds, or leave it empty")
    return number


def _truth(entry: Mapping[str, str], place: str) -> float:
    text = entry.get("passed", "").strip().lower()
    if not text:
        return math.nan
    if text not in _TRUTH:
        raise OffscriptError(f"{place}: passed is {text!r}", next="write 1 or 0")
    return float(_TRUTH[text])


@dataclass(frozen=True)
class RatedText:
    """A text of a system; `item` is empty where the file tells systems alone."""

    item: str
    system: str
    text: str
    log_prob: float | None = None


def read_texts(path: Path | str, *, like: Layout | None = None, where: Sequence[str] = ()) -> list[RatedText]:
    """The texts behind ratings: JSON lines or a table with `text`, and `item` or the columns of the system.

    Args:
        path: The file.
        like: The layout of the ratings, whose columns tell the item and the system.
        where: As in `read_ratings`; conditions on columns that the file lacks are left out.

    Returns:
        The texts in the order of the file.
    """
    columns = {**LAYOUTS[-1].columns, **(like.columns if like else {})}
    texts = []
    for place, row in _rows(check_file(Path(path))):
        conditions = [_condition(each, row, path) for each in where if each.partition("=")[0].rstrip("!") in row]
        if "text" not in row:
            raise OffscriptError(f"{place}: no field 'text'", next=nearest("text", row))
        if all((row[name] == value) == equal for name, equal, value in conditions):
            item, system = (_joined(row, columns.get(name, name)) for name in ("item", "system"))
            log_prob = _optional(row.get("log_prob"), place)
            texts.append(RatedText(item, system or ONLY_SYSTEM, row["text"], log_prob))
    return texts


def _joined(row: Row, columns: str) -> str:
    parts = columns.split(JOIN)
    return "/".join(row[part] for part in parts) if all(part in row for part in parts) else ""


def _optional(text: str | None, place: str) -> float | None:
    if not text or not text.strip():
        return None
    number = _as_number(text)
    if not math.isfinite(number):
        raise OffscriptError(f"{place}: log_prob {text!r} is no number", next="give one, or leave it empty")
    return number
