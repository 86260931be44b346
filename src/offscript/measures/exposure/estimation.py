"""Exposure bias, marginal and conditional: is a model further from the data on its own histories than on the data's?"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from offscript._specification import Specification, nearest, parse_specification
from offscript._types import Count
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure, as_measurements, recipe_of
from offscript.measures._scores import require_comparable, scores_along
from offscript.measures.distances import DISTANCES
from offscript.measures.distances import distances as distances_between
from offscript.measures.enumeration import Level, expected, levels
from offscript.measures.exposure.conditional import Deviations, Values, conditional_figures, deviation_figure
from offscript.measures.exposure.marginal import Averages, Marginals, marginal_figures
from offscript.measures.measurement import Measurement
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import generate
from offscript.sampling.histories import corrupted_histories, data_histories, random_histories, shuffled_histories
from offscript.sampling.randomness import Seed
from offscript.statistics import RESAMPLES, mean_interval, ratio

QUESTION = "exposure"
PAPER_DISTANCES = ("tv", "js", "gd")
MODEL, DATA = "model", "data"
WRONG_HISTORIES = ("corrupted", "random", "shuffled")

_COMMON: dict[str, Any] = {"question": QUESTION, "higher_is_better": False}
_INDEPENDENT, _CHANGED, _RESAMPLED = 1, 2, 3  # streams of random numbers beside the one that draws sequences


def measure_exposure(
    model: LanguageModel,
    oracle: LanguageModel | None = None,
    *,
    samples: int,
    length: int,
    seed: int,
    distances: Sequence[str] = PAPER_DISTANCES,
    data: Tensor | None = None,
    histories: Sequence[str] = (),
    coupled: bool = True,
    marginal: bool = True,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    deviations: Mapping[str, Values] | None = None,
    batch_size: int = 256,
    progress: Count | None = None,
) -> list[Measurement]:
    """EB-M (eq. 2-6) and, with an oracle, EB-C (eq. 7-9) at the history lengths 1 … length-1 and on average.

    Data histories are drawn from the oracle, or taken from the sentences `data` [n, time ≥ length]; one of the two is
    needed. With an oracle P_D|D averages its predictions, else it counts. `histories` names wrong ones whose CGD is
    measured too: `corrupted,rate=0.1` (the model's own, Figure 3), `shuffled` (the data's), `random`.
    `coupled` draws model and data histories with the same random numbers and compares them in pairs, which narrows the
    intervals at short lengths; it needs both to be drawn. `marginal` may be left out to save memory; then `deviations`
    may hold what `deviations_of_rows` found for all rows, if that was done elsewhere.

    Args:
        model: The model to measure.
        oracle: The distribution the model should have; None compares with `data` alone.
        samples: Sequences per kind of history.
        length: Tokens per sequence.
        seed: Decides all draws.
        distances: Names of distances between distributions, such as `js`, `tv`, `gd`.
        data: Real sentences as token ids [n, time ≥ length].
        histories: Further kinds of histories.
        coupled: Whether model and data histories share random numbers.
        marginal: Whether to measure EB-M.
        level: Level of the intervals.
        resamples: Bootstrap resamples.
        deviations: Deviations that were computed elsewhere, by kind of history.
        batch_size: Sequences read at a time; figures do not depend on it.
        progress: Counts sequences.

    Returns:
        `eb_m.*`, `eb_c.*` and the deviations behind them, by length and on average.
    """
    _require_measurable(model, oracle, samples, length, distances, data)
    wrong = [_parse_history(text, oracle) for text in histories]
    coupled = coupled and data is None
    began = time.monotonic()
    figuring: dict[str, Any] = {"seed": (seed, _RESAMPLED), "level": level, "resamples": resamples}
    reading: dict[str, Any] = {"batch_size": batch_size, "progress": progress}
    drawn = _Drawing(model, oracle, length, seed, coupled)
    if data is None and not marginal:
        found = deviations or drawn.deviations(range(samples), distances, wrong, **reading)
        figures = _conditional(found, coupled, **figuring)
    else:
        own = drawn.own(range(samples), **reading)
        given = drawn.given(range(samples), **reading) if data is None else drawn.taken(data, samples)
        passing = _Pass(model, oracle, tuple(distances), marginal, **reading)
        on_model, on_data = passing.over(own), passing.over(given)
        figures = {}
        if marginal:
            figures |= marginal_figures(_marginals(on_model, on_data, given, coupled), distances, **figuring)
        if oracle is not None:
            aside = replace(passing, marginal=False)
            found = {MODEL: on_model.deviations, DATA: on_data.deviations}
            found |= {
                _label(named): aside.over(drawn.changed(number, named, own, given)).deviations
                for number, named in enumerate(wrong)
            }
            figures |= _conditional(found, coupled, **figuring)
    settings = {
        "samples": samples,
        "length": length,
        "seed": seed,
        "distances": list(distances),
        "data": "drawn from the oracle" if data is None else {"sequences": len(data), "hash": _hash_of(data)},
        "histories": [str(named) for named in wrong],
        "coupled": coupled,
        "level": level,
        "resamples": resamples,
    }
    shared = {"n": samples, "seed": seed, "seconds": time.monotonic() - began}
    return as_measurements(figures, recipe=recipe_of(QUESTION, model, oracle, settings), **_COMMON, **shared)


def deviations_of_rows(
    model: LanguageModel,
    oracle: LanguageModel,
    rows: range,
    *,
    length: int,
    seed: int,
    distances: Sequence[str] = PAPER_DISTANCES,
    histories: Sequence[str] = (),
    coupled: bool = True,
    batch_size: int = 256,
    progress: Count | None = None,
) -> dict[str, Values]:
    """What `measure_exposure` makes EB-C of, for some of its rows: by kind of history, by distance, [rows, length-1].

    Parts found apart, joined in the order of their rows, are what the whole would have been.
    """
    wrong = [_parse_history(text, oracle) for text in histories]
    drawing = _Drawing(model, oracle, length, seed, coupled)
    return drawing.deviations(rows, distances, wrong, batch_size=batch_size, progress=progress)


def measure_exposure_exactly(
    model: LanguageModel, oracle: LanguageModel, *, length: int, distances: Sequence[str] = PAPER_DISTANCES
) -> list[Measurement]:
    """The figures of `measure_exposure` by enumeration of every history."""
    began = time.monotonic()
    _require_histories(length)
    rows: dict[str, list[float]] = {}
    histories = 0
    for level in levels(model, oracle, length):
        if level.length == 0:
            continue
        histories += len(level.tokens)
        for key, value in _exact_deviations(level, distances).items():
            rows.setdefault(key, []).append(value)
    curves = {key: np.array(values) for key, values in rows.items()}
    figures = {}
    for deviation, name in product(("mgd", "cgd"), distances):
        on_model, on_data = curves[f"{deviation}_model.{name}"], curves[f"{deviation}_data.{name}"]
        bias = ratio(on_model, on_data)
        figures[f"eb_{deviation[0]}.{name}"] = Figure.exact(bias.mean(), bias)
        figures[f"{deviation}_model.{name}"] = Figure.exact(on_model.mean(), on_model)
        figures[f"{deviation}_data.{name}"] = Figure.exact(on_data.mean(), on_data)
    recipe = recipe_of(QUESTION, model, oracle, {"length": length, "distances": list(distances), "exact": True})
    shared = {"n": histories, "seed": None, "seconds": time.monotonic() - began}
    return as_measurements(figures, recipe=recipe, **_COMMON, **shared)


def measure_deviations(
    model: LanguageModel, oracle: LanguageModel, rows: range, *, seed: int, **settings: Any
) -> list[Measurement]:
    """`deviations_of_rows` as measurements that a worker can send; `per_item` holds them, [rows, length-1]."""
    deviations = deviations_of_rows(model, oracle, rows, seed=seed, **settings)
    recipe = {"model": model.weight_hash, "rows": [rows.start, rows.stop], "seed": seed, **settings}
    shared: dict[str, Any] = {"question": "deviations", "seed": seed, "n": len(rows), "seconds": 0.0}
    return [
        Measurement.of(
            mean_interval(values.mean(axis=1), share=False),
            name=f"{kind}/{distance}",
            recipe={**recipe, "dtype": str(values.dtype)},
            per_item=values,
            **shared,
        )
        for kind, by_distance in deviations.items()
        for distance, values in by_distance.items()
    ]


@dataclass(frozen=True)
class _Drawing:
    """Histories of every kind, each row by its number."""

    model: LanguageModel
    oracle: LanguageModel | None
    length: int
    seed: int
    coupled: bool

    def own(self, rows: range, **drawing: Any) -> Tensor:
        drawing |= {"first_row": rows.start, "stop_at_end": False}
        return generate(self.model, len(rows), self.length, seed=self.seed, **drawing).tokens

    def given(self, rows: range, **drawing: Any) -> Tensor:
        """Drawn from the oracle, with the random numbers of the model's own where they are coupled."""
        assert self.oracle is not None
        seed = self.seed if self.coupled else (self.seed, _INDEPENDENT)
        drawing |= {"first_row": rows.start, "stop_at_end": False}
        return generate(self.oracle, len(rows), self.length, seed=seed, **drawing).tokens

    def taken(self, data: Tensor, samples: int) -> Tensor:
        return data_histories(data, samples, self.length, seed=(self.seed, _INDEPENDENT))

    def changed(self, number: int, named: Specification, own: Tensor, given: Tensor, first_row: int = 0) -> Tensor:
        """The histories of one kind that are wrong on purpose."""
        size, seed = self.model.vocabulary.size, (self.seed, _CHANGED, number)
        if named.name == "corrupted":
            return corrupted_histories(own, float(named.settings["rate"]), size, seed=seed, first_row=first_row)
        if named.name == "random":
            return random_histories(size, *own.shape, seed=seed, first_row=first_row)
        return shuffled_histories(given, seed=seed, first_row=first_row)

    def deviations(
        self, rows: range, distances: Sequence[str], wrong: Sequence[Specification], **reading: Any
    ) -> dict[str, Values]:
        """Of the rows, by kind of history."""
        own, given = self.own(rows, **reading), self.given(rows, **reading)
        kinds = {MODEL: own, DATA: given}
        for number, named in enumerate(wrong):
            kinds[_label(named)] = self.changed(number, named, own, given, rows.start)
        passing = _Pass(self.model, self.oracle, tuple(distances), False, **reading)
        return {kind: passing.over(sequences, rows.start).deviations for kind, sequences in kinds.items()}


