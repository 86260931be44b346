"""Confidence against accuracy of the likeliest token, and entropy along real text and the model's continuations."""

import hashlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from offscript._abilities import Gives
from offscript._types import Count, FloatArray
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure, as_measurements, means_by_position, recipe_of
from offscript.measures._scores import scores_along
from offscript.measures.measurement import Measurement
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import generate, lengths_until
from offscript.statistics import Curve, mean_interval, rate_interval, within
from offscript.statistics.estimates import LEAST

BINS = 10
_LEVEL = 0.95
_METHOD = "rate over sequences"


@dataclass(frozen=True)
class Reading:
    """What a model said along sequences, from a position on; NaN after a sequence's end."""

    confidence: FloatArray  # [n, positions], of the likeliest token
    right: FloatArray  # [n, positions], whether that was the next token
    entropy: FloatArray  # [n, positions], nats; all NaN where a model does not give it

    @property
    def real(self) -> NDArray[np.bool_]:
        """Where there is a token; [n, positions]."""
        return ~np.isnan(self.confidence)


def measure_calibration(
    model: LanguageModel,
    data: Tensor,
    *,
    prefix: int,
    seed: int,
    batch_size: int = 256,
    progress: Count | None = None,
) -> list[Measurement]:
    """How reliable a model's next-token probabilities are on real text, and how its entropy changes on its own.

    Args:
        model: The model.
        data: Real sequences [n, length]; those that end within the prefix are left out.
        prefix: How many of their tokens the model continues; figures are over the positions after them.
        seed: Draws the continuations.
        batch_size: Sequences that the model reads at once.
        progress: Counts sequences: each is read, continued, and its continuation read.

    Returns:
        `right` and `confidence`, the accuracy of the likeliest token and its mean probability, both also over tenths of
        the predictions, from the least sure; `overconfidence`, their difference; `calibration_error`; `entropy.data`
        and `entropy.model` by position, and `entropy_drift`, the second less the first in pairs that share a prefix. A
        model behind an API gives no entropies.
    """
    began = time.monotonic()
    length = data.shape[1]
    if not 1 <= prefix < length:
        raise OffscriptError(
            f"cannot continue {prefix} tokens of sequences of {length}", next="ask for a shorter --prefix"
        )
    data = going_on(model, data, prefix)
    if (n := len(data)) < 2 * LEAST:
        raise OffscriptError(
            f"cannot measure {n} sequence(s) that go on after {prefix} tokens",
            why=f"the calibration error is that of every second one, and its interval needs {LEAST}",
            next="give more",
        )
    reading: dict[str, Any] = {"batch_size": batch_size, "progress": progress}
    given = read_along(model, data, prefix, **reading)
    drawn = None
    if model.gives is Gives.distributions:
        own = generate(model, n, length, seed=seed, prefixes=data[:, :prefix], **reading).tokens
        drawn = read_along(model, own, prefix, **reading)
    settings = {
        "samples": n,
        "length": length,
        "prefix": prefix,
        "seed": seed,
        "data": hashlib.sha256(data.numpy().tobytes()).hexdigest()[:16],
    }
    figures = {**_reliability(given), **({} if drawn is None else _entropies(given, drawn))}
    shared = {"n": n, "seed": seed, "seconds": time.monotonic() - began, "question": "calibration"}
    recipe = recipe_of("calibration", model, None, settings)
    return as_measurements(figures, recipe=recipe, higher_is_better=None, **shared)


def going_on(model: LanguageModel, data: Tensor, prefix: int) -> Tensor:
    """The sequences that do not end within the prefix; only they are read."""
    return data[lengths_until(data, model.vocabulary.end) > prefix]


def passes(model: LanguageModel) -> int:
    """How often each sequence is read or drawn."""
    return 3 if model.gives is Gives.distributions else 1


