"""The search loop: exact top-k, term by term, that leaves out what cannot get into the result any more.

Terms are taken by falling bound on their score. As long as a document not met yet could still enter the top k, all
postings of the next term are added up. After that only documents met before matter, and of those only the ones that
can still reach the k-th best score (Buckley and Lewit, 1985; Moffat and Zobel, 1996; with a safe bound).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offscript.factcheck._compiled import compiled

UNMET = -1e300  # a document that no term has met; every real score is far above
DELETED = -np.inf
SLACK = 1e-6  # bounds are compared with this relative room for rounding
PROBE_COST = 6  # a step of a binary search costs about so many postings read in order


class ScoredPostings(NamedTuple):
    """A segment's postings with a model's scores, and the bounds of every term's scores."""

    starts: NDArray[np.int64]  # [terms + 1]
    documents: NDArray[np.int32]
    scores: NDArray[np.float32]
    highest: NDArray[np.float32]  # [terms]
    lowest: NDArray[np.float32]  # [terms]


class Queries(NamedTuple):
    """Query q's terms are terms[starts[q] : starts[q + 1]], each as often as its weight says."""

    starts: NDArray[np.int64]  # [queries + 1]
    terms: NDArray[np.int32]
    weights: NDArray[np.float64]


class Best(NamedTuple):
    """The best documents of every query, best first; counts says how many there are."""

    documents: NDArray[np.int32]  # [queries, k]
    scores: NDArray[np.float32]  # [queries, k]
    counts: NDArray[np.int64]  # [queries]


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
    heap = np.empty(best.documents.shape[1], dtype=np.float64)
    for query in range(first, last):
        terms = queries.terms[queries.starts[query] : queries.starts[query + 1]]
        weights = queries.weights[queries.starts[query] : queries.starts[query + 1]]
        order = _by_falling_bound(postings, terms, weights)
        above, below = _bounds(postings, terms, weights, order)
        count, taken, threshold = 0, 0, -np.inf
        while taken < len(order) and not _out_of_reach(above[taken], threshold):
            term, weight = terms[order[taken]], weights[order[taken]]
            taken += 1
            count, reached = _add_all(postings, term, weight, sums, met, count, heap)
            threshold = max(threshold, reached + below[taken])
        kept = count
        for later in range(taken, len(order)):
            kept = _keep_reachable(sums, met, kept, above[later], threshold)
            reached = _add_to_met(postings, terms[order[later]], weights[order[later]], sums, met, kept, heap)
            threshold = max(threshold, reached + below[later + 1])
        best.counts[query] = _select(sums, met, kept, best.documents[query], best.scores[query])
        for index in range(count):
            sums[met[index]] = UNMET


@compiled
def _by_falling_bound(
    postings: ScoredPostings, terms: NDArray[np.int32], weights: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Places of the terms, the one that can add most first (insertion sort: queries are short)."""
    order = np.empty(len(terms), dtype=np.int64)
    for place in range(len(terms)):
        bound, free = weights[place] * postings.highest[terms[place]], place
        while free > 0 and weights[order[free - 1]] * postings.highest[terms[order[free - 1]]] < bound:
            order[free] = order[free - 1]
            free -= 1
        order[free] = place
    return order


@compiled
def _bounds(
    postings: ScoredPostings, terms: NDArray[np.int32], weights: NDArray[np.float64], order: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The most and the least that the terms from each place of the order on can add to a document."""
    above, below = np.zeros(len(order) + 1), np.zeros(len(order) + 1)
    for place in range(len(order) - 1, -1, -1):
        term, weight = terms[order[place]], weights[order[place]]
        above[place] = above[place + 1] + weight * max(postings.highest[term], np.float32(0))
        below[place] = below[place + 1] + weight * min(postings.lowest[term], np.float32(0))
    return above, below


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
    heap: NDArray[np.float64],
) -> tuple[int, float]:
    """Add a term to every document that holds it; returns how many are met now, and the k-th best sum it made."""
    documents, scores = postings.documents, postings.scores
    heap[:] = -np.inf
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
        if total > heap[0]:
            _replace_least(heap, total)
    return count, heap[0]


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
    heap: NDArray[np.float64],
) -> float:
    """Add a term to the first `kept` met documents, and maybe to others met; returns the k-th best sum of the kept."""
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
    heap[:] = -np.inf
    for index in range(kept):
        if sums[met[index]] > heap[0]:
            _replace_least(heap, sums[met[index]])
    return heap[0]


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
def _replace_least(heap: NDArray[np.float64], value: float) -> None:
    """Put a value in the place of a min-heap's least."""
    place, size = 0, len(heap)
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = value


@compiled
def _select(
    sums: NDArray[np.float64],
    met: NDArray[np.int32],
    kept: int,
    documents: NDArray[np.int32],
    scores: NDArray[np.float32],
) -> int:
    """Write the best of the kept documents, best first, equal scores in document order; returns how many they are."""
    size = 0
    for index in range(kept):
        document, score = met[index], np.float32(sums[met[index]])
        if size == len(documents):
            if not _better(score, document, scores[0], documents[0]):
                continue
            _sink(documents, scores, size, document, score)
        else:
            _rise(documents, scores, size, document, score)
            size += 1
    for end in range(size - 1, 0, -1):
        document, score = documents[end], scores[end]
        documents[end], scores[end] = documents[0], scores[0]
        _sink(documents, scores, end, document, score)
    return size


@compiled
def _better(score: float, document: int, other_score: float, other: int) -> bool:
    return score > other_score or (score == other_score and document < other)


@compiled
def _rise(documents: NDArray[np.int32], scores: NDArray[np.float32], size: int, document: int, score: float) -> None:
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
def _sink(documents: NDArray[np.int32], scores: NDArray[np.float32], size: int, document: int, score: float) -> None:
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