@dataclass(frozen=True)
class _Along:
    """What one pass over the sequences of one source gave."""

    deviations: dict[str, NDArray[np.floating]]  # empty without an oracle
    averages: tuple[Averages, ...]  # of the model and, with an oracle, of the oracle; empty if not asked for


@dataclass(frozen=True)
class _Pass:
    """How sequences are read: once by each model, for every length, every distance and every average."""

    model: LanguageModel
    oracle: LanguageModel | None
    distances: tuple[str, ...]
    marginal: bool
    batch_size: int
    progress: Count | None

    def over(self, sequences: Tensor, first_row: int = 0) -> _Along:
        """Deviations and averages along sequences [n, length], of which the first is row `first_row`."""
        models = (self.model,) if self.oracle is None else (self.model, self.oracle)
        positions = range(1, sequences.shape[1])
        deviations = Deviations(len(sequences), len(positions), () if self.oracle is None else self.distances)
        averages = tuple(
            Averages(len(sequences), len(positions), self.model.vocabulary.size) for _ in models if self.marginal
        )
        reading: dict[str, Any] = {"batch_size": self.batch_size, "progress": self.progress, "first_row": first_row}
        for scores in scores_along(models, sequences, positions, **reading):
            if self.oracle is not None:
                deviations.add(scores)
            for average, log_probs in zip(averages, scores.log_probs, strict=False):
                average.add(scores.rows, scores.columns, log_probs)
        return _Along(deviations.values, averages)


