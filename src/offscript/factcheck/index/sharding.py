"""An index built in parts: blocks of documents become segments wherever they are run, and one commit makes it whole."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from offscript._files import replacing
from offscript._types import Count
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.documents import Document
from offscript.factcheck.index.files import File, Manifest, SegmentFiles
from offscript.factcheck.index.reading import Index, open_index
from offscript.factcheck.index.writing import build_index, writing

Run = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterator[Any]]
"""Calls a function with each of many arguments, anywhere, and gives the results in the order of the arguments."""

BLOCK_DOCUMENTS = 20_000


def run_here(function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """As `Run`, in this process."""
    return (function(*each) for each in arguments)


def build_sharded_index(
    documents: Iterable[Document],
    folder: Path | str,
    *,
    run: Run = run_here,
    analyzer: Analyzer | None = None,
    block_documents: int = BLOCK_DOCUMENTS,
    progress: Count | None = None,
) -> Index:
    """Index documents in blocks, each a segment; what is searched is the same as of `build_index`.

    Documents go to the workers and segments come back, so they need no common disk. A kill leaves the index from
    before; a worker that is lost has its block done again by another.

    Args:
        documents: What to index; every id may occur once.
        folder: Where the index is written.
        run: Where blocks are indexed.
        analyzer: Which terms a text is found by.
        block_documents: Documents per segment.
        progress: Told the number of documents indexed so far.

    Returns:
        The index, open, with a segment per block in the order of the documents.
    """
    analyzer = analyzer or Analyzer()
    blocks = ((block, analyzer) for block in _blocks(documents, block_documents))
    segments: list[SegmentFiles] = []
    taken = 0
    with writing(Path(folder)) as writer:
        for content, count in run(built_segment, blocks):
            path = writer.next_path("segment")
            with replacing(path) as temporary:
                temporary.write_bytes(content)
            segments.append(SegmentFiles(File.of(path)))
            writer.open(segments[-1])  # verified: it comes from elsewhere
            taken += count
            if progress:
                progress(taken)
        writer.refuse_repeated(segments)
        writer.commit(Manifest(analyzer, tuple(segments)))
    return open_index(folder, verify=False)


def built_segment(documents: list[Document], analyzer: Analyzer) -> tuple[bytes, int]:
    """A segment of documents as the bytes of its file, and how many documents it has; what a worker does."""
    with tempfile.TemporaryDirectory() as scratch:
        index = build_index(documents, Path(scratch) / "index", analyzer=analyzer)
        return index.segments[0].path.read_bytes(), len(index)


def _blocks(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    left = iter(documents)
    while block := list(islice(left, size)):
        yield block
