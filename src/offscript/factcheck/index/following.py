"""Following a folder: an index remembers the files that its documents are from, and `update_index` what changed."""

import contextlib
import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from offscript._files import replacing
from offscript._types import Count
from offscript.corpora.records import is_hub
from offscript.errors import OffscriptError
from offscript.factcheck.analysis import Analyzer
from offscript.factcheck.documents.files import Files, FileState
from offscript.factcheck.documents.readers import Format, check_format, files_of
from offscript.factcheck.documents.tables import Columns
from offscript.factcheck.index.files import REBUILD, REGISTER_SUFFIX, File, Manifest, check_file, damaged, read_manifest
from offscript.factcheck.index.reading import Index, open_index
from offscript.factcheck.index.writing import BLOCK_TOKENS, Writer, writing

IDS = 10_000  # ids on a line of the register: memory does not grow with a file's documents
Entry = tuple[FileState, list[str]]


@dataclass(frozen=True)
class Update:
    """What became of an index: how many files are new, changed, gone and as before, and the ones that were skipped."""

    index: Index
    added: int
    changed: int
    removed: int
    unchanged: int
    skipped: tuple[FileState, ...]
    beside: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """The counts, and the skipped files with the reasons."""
        counts = {name: getattr(self, name) for name in ("added", "changed", "removed", "unchanged")}
        skipped = [{"file": str(state.path), "reason": state.fault} for state in self.skipped]
        return {"files": counts, "skipped": skipped, "beside": self.beside}


@dataclass(frozen=True)
class Settings:
    """How the files were read: an update reads them in the same way."""

    sources: list[str]
    format: Format = "auto"
    columns: dict[str, str] = dataclasses.field(default_factory=dict)


def index_files(
    sources: Sequence[Path | str],
    folder: Path | str,
    *,
    format: Format = "auto",
    columns: Columns | None = None,
    analyzer: Analyzer | None = None,
    add: bool = False,
    progress: Count | None = None,
    block_tokens: int = BLOCK_TOKENS,
) -> Update:
    """Index the files of folders; one that cannot be read is skipped, named and counted.

    Args:
        sources: Folders and files; an id that two documents have is given to the first, and the second is named after
            its file.
        folder: Where the index is written.
        format: As for `read_documents`.
        columns: As for `read_documents`.
        analyzer: Which terms a text is found by.
        add: Add to the index that is there instead of replacing it.
        progress: Told the number of documents taken in so far.
        block_tokens: Bounds memory, as in `build_index`.

    Returns:
        The index and what became of the files.
    """
    check_format(format)
    found = [
        (Path(source), files_of(Path(source))) for source in sources
    ]  # refuses what is no name before it is resolved
    listed = {str(source.resolve()): files for source, files in found}
    given = list(listed)
    files = [(source, name, path) for source, named in listed.items() for name, path in named.items()]
    with writing(Path(folder)) as writer:
        old = read_manifest(writer.folder) if add else Manifest(analyzer or Analyzer())
        settings = Settings(given, format, dict(columns.chosen) if columns else {})
        register = read_register(writer.folder, old) if add and old.register else None
        if register is not None:
            settings = dataclasses.replace(settings, sources=list(dict.fromkeys([*register[0].sources, *given])))
        known = {key: entry for key, entry in register[1].items() if key[0] not in given} if register else {}
        gone = [entry for key, entry in register[1].items() if key[0] in given] if register else []
        return _written(writer, old, settings, files, known, gone, progress, block_tokens, merge=not add, adding=add)


def update_index(folder: Path | str, *, progress: Count | None = None, block_tokens: int = BLOCK_TOKENS) -> Update:
    """Follow the folders that an index was made of: changed files are replaced, deleted ones removed.

    A kill at any moment leaves the index from before or from after. Files that were skipped are tried again.

    Args:
        folder: The index.
        progress: Told the number of documents taken in so far.
        block_tokens: Bounds memory, as in `build_index`.

    Returns:
        The index and what became of the files.
    """
    with writing(Path(folder)) as writer:
        old = read_manifest(writer.folder)
        if old.register is None:
            raise OffscriptError(
                f"{folder} cannot be updated",
                why="it does not know the files that it was made of",
                next="build it from a folder: offscript index FOLDER --replace --out DIR",
            )
        settings, known = read_register(writer.folder, old)
        present = {(source, name): path for source in settings.sources for name, path in _present(source).items()}
        kept = {
            key: entry
            for key, entry in known.items()
            if key in present and not entry[0].fault and _unchanged(entry[0], present[key])
        }
        files = [(*key, path) for key, path in present.items() if key not in kept]
        gone = [entry for key, entry in known.items() if key not in kept]
        return _written(writer, old, settings, files, kept, gone, progress, block_tokens, merge=False)


