"""Where a model is off script, token by token: KL(model‖oracle) where there is an oracle, its own surprise where not.

Token t of a sequence is judged by the distributions that both models give after tokens 0 … t-1. KL(p‖o) is the regret
of drawing the next token from the model instead of the oracle (the inner terms of eq. 20), whatever token was drawn.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from offscript._types import Count, FloatArray
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure, as_measurements, recipe_of
from offscript.measures._scores import require_comparable, scores_along
from offscript.measures.distances import distances
from offscript.measures.measurement import Measurement
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import Generated
from offscript.statistics import Curve, jackknife, mean_interval, rate_interval, within

QUESTION = "places"
ALTERNATIVES = 5
BAD = 0.99
"""A token is bad where its value is above what this share of the tokens of real text have."""

FEWEST = 4
"""Sequences that an interval needs."""

LABELS = {"kl": "KL(model‖oracle)", "surprise": "surprise under the model", "entropy": "entropy of the model"}
"""What colours a token, in words."""

_FEWEST = 10  # sequences that a point of a recovery curve is the mean of
_HUGE = 1e12  # stands for infinity in shares of a total


@dataclass(frozen=True)
class Trace:
    """What is known of every token of some sequences, each [n, time]; NaN after a sequence's end."""

    sequences: Generated
    kl: FloatArray | None  # KL(model‖oracle) after the tokens before it
    surprise: FloatArray  # -log p of the token itself
    entropy: FloatArray  # of the model's distribution
    other_top: FloatArray | None = None  # 1 where the two models' most probable tokens differ, where it was asked for

    @property
    def deviation(self) -> FloatArray:
        """What colours the text: KL where there is an oracle, else surprise."""
        return self.surprise if self.kl is None else self.kl

    @property
    def running(self) -> FloatArray:
        """The sum up to each token: of KL, which is regret, else of surprise beyond the entropy, which was expected."""
        terms = self.surprise - self.entropy if self.kl is None else self.kl
        total: FloatArray = np.cumsum(terms, axis=1)
        return total


class Alternatives(NamedTuple):
    """The most probable next tokens and their probabilities, each [n, time, k]."""

    ids: Tensor
    probabilities: Tensor


def trace(
    model: LanguageModel,
    oracle: LanguageModel | None,
    sequences: Generated,
    *,
    precise: bool = False,
    tops: bool = False,
    batch_size: int = 256,
    progress: Count | None = None,
) -> Trace:
    """Every token of the sequences under both models, each read once.

    Args:
        model: the model that is asked about.
        oracle: what stands for the data's distribution, if anything does.
        sequences: drawn from the model, or any other text of its vocabulary.
        precise: add up in double precision, for few sequences.
        tops: also say where the most probable tokens of both models differ.
        batch_size: sequences that are read at once.
        progress: told of every sequence.

    Returns:
        One value per token for KL, surprise and entropy, in nats.
    """
    tokens = sequences.tokens
    kl, surprise, entropy, other = (torch.zeros(tokens.shape, dtype=torch.float64) for _ in range(4))
    models = (model,) if oracle is None else (model, oracle)
    for scores in scores_along(models, tokens, range(tokens.shape[1]), batch_size=batch_size, progress=progress):
        place = scores.rows, scores.columns
        own, *others = (table.double() if precise else table for table in scores.log_probs)
        chosen = tokens[place].to(own.device).unsqueeze(-1)
        surprise[place] = -own.gather(-1, chosen).squeeze(-1).double().cpu()
        entropy[place] = torch.special.entr(own.exp()).sum(dim=-1).cpu()
        for table in others:
            found = distances(own, table, ["kl", "gd"] if tops else ["kl"])
            kl[place] = found["kl"].cpu()
            if tops:
                other[place] = found["gd"].double().cpu()
    ended = torch.arange(tokens.shape[1]) >= sequences.lengths.unsqueeze(1)
    for part in (kl, surprise, entropy, other):
        part.masked_fill_(ended, math.nan)
    paired = (None if oracle is None else kl.numpy()), (None if oracle is None or not tops else other.numpy())
    return Trace(sequences, paired[0], surprise.numpy(), entropy.numpy(), paired[1])


def alternatives(
    model: LanguageModel, tokens: Tensor, *, count: int = ALTERNATIVES, batch_size: int = 8
) -> Alternatives:
    """The tokens that a model finds most probable at every position of [n, time] tokens."""
    kept = min(count, model.vocabulary.size)
    ids = torch.zeros((*tokens.shape, kept), dtype=torch.long)
    probabilities = torch.zeros((*tokens.shape, kept), dtype=torch.float64)
    for scores in scores_along((model,), tokens, range(tokens.shape[1]), batch_size=batch_size):
        top = scores.log_probs[0].double().topk(kept, dim=-1)
        ids[scores.rows, scores.columns] = top.indices.cpu()
        probabilities[scores.rows, scores.columns] = top.values.exp().cpu()
    return Alternatives(ids, probabilities)


