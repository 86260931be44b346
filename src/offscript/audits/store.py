"""Results on disk, in lm-evaluation-harness's layout, and answers, each in one file named by its recipe's hash.

    <out>/<model>/results_<time>.json                 what readers of the harness know, and an interval for each figure
    <out>/<model>/samples_<question>_<time>.jsonl     the values behind the figures, one item per line
    <folder>/<hash>.json                              one answer: a pure function of its recipe

Every file is written whole and renamed into place, the values before the figures: a file of figures that exists is
complete.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from offscript import __version__, _files
from offscript._config import first_fault
from offscript._types import FloatArray
from offscript.audits.results import AuditPart, Results
from offscript.errors import OffscriptError, explaining
from offscript.measures import measurement as notation
from offscript.measures.measurement import Measurement
from offscript.measures.question import Answer

TIME = "%Y-%m-%dT%H-%M-%S.%f"
BY_LENGTH = "by_length."

_AMBIGUOUS = re.compile(r"[^\w.@,=+/-]|^[.-]|[.]$|__|_/|/_", re.ASCII)


class Store:
    """Cells in one folder. Whoever computes a cell first saves it; whoever comes later skips it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def cell_path(self, recipe: dict[str, Any]) -> Path:
        """Where the cell of this recipe is, or would be."""
        return self.folder / f"{notation.recipe_hash(recipe)}.json"

    def has(self, recipe: dict[str, Any]) -> bool:
        """Whether the cell was computed."""
        return self.cell_path(recipe).is_file()

    def save(self, answer: Answer, recipe: dict[str, Any]) -> Path:
        """Write the answer of a recipe; two that save the same one at once leave one of the two, whole."""
        path = self.cell_path(recipe)
        columns = _columns((_cell_key(entry), entry) for entry in answer.measurements)
        document = {
            "recipe": notation.as_json(recipe),
            "measurements": [entry.to_json() for entry in answer.measurements],
            "items": {name: _item_to_json(column) for name, column in columns.items()},
            "exhibits": answer.exhibits,
        }
        _files.write_json(path, document)
        return path

    def load(self, recipe: dict[str, Any]) -> Answer:
        """The answer of a recipe: its measurements, with the values behind them, and its exhibits."""
        path = self.cell_path(recipe)
        document = _read_document(path)
        with explaining_results(path):
            items = {
                notation.figure_name(name): np.array(column, dtype=np.float64)
                for name, column in document["items"].items()
            }
            measurements = [Measurement.from_json(figure) for figure in document["measurements"]]
            entries = [_with_items(entry, items, _cell_key(entry)) for entry in measurements]
            return Answer(entries, document["exhibits"])


def write_results(
    out: Path,
    model: str,
    measurements: Sequence[Measurement],
    *,
    config: dict[str, Any] | None = None,
    audit: AuditPart | None = None,
    time: datetime | None = None,
) -> Path:
    """Write one run's measurements of a model under a time that no other run has.

    Args:
        out: The folder; the model's name becomes a folder in it.
        model: The model string.
        measurements: What was measured.
        config: Settings to store with the results.
        audit: What an audit's page shows besides its figures.
        time: When the run began; now if None.

    Returns:
        The path of the results file.
    """
    folder = out / model_folder(model)
    by_question = _by_question(measurements)
    with _claimed_time(folder, time or datetime.now(timezone.utc)) as moment:
        stamp = moment.strftime(TIME)
        for question, entries in by_question.items():
            columns = _columns((entry.name, entry) for entry in entries)
            _write_items(_samples_path(folder, question, stamp), columns)
        document = {
            **harness_document(measurements),
            "config": {"model": model, **notation.as_json(config or {})},
            "model_name": model,
            "date": moment.timestamp(),
            **({} if audit is None else {"audit": audit.model_dump(mode="json")}),
        }
        path = folder / f"results_{stamp}.json"
        _files.write_json(path, document)
    return path


