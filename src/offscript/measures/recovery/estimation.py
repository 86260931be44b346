"""Self-recovery: how well a model goes on after a prefix, good or bad, the further it gets from it (Tables 1 and 4).

The same model continues prefixes of several sources with the same random numbers. What it writes is judged by the
oracle, token by token, and by corpus-BLEU against real text at the same places, window by window: a model that recovers
from a bad prefix has a curve that comes back to the one after data prefixes.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from offscript._specification import nearest
from offscript._types import Count, FloatArray
from offscript.errors import OffscriptError
from offscript.measures._figures import Figure, as_measurements, recipe_of
from offscript.measures._scores import require_comparable, scores_along
from offscript.measures.bleu import sentence_bleu
from offscript.measures.measurement import Measurement
from offscript.models.language_model import LanguageModel
from offscript.sampling.generation import generate
from offscript.sampling.histories import data_histories, random_histories, shuffled_histories, unrelated_histories
from offscript.statistics import mean_by_length

QUESTION = "recovery"
SOURCES = ("model", "data", "shuffled", "random", "unrelated")
PAPER_SOURCES = SOURCES[:4]
PREFIX, WINDOW, ORDER = 10, 10, 4

_DATA, _REFERENCES, _CHANGED, _CONTINUED = 1, 2, 3, 4  # streams of random numbers, one a purpose


def measure_recovery(
    model: LanguageModel,
    oracle: LanguageModel | None = None,
    *,
    samples: int,
    length: int,
    seed: int,
    prefix: int = PREFIX,
    data: Tensor | None = None,
    sources: Sequence[str] = PAPER_SOURCES,
    window: int = WINDOW,
    order: int = ORDER,
    level: float = 0.95,
    batch_size: int = 256,
    progress: Count | None = None,
) -> list[Measurement]:
    """Quality of continuations after prefixes of each source, by distance from the prefix.

    `nll_oracle.s` is the oracle's negative log-likelihood in nats per token, at 1, 2, … tokens from the prefix, and
    `nll_gap.s` what it is above that after data prefixes, in pairs; both need an oracle. `corpus_bleu_4.s` is against
    real text at the same places, in windows of so many tokens, and `bleu_gap.s` what it is below that after data
    prefixes, in pairs. Real text comes from `data` [n, time ≥ length], half of
    it for prefixes and half for reference, or is drawn from the oracle.

    Args:
        model: Continues the prefixes.
        oracle: Scores the continuations; None leaves corpus-BLEU alone.
        samples: Prefixes per source.
        length: Tokens per sequence, prefix included.
        seed: Decides all draws.
        prefix: Tokens per prefix.
        data: Real sentences as token ids; drawn from the oracle if None.
        sources: Kinds of prefixes, such as `data`, `shuffled`, `random`.
        window: Tokens over which corpus-BLEU is taken.
        order: The longest n-gram of corpus-BLEU.
        level: Level of the intervals.
        batch_size: Sequences drawn at a time; figures do not depend on it.
        progress: Counts sequences.

    Returns:
        The figures named above, by distance from the prefix and on average.
    """
    began = time.monotonic()
    _require_measurable(model, oracle, samples, length, prefix, data, sources, window, order)
    drawing: dict[str, Any] = {"samples": samples, "length": length, "seed": seed, "batch_size": batch_size}
    wanted = list(dict.fromkeys([*sources, "data"] if oracle is not None else sources))
    sequences = continuations(model, oracle, prefix=prefix, data=data, sources=wanted, progress=progress, **drawing)
    references = _references(oracle, data, progress=progress, **drawing)
    figures: dict[str, Figure] = {}
    if oracle is not None:
        figures |= _likelihoods(oracle, sequences, sources, prefix, level, batch_size, progress)
    scores = {source: _bleu_by_window(sequences[source], references, prefix, window, order) for source in sources}
    quality, losses = _bleus(scores, order, level)
    settings = {
        "samples": samples,
        "length": length,
        "seed": seed,
        "prefix": prefix,
        "sources": list(sources),
        "data": "drawn from the oracle" if data is None else {"sequences": len(data)},
        "window": window,
        "references": len(references),
        "level": level,
    }
    shared = {"n": samples, "seed": seed, "seconds": time.monotonic() - began, "question": QUESTION}
    recipe = recipe_of(QUESTION, model, oracle, settings)
    return [
        *as_measurements(figures | losses, recipe=recipe, higher_is_better=False, **shared),
        *as_measurements(quality, recipe=recipe, higher_is_better=True, **shared),
    ]


def _bleus(scores: Mapping[str, FloatArray], order: int, level: float) -> tuple[dict[str, Figure], dict[str, Figure]]:
    """Corpus-BLEU after each kind of prefix, and what it is below that after data prefixes, in pairs."""

    def figure(by_window: FloatArray) -> Figure:
        return Figure.of(mean_by_length(by_window, level=level), by_window.mean(axis=1))

    quality = {f"corpus_bleu_{order}.{source}": figure(own) for source, own in scores.items()}
    others = {source: own for source, own in scores.items() if source != "data" and "data" in scores}
    return quality, {f"bleu_gap.{source}": figure(scores["data"] - own) for source, own in others.items()}


def continuations(
    model: LanguageModel,
    oracle: LanguageModel | None = None,
    *,
    samples: int,
    length: int,
    seed: int,
    prefix: int = PREFIX,
    data: Tensor | None = None,
    sources: Sequence[str] = PAPER_SOURCES,
    batch_size: int = 256,
    progress: Count | None = None,
) -> dict[str, Tensor]:
    """Continuations of prefixes of each source: sequences [samples, length], their prefixes included.

    Row i is the same however many samples are asked for, and every source goes on with the same random numbers.
    """
    drawing: dict[str, Any] = {"stop_at_end": False, "batch_size": batch_size, "progress": progress}
    if data is None:
        assert oracle is not None
        real = generate(oracle, samples, prefix, seed=(seed, _DATA), **drawing).tokens
    else:
        real = data_histories(_halves(data)[0], samples, prefix, seed=(seed, _DATA))
    prefixes = {
        "model": lambda: generate(model, samples, prefix, seed=seed, **drawing).tokens,
        "data": lambda: real,
        "shuffled": lambda: shuffled_histories(real, seed=(seed, _CHANGED)),
        "random": lambda: random_histories(model.vocabulary.size, samples, prefix, seed=(seed, _CHANGED)),
        "unrelated": lambda: unrelated_histories(real, seed=(seed, _CHANGED)),
    }
    return {
        source: generate(model, samples, length, seed=(seed, _CONTINUED), prefixes=prefixes[source](), **drawing).tokens
        for source in sources
    }


def side_by_side(model: LanguageModel, sequences: Mapping[str, Tensor], prefix: int = PREFIX) -> list[dict[str, str]]:
    """`prefix → continuation` as text, one column a source, one row a sequence (Table 1)."""
    decode = model.vocabulary.decode
    columns = {
        source: [f"{decode(row[:prefix])} → {decode(row[prefix:])}" for row in rows.tolist()]
        for source, rows in sequences.items()
    }
    return [dict(zip(columns, texts, strict=True)) for texts in zip(*columns.values(), strict=True)]


def _likelihoods(
    oracle: LanguageModel,
    sequences: Mapping[str, Tensor],
    sources: Sequence[str],
    prefix: int,
    level: float,
    batch_size: int,
    progress: Count | None,
) -> dict[str, Figure]:
    surprise = {source: _surprise(oracle, rows, prefix, batch_size, progress) for source, rows in sequences.items()}
    figures = {}
    for source in sources:
        found = surprise[source]
        figures[f"nll_oracle.{source}"] = Figure.of(mean_by_length(found, share=False, level=level), found.mean(axis=1))
        if source != "data":
            with np.errstate(invalid="ignore"):
                gap = np.where(found == surprise["data"], 0.0, found - surprise["data"])
            if np.isposinf(gap).any() and np.isneginf(gap).any():
                continue  # the oracle excludes some texts after either prefix: no mean
            figures[f"nll_gap.{source}"] = Figure.of(mean_by_length(gap, share=False, level=level), gap.mean(axis=1))
    return figures


def _surprise(
    oracle: LanguageModel, sequences: Tensor, prefix: int, batch_size: int, progress: Count | None
) -> FloatArray:
    """-log o of every token after the prefix: [n, length - prefix]."""
    positions = range(prefix, sequences.shape[1])
    found = torch.empty(len(sequences), len(positions), dtype=torch.float64)
    after = sequences[:, prefix:]
    for scores in scores_along((oracle,), sequences, positions, batch_size=batch_size, progress=progress):
        [log_probs] = scores.log_probs
        chosen = after[scores.rows, scores.columns].to(log_probs.device).unsqueeze(-1)
        found[scores.rows, scores.columns] = -log_probs.gather(-1, chosen).squeeze(-1).double().cpu()
    return found.numpy()


def _bleu_by_window(sequences: Tensor, references: Tensor, prefix: int, window: int, order: int) -> FloatArray:
    """BLEU of each continuation's tokens, window by window, against real ones at the same places: [n, windows]."""
    length = sequences.shape[1]
    columns = []
    for start in range(prefix, length - order + 1, window):
        place = slice(start, min(start + window, length))
        bleu = sentence_bleu(sequences[:, place].numpy(), references[:, place].numpy(), highest_order=order)
        columns.append(bleu.scores[:, order - 1])
    return np.stack(columns, axis=1)