def _marginals(on_model: _Along, on_data: _Along, given: Tensor, paired: bool) -> Marginals:
    """The averages of eq. 2-4; P_D|D is the oracle's, else the given sentences' tokens are counted."""
    model_on_data, *oracle_on_data = on_data.averages
    if oracle_on_data:
        return Marginals(on_model.averages[0], model_on_data, oracle_on_data[0], paired)
    counted = Averages(len(given), given.shape[1] - 1, model_on_data.sums.shape[2])
    counted.count(given[:, 1:])
    return Marginals(on_model.averages[0], model_on_data, counted, paired)


def _exact_deviations(level: Level, names: Sequence[str]) -> dict[str, float]:
    """MGD and CGD at one history length."""
    ours, theirs = level.model_log_probs.exp(), level.oracle_log_probs.exp()
    truth = level.oracle_weights @ theirs
    marginals = torch.stack([level.model_weights @ ours, level.oracle_weights @ ours])  # [2, V]
    between_marginals = distances_between(marginals.log(), truth.log().expand(2, -1), names)
    between_conditionals = distances_between(level.model_log_probs, level.oracle_log_probs, names)
    found = {}
    for name in names:
        found[f"mgd_model.{name}"], found[f"mgd_data.{name}"] = between_marginals[name].tolist()
        found[f"cgd_model.{name}"] = float(expected(level.model_weights, between_conditionals[name]))
        found[f"cgd_data.{name}"] = float(expected(level.oracle_weights, between_conditionals[name]))
    return found


