"""BLEU of every sentence against many references, in time linear in their number (Papineni et al., 2002)."""

from dataclasses import dataclass

import numpy as np

from offscript._types import FloatArray
from offscript.errors import OffscriptError
from offscript.measures.ngrams import IntArray, NgramCounter, NgramCounts, Sentences, TokenTable, joined, tabulate

HIGHEST_ORDER = 5
SMOOTHING = 0.1
"""What stands for a match count of zero: NLTK's smoothing method 1 (Chen and Cherry, 2014)."""

RECIPE = {"smoothing": f"method 1, {SMOOTHING}", "brevity": "closest reference length"}


@dataclass(frozen=True)
class SentenceBleu:
    """BLEU-1 … BLEU-n of every sentence and how many references each was compared with."""

    scores: FloatArray  # [sentences, orders]
    references: int

    def corpus(self, order: int) -> float:
        """The mean of BLEU-`order` over the sentences (eq. 5.11)."""
        return float(self.scores[:, order - 1].mean())


def sentence_bleu(hypotheses: Sentences, references: Sentences, *, highest_order: int = HIGHEST_ORDER) -> SentenceBleu:
    """BLEU of every hypothesis against all references at once.

    Counts are clipped by the largest count in any one reference, the brevity penalty takes the closest reference length
    (the shorter of two), a match count of zero becomes 0.1: NLTK's `sentence_bleu` with smoothing method 1.
    """
    _check_order(highest_order)
    against, scored = tabulate(references, hypotheses)
    if not len(against) or not len(scored):
        raise OffscriptError(
            f"cannot compute BLEU of {len(scored)} sentences against {len(against)} references",
            next="give at least one of each",
        )
    counter = NgramCounter(joined(against, scored))
    matches = np.zeros((len(scored), highest_order))
    for order in range(highest_order):
        counts = counter.next_order()
        matches[:, order] = _matches(counts, len(against), len(scored), counter)
    closest = _closest_lengths(scored.lengths, np.unique(against.lengths))
    return SentenceBleu(_scores(matches, scored.lengths, closest), len(against))


def leave_one_out_bleu(sentences: Sentences | TokenTable, *, highest_order: int = HIGHEST_ORDER) -> SentenceBleu:
    """BLEU of every sentence against all the others."""
    _check_order(highest_order)
    table = sentences if isinstance(sentences, TokenTable) else tabulate(sentences)[0]
    if len(table) < 2:
        raise OffscriptError(
            f"cannot compute self-BLEU of {len(table)} sentence(s)", why="each is compared with the others"
        )
    counter = NgramCounter(table)
    matches = np.zeros((len(table), highest_order))
    for order in range(highest_order):
        matches[:, order] = _matches_among_others(counter.next_order(), len(table), counter)
    return SentenceBleu(_scores(matches, table.lengths, _closest_other_lengths(table)), len(table) - 1)


def _matches(counts: NgramCounts, references: int, hypotheses: int, counter: NgramCounter) -> FloatArray:
    """Clipped matches of each hypothesis, whose sentences follow those of the references."""
    in_reference = counts.sentence < references
    allowed = counts.largest(np.where(in_reference, counts.count, 0))  # [grams]
    scored = ~in_reference
    clipped = np.minimum(counts.count[scored], allowed[counts.gram[scored]])
    counter.keep((allowed > 0) & (counts.largest(scored.astype(np.int64)) > 0))
    return np.bincount(counts.sentence[scored] - references, clipped, hypotheses).astype(np.float64)


def _matches_among_others(counts: NgramCounts, sentences: int, counter: NgramCounter) -> FloatArray:
    """Clipped matches of each sentence in the others.

    Only the one sentence that holds an n-gram's largest count can find fewer elsewhere: the second largest.
    """
    largest = counts.largest(counts.count)  # [grams]
    at_largest = counts.count == largest[counts.gram]
    alone = (counts.total(at_largest.astype(np.int64)) == 1)[counts.gram] & at_largest
    second = counts.largest(np.where(alone, 0, counts.count))
    counter.keep(second > 0)
    found = np.where(alone, second[counts.gram], counts.count)
    return np.bincount(counts.sentence, found, sentences).astype(np.float64)


def _scores(matches: FloatArray, lengths: IntArray, closest: IntArray) -> FloatArray:
    """BLEU of orders 1 … n from clipped matches [sentences, n], lengths and closest reference lengths [sentences]."""
    orders = np.arange(1, matches.shape[1] + 1)
    possible = np.maximum(1, lengths[:, None] - orders + 1)
    precisions = np.where(matches == 0, SMOOTHING, matches) / possible
    geometric = np.exp(np.cumsum(np.log(precisions), axis=1) / orders)
    shortness = np.where(lengths > closest, 0.0, 1 - closest / np.maximum(1, lengths))
    scores = np.exp(shortness)[:, None] * geometric
    return np.where(matches[:, :1] == 0, 0.0, scores)


def _closest_lengths(lengths: IntArray, known: IntArray) -> IntArray:
    """For each length the closest of the `known` ones (ascending), the shorter of two."""
    above = np.searchsorted(known, lengths).clip(max=len(known) - 1)
    below = (above - 1).clip(min=0)
    nearer_below = np.abs(lengths - known[below]) <= np.abs(known[above] - lengths)
    closest: IntArray = np.where(nearer_below, known[below], known[above])
    return closest


def _closest_other_lengths(table: TokenTable) -> IntArray:
    """For each sentence the length of another that is closest to its own."""
    known, which, sentences = np.unique(table.lengths, return_inverse=True, return_counts=True)
    closest = known.copy()
    for single in np.flatnonzero(sentences == 1).tolist():
        others = np.concatenate([known[max(0, single - 1) : single], known[single + 1 : single + 2]])
        closest[single] = _closest_lengths(known[single : single + 1], others)[0]
    result: IntArray = closest[which]
    return result


def _check_order(highest_order: int) -> None:
    if highest_order < 1:
        raise OffscriptError(f"cannot compute BLEU of order {highest_order}", next="ask for order 1 or more")
