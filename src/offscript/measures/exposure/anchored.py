"""Exposure bias from real text alone: the model continues the first tokens of each text, as the text does itself.

A model that begins with its start token writes what it likes, and its marginals differ from the text's by topic before
anything else. After an anchor of the same tokens both tell of the same thing. Only texts that reach a length are read,
so the model's must reach it too: a continuation that ends before is drawn again, and predictions are taken given that
the end is not next. (To forbid the end instead leaves what follows a full stop, and made the gap four times as large.)
"""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from offscript._types import Count
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure, as_measurements, recipe_of
from offscript.measures._scores import Scores, require_comparable, scores_along
from offscript.measures.distances import distances as distances_between
from offscript.measures.exposure.gap import GAP_DISTANCES, Partition, Tables, gap_figures, windows_of
from offscript.measures.exposure.marginal import Averages
from offscript.measures.exposure.studentised import slopes
from offscript.measures.measurement import Measurement
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import generate
from offscript.sampling.histories import data_histories
from offscript.statistics import RESAMPLES, Curve, Estimate, Interval
from offscript.statistics.estimates import student_quantile
from offscript.statistics.resampling import with_average

PLAIN_DISTANCES = ("tv", "js", "hellinger")
"""Distances that are finite over counted text and change with every count."""

PREFIX = 10
"""Tokens of an anchor, where texts are twice as long."""

_CHOICE, _RESAMPLED, _REDRAWN = 1, 3, 4  # streams of random numbers beside the one that draws sequences
_ATTEMPTS = 20  # at a continuation that does not end; texts whose continuations all end are left out
_PLAIN_GROUPS = 20
_AT_ONCE = 1 << 18  # probabilities that stay in a core's cache until all is made of them
_SMALLEST = 1e-30


