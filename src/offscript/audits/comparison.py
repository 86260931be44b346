"""Compare runs with the first of them: which figures differ by more than chance."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from offscript._types import FloatArray
from offscript.audits.store import read_results
from offscript.errors import OffscriptError
from offscript.measures.measurement import MACHINE, P_VALUE, Measurement
from offscript.measures.registry import questions
from offscript.measures.words import short_name
from offscript.statistics import Difference, Interval, can_be_compared, holm, independent_difference, paired_differences

LEVEL = 0.95
_RESAMPLES = 10_000
_IDENTITY = ("model", "weights", "versions", MACHINE)
"""The parts of a recipe in which runs on the same items differ."""


@dataclass(frozen=True)
class Run:
    """One run's stored figures by `QUESTION.NAME`, with a label that no other run of the comparison has."""

    label: str
    model: str
    date: str
    config: dict[str, Any]
    path: Path
    figures: Mapping[str, Measurement]


@dataclass(frozen=True)
class Contrast:
    """One figure of a later run less that of the first; `corrected` is its p-value among all of the comparison."""

    run: str
    figure: str
    first: Measurement
    second: Measurement
    difference: Difference
    paired: bool
    corrected: float = 1.0

    @property
    def value(self) -> float:
        """The difference."""
        return self.difference.value

    @property
    def interval(self) -> Interval:
        """That of the difference, this one figure considered alone."""
        return self.difference.interval

    @property
    def real(self) -> bool:
        """Whether it is more than chance, given how many figures were compared."""
        return self.corrected < 1 - LEVEL

    @property
    def verdict(self) -> str:
        """`better`, `worse` or, if neither is good, `different`; `no significant difference` if it may be chance."""
        if not self.real:
            return "no significant difference"
        if self.first.higher_is_better is None:
            return "different"
        return "better" if (self.value > 0) == self.first.higher_is_better else "worse"


@dataclass(frozen=True)
class Comparison:
    """All runs, every contrast with the first, and the figures that could not be compared, with the reason."""

    runs: tuple[Run, ...]
    contrasts: tuple[Contrast, ...]
    left_out: tuple[tuple[str, str], ...]

    @cached_property
    def real(self) -> list[Contrast]:
        """The differences that are more than chance."""
        return [contrast for contrast in self.contrasts if contrast.real]


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Results files, or the newest below each folder, in the order given.

    Args:
        paths: Results files or folders.

    Returns:
        One run per path.
    """
    if len(paths) < 2:
        raise OffscriptError(f"cannot compare {len(paths)} run(s)", next="name two or more")
    files = [_newest_results(path) for path in paths]
    if len(set(files)) < len(files):
        raise OffscriptError("a run is named twice", next="name each once")
    measured = [read_results(file, with_items=True) for file in files]
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    models = [str(document["model_name"]) for document in documents]
    return [
        Run(
            label=label,
            model=model,
            date=datetime.fromtimestamp(float(document["date"]), tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            config=document["config"],
            path=file,
            figures={f"{entry.question}.{entry.name}": entry for entry in entries},
        )
        for file, document, model, label, entries in zip(
            files, documents, models, _labels(models), measured, strict=True
        )
    ]


def _labels(models: Sequence[str]) -> list[str]:
    """The models without folders of this machine where that tells as many apart; runs of one model with their place."""
    short = [short_name(model) for model in models]
    names = short if len(set(short)) == len(set(models)) else list(models)
    return [name if names.count(name) == 1 else f"{name} ({place})" for place, name in enumerate(names, start=1)]


def compare_runs(runs: Sequence[Run], *, seed: int = 1, without: Mapping[str, str] | None = None) -> Comparison:
    """Every later run against the first, in pairs of items where both were measured on the same.

    Items are the same where the recipes of a figure agree in all but the model: the same sentences or tests, or
    sequences drawn with the same random numbers. Other figures are compared by their intervals alone.

    Args:
        runs: Two runs or more, from `read_runs`.
        seed: Decides the bootstrap.
        without: Figures that are left out, with the reason.

    Returns:
        Every figure's difference with its interval and its corrected p-value.
    """
    first, contrasts, left_out = runs[0], [], []
    wanted = max(_RESAMPLES, round(4 * len(first.figures) * (len(runs) - 1) / (1 - LEVEL)))
    for place, run in enumerate(runs[1:]):
        missing = {**_not_comparable(first, run), **(without or {})}
        names = [name for name in first.figures if name not in missing]
        left_out += list(missing.items())
        contrasts += _contrasts(first, run, names, np.random.default_rng([seed, place]), wanted)
    if not contrasts:
        raise OffscriptError("the runs share no figure", next="compare runs that asked the same questions")
    return Comparison(tuple(runs), tuple(_corrected(contrasts)), tuple(dict.fromkeys(left_out)))


def share_figures(runs: Sequence[Run]) -> bool:
    """Whether some later run has a figure that can be compared with the first run's."""
    return any(set(runs[0].figures) - _not_comparable(runs[0], run).keys() for run in runs[1:])


