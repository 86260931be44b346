"""The averaged perceptron (Collins, 2002): from left to right, each word the tag whose weights add up to most.

A feature is a hash of what is seen (the word, its endings, its shape, its neighbours, the two tags before it); its
weights are the row of that hash, one column a tag. Rows that several features share hurt little and save the names.
"""

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import compiled
from offscript.factcheck.analysis.words import LETTER, NUMERIC, lower_case, word_break_classes

FORM, LOWER, SHAPE, PREFIX, SUFFIX = 0, 1, 2, 3, 6
SEEN = 10  # form, lower case, shape, prefixes of 1 to 3 and suffixes of 1 to 4 characters
PREFIXES, SUFFIXES = 3, 4
ENDING = SUFFIX + 2  # of three characters
TEMPLATES = SEEN + 17
OUTSIDE = np.uint64(0x9E3779B97F4A7C15)  # what stands before the first word and after the last


def seen_of(words: list[str]) -> NDArray[np.uint64]:
    """Hashes of what is seen of every word by itself."""  # [words, SEEN]
    joined = "".join(words).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(joined, dtype=np.uint32)
    ends = np.cumsum(np.fromiter(map(len, words), np.int64, len(words)))
    seen = np.empty((len(words), SEEN), dtype=np.uint64)
    _look(codes, ends, lower_case(), word_break_classes(), seen)
    return seen


@compiled
def _mix(value: np.uint64, other: np.uint64) -> np.uint64:
    value = (value ^ other) * np.uint64(0xFF51AFD7ED558CCD)
    return value ^ (value >> np.uint64(32))


@compiled
def _look(
    codes: NDArray[np.uint32],
    ends: NDArray[np.int64],
    lower: NDArray[np.uint32],
    classes: NDArray[np.uint8],
    seen: NDArray[np.uint64],
) -> None:
    start = 0
    for word in range(len(ends)):
        end = ends[word]
        form = lowered = np.uint64(1)
        for place in range(start, end):
            form = _mix(form, np.uint64(codes[place]))
            lowered = _mix(lowered, np.uint64(lower[codes[place]]))
            if place - start < PREFIXES:
                seen[word, PREFIX + place - start] = lowered
        for missing in range(end - start, PREFIXES):
            seen[word, PREFIX + missing] = np.uint64(0)
        ending = np.uint64(2)
        for size in range(SUFFIXES):
            if size < end - start:
                ending = _mix(ending, np.uint64(lower[codes[end - 1 - size]]))
            seen[word, SUFFIX + size] = ending if size < end - start else np.uint64(0)
        seen[word, FORM], seen[word, LOWER] = form, lowered
        seen[word, SHAPE] = _shape(codes, start, end, lower, classes)
        start = end


@compiled
def _shape(
    codes: NDArray[np.uint32], start: int, end: int, lower: NDArray[np.uint32], classes: NDArray[np.uint8]
) -> np.uint64:
    """Upper, lower, digit, other, with repetitions taken together: `Iran` and `Oxford` look the same."""
    shape, before = np.uint64(3), -1
    for place in range(start, end):
        code = codes[place]
        kind = 3
        if classes[code] == NUMERIC:
            kind = 2
        elif classes[code] == LETTER:
            kind = 0 if lower[code] != code else 1
        if kind != before:
            shape = _mix(shape, np.uint64(kind))
            before = kind
    return shape


@compiled
def _features(
    seen: NDArray[np.uint64],
    first: int,
    last: int,
    word: int,
    tag: int,
    tag_before: int,
    rows: NDArray[np.int64],
    size: int,
) -> None:
    """The rows of one word's features; `tag` is the word's before it, `tag_before` that of the one before that."""
    own = seen[word]
    before, after = (word - 1 if word > first else -1), (word + 1 if word + 1 < last else -1)
    before_2, after_2 = (word - 2 if word - 1 > first else -1), (word + 2 if word + 2 < last else -1)
    history = np.uint64(tag + 1)
    context = (
        history,
        _mix(history, np.uint64(tag_before + 1)),
        _mix(own[LOWER], history),
        _of(seen, before, LOWER),
        _of(seen, before_2, LOWER),
        _of(seen, after, LOWER),
        _of(seen, after_2, LOWER),
        _mix(_of(seen, before, LOWER), own[LOWER]),
        _mix(own[LOWER], _of(seen, after, LOWER)),
        _of(seen, before, ENDING),
        _of(seen, after, ENDING),
        _mix(_of(seen, before, SHAPE), own[SHAPE]),
        _mix(own[SHAPE], _of(seen, after, SHAPE)),
        _mix(own[SHAPE], np.uint64(word == first)),
        _mix(own[ENDING], history),
        _mix(own[ENDING], _of(seen, after, ENDING)),
        np.uint64(last - first == 1),
    )
    for template in range(SEEN):
        rows[template] = _row(own[template], template, size)
    for place, value in enumerate(context):
        rows[SEEN + place] = _row(value, SEEN + place, size)


