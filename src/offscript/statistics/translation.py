"""Scores of translations by sacrebleu, with the signature that makes a score comparable."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from offscript.errors import missing_package


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