def _present(source: str) -> dict[str, Path]:
    """The files of a source that are there; a folder that is away as a whole ends the update, since all would go."""
    path = Path(source)
    if not path.exists():
        raise OffscriptError(
            f"{source} is not there", why="the index follows it", next="is a disk missing? Nothing changed"
        )
    return files_of(path)


def _unchanged(state: FileState, path: Path) -> bool:
    try:
        return state.unchanged(path)
    except OSError:  # gone since it was listed, or not to be read: its reader says so
        return False


def _written(
    writer: Writer,
    old: Manifest,
    settings: Settings,
    files: list[tuple[str, str, Path]],
    kept: dict[tuple[str, str], Entry],
    gone: list[Entry],
    progress: Count | None,
    block_tokens: int,
    *,
    merge: bool,
    adding: bool = False,
) -> Update:
    """Write the documents of files, leave out those of the files that are gone or changed, and commit once."""
    new = 0
    before = {(state.source, state.name): state for state, _ in gone}
    with _register(writer.next_path("files", REGISTER_SUFFIX), settings) as register:

        def finish(state: FileState, ids: list[str]) -> None:
            nonlocal new
            new += not state.fault and (state.source, state.name) not in before
            register.put(state, ids)

        taken = set() if adding else {id for _, ids in kept.values() for id in ids}
        reading = Files(settings.format, Columns(settings.columns), finish, taken, strict=adding or merge)
        segments = writer.written(reading.documents(files), old, progress, block_tokens)
        replaced = {id.decode("utf-8") for each in segments for id in writer.open(each).ids.entries()}
        for state, ids in kept.values():  # a document of a known id is of the later file from now on
            register.put(state, [id for id in ids if id not in replaced])
    if not segments and not kept and merge:
        raise _nothing(reading)
    removed = [id for _, ids in gone for id in ids]
    standing = writer.without(old.segments, [*dict.fromkeys([*removed, *replaced])])
    joined = writer.merged(segments) if merge else writer.tidied([*standing, *segments])
    writer.commit(dataclasses.replace(old, segments=joined, register=File.of(register.path)))
    again = {(source, name) for source, name, _ in files}
    faulty = {(state.source, state.name) for state in reading.skipped}
    return Update(
        open_index(writer.folder, verify=False),
        added=new,
        changed=sum(key in again and key not in faulty for key in before),
        removed=sum(key not in again for key in before),
        unchanged=len(kept),
        skipped=tuple(reading.skipped),
        beside=reading.beside,
    )


def _nothing(reading: Files) -> OffscriptError:
    """No file gave a document."""
    first = f"{reading.skipped[0].name}: {reading.skipped[0].fault}" if reading.skipped else ""
    return OffscriptError(f"no document in {len(reading.skipped)} files", why=first, next="name files that hold text")


class _Register:
    """Writes which documents are from which file."""

    def __init__(self, path: Path, stream: IO[str]) -> None:
        self.path, self._stream = path, stream

    def put(self, state: FileState, ids: Sequence[str]) -> None:
        """Write a file and its documents' ids."""
        self._line({"state": dataclasses.asdict(state)})
        for start in range(0, len(ids), IDS):
            self._line({"ids": ids[start : start + IDS]})

    def _line(self, value: dict[str, Any]) -> None:
        self._stream.write(json.dumps(value) + "\n")


@contextlib.contextmanager
def _register(path: Path, settings: Settings) -> Iterator[_Register]:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        stream.write(json.dumps({"settings": dataclasses.asdict(settings)}) + "\n")
        yield _Register(path, stream)


def read_register(folder: Path, manifest: Manifest) -> tuple[Settings, dict[tuple[str, str], Entry]]:
    """The files that an index was made of, by source and name."""
    assert manifest.register is not None
    path = check_file(folder, manifest.register, contents=True)
    entries: dict[tuple[str, str], Entry] = {}
    try:
        with path.open(encoding="utf-8") as stream:
            settings = Settings(**json.loads(stream.readline())["settings"])
            check_format(settings.format)
            for line in _parsed(stream):
                if "state" in line:
                    state = FileState(**line["state"])
                    ids: list[str] = []
                    entries[state.source, state.name] = (state, ids)
                else:
                    ids.extend(line["ids"])
    except (OSError, ValueError, KeyError, TypeError, UnboundLocalError) as error:
        raise damaged(path, f"it is not the register that was written; {REBUILD}") from error
    return settings, entries


def _parsed(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in lines)


def follows_files(sources: Sequence[str]) -> bool:
    """Whether sources are files and folders, which can be followed; a Hub dataset cannot."""
    return not any(is_hub(source) for source in sources)
