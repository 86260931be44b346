"""How close generated sentences come to real ones: corpus-BLEU (eq. 5.11)."""

import time
from collections.abc import Mapping
from typing import Any

from offscript.measures.bleu import HIGHEST_ORDER, RECIPE, sentence_bleu
from offscript.measures.measurement import Measurement, environment
from offscript.measures.ngrams import Sentences
from offscript.statistics import mean_interval

QUESTION = "quality"


def measure_quality(
    samples: Sentences,
    references: Sentences,
    *,
    tokenization: str,
    highest_order: int = HIGHEST_ORDER,
    level: float = 0.95,
    recipe: Mapping[str, Any] | None = None,
) -> list[Measurement]:
    """`corpus_bleu_1` … `corpus_bleu_5`: the mean BLEU of every sample against all references.

    Intervals are over samples; the references stand as they are. `tokenization` says how both sides were cut into
    tokens, `recipe` whatever else the caller knows of them.
    """
    started = time.perf_counter()
    bleu = sentence_bleu(samples, references, highest_order=highest_order)
    estimates = [mean_interval(bleu.scores[:, order], level=level) for order in range(highest_order)]
    seconds = time.perf_counter() - started
    common = {"tokenization": tokenization, **RECIPE, "references": bleu.references, "sentences": len(bleu.scores)}
    return [
        Measurement.of(
            estimate,
            question=QUESTION,
            name=f"corpus_bleu_{order}",
            n=len(bleu.scores),
            seed=None,
            seconds=seconds,
            recipe={**(recipe or {}), **common, "order": order, **environment()},
            higher_is_better=True,
            per_item=bleu.scores[:, order - 1],
        )
        for order, estimate in enumerate(estimates, start=1)
    ]