def read_along(
    model: LanguageModel, tokens: Tensor, first: int, *, batch_size: int, progress: Count | None = None
) -> Reading:
    """Confidence, accuracy and entropy of every prediction from position `first` on, up to each sequence's end."""
    n, length = tokens.shape
    tables = [np.full((n, length - first), np.nan) for _ in range(3)]
    if model.gives is not Gives.distributions:
        best, hits = model.likeliest(tokens, range(first, length))
        tables[0][:], tables[1][:] = best.exp().numpy(), hits.numpy()
        if progress is not None:
            progress(n)
        return _until_end(model, tokens, first, tables)
    for scores in scores_along((model,), tokens, range(first, length), batch_size=batch_size, progress=progress):
        predicted = scores.log_probs[0]  # [rows, positions, V]
        columns = slice(first + scores.columns.start, first + scores.columns.stop)
        best, likeliest = predicted.max(dim=-1)
        hits = likeliest.cpu() == tokens[scores.rows, columns]
        chances = predicted.double().exp()
        costs = -(chances * predicted.double().clamp(min=-1e30)).sum(dim=-1)  # 0 · −∞ counts as 0
        for table, values in zip(tables, (best.double().exp(), hits, costs), strict=True):
            table[scores.rows, scores.columns] = values.cpu().numpy()
    return _until_end(model, tokens, first, tables)


def _until_end(model: LanguageModel, tokens: Tensor, first: int, tables: list[FloatArray]) -> Reading:
    """What was read, without what lies beyond each sequence's end."""
    lengths = lengths_until(tokens, model.vocabulary.end).numpy()
    for table in tables:
        table[np.arange(first, tokens.shape[1])[None] >= lengths[:, None]] = np.nan
    return Reading(*tables)


def _reliability(reading: Reading) -> dict[str, Figure]:
    """Accuracy, confidence, their difference, and the calibration error.

    The calibration error is the mean of |confidence − accuracy| over tenths of the predictions. Every second sequence
    says in which direction each tenth errs, and the others by how much. Given the directions it is a mean like any
    other: its interval covers, and for a calibrated model it lies around 0, where the usual estimate is positive.
    """
    real, counts = reading.real, reading.real.sum(axis=1).astype(float)
    gap, bins = np.where(real, reading.confidence - reading.right, 0.0), tenths(reading.confidence)
    directions = np.array([np.sign(gap[::2][bins[::2] == number].sum()) for number in range(bins.max() + 1)])
    signed = np.where(real, directions[bins] * gap, 0.0)[1::2].sum(axis=1)
    right, sure = (np.where(real, each, 0.0) for each in (reading.right, reading.confidence))
    accuracy = within(rate_interval(right.sum(axis=1), counts, share=True), 0, 1)
    confidence = within(rate_interval(sure.sum(axis=1), counts), 0, 1)
    return {
        "right": Figure(accuracy, _by_bin(right, bins), *_of(right, counts)),
        "confidence": Figure(confidence, _by_bin(sure, bins), *_of(sure, counts)),
        "calibration_error": Figure(rate_interval(signed, counts[1::2])),
        "overconfidence": Figure(rate_interval(gap.sum(axis=1), counts), None, *_of(gap, counts)),
    }


def _of(table: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    return table.sum(axis=1) / counts, counts


def tenths(confidence: FloatArray) -> NDArray[np.int64]:
    """Which tenth of all predictions each is in, from the least sure; equal ones stay together, NaN is in none (−1)."""
    known = confidence[~np.isnan(confidence)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1]))
    numbers = np.unique(np.searchsorted(edges, known, side="right"), return_inverse=True)[1]
    bins = np.full(confidence.shape, -1)
    bins[~np.isnan(confidence)] = numbers
    return bins


def _by_bin(table: FloatArray, bins: NDArray[np.int64]) -> Curve:
    """Means over the predictions of each tenth; of one that too few sequences have nothing is known but its value."""
    estimates = []
    for number in range(bins.max() + 1):
        inside = bins == number
        rows = inside.any(axis=1)
        totals, counts = (table * inside).sum(axis=1)[rows], inside.sum(axis=1)[rows]
        if len(totals) < LEAST:
            estimates.append((totals.sum() / counts.sum(), 0.0, 1.0))
            continue
        own = within(rate_interval(totals, counts), 0, 1)
        estimates.append((own.value, own.interval.lower, own.interval.upper))
    values, lower, upper = np.array(estimates).T
    return Curve.of(values, (lower, upper), _LEVEL, _METHOD)


def _entropies(given: Reading, drawn: Reading) -> dict[str, Figure]:
    """By position, over the sequences that have not ended; the drift pairs sequences with the same prefix."""
    means = [np.nansum(each.entropy, axis=1) / each.real.sum(axis=1) for each in (given, drawn)]
    drift = means[1] - means[0]
    return {
        "entropy.data": Figure(mean_interval(means[0]), means_by_position(given.entropy), means[0]),
        "entropy.model": Figure(mean_interval(means[1]), means_by_position(drawn.entropy), means[1]),
        "entropy_drift": Figure(mean_interval(drift), None, drift),
    }
