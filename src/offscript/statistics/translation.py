"""Scores of translations by sacrebleu, with the signature that makes a score comparable."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from offscript._types import FloatArray
from offscript.errors import missing_package
from offscript.statistics.estimates import Estimate
from offscript.statistics.resampling import RESAMPLES, bootstrap


class TranslationScore(NamedTuple):
    """A score from 0 to 100, and sacrebleu's signature."""

    score: float
    signature: str


def corpus_bleu(outputs: Sequence[str], references: Sequence[str]) -> TranslationScore:
    """BLEU of a whole set.

    Args:
        outputs: Translations as text.
        references: One for each.
    """
    return _scored(_metric("BLEU"), outputs, references)


def corpus_chrf(outputs: Sequence[str], references: Sequence[str]) -> TranslationScore:
    """ChrF of a whole set.

    Args:
        outputs: Translations as text.
        references: One for each.
    """
    return _scored(_metric("CHRF"), outputs, references)


def bleu_interval(
    outputs: Sequence[str], references: Sequence[str], *, seed: int, level: float = 0.95, resamples: int = RESAMPLES
) -> Estimate:
    """BLEU of a whole set with a bootstrap interval over its sentences.

    Args:
        outputs: Translations as text.
        references: One for each.
        seed: Of the resamples.
        level: Level of the interval.
        resamples: How many are drawn.

    Returns:
        The value is that of `corpus_bleu`.
    """
    metric = _metric("BLEU")
    counts = np.array([_bleu_counts(metric, *pair) for pair in zip(outputs, references, strict=True)])

    def score(weights: FloatArray) -> FloatArray:
        totals = np.rint(weights @ counts * len(counts)).astype(np.int64)
        return np.array([_bleu_of(metric, row.tolist()) for row in totals])

    generator = np.random.default_rng(seed)
    return bootstrap(score, [len(counts)], generator=generator, resamples=resamples, level=level)


def bleu_signature() -> str:
    """Sacrebleu's signature of the BLEU that is computed here, for one reference."""
    metric = _metric("BLEU")
    metric.corpus_score(["a"], [["a"]])
    return str(metric.get_signature())


def _bleu_counts(metric: Any, output: str, reference: str) -> list[int]:
    """Matches and totals of 1- to 4-grams, and the lengths of output and reference."""
    score = metric.corpus_score([output], [[reference]])
    return [*score.counts, *score.totals, score.sys_len, score.ref_len]


def _bleu_of(metric: Any, counts: list[int]) -> float:
    order = metric.max_ngram_order
    matches, totals, (output, reference) = counts[:order], counts[order : 2 * order], counts[2 * order :]
    settings = {"smooth_method": metric.smooth_method, "max_ngram_order": order}
    return float(metric.compute_bleu(matches, totals, output, reference, **settings).score)


def sentence_bleu(output: str, reference: str) -> float:
    """Smoothed BLEU of one sentence, from 0 to 1 (sacrebleu's default, exponential smoothing).

    Args:
        output: A translation.
        reference: What it should say.
    """
    return float(_sentence_metric().sentence_score(output, [reference]).score) / 100


def sentence_chrf(output: str, reference: str) -> float:
    """ChrF of one sentence, from 0 to 1.

    Args:
        output: A text.
        reference: What it should say.
    """
    return float(_character_metric().sentence_score(output, [reference]).score) / 100


@lru_cache(maxsize=1)
def _sentence_metric() -> Any:
    return _metric("BLEU", effective_order=True)


@lru_cache(maxsize=1)
def _character_metric() -> Any:
    return _metric("CHRF")


def _scored(metric: Any, outputs: Sequence[str], references: Sequence[str]) -> TranslationScore:
    score = metric.corpus_score(list(outputs), [list(references)])
    return TranslationScore(float(score.score), str(metric.get_signature()))


def _metric(name: str, **settings: Any) -> Any:
    try:
        from sacrebleu import metrics
    except ImportError as fault:
        raise missing_package("a score of translations", "sacrebleu", extra="translation") from fault
    return getattr(metrics, name)(**settings)
