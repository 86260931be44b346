"""`offscript index`: documents become an index that claims are checked against."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offscript.cli._options import Json, Quiet

if TYPE_CHECKING:
    from offscript._types import Count
    from offscript.factcheck.documents import Document
    from offscript.factcheck.index import Index

STOP_WORDS, STEMMER = "english", "porter"


def index(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="SOURCE…", help="JSONL, text, Wikipedia dump or test collection; a folder; hf:NAME."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of the index.")] = Path("index"),
    format: Annotated[
        str, typer.Option(help="auto, jsonl, text, wikipedia, cranfield, trec, npl, scifact or fever.")
    ] = "auto",
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of an index that is there.")] = False,
    add: Annotated[bool, typer.Option("--add", help="Add to the index; a document of a known id is replaced.")] = False,
    delete: Annotated[list[str] | None, typer.Option("--delete", metavar="ID", help="Delete a document.")] = None,
    merge: Annotated[bool, typer.Option("--merge", help="Make one file of all, without deleted documents.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Check every file of the index at --out.")] = False,
    stop_words: Annotated[str | None, typer.Option(help="english or none; english by default.")] = None,
    stemmer: Annotated[str | None, typer.Option(help="none, porter, english, german …; porter by default.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Read only so many documents.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Index documents in one pass, or add to an index, or delete from it. Killed, it leaves the index as it was.

    Example: offscript index articles.jsonl --out index
    """
    import time

    from offscript.factcheck.analysis import Analyzer
    from offscript.factcheck.index import (
        add_documents,
        build_index,
        check_index,
        delete_documents,
        merge_index,
        open_index,
    )

    started = time.perf_counter()
    _check_wishes(bool(sources), add, bool(delete), merge, check, bool(stop_words or stemmer))
    with _following(quiet=quiet) as progress:
        if delete:
            delete_documents(out, delete)
        if sources and add:
            add_documents(out, _documents(sources, format, limit), progress=progress)
        elif sources:
            _keep_existing(out, replace=replace)
            analyzer = Analyzer(stop_words or STOP_WORDS, stemmer or STEMMER)
            build_index(_documents(sources, format, limit), out, analyzer=analyzer, progress=progress)
        if merge:
            merge_index(out)
    _show(check_index(out) if check else open_index(out, verify=False), time.perf_counter() - started, as_json=as_json)


def _show(found: "Index", seconds: float, *, as_json: bool) -> None:
    import json

    report = {
        "index": str(found.folder),
        "documents": len(found),
        "tokens": found.tokens,
        "analyzer": found.analyzer.settings(),
        "bytes": sum(path.stat().st_size for path in found.folder.iterdir() if path.is_file()),
        "seconds": seconds,
    }
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False))
        return
    typer.echo(f"{found.folder}: {len(found):,} documents, {found.tokens:,} tokens, {seconds:.1f} s")


def _check_wishes(sources: bool, add: bool, delete: bool, merge: bool, check: bool, analysis: bool) -> None:
    from offscript.errors import OffscriptError

    if add and not sources:
        raise OffscriptError(
            "cannot --add without documents", next="name what to add: offscript index SOURCE --add --out DIR"
        )
    if not (sources or delete or merge or check):
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


def _documents(sources: list[str], format: str, limit: int | None) -> Iterator["Document"]:
    from itertools import chain, islice

    from offscript.factcheck.documents import read_documents

    readers = [read_documents(source, format=format) for source in sources]  # type: ignore[arg-type]
    return islice(chain.from_iterable(readers), limit)


@contextmanager
def _following(*, quiet: bool) -> Iterator["Count"]:
    """A count of documents on standard error; how many there will be is not known in one pass."""
    from offscript.cli._progress import progress_bar

    with progress_bar(quiet=quiet) as bar:
        task = bar.add_task("index", total=None, note="documents")
        yield lambda taken: bar.update(task, completed=taken)