def harness_document(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """The measurements as `results` with an interval for each figure, and beside it all that reproduces them."""
    by_question = _by_question(measurements)
    return {
        "results": {question: _harness_results(question, entries) for question, entries in by_question.items()},
        "higher_is_better": _each(by_question, lambda entry: entry.higher_is_better),
        "n-samples": {
            question: dict.fromkeys(("original", "effective"), max(entry.n for entry in entries))
            for question, entries in by_question.items()
        },
        "versions": dict.fromkeys(by_question, __version__),
        "measurements": _each(by_question, _provenance),
        "recipes": {_recipe_key(entry.recipe): entry.recipe for entry in measurements},
    }


def read_document(path: Path) -> Results:
    """A results file, checked against its schema."""
    document = _read_document(path)
    try:
        return Results.model_validate(document)
    except ValidationError as fault:
        why = first_fault(fault, Results)
        raise OffscriptError(f"{path} is not a file of offscript's results", why=why) from fault


def read_results(path: Path, *, with_items: bool = False) -> list[Measurement]:
    """The measurements that `write_results` wrote, and on request the values behind them.

    Args:
        path: A `results_<time>.json`.
        with_items: Whether to read the value of every item, too.

    Returns:
        The measurements in the order of the file.
    """
    document, measurements = read_document(path).model_dump(by_alias=True), []
    with explaining_results(path):
        for question, entries in document["measurements"].items():
            samples = _samples_path(path.parent, question, path.stem.removeprefix("results_"))
            items = _read_items(samples) if with_items else {}
            for name, provenance in entries.items():
                recipe = document["recipes"][provenance["recipe"]]
                better = document["higher_is_better"][question][name]
                known = {**provenance, "recipe": recipe, "higher_is_better": better}
                entry = _from_harness(question, name, document["results"][question], known)
                measurements.append(_with_items(entry, items, name))
    return measurements


def results_files(out: Path, model: str | None = None) -> list[Path]:
    """Every results file below `out`, or of one model, oldest first."""
    pattern = "*/results_*.json" if model is None else f"{model_folder(model)}/results_*.json"
    return sorted(out.glob(pattern), key=lambda path: path.name)


def model_folder(model: str) -> str:
    """A model's name as one folder's: `hf/gpt2@main` becomes `hf__gpt2@main`.

    A name that could be taken for another, lead elsewhere or be refused by a file system ends in its hash.
    """
    if not model:
        raise OffscriptError("cannot store results of a model without a name", next="name the model")
    folder = model.replace("/", "__")
    if len(folder) <= 100 and not _AMBIGUOUS.search(model):
        return folder
    legible = re.sub(r"[^A-Za-z0-9@,=+]+", "_", model).strip("_")[:80] or "model"
    return f"{legible}-{hashlib.sha256(model.encode()).hexdigest()[:12]}"


def _by_question(measurements: Sequence[Measurement]) -> dict[str, list[Measurement]]:
    grouped: dict[str, list[Measurement]] = {}
    for entry in measurements:
        known = grouped.setdefault(entry.question, [])
        if entry.name in (other.name for other in known):
            raise OffscriptError(f"{entry.question}.{entry.name} was measured twice", next="store one run at a time")
        known.append(entry)
    return grouped


def _harness_results(question: str, entries: Sequence[Measurement]) -> dict[str, Any]:
    """One task of the harness's `results`: metric, metric_stderr, lists by length, and every interval under `ci`."""
    figures: dict[str, Any] = {"alias": question}
    intervals: dict[str, Any] = {}
    for entry in entries:
        figures[entry.name] = notation.number_to_json(entry.value)
        figures[f"{entry.name}_stderr"] = notation.number_to_json(entry.standard_error)
        intervals[entry.name] = notation.interval_to_json(entry.interval)
        if entry.by_position is not None:
            band = notation.curve_to_json(entry.by_position)
            figures[BY_LENGTH + entry.name] = band.pop("values")
            intervals[BY_LENGTH + entry.name] = band
    return {**figures, "ci": intervals}


def _from_harness(question: str, name: str, figures: dict[str, Any], known: dict[str, Any]) -> Measurement:
    """The inverse of `_harness_results` for one metric; `known` holds what the harness has no place for."""
    curve = None
    if BY_LENGTH + name in figures:
        curve = {"values": figures[BY_LENGTH + name], **figures["ci"][BY_LENGTH + name]}
    return Measurement.from_json(
        {
            "question": question,
            "name": name,
            "value": figures[name],
            "standard_error": figures[f"{name}_stderr"],
            "interval": figures["ci"][name],
            "by_position": curve,
            **known,
        }
    )


def _provenance(entry: Measurement) -> dict[str, Any]:
    return {"n": entry.n, "seed": entry.seed, "seconds": entry.seconds, "recipe": _recipe_key(entry.recipe)}


def _recipe_key(recipe: dict[str, Any]) -> str:
    """A name for one recipe within a file, the machine included."""
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:16]