@compiled
def _row(value: np.uint64, template: int, size: int) -> int:
    """The row of a feature; the same value in another template is another feature."""
    return int(_mix(value, np.uint64(template + 1) * OUTSIDE) % np.uint64(size))


@compiled
def _of(seen: NDArray[np.uint64], word: int, what: int) -> np.uint64:
    return OUTSIDE if word < 0 else seen[word, what]


@compiled
def _best(weights: NDArray[np.float32], rows: NDArray[np.int64], scores: NDArray[np.float32]) -> int:
    scores[:] = 0
    for row in rows:
        for tag in range(len(scores)):
            scores[tag] += weights[row, tag]
    return int(np.argmax(scores))


@compiled
def decode(
    weights: NDArray[np.float32], seen: NDArray[np.uint64], ends: NDArray[np.int64], tags: NDArray[np.int8]
) -> None:
    """Write the tags of sentences, sentence s being words ends[s - 1] to ends[s] - 1."""
    rows, scores = np.empty(TEMPLATES, dtype=np.int64), np.empty(weights.shape[1], dtype=np.float32)
    first = 0
    for last in ends:
        tag = tag_before = -1
        for word in range(first, last):
            _features(seen, first, last, word, tag, tag_before, rows, len(weights))
            tag_before, tag = tag, _best(weights, rows, scores)
            tags[word] = tag
        first = last


@compiled
def learn(
    weights: NDArray[np.float32],
    totals: NDArray[np.float64],
    stamps: NDArray[np.int64],
    step: int,
    seen: NDArray[np.uint64],
    ends: NDArray[np.int64],
    gold: NDArray[np.int8],
    order: NDArray[np.int64],
) -> int:
    """One pass over the sentences in the given order; returns the step reached. Histories are the model's own.

    `totals` sums every weight over all steps, brought up to date when the weight changes; `stamps` says when that was.
    """
    rows, scores = np.empty(TEMPLATES, dtype=np.int64), np.empty(weights.shape[1], dtype=np.float32)
    for sentence in order:
        first, last = (ends[sentence - 1] if sentence else 0), ends[sentence]
        tag = tag_before = -1
        for word in range(first, last):
            step += 1
            _features(seen, first, last, word, tag, tag_before, rows, len(weights))
            guess = _best(weights, rows, scores)
            if guess != gold[word]:
                for row in rows:
                    _change(weights, totals, stamps, step, row, gold[word], 1)
                    _change(weights, totals, stamps, step, row, guess, -1)
            tag_before, tag = tag, guess
    return step


@compiled
def _change(
    weights: NDArray[np.float32],
    totals: NDArray[np.float64],
    stamps: NDArray[np.int64],
    step: int,
    row: np.int64,
    tag: int,
    change: int,
) -> None:
    totals[row, tag] += (step - stamps[row, tag]) * weights[row, tag]
    stamps[row, tag] = step
    weights[row, tag] += change


def train_weights(
    seen: NDArray[np.uint64],
    ends: NDArray[np.int64],
    gold: NDArray[np.int8],
    *,
    rows: int,
    tags: int,
    epochs: int,
    generator: np.random.Generator,
) -> NDArray[np.float32]:
    """Weights averaged over all steps."""  # [rows, tags]
    weights = np.zeros((rows, tags), dtype=np.float32)
    totals, stamps = np.zeros(weights.shape), np.zeros(weights.shape, dtype=np.int64)
    step = 0
    for _ in range(epochs):
        step = learn(weights, totals, stamps, step, seen, ends, gold, generator.permutation(len(ends)))
    return ((totals + (step - stamps) * weights) / step).astype(np.float32)
