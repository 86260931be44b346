"""How well a model predicts a text: nats per token, perplexity, bits per character."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from offscript._types import Count
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement, environment
from offscript.measures.texts import Texts
from offscript.models.approximated import Approximated
from offscript.models.language_model import LanguageModel
from offscript.statistics import can_be_compared, independent_difference, perplexity_interval, rate_interval, within


def measure_likelihood(
    model: LanguageModel, texts: Texts, *, batch_size: int = 64, progress: Count | None = None
) -> list[Measurement]:
    """`nll` (nats per token), `ppl` and `bpc` (bits per character, an end token counting as one), over all the texts.

    Where texts have an end token, `nll_without_end` and `ppl_without_end` leave it out: other tools often do. Of an
    approximation also `never_drawn`: the share of tokens to which nothing but its floor gives a probability.

    Args:
        model: The model to measure.
        texts: Sentences in its vocabulary, from `encode_texts`.
        batch_size: Sentences read at a time; figures do not depend on it.
        progress: Counts sentences.

    Returns:
        The figures named above, each with its interval over sentences.
    """
    began = time.monotonic()
    judged = _judged(model, texts.tokens, batch_size=batch_size, progress=progress)
    return _measurements(model, texts, judged, began)


def measure_by_domain(
    model: LanguageModel, domains: Mapping[str, Texts], *, batch_size: int = 64, progress: Count | None = None
) -> list[Measurement]:
    """The figures of `measure_likelihood` over all domains, then those of each with its name before them.

    `NAME.bpc_gap` is a domain's bits per character less those of the first: characters are the same in every domain,
    where tokens are shorter in text that a vocabulary was not made for.

    Args:
        model: The model to measure.
        domains: Texts by the names of their domains; the first is what the others are compared with.
        batch_size: Sentences read at a time; figures do not depend on it.
        progress: Counts sentences.

    Returns:
        The figures, each with its interval over sentences.
    """
    began, listed = time.monotonic(), list(domains.values())
    whole = Texts(
        [row for texts in listed for row in texts.tokens],
        [size for texts in listed for size in texts.characters],
        {"domains": {name: texts.recipe for name, texts in domains.items()}},
    )
    judged = _judged(model, whole.tokens, batch_size=batch_size, progress=progress)
    measurements, first = _measurements(model, whole, judged, began), 0
    rates: dict[str, Measurement] = {}
    for name, texts in domains.items():
        part = slice(first, first + len(texts.tokens))
        own = _measurements(model, texts, _Judged(*(each[part] for each in judged)), began)
        measurements += [replace(entry, name=f"{name}.{entry.name}") for entry in own]
        rates[name] = next(entry for entry in own if entry.name == "bpc")
        first = part.stop
    base, *others = rates
    for name in (each for each in others if can_be_compared(rates[each].estimate, rates[base].estimate)):
        gap = independent_difference(rates[name].estimate, rates[base].estimate)
        known = rates[name]
        measurements.append(
            Measurement.of(
                gap,
                question=known.question,
                name=f"{name}.bpc_gap",
                n=known.n,
                seed=None,
                seconds=known.seconds,
                recipe={**known.recipe, "compared_with": base},
                higher_is_better=False,
            )
        )
    return measurements


def _measurements(model: LanguageModel, texts: Texts, judged: "_Judged", began: float) -> list[Measurement]:
    totals = -judged.log_likelihoods
    lengths = np.array([len(row) for row in texts.tokens], dtype=np.float64)
    characters = np.array(texts.characters, dtype=np.float64)
    endings = judged.endings
    recipe = {
        "measure": "likelihood",
        "model": model.name,
        "weights": model.weight_hash,
        "data": {"hash": texts.digest, "sequences": len(texts.tokens), "tokens": int(lengths.sum()), **texts.recipe},
        **_approximation(model),
        **environment(),
    }
    estimates = {
        "nll": (rate_interval(totals, lengths), totals / lengths, lengths),
        "ppl": (perplexity_interval(totals, lengths), np.exp(totals / lengths), lengths),
        "bpc": (rate_interval(totals / math.log(2), characters), totals / math.log(2) / characters, characters),
    }
    ended = ~np.isnan(endings)
    if ended.any() and (lengths - ended).min() > 0:
        costs, words = totals + np.where(ended, endings, 0.0), lengths - ended
        estimates["nll_without_end"] = (rate_interval(costs, words), costs / words, words)
        estimates["ppl_without_end"] = (perplexity_interval(costs, words), np.exp(costs / words), words)
    if isinstance(model, Approximated):
        estimates["never_drawn"] = (
            within(rate_interval(judged.never_drawn, lengths, share=True), 0, 1),
            judged.never_drawn / lengths,
            lengths,
        )
    shared = {"n": len(totals), "seed": None, "seconds": time.monotonic() - began, "recipe": recipe}
    return [
        Measurement.of(
            estimate,
            question="likelihood",
            name=name,
            higher_is_better=False,
            per_item=items,
            weights=weights,
            **shared,
        )
        for name, (estimate, items, weights) in estimates.items()
    ]


def sequence_log_likelihoods(
    model: LanguageModel, tokens: Sequence[Sequence[int]], *, batch_size: int = 64, progress: Count | None = None
) -> NDArray[np.float64]:
    """Log-probability of each whole sequence, in the order given; sequences of similar length go together."""
    return _judged(model, tokens, batch_size=batch_size, progress=progress).log_likelihoods


class _Judged(NamedTuple):
    """The log-probability of each sequence and of its end, and how many of its tokens an approximation never drew."""

    log_likelihoods: NDArray[np.float64]  # [sequences]
    never_drawn: NDArray[np.float64]  # [sequences]
    endings: NDArray[np.float64]  # [sequences], NaN where a sequence has no end token


def _judged(
    model: LanguageModel, tokens: Sequence[Sequence[int]], *, batch_size: int, progress: Count | None
) -> _Judged:
    lowest = model.never_drawn if isinstance(model, Approximated) else -math.inf
    judged = _Judged(*(np.empty(len(tokens)) for _ in range(3)))
    for rows in _by_length(tokens, batch_size):
        longest = max(len(tokens[row]) for row in rows)
        padded = torch.zeros(len(rows), longest, dtype=torch.long)
        for place, row in enumerate(rows):
            padded[place, : len(tokens[row])] = torch.tensor(tokens[row])
        outside = torch.arange(longest) >= torch.tensor([[len(tokens[row])] for row in rows])
        lengths = [len(tokens[row]) for row in rows]
        found = model.of_rows(torch.tensor(rows)).log_likelihoods(padded, lengths=lengths).double().cpu()
        judged.never_drawn[rows] = (found <= lowest).masked_fill(outside, False).sum(dim=1).numpy()
        judged.log_likelihoods[rows] = found.masked_fill(outside, 0.0).sum(dim=1).numpy()
        last = torch.tensor([len(tokens[row]) - 1 for row in rows])
        endings = found.gather(1, last[:, None]).squeeze(1).numpy()
        judged.endings[rows] = np.where([tokens[row][-1] == model.vocabulary.end for row in rows], endings, np.nan)
        if progress is not None:
            progress(len(rows))
    if np.isnan(judged.log_likelihoods).any():
        raise OffscriptError(
            f"{model.name} gives NaN as a log-probability", next="look at its weights or raise its precision"
        )
    return judged


def _approximation(model: LanguageModel) -> dict[str, Any]:
    """How an approximated distribution came about, for the recipe."""
    if not isinstance(model, Approximated):
        return {}
    return {"approximation": {"draws": model.n, "floor": model.floor, "seed": model.seed}}


def _by_length(tokens: Sequence[Sequence[int]], batch_size: int) -> Iterator[list[int]]:
    order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
    for first in range(0, len(order), batch_size):
        yield order[first : first + batch_size]
