"""The search loop: exact top-k, term by term, that leaves out what cannot get into the result any more.

Terms are taken rarest first. After each of them the k best documents so far are scored in full, which gives a score
that the k-th best is sure to reach. As long as a document not met yet could still reach it, all postings of the next
term are added up; after that only documents met before matter, and of those only the ones that still can (a safe form
of Moffat and Zobel's "continue" strategy, 1996).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import compiled

UNMET = -1e300  # a document that no term has met; every real score is far above
DELETED = -np.inf
SLACK = 1e-6  # bounds are compared with this relative room for rounding
PROBE_COST = 2  # a step of a binary search costs about so many postings read in order
COMPLETION_COST = 32  # and a whole search so many


class ScoredPostings(NamedTuple):
    """A segment's postings with a model's scores, and the highest score of every term."""

    starts: NDArray[np.int64]  # [terms + 1]
    documents: NDArray[np.int32]
    scores: NDArray[np.float32]
    highest: NDArray[np.float32]  # [terms]


class Queries(NamedTuple):
    """Query q's terms are terms[starts[q] : starts[q + 1]], each as often as its weight says."""

    starts: NDArray[np.int64]  # [queries + 1]
    terms: NDArray[np.int32]
    weights: NDArray[np.float64]


class Best(NamedTuple):
    """The best documents of every query, best first. Both are filled with what stands for nothing beforehand."""

    documents: NDArray[np.int32]  # [queries, k]
    scores: NDArray[np.float64]  # [queries, k]


@compiled
def rank(
    postings: ScoredPostings,
    queries: Queries,
    first: int,
    last: int,
    sums: NDArray[np.float64],
    met: NDArray[np.int32],
    best: Best,
) -> None:
    """Rank queries first to last - 1. `sums` is UNMET or DELETED for every document, and is so again afterwards."""
    leaders = Best(best.documents[:1].copy(), best.scores[:1].copy())
    for query in range(first, last):
        terms = queries.terms[queries.starts[query] : queries.starts[query + 1]].copy()
        weights = queries.weights[queries.starts[query] : queries.starts[query + 1]].copy()
        _sort_rarest_first(postings.starts, terms, weights)
        above = _bounds(postings, terms, weights)
        count, taken, threshold = 0, 0, -np.inf
        while taken < len(terms) and not _out_of_reach(above[taken], threshold):
            count = _add_all(postings, terms[taken], weights[taken], sums, met, count, leaders)
            taken += 1
            if _worth_completing(postings.starts, terms, taken, leaders):
                threshold = max(threshold, _least_completed(postings, terms[taken:], weights[taken:], leaders))
        kept = count
        for later in range(taken, len(terms)):
            kept = _keep_reachable(sums, met, kept, above[later], threshold)
            _add_to_met(postings, terms[later], weights[later], sums, met, kept)
        _select(sums, met, kept, best.documents[query], best.scores[query])
        for index in range(count):
            sums[met[index]] = UNMET


@compiled
def _sort_rarest_first(starts: NDArray[np.int64], terms: NDArray[np.int32], weights: NDArray[np.float64]) -> None:
    """Insertion sort by document frequency: queries are short."""
    for place in range(1, len(terms)):
        term, weight = terms[place], weights[place]
        while place > 0 and starts[terms[place - 1] + 1] - starts[terms[place - 1]] > starts[term + 1] - starts[term]:
            terms[place], weights[place] = terms[place - 1], weights[place - 1]
            place -= 1
        terms[place], weights[place] = term, weight