def usual_prefix(length: int) -> int:
    """Tokens of an anchor of sequences of this length: 10, or nearly half of a shorter sequence."""
    return PREFIX if length >= 2 * PREFIX else max(0, length // 2 - 1)


def measure_exposure_gap(
    model: LanguageModel,
    data: Tensor,
    *,
    samples: int,
    length: int,
    seed: int,
    prefix: int | None = None,
    distances: Sequence[str] = ("tv", "js"),
    level: float = 0.95,
    resamples: int = RESAMPLES,
    batch_size: int = 256,
    progress: Count | None = None,
) -> list[Measurement]:
    """MGD after the model's own continuations and after the text, their gap, and EB-M, without an oracle.

    Args:
        model: The model.
        data: Sentences [n, time ≥ length].
        samples: How many of them are measured.
        length: Tokens of a sequence, those of the anchor included.
        seed: Decides which sentences, every draw and every resample.
        prefix: Tokens of the anchor; 0 begins with the start token, as the paper does.
        distances: js, by which the gap is measured, and others of `PLAIN_DISTANCES` for the paper's estimate; the rest
            need an oracle.
        level: Of the intervals.
        resamples: How often sentences are resampled.
        batch_size: Sequences that the model reads at once.
        progress: Called with how many more sequences are drawn or read: three times each.

    Returns:
        `mgd_gap.d`, `mgd_gap_p.d`, `mgd_model.d`, `mgd_data.d`, `eb_m.d` where MGD after the text is clear of noise,
        and `eb_m_plain.d`, the paper's estimate over the whole vocabulary, which sampling pushes towards 1.
    """
    began = time.monotonic()
    anchor = usual_prefix(length) if prefix is None else prefix
    names = [name for name in distances if name in PLAIN_DISTANCES]
    _require_measurable(model, samples, length, anchor, names)
    every = data_histories(data, len(data), length, seed=(seed, _CHOICE))
    text, aside = every[:samples], every[samples:]
    reading: dict[str, Any] = {"batch_size": batch_size, "progress": progress}
    own, text = _continued(model, text, anchor, seed, **reading)
    reader = _Reader.of(model, own, text, aside, anchor)
    reader.read(own, text, **reading)
    measured = [name for name in names if name in GAP_DISTANCES]
    figures = gap_figures(reader.tables, measured, seed=(seed, _RESAMPLED), level=level, resamples=resamples)
    figures |= _plain_figures(reader.own, reader.given, reader.text, names, level)
    settings = {
        "samples": samples,
        "length": length,
        "prefix": anchor,
        "seed": seed,
        "distances": names,
        "data": {"sequences": len(data), "hash": _hash_of(data)},
        "windows": [[window.start + 1, window.stop] for window in reader.tables.windows],
        "classes": len(reader.partition),
        "level": level,
        "resamples": resamples,
    }
    shared = {"n": len(text), "seed": seed, "seconds": time.monotonic() - began, "question": "exposure"}
    recipe = recipe_of("exposure", model, None, settings)
    return as_measurements(figures, recipe=recipe, higher_is_better=False, **shared)


@dataclass(frozen=True)
class _Reader:
    """What is kept of the model's predictions: by class and window, and over the whole vocabulary by length."""

    model: LanguageModel
    anchor: int
    partition: Partition
    tables: Tables
    own: Averages
    given: Averages
    text: Averages

    @classmethod
    def of(cls, model: LanguageModel, own: Tensor, text: Tensor, aside: Tensor, anchor: int) -> "_Reader":
        """Classes come from anchors and from sentences that are not measured, which an exchange leaves alone.

        Where there are hardly any, they come from both continuations together, which it leaves alone too.
        """
        samples, size, lengths = len(text), model.vocabulary.size, text.shape[1] - anchor - 1
        windows = windows_of(lengths)
        outside = torch.cat([text[:, :anchor].flatten(), aside.flatten()])
        if len(outside) < samples:
            outside = torch.cat([own[:, anchor + 1 :].flatten(), text[:, anchor + 1 :].flatten()])
        partition = Partition.of(outside, size, samples * len(windows[0]))
        tables = Tables(samples, windows, len(partition))
        averages = (Averages(samples, lengths, size, groups=_PLAIN_GROUPS) for _ in range(3))
        return cls(model, anchor, partition, tables, *averages)

    def read(self, own: Tensor, text: Tensor, **reading: Any) -> None:
        """One pass over each kind of sequences."""
        tables, classes = self.tables, self.partition.classes
        for sequences, sums, average in ((own, tables.own, self.own), (text, tables.given, self.given)):
            for scores in scores_along((self.model,), sequences, range(self.anchor + 1, own.shape[1]), **reading):
                tables.add(sums, scores.rows, scores.columns, self._by_class(scores, average))
        after = slice(self.anchor + 1, None)
        tables.count(tables.drawn, classes[own[:, after]])
        tables.count(tables.text, classes[text[:, after]])
        self.text.count(text[:, after])

    def _by_class(self, scores: Scores, average: Averages) -> Tensor:
        """Probabilities of the classes [rows, columns, C], while those of the tokens are added to their average.

        A few rows are taken at a time, so that large vocabularies are read from memory once.
        """
        [log_probs] = scores.log_probs
        at_once = max(1, _AT_ONCE // log_probs[0].numel())
        work = torch.empty_like(log_probs[:at_once], memory_format=torch.contiguous_format)
        classes = []
        for first in range(0, len(log_probs), at_once):
            part = log_probs[first : first + at_once]
            predicted = _given_no_end(torch.exp(part, out=work[: len(part)]), self.model.vocabulary.end)
            begun = scores.rows.start + first
            average.add_probabilities(slice(begun, begun + len(part)), scores.columns, predicted)
            classes.append(self.partition.of_probabilities(predicted))
        return torch.cat(classes)


def _continued(model: LanguageModel, text: Tensor, anchor: int, seed: int, **reading: Any) -> tuple[Tensor, Tensor]:
    """The model's continuations of the anchors, as long as the texts, and the texts that have one."""
    length, end = text.shape[1], model.vocabulary.end
    own, ended = torch.empty_like(text), torch.arange(len(text))
    for attempt in range(_ATTEMPTS):
        drawing: dict[str, Any] = dict(reading) if attempt == 0 else {"batch_size": reading["batch_size"]}
        drawing["prefixes"] = text[ended, :anchor] if anchor else None
        numbers = seed if attempt == 0 else (seed, _REDRAWN, attempt)
        own[ended] = generate(model, len(ended), length, seed=numbers, **drawing).tokens
        if end is None:
            return own, text
        kept = own[:, anchor:].ne(end).all(dim=1)
        ended = (~kept).nonzero().squeeze(1)
        if not len(ended):
            return own, text
    if int(kept.sum()) < 2:
        raise OffscriptError(
            f"{model.name} ends its texts before {length} tokens",
            next="ask for a shorter --length or a longer --prefix",
        )
    return own[kept], text[kept]


def _given_no_end(probabilities: Tensor, end: int | None) -> Tensor:
    """In place: the distributions given that the next token is not the end."""
    if end is None:
        return probabilities
    left = (1 - probabilities[..., end, None]).clamp_min(_SMALLEST)
    probabilities[..., end] = 0.0
    return probabilities.div_(left)


def _plain_figures(
    own: Averages, given: Averages, text: Averages, names: Sequence[str], level: float
) -> dict[str, Figure]:
    """`eb_m_plain.d`: eq. 6 from plain averages over the whole vocabulary, bias and all; none where it is infinite."""
    lengths, total = own.sums.shape[1], own.sizes.sum()
    ratios: dict[str, list[float]] = {name: [] for name in names}
    parts: dict[str, list[np.ndarray[Any, Any]]] = {name: [] for name in names}
    for place in range(lengths):
        p, r, q = (average.sums[:, place].sum(dim=0, dtype=torch.float64) / total for average in (own, given, text))
        tops, bottoms = (distances_between(side.log(), q.log(), names) for side in (p, r))
        for name in names:
            top, bottom = float(tops[name]), float(bottoms[name])
            ratios[name].append(top / bottom if bottom else np.inf)
            if not bottom:
                continue
            of_top = _influences(name, (own, p), (text, q), place)
            of_bottom = _influences(name, (given, r), (text, q), place)
            parts[name].append((of_top - ratios[name][-1] * of_bottom) / bottom)
    return {
        f"eb_m_plain.{name}": _plain_figure(np.array(ratios[name]), np.stack(parts[name], axis=1), level)
        for name in names
        if 0 < min(ratios[name]) <= max(ratios[name]) < np.inf
    }


def _influences(
    name: str, first: tuple[Averages, Tensor], second: tuple[Averages, Tensor], place: int
) -> np.ndarray[Any, Any]:
    """What each group adds to a distance to first order: [groups]."""
    by_side = slopes(name, first[1][None], second[1][None])
    total = torch.zeros(len(first[0].sizes), dtype=torch.float64)
    for (average, mean), slope in zip((first, second), by_side, strict=True):
        flat = slope[0].to(average.sums.dtype)
        total += (average.sums[:, place] @ flat).double() - average.sizes * float(mean @ slope[0])
    return np.asarray((total / first[0].sizes.sum()).numpy())


def _plain_figure(ratios: np.ndarray[Any, Any], influences: np.ndarray[Any, Any], level: float) -> Figure:
    """The average over lengths, with an interval of what sentences vary; what sampling adds is left in."""
    values, shifts = with_average(ratios[None])[0], with_average(influences)
    groups = len(shifts)
    errors = np.sqrt((shifts**2).sum(axis=0) * groups / (groups - 1))
    factor = np.exp(np.minimum(student_quantile(groups - 1, (1 + level) / 2) * errors / values, 50.0))
    lower, upper, method = values / factor, values * factor, "plain: sampling bias left in"
    curve = Curve.of(values[:-1], (lower[:-1], upper[:-1]), level, method)
    interval = Interval(float(lower[-1]), float(upper[-1]), level, method)
    return Figure(Estimate(float(values[-1]), float(errors[-1]), interval), curve)


def _require_measurable(model: LanguageModel, samples: int, length: int, anchor: int, names: Sequence[str]) -> None:
    require_comparable(model, None, samples, length)
    if not names:
        raise OffscriptError(
            "no distance to measure",
            why="without an oracle gd, kl and kl_reverse are infinite or a step",
            next=f"name some of {', '.join(PLAIN_DISTANCES)}",
        )
    if anchor > length - 2:
        raise OffscriptError(
            f"cannot measure sequences of {length} tokens after an anchor of {anchor}",
            why="one own token and one to predict must follow the anchor",
            next=f"ask for --length {anchor + 2} or more, or for a shorter --prefix",
        )


def _hash_of(data: Tensor) -> str:
    return hashlib.sha256(np.ascontiguousarray(data.cpu().numpy()).tobytes()).hexdigest()[:32]
