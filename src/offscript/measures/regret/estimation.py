"""Exposure bias as regret (eq. 17-20): how far the sequences a model draws are from its oracle's, KL(p‖o).

Two estimators of the same Q from the same sequences. The paper's own averages log p/o of the drawn tokens (eq. 19); the
Rao-Blackwellised one replaces each such term by its expectation given the history, the exact KL over the vocabulary.
After the end token both models are absorbed (App. B.4): such positions add nothing and count as no tokens.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from offscript._types import Count, FloatArray
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure, as_measurements, recipe_of
from offscript.measures._scores import require_comparable, scores_along
from offscript.measures.distances import distances
from offscript.measures.enumeration import expected, levels
from offscript.measures.measurement import Measurement
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import Generated, generate
from offscript.statistics import (
    RESAMPLES,
    Curve,
    Estimate,
    Interval,
    correlation_interval,
    mean_by_length,
    mean_interval,
    rate_interval,
    ratio,
    ratio_of_means_by_length,
    ratio_of_means_interval,
)

QUESTION = "regret"
_RESAMPLING = 1  # the stream of random numbers for the bootstrap, beside those that draw sequences
_COMMON: dict[str, Any] = {"question": QUESTION, "higher_is_better": False}


@dataclass(frozen=True)
class Regrets:
    """What every drawn sequence adds to the regret, position by position; zero after its end."""

    inner: FloatArray  # [n, length], KL(p‖o) over the vocabulary
    sampled: FloatArray  # [n, length], log p/o of the token that stands there
    surprise: FloatArray  # [n, length], -log o of that token
    lengths: FloatArray  # [n], tokens, the end token counted

    @property
    def per_sample(self) -> FloatArray:
        """Q of single sentences by their own tokens, in nats per token (Table 5)."""
        q: FloatArray = self.sampled.sum(axis=1) / self.lengths
        return q


def regrets_along(
    model: LanguageModel,
    oracle: LanguageModel,
    drawn: Generated,
    *,
    batch_size: int = 256,
    progress: Count | None = None,
) -> Regrets:
    """The terms of Q along sequences; `drawn` need not come from the model (Table 5 judges any sentence)."""
    tokens = drawn.tokens
    inner, sampled, surprise = (torch.zeros(tokens.shape, dtype=torch.float64) for _ in range(3))
    positions = range(tokens.shape[1])
    for scores in scores_along((model, oracle), tokens, positions, batch_size=batch_size, progress=progress):
        place = scores.rows, scores.columns
        chosen = tokens[place].to(scores.log_probs[0].device).unsqueeze(-1)
        ours, theirs = (table.gather(-1, chosen).squeeze(-1).double().cpu() for table in scores.log_probs)
        inner[place] = distances(scores.log_probs[0], scores.log_probs[1], ["kl"])["kl"].double().cpu()
        sampled[place], surprise[place] = ours - theirs, -theirs
    absorbed = torch.arange(tokens.shape[1]) >= drawn.lengths.unsqueeze(1)
    for part in (inner, sampled, surprise):
        part.masked_fill_(absorbed, 0.0)
    return Regrets(inner.numpy(), sampled.numpy(), surprise.numpy(), drawn.lengths.double().numpy())


def measure_regret(
    model: LanguageModel,
    oracle: LanguageModel,
    *,
    samples: int,
    length: int,
    seed: int,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    batch_size: int = 256,
    progress: Count | None = None,
) -> list[Measurement]:
    """Q in nats per token and per sequence by both estimators, the oracle's NLL of what was drawn, accumulated errors.

    `q_per_sequence` by length is Q of the first 1, 2, … tokens. The oracle's own sequences, which the accumulated error
    is compared with, are drawn with the same random numbers, and the interval of the ratio knows that.

    Args:
        model: The model to measure.
        oracle: The distribution the model should have.
        samples: Sequences to draw.
        length: Tokens per sequence.
        seed: Decides all draws.
        level: Level of the intervals.
        resamples: Bootstrap resamples.
        batch_size: Sequences drawn at a time; figures do not depend on it.
        progress: Counts sequences.

    Returns:
        The figures named above, by length and on average.
    """
    require_comparable(model, oracle, samples, length)
    began = time.monotonic()
    regrets, errors = (
        regrets_along(
            model,
            oracle,
            generate(source, samples, length, seed=seed, batch_size=batch_size, progress=progress),
            batch_size=batch_size,
            progress=progress,
        )
        for source in (model, oracle)
    )
    figures = {
        **regret_figures(regrets, level=level),
        **accumulated_errors(regrets.inner, errors.inner, seed=seed, level=level, resamples=resamples),
    }
    settings = {"samples": samples, "length": length, "seed": seed, "level": level, "resamples": resamples}
    recipe = recipe_of(QUESTION, model, oracle, {**settings, "coupled": True})
    shared = {"n": samples, "seed": seed, "seconds": time.monotonic() - began, "recipe": recipe}
    return as_measurements(figures, **_COMMON, **shared)


def regret_figures(regrets: Regrets, *, level: float = 0.95) -> dict[str, Figure]:
    """Q and the oracle's NLL with their intervals, by name."""
    inner, sampled = regrets.inner.cumsum(axis=1), regrets.sampled.cumsum(axis=1)

    def per_token(totals: FloatArray) -> Figure:
        rate = rate_interval(totals, regrets.lengths, level=level)
        return Figure(rate, per_item=totals / regrets.lengths, weights=regrets.lengths)

    def per_sequence(by_length: FloatArray) -> Figure:
        totals = by_length[:, -1]
        return Figure(
            mean_interval(totals, share=False, level=level),
            mean_by_length(by_length, share=False, level=level).by_length,
            totals,
        )

    return {
        "q_per_token": per_token(inner[:, -1]),
        "q_per_token_sampled": per_token(sampled[:, -1]),
        "q_per_sequence": per_sequence(inner),
        "q_per_sequence_sampled": per_sequence(sampled),
        "nll_oracle": per_token(regrets.surprise.sum(axis=1)),
    }


