"""Intersentence associations scored by a head that tells whether one sentence follows another (§4.6, B.2.3)."""

from collections.abc import Sequence

import torch

from offscript._types import Count
from offscript.corpora.associations import AssociationTest
from offscript.models.next_sentence import NextSentenceHead


def score_with_next_sentence_head(
    head: NextSentenceHead, tests: Sequence[AssociationTest], *, batch_size: int = 64, progress: Count | None = None
) -> dict[str, float]:
    """Log-odds that the association follows its context, for intersentence tests; their order is the probability's."""
    listed = [
        (association.id, (test.context, association.sentence))
        for test in tests
        if test.task == "intersentence"
        for association in test.associations
    ]
    listed.sort(key=lambda entry: len(entry[1][0]) + len(entry[1][1]))
    scores: dict[str, float] = {}
    for start in range(0, len(listed), batch_size):
        names, pairs = zip(*listed[start : start + batch_size], strict=True)
        with torch.inference_mode():
            scores.update(zip(names, head(pairs).double().tolist(), strict=True))
        if progress is not None:
            progress(len(pairs))
    return scores