@compiled
def _bounds(postings: ScoredPostings, terms: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The most that the terms from each place on can add to a document."""
    above = np.zeros(len(terms) + 1)
    for place in range(len(terms) - 1, -1, -1):
        above[place] = above[place + 1] + weights[place] * max(postings.highest[terms[place]], np.float32(0))
    return above


@compiled
def _out_of_reach(bound: float, threshold: float) -> bool:
    return bound + SLACK * (abs(bound) + abs(threshold)) < threshold


@compiled
def _add_all(
    postings: ScoredPostings,
    term: int,
    weight: float,
    sums: NDArray[np.float64],
    met: NDArray[np.int32],
    count: int,
    leaders: Best,
) -> int:
    """Add a term to every document that holds it; the best of these become the leaders. Returns how many are met."""
    documents, scores = postings.documents, postings.scores
    leading, leading_sums = leaders.documents[0], leaders.scores[0]
    leading_sums[:] = -np.inf
    for posting in range(postings.starts[term], postings.starts[term + 1]):
        document = documents[posting]
        total = sums[document]
        if total > UNMET:
            total += weight * scores[posting]
        elif total == UNMET:
            total = weight * scores[posting]
            met[count] = document
            count += 1
        sums[document] = total
        if total > leading_sums[0]:
            _sink(leading, leading_sums, len(leading), document, total)
    return count


@compiled
def _worth_completing(starts: NDArray[np.int64], terms: NDArray[np.int32], taken: int, leaders: Best) -> bool:
    """Whether the next term has so many postings that to complete the leaders costs less than to add them all."""
    if taken == len(terms):
        return False
    probes = leaders.documents.shape[1] * (len(terms) - taken)
    return bool(starts[terms[taken] + 1] - starts[terms[taken]] > COMPLETION_COST * probes)


@compiled
def _least_completed(
    postings: ScoredPostings, terms: NDArray[np.int32], weights: NDArray[np.float64], leaders: Best
) -> float:
    """The least full score of the leaders, given the terms not added yet; -inf if there are fewer than k leaders."""
    least = np.inf
    for leader in range(leaders.documents.shape[1]):
        document, total = leaders.documents[0, leader], leaders.scores[0, leader]
        if total == -np.inf:
            return -np.inf
        for place in range(len(terms)):
            end = postings.starts[terms[place] + 1]
            posting = _first_at_least(postings.documents, postings.starts[terms[place]], end, document)
            if posting < end and postings.documents[posting] == document:
                total += weights[place] * postings.scores[posting]
        least = min(least, total)
    return least


@compiled
def _keep_reachable(
    sums: NDArray[np.float64], met: NDArray[np.int32], kept: int, above: float, threshold: float
) -> int:
    """Move the documents that can still reach the threshold to the front; returns how many they are."""
    front = 0
    for index in range(kept):
        document = met[index]
        if not _out_of_reach(sums[document] + above, threshold):
            met[index], met[front] = met[front], document
            front += 1
    return front


@compiled
def _add_to_met(
    postings: ScoredPostings,
    term: int,
    weight: float,
    sums: NDArray[np.float64],
    met: NDArray[np.int32],
    kept: int,
) -> None:
    """Add a term to the first `kept` met documents, and maybe to others that are met."""
    documents, scores = postings.documents, postings.scores
    start, end = postings.starts[term], postings.starts[term + 1]
    if kept * PROBE_COST * np.log2(end - start + 1) < end - start:
        for index in range(kept):
            posting = _first_at_least(documents, start, end, met[index])
            if posting < end and documents[posting] == met[index]:
                sums[met[index]] += weight * scores[posting]
    else:
        for posting in range(start, end):
            if sums[documents[posting]] > UNMET:
                sums[documents[posting]] += weight * scores[posting]


@compiled
def _first_at_least(documents: NDArray[np.int32], start: int, end: int, document: int) -> int:
    """The first place from start to end - 1 that holds this document or a later one, else `end`."""
    while start < end:
        middle = (start + end) // 2
        if documents[middle] < document:
            start = middle + 1
        else:
            end = middle
    return start


@compiled
def _select(
    sums: NDArray[np.float64],
    met: NDArray[np.int32],
    kept: int,
    documents: NDArray[np.int32],
    scores: NDArray[np.float64],
) -> None:
    """Write the best of the kept documents, best first, equal scores (in single precision) in document order."""
    size = 0
    for index in range(kept):
        document, score = met[index], np.float64(np.float32(sums[met[index]]))
        if size < len(documents):
            _rise(documents, scores, size, document, score)
            size += 1
        elif _better(score, document, scores[0], documents[0]):
            _sink(documents, scores, size, document, score)
    for end in range(size - 1, 0, -1):
        document, score = documents[end], scores[end]
        documents[end], scores[end] = documents[0], scores[0]
        _sink(documents, scores, end, document, score)


@compiled
def _better(score: float, document: int, other_score: float, other: int) -> bool:
    return score > other_score or (score == other_score and document < other)


@compiled
def _rise(documents: NDArray[np.int32], scores: NDArray[np.float64], size: int, document: int, score: float) -> None:
    """Add to a heap whose root is the worst."""
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if not _better(scores[parent], documents[parent], score, document):
            break
        documents[place], scores[place] = documents[parent], scores[parent]
        place = parent
    documents[place], scores[place] = document, score


@compiled
def _sink(documents: NDArray[np.int32], scores: NDArray[np.float64], size: int, document: int, score: float) -> None:
    """Put in the place of the root of a heap whose root is the worst."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _better(scores[child], documents[child], scores[child + 1], documents[child + 1]):
            child += 1
        if _better(scores[child], documents[child], score, document):
            break
        documents[place], scores[place] = documents[child], scores[child]
        place = child
    documents[place], scores[place] = document, score
