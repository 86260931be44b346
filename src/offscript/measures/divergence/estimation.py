"""KL(base‖model) after every token of a text: its mean, its percentiles, and the texts where it is largest.

The base is the reference, as a full-precision model is for a quantised one, so its distribution is the one that the
divergence is averaged over.
"""

import time
from typing import Any

import numpy as np

from offscript._types import Count, FloatArray
from offscript.measures._figures import Figure, as_measurements, recipe_of
from offscript.measures.measurement import Measurement
from offscript.measures.places.estimation import Trace, padded, trace
from offscript.measures.places.exhibits import SHOWN, TokenTexts, worst_exhibit
from offscript.measures.texts import Texts
from offscript.models.language_model import LanguageModel, require_same_vocabulary
from offscript.statistics import Curve, mean_interval, rate_interval, within
from offscript.statistics.resampling import RESAMPLES, estimates_of_draws, value_and_draws

QUESTION = "divergence"
PERCENTILES = {"kl_p50": 0.5, "kl_p90": 0.9, "kl_p99": 0.99}
LABELS = {
    "kl": "KL(base‖model)",
    "surprise": "surprise under the base",
    "entropy": "entropy of the base",
}
_FEWEST = 10  # texts that a point of the curve by position is the mean of
_ROWS = 64  # resamples whose weights of every token are held at once
_LEVEL = 0.95


def read_texts(
    base: LanguageModel, model: LanguageModel, texts: Texts, *, batch_size: int, progress: Count | None = None
) -> Trace:
    """Every token of the texts under both models; `kl` is KL(base‖model)."""
    require_same_vocabulary(model, base)
    rows = padded(texts.tokens, max(map(len, texts.tokens)), model.vocabulary.end or 0)
    return trace(base, model, rows, tops=True, batch_size=batch_size, progress=progress)


def measure_divergence(
    base: LanguageModel, model: LanguageModel, texts: Texts, found: Trace, *, seed: int
) -> list[Measurement]:
    """How far a model is from its base on a text.

    Args:
        base: the reference.
        model: the model that is asked about.
        texts: what both read.
        found: what `read_texts` gave.
        seed: decides the resamples behind the intervals of percentiles.

    Returns:
        `kl` (nats per token, by position too), its percentiles over tokens, and `same_top`, the share of positions at
        which both have the same most probable token; intervals are over texts.
    """
    began, kl, others = time.monotonic(), _required(found.kl), _required(found.other_top)
    lengths = (~np.isnan(kl)).sum(axis=1).astype(np.float64)
    totals, equal = np.nansum(kl, axis=1), lengths - np.nansum(others, axis=1)
    same = within(rate_interval(equal, lengths, share=True), 0, 1)
    figures = {
        "kl": Figure(rate_interval(totals, lengths), _by_position(kl), totals / lengths, lengths),
        **_percentiles(kl, np.random.default_rng([seed, len(kl)])),
        "same_top": Figure(same, None, equal / lengths, lengths),
    }
    settings = {
        "against": {"name": base.name, "weights": base.weight_hash},
        "data": {"hash": texts.digest, "sequences": len(kl), "tokens": int(lengths.sum()), **texts.recipe},
    }
    shared = {"n": len(kl), "seed": seed, "seconds": time.monotonic() - began, "question": QUESTION}
    return as_measurements(figures, recipe=recipe_of(QUESTION, model, None, settings), **shared)


def exhibits_of(base: LanguageModel, model: LanguageModel, found: Trace) -> list[dict[str, Any]]:
    """The places where the models part most, and the texts with the largest sum, token by token."""
    makes = TokenTexts(base, model, found, labels=LABELS, running="KL so far, summed up")
    totals = np.nansum(_required(found.kl), axis=1)
    largest = np.argsort(-totals, kind="stable")[:SHOWN].tolist()
    named = [
        {**text, "label": f"text {row + 1}"} for text, row in zip(makes.texts(found, largest), largest, strict=True)
    ]
    return [
        worst_exhibit(makes, found, "They part here", "text"),
        makes.exhibit(
            "The texts with the largest divergence",
            [("real text", named)],
            f"Of {len(totals):,} texts, by the sum over their tokens.",
        ),
    ]


def _percentiles(kl: FloatArray, generator: np.random.Generator) -> dict[str, Figure]:
    """Percentiles over all tokens, with intervals by resampling whole texts."""
    owners, _ = np.nonzero(~np.isnan(kl))
    values = kl[~np.isnan(kl)]
    order = np.argsort(values, kind="stable")
    values, owners = values[order], owners[order]

    def statistic(weights: FloatArray) -> FloatArray:
        blocks = [_quantiles(values, weights[first : first + _ROWS, owners]) for first in range(0, len(weights), _ROWS)]
        return np.concatenate(blocks)

    point, draws = value_and_draws(statistic, [len(kl)], RESAMPLES, generator)
    estimates = estimates_of_draws(point[0], draws, level=_LEVEL, method="bootstrap of texts")
    return {name: Figure(estimate) for name, estimate in zip(PERCENTILES, estimates, strict=True)}


def _quantiles(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The least of the ascending values up to which each share of the weights [rows, n] lies: [rows, percentiles]."""
    total = weights.cumsum(axis=1)
    total /= total[:, -1:]
    shares = list(PERCENTILES.values())
    return np.stack([values[(total >= share - 1e-12).argmax(axis=1)] for share in shares], axis=1)


def _by_position(kl: FloatArray) -> Curve | None:
    columns = [column[~np.isnan(column)] for column in kl.T]
    points = [mean_interval(column, share=False) for column in columns if len(column) >= _FEWEST]
    return Curve.along(points) if points else None


def _required(values: FloatArray | None) -> FloatArray:
    assert values is not None
    return values