def measure_places(
    model: LanguageModel, oracle: LanguageModel | None, own: Trace, real: Trace | None, *, seed: int, began: float
) -> list[Measurement]:
    """How concentrated the deviation is, and how it goes on after the first bad token.

    Args:
        model: the model that is asked about.
        oracle: what stands for the data's distribution, if anything does.
        own: sequences of the model.
        real: real text, if there is any.
        seed: what the sequences were drawn with.
        began: when the work began, by `time.monotonic`.

    Returns:
        `half` (the smallest share of tokens that holds half of all deviation), `deviation` (nats per token) and
        `after_bad` (nats, 0, 1, 2, … tokens after the first bad one), and the same of real text with `.real`.
    """
    require_comparable(model, oracle, *own.sequences.tokens.shape)
    bound = bad_bound(own, real)
    figures = {
        f"{name}{end}": figure
        for end, part in (("", own), (".real", real))
        if part is not None and len(part.deviation) >= FEWEST
        for name, figure in _figures(part.deviation, bound).items()
    }
    if "deviation.real" in figures:  # its text is no part of the recipe, so nothing says that another run read the same
        figures["deviation.real"] = Figure(figures["deviation.real"].estimate)
    samples, length = own.sequences.tokens.shape
    settings = {"samples": samples, "length": length, "seed": seed, "bad": BAD}
    shared = {"n": samples, "seed": seed, "seconds": time.monotonic() - began, "question": QUESTION}
    return as_measurements(figures, recipe=recipe_of(QUESTION, model, oracle, settings), **shared)


def bad_bound(own: Trace, real: Trace | None) -> float:
    """The value above which a token is bad: few tokens of real text reach it; without any, few of the model's own."""
    deviation = (own if real is None else real).deviation
    known = deviation[~np.isnan(deviation)]
    if np.isfinite(known).all():
        return float(np.quantile(known, BAD))
    return float(np.quantile(known, BAD, method="lower"))  # between two infinities nothing can be interpolated


def first_bad(deviation: FloatArray, bound: float) -> FloatArray:
    """The position of each sequence's first bad token, [n]; -1 where there is none."""
    bad = np.nan_to_num(deviation, nan=-np.inf) > bound
    places: FloatArray = np.where(bad.any(axis=1), bad.argmax(axis=1), -1)
    return places


def after_first_bad(deviation: FloatArray, bound: float) -> list[FloatArray]:
    """The values 0, 1, 2, … tokens after each sequence's first bad token, of as many sequences as reach so far."""
    starts = first_bad(deviation, bound)
    lines = [row[start:] for row, start in zip(deviation, starts, strict=True) if start >= 0]
    longest = max((len(line) for line in lines), default=0)
    columns = [np.array([line[step] for line in lines if step < len(line)]) for step in range(longest)]
    present = [column[~np.isnan(column)] for column in columns]
    return [column for column in present if len(column)]


def worst_places(deviation: FloatArray, count: int, apart: int = 5) -> list[tuple[int, int]]:
    """Rows and positions of the highest values, the highest first; in one row only places that are apart."""
    order = np.argsort(-np.nan_to_num(deviation, nan=-np.inf), axis=None, kind="stable")
    chosen: list[tuple[int, int]] = []
    for flat in order.tolist():
        row, place = divmod(flat, deviation.shape[1])
        if math.isnan(deviation[row, place]) or len(chosen) == count:
            break
        if all(row != other or abs(place - at) >= apart for other, at in chosen):
            chosen.append((row, place))
    return chosen


def padded(rows: Sequence[Sequence[int]], length: int, filler: int) -> Generated:
    """Rows of tokens as sequences of one length; longer ones are cut, empty ones left out."""
    kept = [list(row)[:length] for row in rows if row]
    if not kept:
        raise OffscriptError("no text with a token in it", next="give a corpus with text")
    width = max(map(len, kept))
    tokens = torch.full((len(kept), width), filler, dtype=torch.long)
    for number, row in enumerate(kept):
        tokens[number, : len(row)] = torch.tensor(row)
    return Generated(tokens, torch.tensor([len(row) for row in kept]))


def half_share(deviation: FloatArray) -> float:
    """The smallest share of the tokens that together hold half of all deviation."""
    values = np.sort(np.minimum(deviation[~np.isnan(deviation)], _HUGE))[::-1]
    total = values.cumsum()
    return 1.0 if total[-1] <= 0 else float(np.searchsorted(total, total[-1] / 2) + 1) / len(values)


def _figures(deviation: FloatArray, bound: float) -> dict[str, Figure]:
    present = ~np.isnan(deviation)
    [half] = jackknife(lambda kept: np.array([half_share(deviation[kept])]), len(deviation))
    totals, sizes = np.where(present, deviation, 0.0).sum(axis=1), present.sum(axis=1)
    rate = Figure(rate_interval(totals, sizes), None, totals / np.maximum(sizes, 1), sizes)
    figures = {"half": Figure(within(half, 0, 1)), "deviation": rate}
    columns = [column for column in after_first_bad(deviation, bound) if len(column) >= _FEWEST]
    if columns:
        points = [mean_interval(column, share=False) for column in columns]
        figures["after_bad"] = Figure(points[0], Curve.along(points))
    return figures


def described(oracle: LanguageModel | None, labels: Mapping[str, str] = LABELS) -> list[dict[str, Any]]:
    """What can colour a token: names, words and units; the first is shown unless another is asked for."""
    known = [name for name in labels if name != "kl" or oracle is not None]
    return [{"name": name, "label": labels[name], "unit": "nats"} for name in known]
