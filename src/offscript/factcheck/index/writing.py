"""Writing: every change makes new files first and then replaces the manifest, so that a kill leaves a whole index."""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import filelock
import numpy as np

from offscript._types import Count
from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.analysis.lexicon import ABSENT
from offscript.factcheck.documents import Document
from offscript.factcheck.index.building import Block, merge_segments
from offscript.factcheck.index.files import (
    MANIFEST,
    SUFFIX,
    File,
    Manifest,
    SegmentFiles,
    next_number,
    read_manifest,
    remove_leftovers,
    write_arrays,
)
from offscript.factcheck.index.reading import Index, Segment, open_index, open_segment
from offscript.factcheck.index.validation import count_live

LOCK = "lock"
BLOCK_TOKENS = 1 << 20
BLOCK_BYTES = 1 << 23
BATCH_CHARACTERS = 1 << 18
MERGE_FACTOR = 8  # so many neighbours of one order of magnitude become one segment


def build_index(
    documents: Iterable[Document],
    folder: Path | str,
    *,
    analyzer: Analyzer | None = None,
    progress: Count | None = None,
    block_tokens: int = BLOCK_TOKENS,
) -> Index:
    """Index documents in one pass; an index that the folder held before stays in use until this one is whole.

    Args:
        documents: What to index; every id may occur once.
        folder: Where the index is written; a folder that holds anything else is refused.
        analyzer: Which terms a text is found by; by default every word in lower case.
        progress: Told the number of documents taken in so far.
        block_tokens: Bounds memory: blocks of so many tokens are inverted in memory, written, and merged on disk.

    Returns:
        The index, open.
    """
    with writing(Path(folder)) as writer:
        fresh = Manifest(analyzer or Analyzer())
        segments = writer.written(documents, fresh, progress, block_tokens)
        writer.commit(dataclasses.replace(fresh, segments=writer.merged(segments)))
    return open_index(folder, verify=False)


def add_documents(
    folder: Path | str,
    documents: Iterable[Document],
    *,
    progress: Count | None = None,
    block_tokens: int = BLOCK_TOKENS,
) -> Index:
    """Add documents to an index; one whose id is there already takes the place of the old one.

    Args:
        folder: The index.
        documents: What to add.
        progress: Told the number of documents taken in so far.
        block_tokens: Bounds memory, as in `build_index`.

    Returns:
        The index, open.
    """
    with writing(Path(folder)) as writer:
        old = read_manifest(writer.folder)
        added = writer.written(documents, old, progress, block_tokens)
        replaced = [id.decode("utf-8") for files in added for id in writer.open(files).ids.entries()]
        kept = writer.without(old.segments, replaced)
        writer.commit(dataclasses.replace(old, segments=writer.tidied([*kept, *added])))
    return open_index(folder, verify=False)


def delete_documents(folder: Path | str, ids: Iterable[str]) -> Index:
    """Delete documents; an id that is not there is refused and nothing is deleted."""
    listed = list(dict.fromkeys(ids))
    with writing(Path(folder)) as writer:
        old = read_manifest(writer.folder)
        segments = [writer.open(files) for files in old.segments]
        for id in listed:
            if all(segment.number_of(id) == ABSENT for segment in segments):
                raise OffscriptError(f"no document {id!r} in {folder}", next="nothing was deleted; check the id")
        writer.commit(dataclasses.replace(old, segments=tuple(writer.without(old.segments, listed))))
    return open_index(folder, verify=False)


