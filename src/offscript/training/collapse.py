"""Whether a generator collapses: how alike the sequences of one batch are, for the log of a run."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

_SMOOTHING = 0.1
IntArray = NDArray[np.int64]


def alikeness(tokens: Tensor, order: int = 3) -> dict[str, float]:
    """Whether a generator collapses, for its log, on the few sequences [rows, time] of one batch.

    `distinct_share`: different sequences; `self_bleu`: BLEU of each against all others. The question `diversity`
    measures the same with intervals, in a package that this one cannot import; a test holds the two together.
    """
    rows = tokens.cpu().numpy()
    found = {"distinct_share": len(np.unique(rows, axis=0)) / len(rows)}
    return {**found, "self_bleu": self_bleu(rows, min(order, rows.shape[1]))} if len(rows) > 1 else found


def self_bleu(rows: IntArray, order: int) -> float:
    """The mean of BLEU-`order` over sequences of one length, NLTK's smoothing method 1."""
    logarithms = np.zeros(len(rows))
    unknown = np.zeros(len(rows), dtype=bool)
    for n in range(1, order + 1):
        counts = _counts(rows, n)
        second, first = np.partition(counts, -2, axis=0)[-2:] if len(rows) > 1 else (counts[0] * 0, counts[0])
        allowed = np.where((counts == first) & ((counts == first).sum(axis=0) == 1), second, first)
        matches = np.minimum(counts, allowed).sum(axis=1)
        unknown |= (matches == 0) & (n == 1)
        logarithms += np.log(np.where(matches == 0, _SMOOTHING, matches) / (rows.shape[1] - n + 1))
    return float(np.where(unknown, 0.0, np.exp(logarithms / order)).mean())


def _counts(rows: IntArray, n: int) -> IntArray:
    """How often each n-gram of the batch stands in each row, [rows, n-grams]."""
    windows = np.lib.stride_tricks.sliding_window_view(rows, n, axis=1)  # [rows, time - n + 1, n]
    _, grams = np.unique(windows.reshape(-1, n), axis=0, return_inverse=True)
    counts = np.zeros((len(rows), int(grams.max()) + 1), dtype=np.int64)
    np.add.at(counts, (np.repeat(np.arange(len(rows)), windows.shape[1]), grams.reshape(-1)), 1)
    return counts
