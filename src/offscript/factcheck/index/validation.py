"""Validation: a file whose checksum fits may still hold offsets that do not, and compiled loops follow them blindly.

So every offset is looked at once when a segment is opened. `check_index` looks further: at what a search would answer.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from offscript._compiled import compiled
from offscript.factcheck.analysis.lexicon import Lexicon
from offscript.factcheck.index.files import Arrays


def segment_fault(arrays: Arrays, fields: int) -> str:
    """What would mislead a search in a segment's arrays, by name; nothing where all is well.

    `fields` is how many texts are stored for each document.
    """
    return next(_segment_faults(arrays, fields), "")


def deletions_fault(deletions: Arrays, arrays: Arrays) -> str:
    """The same for the deletions of a segment that has no fault: their counts must be those of its live documents."""
    deleted = deletions["deleted"]
    if len(deleted) != len(arrays["lengths"]) or deleted.view(np.uint8).max(initial=0) > 1:
        return "deleted"
    documents, totals = count_live(arrays, deleted)
    if not np.array_equal(documents, deletions["document_frequencies"]):
        return "document_frequencies"
    return "" if np.array_equal(totals, deletions["total_frequencies"]) else "total_frequencies"


def deep_fault(arrays: Arrays) -> str:
    """What a search would answer wrongly though every offset fits: names that are not found, counts that differ."""
    for name in ("terms", "ids"):
        lexicon = Lexicon(*(arrays[f"{name}.{part}"] for part in Lexicon._fields))
        if not np.array_equal(lexicon.find_all(lexicon), np.arange(lexicon.size)):
            return f"{name}.slots"
    _, totals = count_live(arrays, np.zeros(len(arrays["lengths"]), dtype=bool))
    if not np.array_equal(totals, arrays["total_frequencies"]):
        return "total_frequencies"
    lengths = np.bincount(
        arrays["postings.documents"], weights=arrays["postings.frequencies"], minlength=len(arrays["lengths"])
    )
    return "" if np.array_equal(lengths, arrays["lengths"]) else "lengths"


def count_live(arrays: Arrays, deleted: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For every term the number of documents that hold it and how often they do, deleted documents left out."""
    terms = len(arrays["postings.starts"]) - 1
    documents, totals = np.zeros(terms, dtype=np.int64), np.zeros(terms, dtype=np.int64)
    starts, numbers, frequencies = (arrays[f"postings.{name}"] for name in ("starts", "documents", "frequencies"))
    _count_live(starts, numbers, frequencies, deleted, documents, totals)
    return documents, totals


def _segment_faults(arrays: Arrays, fields: int) -> Iterator[str]:
    """The names of arrays that do not fit the others; a later check relies on the earlier ones."""
    documents, terms = len(arrays["lengths"]), len(arrays["total_frequencies"])
    for name, size in (("terms", terms), ("ids", documents)):
        yield from _lexicon_faults(arrays, name, size)
    for name, rows in (("stored", fields * documents), ("sentences", documents)):
        if not _bounds(arrays[f"{name}.offsets"], rows, len(arrays[f"{name}.values"])):
            yield f"{name}.offsets"
    starts, numbers, frequencies = (arrays[f"postings.{name}"] for name in ("starts", "documents", "frequencies"))
    if not _bounds(starts, terms, len(numbers)):
        yield "postings.starts"
    if not _ascending(starts, numbers, documents):
        yield "postings.documents"
    if len(frequencies) != len(numbers) or frequencies.min(initial=1) < 1:
        yield "postings.frequencies"
    if arrays["lengths"].min(initial=0) < 0:
        yield "lengths"
    if arrays["total_frequencies"].min(initial=0) < 0:
        yield "total_frequencies"


def _lexicon_faults(arrays: Arrays, name: str, size: int) -> Iterator[str]:
    slots = arrays[f"{name}.slots"]
    if not _bounds(arrays[f"{name}.offsets"], size, len(arrays[f"{name}.pool"])):
        yield f"{name}.offsets"
    if len(arrays[f"{name}.hashes"]) != size:
        yield f"{name}.hashes"
    sound = len(slots) > 0 and len(slots) & (len(slots) - 1) == 0 and slots.min() == 0 and slots.max() <= size
    if not sound:  # without a free slot a search for what is not there would not end
        yield f"{name}.slots"


def _bounds(offsets: NDArray[np.int64], rows: int, values: int) -> bool:
    """Whether offsets cut so many values into so many rows."""
    if len(offsets) != rows + 1 or offsets[0] != 0 or offsets[-1] != values:
        return False
    return bool((offsets[1:] >= offsets[:-1]).all())


@compiled
def _ascending(starts: NDArray[np.int64], documents: NDArray[np.int32], size: int) -> bool:
    """Whether the documents of every term ascend and are fewer than `size`."""
    for term in range(len(starts) - 1):
        before = -1
        for posting in range(starts[term], starts[term + 1]):
            if documents[posting] <= before:
                return False
            before = documents[posting]
        if before >= size:
            return False
    return True


@compiled
def _count_live(
    starts: NDArray[np.int64],
    documents: NDArray[np.int32],
    frequencies: NDArray[np.int32],
    deleted: NDArray[np.bool_],
    document_frequencies: NDArray[np.int64],
    total_frequencies: NDArray[np.int64],
) -> None:
    for term in range(len(document_frequencies)):
        for posting in range(starts[term], starts[term + 1]):
            if not deleted[documents[posting]]:
                document_frequencies[term] += 1
                total_frequencies[term] += frequencies[posting]