def merge_index(folder: Path | str) -> Index:
    """Make one segment of all, without the deleted documents."""
    with writing(Path(folder)) as writer:
        old = read_manifest(writer.folder)
        writer.commit(dataclasses.replace(old, segments=writer.merged(old.segments)))
    return open_index(folder, verify=False)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator["Writer"]:
    """The one writer of a folder; the lock ends with the process that holds it, however that ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OffscriptError(f"{folder} cannot be made", why=error.strerror or str(error)) from error
    try:
        with filelock.FileLock(folder / LOCK, timeout=0):
            _refuse_foreign(folder)
            yield Writer(folder)
    except filelock.Timeout as error:
        raise OffscriptError(f"{folder} is being written by another process", next="wait until it is done") from error


def _refuse_foreign(folder: Path) -> None:
    if (folder / MANIFEST).exists():
        return
    ours = ("segment-", ".segment-", "files-", ".files-", f".{MANIFEST}.", LOCK)
    if foreign := [path.name for path in folder.iterdir() if not path.name.startswith(ours)]:
        raise OffscriptError(
            f"{folder} is not an index", why=f"it holds {foreign[0]}", next="name an empty or new folder"
        )


class Writer:
    """Makes new files in an index's folder; nothing of it counts before `commit`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = next_number(folder)
        self._opened: dict[SegmentFiles, Segment] = {}

    def open(self, files: SegmentFiles) -> Segment:
        """A segment, verified when it is first opened, so that damage does not pass into new files."""
        if files not in self._opened:
            self._opened[files] = open_segment(self.folder, files, verify=True)
        return self._opened[files]

    def written(
        self, documents: Iterable[Document], manifest: Manifest, progress: Count | None, block_tokens: int
    ) -> list[SegmentFiles]:
        """Write documents as segments of at most so many tokens."""
        written: list[SegmentFiles] = []
        block, taken = Block(manifest.analyzer), 0
        for batch in _batches(documents):
            block.add(batch)
            taken += len(batch)
            if block.tokens >= block_tokens or block.bytes >= BLOCK_BYTES:
                written.append(self._write(block))
                block = Block(manifest.analyzer)
            if progress:
                progress(taken)
        if len(block):
            written.append(self._write(block))
        self.refuse_repeated(written)
        return written

    def without(self, segments: Sequence[SegmentFiles], ids: Sequence[str]) -> list[SegmentFiles]:
        """The segments with the documents of these ids marked as deleted."""
        changed = []
        for files in segments:
            segment = self.open(files)
            numbers = [number for id in ids if (number := segment.number_of(id)) != ABSENT]
            changed.append(self._with_deleted(files, segment, numbers) if numbers else files)
        return [files for files in changed if len(self.open(files).live)]

    def merged(self, segments: Sequence[SegmentFiles]) -> tuple[SegmentFiles, ...]:
        """One segment in the place of several."""
        opened = [self.open(files) for files in segments]
        if len(segments) < 2 and all(segment.deleted is None for segment in opened):
            return tuple(segments)
        path = self.next_path("segment")
        merge_segments(opened, path)
        return (SegmentFiles(File.of(path)),)

    def tidied(self, segments: Sequence[SegmentFiles]) -> tuple[SegmentFiles, ...]:
        """Merge neighbours of one order of magnitude when there are MERGE_FACTOR of them, smallest first."""
        tidy = list(segments)
        while (run := _mergeable_run([len(self.open(files).live) for files in tidy])) is not None:
            tidy[run] = self.merged(tidy[run])
        return tuple(tidy)

    def commit(self, manifest: Manifest) -> None:
        """Make the new files the index, then remove what it no longer needs."""
        manifest.write(self.folder)
        remove_leftovers(self.folder, manifest)

    def _write(self, block: Block) -> SegmentFiles:
        path = self.next_path("segment")
        write_arrays(path, block.arrays())
        return SegmentFiles(File.of(path))

    def _with_deleted(self, files: SegmentFiles, segment: Segment, numbers: Sequence[int]) -> SegmentFiles:
        deleted = np.zeros(segment.size, dtype=bool) if segment.deleted is None else segment.deleted.copy()
        deleted[numbers] = True
        documents, totals = count_live(segment.arrays, deleted)
        path = self.next_path("deletions")
        write_arrays(path, {"deleted": deleted, "document_frequencies": documents, "total_frequencies": totals})
        return dataclasses.replace(files, deletions=File.of(path))

    def refuse_repeated(self, written: Sequence[SegmentFiles]) -> None:
        """Refuse segments that share a document's id."""
        lexicons = [self.open(files).ids for files in written]
        for position, later in enumerate(lexicons):
            for earlier in lexicons[:position]:
                if (repeated := np.flatnonzero(earlier.find_all(later) != ABSENT)).size:
                    id = later.entry(int(repeated[0])).decode("utf-8")
                    raise OffscriptError(
                        f"document id {id!r} occurs twice", next="give every document an id of its own"
                    )

    def next_path(self, kind: str, suffix: str = SUFFIX) -> Path:
        """A path in the folder that no file has yet."""
        path = self.folder / f"{kind}-{self._number:06d}{suffix}"
        self._number += 1
        return path


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text)
        if characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _mergeable_run(sizes: Sequence[int]) -> slice | None:
    """MERGE_FACTOR or more neighbours up to one order of magnitude (to base MERGE_FACTOR), the smallest first."""
    orders = [_order(size) for size in sizes]
    for order in sorted(set(orders)):
        start = 0
        for end in range(len(orders) + 1):
            if end == len(orders) or orders[end] > order:
                if end - start >= MERGE_FACTOR:
                    return slice(start, end)
                start = end + 1
    return None


def _order(size: int) -> int:
    order = 0
    while size >= MERGE_FACTOR:
        size //= MERGE_FACTOR
        order += 1
    return order