def _conditional(
    deviations: Mapping[str, Values], coupled: bool, *, seed: Seed, level: float, resamples: int
) -> dict[str, Figure]:
    """EB-C of the model's and the data's histories, and CGD of the wrong ones."""
    settings: dict[str, Any] = {"seed": seed, "level": level, "resamples": resamples}
    figures = conditional_figures(deviations[MODEL], deviations[DATA], paired=coupled, **settings)
    for kind, values in deviations.items():
        if kind not in (MODEL, DATA):
            figures |= {f"cgd_{kind}.{name}": deviation_figure(name, own, level=level) for name, own in values.items()}
    return figures


def _parse_history(text: str, oracle: LanguageModel | None) -> Specification:
    named = parse_specification(text)
    if named.name not in WRONG_HISTORIES:
        raise OffscriptError(f"no histories {named.name!r}", next=nearest(named.name, WRONG_HISTORIES))
    wanted = {"rate"} if named.name == "corrupted" else set()
    if set(named.settings) != wanted or not all(isinstance(value, int | float) for value in named.settings.values()):
        raise OffscriptError(f"cannot read the histories {text!r}", next="write corrupted,rate=0.1, shuffled or random")
    if oracle is None:
        raise OffscriptError(
            f"cannot measure {named.name} histories", why="their deviation needs an oracle", next="give an oracle"
        )
    return named


def _label(named: Specification) -> str:
    return "_".join([named.name, *(f"{value:g}" for value in named.settings.values())])


def _require_measurable(
    model: LanguageModel,
    oracle: LanguageModel | None,
    samples: int,
    length: int,
    names: Sequence[str],
    data: Tensor | None,
) -> None:
    require_comparable(model, oracle, samples, length)
    _require_histories(length)
    if oracle is None and data is None:
        raise OffscriptError(
            "cannot measure exposure bias with neither an oracle nor data",
            why="a deviation needs a reference",
            next="give an oracle or sentences",
        )
    if not names:
        raise OffscriptError("no distance to measure", next=f"name some of {', '.join(DISTANCES)}")


def _require_histories(length: int) -> None:
    if length < 2:
        raise OffscriptError(
            f"cannot measure sequences of {length} token(s)",
            why="the shortest history has one token",
            next="ask for 2 or more",
        )


def _hash_of(data: Tensor) -> str:
    return hashlib.sha256(np.ascontiguousarray(data.cpu().numpy()).tobytes()).hexdigest()[:32]
