"""How much generated sentences differ from each other: self-BLEU, n-gram entropy, distinct-n, repetition, Zipf."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.measures.bleu import HIGHEST_ORDER, RECIPE, leave_one_out_bleu
from offscript.measures.measurement import Measurement, environment
from offscript.measures.ngrams import IntArray, NgramCounter, NgramCounts, Sentences, TokenTable, tabulate
from offscript.statistics import jackknife, mean_interval, within

QUESTION = "diversity"
REPETITION_ORDER = 4
ZIPF_RANKS = 5000

Mask = npt.NDArray[np.bool_]


def ngram_entropy(totals: IntArray) -> float:
    """Σ -r(g) log r(g) over n-grams with frequencies r, in nats (eq. 5.13); 0 where there is no n-gram."""
    shares = totals[totals > 0] / max(1, totals.sum())
    return float(-(shares * np.log(shares)).sum())


def distinct(totals: IntArray) -> float:
    """Different n-grams per n-gram (Li et al., 2016); 0 where there is none."""
    return float((totals > 0).sum() / max(1, totals.sum()))


def zipf_coefficient(totals: IntArray) -> float:
    """s in frequency ∝ rank⁻ˢ: least squares on logarithms over the 5,000 most frequent tokens (Holtzman et al., 2020).

    About 1 for human text, higher for text that leans on few words; 0 where there are fewer than two tokens to compare.
    """
    frequencies = np.sort(totals[totals > 0])[::-1][:ZIPF_RANKS]
    if len(frequencies) < 2:
        return 0.0
    slope, _ = np.polyfit(np.log(np.arange(1, len(frequencies) + 1)), np.log(frequencies), 1)
    return float(-slope)


def repetition(sentences: Sentences, *, order: int = REPETITION_ORDER) -> FloatArray:
    """[sentences]: the share of a sentence's n-grams that stood in it before (seq-rep-n, Welleck et al., 2020).

    A sentence of fewer than `order` tokens repeats nothing.
    """
    (table,) = tabulate(sentences)
    return _repetition(table, _counts(table, order)[-1], order)


def measure_diversity(
    samples: Sentences,
    *,
    tokenization: str,
    highest_order: int = HIGHEST_ORDER,
    level: float = 0.95,
    recipe: Mapping[str, Any] | None = None,
) -> list[Measurement]:
    """`self_bleu_n`, `entropy_n` and `distinct_n` for n = 1 … 5, `repetition` and `zipf`.

    Self-BLEU is the mean BLEU of every sample against all others (eq. 5.12). Self-BLEU, entropies, distinct-n and the
    Zipf coefficient depend on how many samples there are: compare sets of one size.

    Args:
        samples: Sentences as lists of tokens.
        tokenization: How they were divided into tokens, for the recipe.
        highest_order: The largest n.
        level: Level of the intervals.
        recipe: What else decides the figures, such as model and sampler.

    Returns:
        The figures named above, each with its interval.
    """
    started = time.perf_counter()
    (table,) = tabulate(samples)
    if len(table) < 3:
        raise OffscriptError(
            f"cannot measure the diversity of {len(table)} sentence(s)",
            why="intervals leave some out and compare the others",
            next="give three or more",
        )
    whole, figures = leave_one_out_bleu(table, highest_order=highest_order), _figures(highest_order, len(table))
    counts = _counts(table, max(highest_order, REPETITION_ORDER))
    estimates = jackknife(lambda kept: _values(table, counts, kept, highest_order), len(table), level=level)
    repeated = _repetition(table, counts[REPETITION_ORDER - 1], REPETITION_ORDER)
    estimates.append(mean_interval(repeated, level=level))
    items = [*whole.scores.T, *[None] * (len(figures) - highest_order - 1), repeated]
    common = {**(recipe or {}), "tokenization": tokenization, "sentences": len(table), **environment()}
    seconds = time.perf_counter() - started
    return [
        Measurement.of(
            within(estimate, *figure.bounds),
            question=QUESTION,
            name=figure.name,
            n=len(table),
            seed=None,
            seconds=seconds,
            recipe={**common, **figure.recipe},
            higher_is_better=figure.higher_is_better,
            per_item=per_item,
        )
        for figure, estimate, per_item in zip(figures, estimates, items, strict=True)
    ]


@dataclass(frozen=True)
class _Figure:
    """What is known of a figure before it is measured."""

    name: str
    recipe: dict[str, Any]
    bounds: tuple[float, float]
    higher_is_better: bool | None


def _figures(highest_order: int, sentences: int) -> list[_Figure]:
    """In the order of `_values`, then repetition."""
    orders = range(1, highest_order + 1)
    bleu = {**RECIPE, "references": sentences - 1}
    return [
        *(_Figure(f"self_bleu_{n}", {**bleu, "order": n}, (0, 1), False) for n in orders),
        *(_Figure(f"entropy_{n}", {"order": n, "unit": "nat"}, (0, math.inf), True) for n in orders),
        *(_Figure(f"distinct_{n}", {"order": n}, (0, 1), True) for n in orders),
        _Figure("zipf", {"order": 1, "ranks": ZIPF_RANKS}, (-math.inf, math.inf), None),
        _Figure("repetition", {"order": REPETITION_ORDER}, (0, 1), False),
    ]


def _values(table: TokenTable, counts: list[NgramCounts], kept: Mask, highest_order: int) -> FloatArray:
    """Self-BLEU, entropy and distinct-n of every order, and the Zipf coefficient, of the sentences that are kept."""
    self_bleu = leave_one_out_bleu(table.select(kept), highest_order=highest_order).scores.mean(axis=0)
    totals = [order.total(np.where(kept[order.sentence], order.count, 0)) for order in counts]
    used = totals[:highest_order]
    return np.array([*self_bleu, *map(ngram_entropy, used), *map(distinct, used), zipf_coefficient(totals[0])])


def _repetition(table: TokenTable, counts: NgramCounts, order: int) -> FloatArray:
    different = np.bincount(counts.sentence, minlength=len(table))
    there = table.lengths - order + 1
    return np.where(there > 0, 1 - different / np.maximum(1, there), 0.0)


def _counts(table: TokenTable, highest_order: int) -> list[NgramCounts]:
    counter = NgramCounter(table)
    return [counter.next_order() for _ in range(highest_order)]
