"""Files that are read one by one: one that cannot be read is skipped and named, and each is known again later."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from offscript._files import sha256_of
from offscript.corpora.lines import kind_of
from offscript.errors import OffscriptError
from offscript.factcheck.documents.document import Document
from offscript.factcheck.documents.readers import Format, read_file
from offscript.factcheck.documents.tables import Columns

HASHED = 1 << 28  # bytes; of a larger file size and time alone say whether it changed
RACY = 2_000_000_000  # nanoseconds in which a file system may give two writes one time
# Files that lie beside documents and are none: counted, not named one by one.
_BESIDE = re.compile(
    r"\.(?:png|jpe?g|gif|webp|bmp|tiff?|ico|svg|mp3|wav|ogg|flac|mp4|webm|mov|avi|mkv|css|js|map|woff2?|ttf|otf|eot)"
)


@dataclass(frozen=True)
class FileState:
    """A file as it was when it was read."""

    source: str
    name: str
    bytes: int = 0
    modified: int = 0  # nanoseconds
    read: int = 0  # nanoseconds
    sha256: str = ""
    fault: str = ""  # why it was skipped, or read only up to some place

    @property
    def path(self) -> Path:
        """Where it is; a source that is a file is it itself."""
        source = Path(self.source)
        return source / self.name if source.is_dir() else source

    @classmethod
    def of(cls, source: str, name: str, path: Path) -> "FileState":
        """The state of a file now."""
        now, about = time.time_ns(), path.stat()
        digest = sha256_of(path) if about.st_size <= HASHED else ""
        return cls(source, name, about.st_size, about.st_mtime_ns, now, digest)

    def unchanged(self, path: Path) -> bool:
        """Whether the file is still as it was: by size and time, else by its bytes."""
        about = path.stat()
        if about.st_size != self.bytes:
            return False
        if about.st_mtime_ns == self.modified and self.modified + RACY < self.read:
            return True
        return bool(self.sha256) and sha256_of(path) == self.sha256


@dataclass
class Files:
    """Reads files in turn and keeps what became of each.

    Args:
        format: As for `read_documents`.
        columns: As for `read_documents`.
        finish: Told each file with the ids of its documents, when it has been read.
        taken: Ids that documents of other files have. A document whose id is taken gets its file's name before it.
        strict: Let the fault of a source that is itself a file end the reading: it was named, not met in a folder.
    """

    format: Format = "auto"
    columns: Columns | None = None
    finish: Callable[[FileState, list[str]], None] = lambda state, ids: None
    taken: set[str] = field(default_factory=set)
    strict: bool = False
    skipped: list[FileState] = field(default_factory=list)
    beside: dict[str, int] = field(default_factory=dict)
    read: int = 0

    def documents(self, files: list[tuple[str, str, Path]]) -> Iterator[Document]:
        """The documents of files, each given by its source, its name in that, and its path."""
        for source, name, path in files:
            if self.format == "auto" and _BESIDE.fullmatch(kind_of(path)):
                self.beside[kind_of(path)] = self.beside.get(kind_of(path), 0) + 1
                continue
            yield from self._of_file(source, name, path)

    def _of_file(self, source: str, name: str, path: Path) -> Iterator[Document]:
        ids: list[str] = []
        state = FileState(source, name)
        try:
            state = FileState.of(source, name, path)
            for document in read_file(path, name, format=self.format, columns=self.columns):
                own = self._free_id(document.id, source, name)
                ids.append(own)
                yield document if own == document.id else _renamed(document, own)
            fault = "" if ids else "no document in it"
        except OffscriptError as error:
            if self.strict and not Path(source).is_dir():
                raise
            fault = str(error).removeprefix(str(path)).removeprefix(f": {path}").lstrip(":, ") or str(error)
        except OSError as error:
            fault = f"cannot be read: {error.strerror or error}"
        if fault:
            kept = f" (the {len(ids)} documents before it are kept)" if ids else ""
            state = FileState(source, name, state.bytes, state.modified, state.read, state.sha256, fault + kept)
            self.skipped.append(state)
        else:
            self.read += 1
        self.finish(state, ids)

    def _free_id(self, id: str, source: str, name: str) -> str:
        """The id, or one that no other document has."""
        own, number = id, 1
        while own in self.taken:
            own = (
                f"{Path(source).name}/{name}" + (f"#{id}" if id != name else "") + (f"~{number}" if number > 1 else "")
            )
            number += 1
        self.taken.add(own)
        return own


def _renamed(document: Document, id: str) -> Document:
    return Document(id, document.title, document.text, document.url, document.date, document.starts)