def accumulated_errors(
    model_inner: FloatArray,
    oracle_inner: FloatArray,
    *,
    seed: int,
    paired: bool = True,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> dict[str, Figure]:
    """Errors that accumulate: `acc_err` = R(l) / ε(l) and `excess_acc_err` = 100 (R(l) / (l ε(l)) - 1), for l tokens.

    R(l) is Q of the first l tokens; ε(l) is the error a token on the oracle's own histories (eq. 9, 52), the mean over
    the first l of KL(p‖o). Without accumulation `acc_err` is l and the excess, in per cent, is 0. Both arrays are
    [n, length]; `paired` says that row i of both was drawn with the same random numbers.
    """
    top, bottom = model_inner.cumsum(axis=1), oracle_inner.cumsum(axis=1)
    settings: dict[str, Any] = {"paired": paired, "level": level, "resamples": resamples}
    by_length = ratio_of_means_by_length(top, bottom, generator=_bootstrap_generator(seed), **settings).by_length
    last = ratio_of_means_interval(top[:, -1], bottom[:, -1], generator=_bootstrap_generator(seed), **settings)
    return _accumulated(Figure(last, by_length))


def measure_regret_exactly(model: LanguageModel, oracle: LanguageModel, *, length: int) -> list[Measurement]:
    """The figures of `measure_regret` by enumeration of every sequence (eq. 20)."""
    began = time.monotonic()
    inner, errors, surprise, alive = (np.zeros(length) for _ in range(4))
    histories = 0
    for place, level in enumerate(levels(model, oracle, length, stop_at_end=True)):
        divergences = distances(level.model_log_probs, level.oracle_log_probs, ["kl"])["kl"]
        crossed = expected(level.model_log_probs.exp(), -level.oracle_log_probs)
        inner[place] = expected(level.model_weights, divergences)
        errors[place] = expected(level.oracle_weights, divergences)
        surprise[place] = expected(level.model_weights, crossed)
        alive[place] = level.model_weights.sum()
        histories += len(level.tokens)
    whole = inner.cumsum()
    q = {"token": Figure.exact(whole[-1] / alive.sum()), "sequence": Figure.exact(whole[-1], whole)}
    quotients = ratio(whole, errors.cumsum())
    figures = {
        "q_per_token": q["token"],
        "q_per_token_sampled": q["token"],
        "q_per_sequence": q["sequence"],
        "q_per_sequence_sampled": q["sequence"],
        "nll_oracle": Figure.exact(surprise.sum() / alive.sum()),
        **_accumulated(Figure.exact(quotients[-1], quotients)),
    }
    recipe = recipe_of(QUESTION, model, oracle, {"length": length, "exact": True})
    shared = {"n": histories, "seed": None, "seconds": time.monotonic() - began, "recipe": recipe}
    return as_measurements(figures, **_COMMON, **shared)


def regret_correlations(
    models: Sequence[Mapping[str, float]],
    *,
    names: Sequence[str] = ("q_per_token", "ppl", "nll_oracle"),
    kind: str = "pearson",
    level: float = 0.95,
) -> dict[tuple[str, str], Estimate]:
    """How figures go together over many models, one mapping a model (Table 4): a correlation for each pair of names."""
    missing = {name for name in names for figures in models if name not in figures}
    if missing:
        raise OffscriptError(
            f"cannot correlate figures of a model without {sorted(missing)[0]!r}",
            next="measure every figure of every model",
        )
    columns = {name: [figures[name] for figures in models] for name in names}
    return {
        (first, second): correlation_interval(columns[first], columns[second], kind=kind, level=level)
        for first, second in combinations(names, 2)
    }


def sentences_for_regret(model: LanguageModel, texts: Sequence[str], length: int) -> Generated:
    """Sentences as if they had been drawn: encoded, ended where they fit, cut to `length` tokens."""
    vocabulary = model.vocabulary
    filler = 0 if vocabulary.end is None else vocabulary.end
    tokens = torch.full((len(texts), length), filler, dtype=torch.long)
    sizes = []
    for row, text in enumerate(texts):
        ids = vocabulary.encode(text)[:length]
        if not ids and vocabulary.end is None:
            raise OffscriptError("cannot score a sentence without a token", next="leave it out")
        tokens[row, : len(ids)] = torch.tensor(ids, dtype=torch.long)
        sizes.append(len(ids) if vocabulary.end is None else min(len(ids) + 1, length))
    return Generated(tokens, torch.tensor(sizes))


def _accumulated(quotient: Figure) -> dict[str, Figure]:
    """Both views of R(l) / (l ε(l))."""
    assert quotient.by_length is not None
    lengths = np.arange(1, len(quotient.by_length.values) + 1)
    return {
        "acc_err": _rescaled(quotient, lengths, 0.0),
        "excess_acc_err": _rescaled(quotient, np.full(len(lengths), 100.0), -100.0),
    }


def _rescaled(figure: Figure, scales: NDArray[Any], shift: float) -> Figure:
    """The figure times `scales` [lengths] (the last for the whole) plus a shift."""
    assert figure.by_length is not None
    estimate, curve, last = figure.estimate, figure.by_length, float(scales[-1])
    interval = estimate.interval
    bounds = interval.lower * last + shift, interval.upper * last + shift
    moved = [np.asarray(side) * scales + shift for side in (curve.values, curve.lower, curve.upper)]
    return Figure(
        Estimate(
            estimate.value * last + shift,
            estimate.standard_error * last,
            Interval(*bounds, level=interval.level, method=interval.method),
        ),
        Curve.of(moved[0], (moved[1], moved[2]), curve.level, curve.method),
    )


def _bootstrap_generator(seed: int) -> np.random.Generator:
    return np.random.default_rng((seed, _RESAMPLING))
