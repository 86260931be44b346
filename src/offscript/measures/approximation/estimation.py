"""What a generator's draws tell of its distribution: approximate bits per character, and how many draws that takes."""

import dataclasses
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from offscript._abilities import Gives
from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.measures.likelihood.estimation import measure_likelihood
from offscript.measures.measurement import Measurement, environment
from offscript.measures.texts import Texts
from offscript.models.approximated import approximate, draws_needed, generator_of
from offscript.models.generator import FLOOR, Generator
from offscript.models.language_model import LanguageModel
from offscript.statistics import Curve, Estimate, Interval, mean_by_length, mean_interval, rate_interval

QUESTION = "approximation"
APART = 10
"""α: how many draws lie between two approximations whose distance is taken, as in the paper."""

WITHIN, RISK = 1e-3, 1e-2
"""γ (and γ') and ε of the paper: how near an approximation must be, and how often it may fail to be."""


def measure_approximation(
    model: LanguageModel,
    texts: Texts,
    *,
    draws: int = 2000,
    seed: int = 0,
    floor: float = FLOOR,
    step: int = 200,
    highest: int = 3000,
    subset: int = 50,
    level: float = 0.95,
) -> list[Measurement]:
    """`nll`, `ppl`, `bpc` and `never_drawn` by so many draws, the `bpc_gap` to the model's own, and how many it takes.

    `error` is ‖G_{n-α} - G_n‖∞, a mean over the first `subset` texts, at `highest` draws and every `step` below;
    `draws` is the first n at which it is below γ'; `bound` is what Hoeffding's inequality asks for instead (eq. 4).

    Args:
        model: Draws the tokens; its own probabilities give `bpc_gap`.
        texts: The sentences to score.
        draws: Draws per history.
        seed: Decides all draws.
        floor: Probability shared by tokens that were never drawn.
        step: Draws between two points of the `error` curve (α in eq. 4).
        highest: The most draws of that curve.
        subset: How many texts the curve averages over.
        level: Level of the intervals.

    Returns:
        The figures named above, each with its interval.
    """
    began = time.monotonic()
    recipe = {
        "measure": QUESTION,
        "model": {"name": model.name, "weights": model.weight_hash},
        "draws": draws,
        "floor": floor,
        "seed": seed,
        "data": {"hash": texts.digest, "sequences": len(texts.tokens), **texts.recipe},
        "error": {"apart": APART, "within": WITHIN, "step": step, "highest": highest, "subset": subset},
        **environment(),
    }
    found = measure_likelihood(approximate(model, draws, seed=seed, floor=floor), texts)
    errors = errors_by_draws(generator_of(model), _rectangle(texts, subset), step=step, highest=highest, seed=seed)
    curve = mean_by_length(errors, level=level).by_length
    last = mean_interval(errors[:, -1], level=level)
    shared: dict[str, Any] = {"question": QUESTION, "seed": seed, "recipe": recipe, "seconds": time.monotonic() - began}
    bound = draws_needed(model.vocabulary.size, within=WITHIN, risk=RISK)
    return [
        *(dataclasses.replace(entry, **shared) for entry in found),
        *(
            []
            if model.noise or model.gives < Gives.likelihoods
            else [_gap(found, measure_likelihood(model, texts), texts, shared)]
        ),
        Measurement.of(last, name="error", n=len(errors), by_position=curve, higher_is_better=False, **shared),
        Measurement.of(_first_within(curve, step, level), name="draws", n=len(errors), **shared),
        Measurement.exact(float(bound), name="bound", n=1, **shared),
    ]


def errors_by_draws(
    generator: Generator, tokens: torch.Tensor, *, step: int, highest: int, seed: int, apart: int = APART
) -> FloatArray:
    """‖G_{n-α} - G_n‖∞ [rows, highest / step] at n = step, 2 step …, means over the positions of [rows, time] tokens.

    G_n is made of the n - α draws of G_{n-α} and α more, so their difference is α/n (G_α - G_{n-α}).
    """
    if step <= apart or highest < step:
        raise OffscriptError(
            f"cannot use steps of {step} draws up to {highest}", next=f"give steps of more than {apart} draws"
        )
    columns = []
    for place, n in enumerate(range(step, highest + 1, step)):
        seeds = seed + 2 * place + 1, seed + 2 * place + 2
        before, added = (
            _shares(generator, tokens, some, own) for some, own in zip((n - apart, apart), seeds, strict=True)
        )
        largest = [(apart / n * (more - less).abs()).amax(dim=-1) for more, less in zip(added, before, strict=True)]
        columns.append(torch.cat(largest, dim=1).mean(dim=1))
    return torch.stack(columns, dim=1).cpu().numpy()


def _shares(generator: Generator, tokens: torch.Tensor, n: int, seed: int) -> Iterator[torch.Tensor]:
    for _, counts in generator.count_all(tokens.to(generator.device), range(tokens.shape[1]), n, seed):
        yield counts.double() / n


def _rectangle(texts: Texts, subset: int) -> torch.Tensor:
    """The first texts, cut to the length of the shortest of them."""
    chosen = texts.tokens[:subset]
    return torch.tensor([row[: min(map(len, chosen))] for row in chosen])


def _first_within(curve: Curve, step: int, level: float) -> Estimate:
    """The fewest draws at which the error is small enough; its interval is where the band's two edges become so."""
    value, fewest, most = (
        next((step * place for place, error in enumerate(errors, start=1) if error < WITHIN), math.inf)
        for errors in (curve.values, curve.lower, curve.upper)
    )
    return Estimate(value, 0.0, Interval(fewest, most, level, "where the band of the error crosses"))


def _gap(
    approximated: list[Measurement], exact: list[Measurement], texts: Texts, shared: dict[str, Any]
) -> Measurement:
    """Approximate less true bits per character, text by text."""
    by_name = [{entry.name: entry for entry in found} for found in (approximated, exact)]
    characters = np.array(texts.characters, dtype=np.float64)
    near, true = (found["bpc"].per_item for found in by_name)
    assert near is not None
    assert true is not None
    gaps = (near - true) * characters
    return Measurement.of(
        rate_interval(gaps, characters), name="bpc_gap", n=len(gaps), per_item=gaps / characters, **shared
    )
