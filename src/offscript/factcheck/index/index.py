"""The index as one reader sees it: a snapshot that later writes do not touch."""

from functools import cached_property
from pathlib import Path

from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.analysis.lexicon import ABSENT
from offscript.factcheck.documents import Document
from offscript.factcheck.index.manifest import Manifest, SegmentFiles, check_file, read_manifest
from offscript.factcheck.index.segment import Segment

ATTEMPTS = 5  # a writer may replace segments between reading the manifest and opening them


class Index:
    """Documents that can be searched, by segments in document order."""

    def __init__(self, segments: list[Segment], analyzer: Analyzer, folder: Path) -> None:
        self.segments, self.analyzer, self.folder = segments, analyzer, folder

    def __len__(self) -> int:
        return sum(len(segment.live) for segment in self.segments)

    def __contains__(self, id: str) -> bool:
        return any(segment.number_of(id) != ABSENT for segment in self.segments)

    @cached_property
    def tokens(self) -> int:
        """How many tokens all documents have together."""
        return sum(segment.tokens for segment in self.segments)

    def document(self, id: str) -> Document:
        """The document of this id."""
        for segment in self.segments:
            if (number := segment.number_of(id)) != ABSENT:
                return segment.document(number)
        raise OffscriptError(f"no document {id!r} in {self.folder}")


def open_index(folder: Path | str, *, verify: bool = True) -> Index:
    """Open an index; a file whose size or checksum is not the manifest's is refused.

    Checksums cost one reading of every file, at several gigabytes a second; `verify=False` saves that.
    """
    folder = Path(folder)
    for attempt in range(ATTEMPTS):
        manifest = read_manifest(folder)
        try:
            return _opened(folder, manifest, verify)
        except OffscriptError:
            if attempt == ATTEMPTS - 1 or read_manifest(folder) == manifest:
                raise
    raise AssertionError("the last attempt returns or raises")


def _opened(folder: Path, manifest: Manifest, verify: bool) -> Index:
    segments = [open_segment(folder, files, verify=verify) for files in manifest.segments]
    return Index(segments, manifest.analyzer, folder)


def open_segment(folder: Path, files: SegmentFiles, *, verify: bool) -> Segment:
    """Open one segment after a look at its files."""
    return Segment.open(*(check_file(folder, file, contents=verify) for file in files.files))