def _not_comparable(first: Run, run: Run) -> dict[str, str]:
    """Figures that have no finite value in both runs, and p-values, with the reason."""
    shared = first.figures.keys() & run.figures.keys()
    infinite = [
        name
        for name in shared
        if not (math.isfinite(first.figures[name].value) and math.isfinite(run.figures[name].value))
    ]
    p_values = [name for name, entry in first.figures.items() if entry.interval.method == P_VALUE]
    amounts = sorted(name for name in shared if _other_amount(first.figures[name], run.figures[name]))
    few = sorted(name for name in shared if _too_few(first.figures[name], run.figures[name]))
    return {
        **{name: f"only {first.label} has it" for name in first.figures if name not in run.figures},
        **{name: f"only {run.label} has it" for name in run.figures if name not in first.figures},
        **dict.fromkeys(sorted(infinite), "it is infinite"),
        **dict.fromkeys(p_values, "it is a p-value"),
        **dict.fromkeys(amounts, "it depends on the number of texts, in which the runs differ"),
        **dict.fromkeys(few, "it is a mean of fewer than 12 items, which the runs do not share"),
    }


def _too_few(first: Measurement, second: Measurement) -> bool:
    """Whether two figures of different items rest on too few of them for an interval of their difference."""
    return not can_be_compared(first.estimate, second.estimate) and _shared_items(first, second) is None


def _other_amount(first: Measurement, second: Measurement) -> bool:
    """Whether a figure depends on how much text there is, and the two were measured on different amounts."""
    asked = questions().get(first.question)
    if asked is None or not any(fnmatchcase(first.name, pattern) for pattern in asked.of_amount):
        return False
    return (first.n, first.recipe.get("references")) != (second.n, second.recipe.get("references"))


def _contrasts(
    first: Run, run: Run, names: Sequence[str], generator: np.random.Generator, resamples: int
) -> list[Contrast]:
    """The contrasts of one run in the order of the names; figures on equally many items share their resamples."""
    by_size: dict[int, dict[str, FloatArray]] = {}
    for name in names:
        pair = _shared_items(first.figures[name], run.figures[name])
        if pair is not None:
            by_size.setdefault(pair.shape[1], {})[name] = pair
    found: dict[str, Difference] = {}
    for pairs in by_size.values():
        ours, theirs = np.stack(list(pairs.values()), axis=2)  # each [n, figures]
        differences = paired_differences(theirs, ours, generator=generator, resamples=resamples, level=LEVEL)
        found |= dict(zip(pairs, differences, strict=True))
    estimates = {name: (run.figures[name].estimate, first.figures[name].estimate) for name in names}
    return [
        Contrast(
            run.label,
            name,
            first.figures[name],
            run.figures[name],
            found[name] if name in found else independent_difference(*estimates[name]),
            paired=name in found,
        )
        for name in names
    ]


def _shared_items(first: Measurement, second: Measurement) -> FloatArray | None:
    """What each item adds to both figures, [2, n], or None where the items are not the same."""
    if first.n != second.n or _items_of(first.recipe) != _items_of(second.recipe):
        return None
    pair = first.contributions(), second.contributions()
    if pair[0] is None or pair[1] is None or len(pair[0]) != len(pair[1]):
        return None
    return np.stack([pair[0], pair[1]])


def _items_of(recipe: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in recipe.items() if key not in _IDENTITY}


def _corrected(contrasts: Sequence[Contrast]) -> list[Contrast]:
    corrected = holm(np.array([contrast.difference.p_value for contrast in contrasts]))
    return [replace(each, corrected=p_value) for each, p_value in zip(contrasts, corrected.tolist(), strict=True)]


def _newest_results(path: Path) -> Path:
    if path.is_file():
        return path.resolve()
    found = sorted(path.glob("**/results_*.json"), key=lambda file: file.name)
    if not found:
        raise OffscriptError(f"there are no results in {path}", next="name a results file or the folder of a run")
    return found[-1].resolve()