def _each(by_question: dict[str, list[Measurement]], part: Callable[[Measurement], Any]) -> dict[str, dict[str, Any]]:
    return {question: {entry.name: part(entry) for entry in entries} for question, entries in by_question.items()}


def _cell_key(entry: Measurement) -> str:
    return f"{entry.question}/{entry.name}"


def _samples_path(folder: Path, question: str, stamp: str) -> Path:
    return folder / f"samples_{question}_{stamp}.jsonl"


@contextlib.contextmanager
def _claimed_time(folder: Path, time: datetime) -> Iterator[datetime]:
    """A time that no results file has and no other process is writing under: the given one, or soon after."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        stamp = time.strftime(TIME)
        claim = folder / f".results_{stamp}.claim"
        with contextlib.suppress(FileExistsError):
            os.close(os.open(claim, os.O_CREAT | os.O_EXCL))
            if not (folder / f"results_{stamp}.json").exists():
                break
            claim.unlink()
        time += timedelta(microseconds=1)
    try:
        yield time
    finally:
        claim.unlink()


def _columns(measurements: Iterable[tuple[str, Measurement]]) -> dict[str, FloatArray]:
    """Items, and where they do not count alike their weights, by the names that they are stored under."""
    columns: dict[str, FloatArray | None] = {}
    for name, entry in measurements:
        columns |= {name: entry.per_item, name + notation.WEIGHT: entry.weights}
    return {name: column for name, column in columns.items() if column is not None}


def _write_items(path: Path, columns: dict[str, FloatArray]) -> None:
    """One item per line, with its value or values under each name that has any; no file where there are none."""
    if not columns:
        return
    with _files.replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        for item in range(max(map(len, columns.values()))):
            line = {name: _item_to_json(column[item]) for name, column in columns.items() if item < len(column)}
            stream.write(json.dumps({"doc_id": item, **line}) + "\n")


def _item_to_json(values: FloatArray) -> Any:
    """One item's value or list of values; null where it has none (NaN)."""
    if np.isfinite(values).all():
        return values.tolist()
    if values.ndim:
        return [_item_to_json(value) for value in values]
    return None if np.isnan(values) else str(values)


def _is_there(path: Path) -> bool:
    """Whether there is such a file; a question of a damaged file may have a name that none can have."""
    try:
        return path.is_file()
    except OSError:
        return False


def _read_items(path: Path) -> dict[str, FloatArray]:
    columns: dict[str, list[Any]] = {}
    if not _is_there(path):
        return {}
    with explaining_results(path), path.open(encoding="utf-8") as stream:
        for line in stream:
            item = json.loads(line)
            del item["doc_id"]
            for name, value in item.items():
                columns.setdefault(name, []).append(value)
        return {name: np.array(column, dtype=np.float64) for name, column in columns.items()}  # reads null and "inf"


def _with_items(entry: Measurement, items: dict[str, FloatArray], name: str) -> Measurement:
    return dataclasses.replace(entry, per_item=items.get(name), weights=items.get(name + notation.WEIGHT))


def _read_document(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise OffscriptError(f"no results at {path}", next="measure first, or name another folder")
    with explaining_results(path):
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def explaining_results(path: Path) -> explaining:
    """Convert what a foreign or damaged file of results makes its readers raise into one line."""
    return explaining(f"{path} is not a file of offscript's results")