def _references(
    oracle: LanguageModel | None,
    data: Tensor | None,
    *,
    samples: int,
    length: int,
    seed: int,
    batch_size: int,
    progress: Count | None,
) -> Tensor:
    if data is not None:
        half = _halves(data)[1]
        return data_histories(half, min(samples, len(half)), length, seed=(seed, _REFERENCES))
    assert oracle is not None
    drawing: dict[str, Any] = {"stop_at_end": False, "batch_size": batch_size, "progress": progress}
    return generate(oracle, samples, length, seed=(seed, _REFERENCES), **drawing).tokens


def _halves(data: Tensor) -> tuple[Tensor, Tensor]:
    """Every other sentence for prefixes, the others for reference."""
    return data[::2], data[1::2]


def _require_measurable(
    model: LanguageModel,
    oracle: LanguageModel | None,
    samples: int,
    length: int,
    prefix: int,
    data: Tensor | None,
    sources: Sequence[str],
    window: int,
    order: int,
) -> None:
    require_comparable(model, oracle, samples, length)
    for source in sources:
        if source not in SOURCES:
            raise OffscriptError(f"no source of prefixes {source!r}", next=nearest(source, SOURCES))
    if not sources:
        raise OffscriptError("no source of prefixes", next=f"name some of {', '.join(SOURCES)}")
    if oracle is None and data is None:
        raise OffscriptError(
            "cannot measure recovery with neither an oracle nor data",
            why="there is nothing to compare the text with",
            next="give one",
        )
    if not 1 <= order <= window:
        raise OffscriptError(
            f"cannot compute BLEU-{order} in windows of {window} tokens", next="take windows of at least the order"
        )
    if prefix < 1 or length < prefix + order:
        raise OffscriptError(
            f"cannot use sequences of {length} tokens with a prefix of {prefix}",
            why=f"BLEU-{order} needs {order} tokens after it",
            next="ask for longer sequences or a shorter prefix",
        )
