"""`offscript check`: is a claim true, and what says so?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offscript.cli._checkers import AsOf, Engines, Indexes, Lexicons, PipelineName, Ratings, Risk, StanceName
from offscript.cli._options import Json, Quiet, out_file
from offscript.factcheck.pipelines import Pipeline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.text import Text

    from offscript.factcheck.checked import Check, Evidence
    from offscript.factcheck.documents import Document
    from offscript.factcheck.pipelines import ClaimPipeline

COLOURS = {"SUPPORTED": "green", "REFUTED": "red", "NOT ENOUGH INFO": "yellow"}
SHADES = {"agree": "green", "disagree": "red", "discuss": "yellow", "unrelated": "dim"}


def check(
    claim: Annotated[str | None, typer.Argument(help="A sentence that says something of the world.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Check every claim of a file: .csv, .tsv, .jsonl, or a claim a line.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", help="Check all claims of a text: .md, .txt, .html, .pdf, .docx, - or a URL."),
    ] = None,
    citations: Annotated[
        str | None, typer.Option("--citations", help="Check the quotations and cited documents of a text, as --text.")
    ] = None,
    out: Annotated[Path | None, out_file("Where results go: JSON lines for --file, a page (.html) for --text.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Threads that check a file; one per core by default.")
    ] = None,
    decompose: Annotated[
        str | None,
        typer.Option("--decompose", metavar="MODEL", help="Language model that splits the sentences of --text."),
    ] = None,
    retrieval: Annotated[
        str | None,
        typer.Option("--retrieval", help="dfr-be-b-z by default; hybrid where the index has vectors (ls retrieval)."),
    ] = None,
    index: Indexes = None,
    search: Engines = None,
    stance: StanceName = None,
    ratings: Ratings = None,
    lexicons: Lexicons = None,
    risk: Risk = None,
    as_of: AsOf = None,
    pipeline: PipelineName = Pipeline.standard,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a claim against documents: verdict, evidence and sources. Without --index the almanac is asked.

    Example: offscript check "The capital of Australia is Sydney"
    """
    from offscript.factcheck.documents.dates import read_day
    from offscript.factcheck.pipelines import build_pipeline

    _check_wishes(claim, file, text, citations, out, decompose)
    document = _read_text(text or citations or "", raw=text is None) if text or citations else None
    checker = build_pipeline(
        pipeline.value,
        index or [],
        stance,
        ratings,
        engines=search or [],
        lexicons=lexicons,
        risk=risk,
        as_of=read_day(as_of) if as_of else None,
        retrieval=retrieval,
        announce=_announce,
    )
    if file is not None and out is not None:
        named = {"risk": risk, "as-of": as_of, "search": ",".join(search or [])}
        settings = _settings(f"{pipeline.value} {checker.stance.name}", index or [], named, retrieval)
        _check_file(checker, file, out, settings, workers or _cores(), as_json=as_json, quiet=quiet)
    elif document is not None:
        from offscript.cli._texts import check_document, check_sources

        if citations:
            check_sources(checker, document, as_json=as_json)
        else:
            check_document(checker, document, out, decompose, as_json=as_json, quiet=quiet)
    elif claim is not None:
        _show(checker.check(claim), as_json=as_json)


def _settings(how: str, indexes: "Sequence[Path | str]", named: "Mapping[str, object]", retrieval: str | None) -> str:
    """How a file is checked, in one line: results of other settings are not added to."""
    told = " ".join(f"{name}={value}" for name, value in named.items())
    sources = ",".join(map(str, indexes)) or "almanac"
    return f"{how} {sources} {told}{f' retrieval={retrieval}' if retrieval else ''}"


def _check_wishes(
    claim: str | None,
    file: Path | None,
    text: str | None,
    citations: str | None,
    out: Path | None,
    decompose: str | None,
) -> None:
    """Refuse what cannot be done before a model is loaded."""
    from offscript.errors import OffscriptError

    if [claim, file, text, citations].count(None) != 3:
        raise OffscriptError(
            "cannot check: give a claim, --file or --text, or --citations", next='offscript check "A claim."'
        )
    if decompose is not None and text is None:
        raise OffscriptError("--decompose is for --text", next="name a text: --text article.md")
    if file is not None and out is None:
        raise OffscriptError("--file needs --out", next="say where results go: --out results.jsonl")
    if out is not None and file is None and text is None:
        raise OffscriptError("--out is for --file and --text", next="write --json to have the answer printed")
    if text is not None and out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise OffscriptError(f"cannot write a page to {out}", next="name a .html file; its JSON is written beside it")


def _read_text(source: str, *, raw: bool) -> "Document":
    from offscript.factcheck.texts.reading import read_text

    return read_text(source, raw=raw)


def _check_file(
    checker: "ClaimPipeline", file: Path, out: Path, settings: str, workers: int, *, as_json: bool, quiet: bool
) -> None:
    import json
    import time
    from collections import Counter

    from offscript.cli._progress import counting, duration
    from offscript.factcheck.batch import check_batch, read_batch

    claims, started = read_batch(file), time.perf_counter()
    with counting("check", len(claims), quiet=quiet) as progress:
        known = check_batch(checker, claims, out, settings=settings, workers=workers, progress=progress)
    asked = {each.id for each in claims}
    with out.open(encoding="utf-8") as lines:
        latest = {each["id"]: each["verdict"] for each in map(json.loads, lines)}
    verdicts = dict(Counter(verdict for id, verdict in latest.items() if id in asked).most_common())
    if as_json:
        typer.echo(json.dumps({"out": str(out), "claims": len(claims), "known": known, "verdicts": verdicts}))
        return
    counts = ", ".join(f"{count:,} {verdict.lower()}" for verdict, count in verdicts.items())
    resumed = f", {known:,} of them from an earlier run" if known else ""
    noun = "claim" if len(claims) == 1 else "claims"
    typer.echo(f"{out}: {len(claims):,} {noun}{resumed}, {duration(time.perf_counter() - started)}: {counts}")


def _cores() -> int:
    """Cores that this process may use; the inference model leaves the interpreter free while it reads."""
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _announce(message: str) -> None:
    typer.echo(message, err=True)


def _show(found: "Check", *, as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps(found.to_json(), ensure_ascii=False))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    verdict = found.verdict.value
    console.print(Text(f"{verdict}  {found.confidence:.0%}", style=f"bold {COLOURS[verdict]}"), Text(found.claim))
    if found.not_judged:
        console.print(Text(_not_judged(found.not_judged), style="dim"))
    elif verdict == "NOT ENOUGH INFO" and found.documents:
        console.print(Text("undecided: the evidence does not settle it", style="dim"))
    for evidence in found.evidence:
        console.print(_line(found, evidence))
    if not found.documents and not found.not_judged:
        console.print(Text("no document says anything about it", style="dim"))
    for kind, averaged in found.by_kind.items():
        shares = ", ".join(f"{name} {getattr(averaged, name):.0%}" for name in ("agree", "disagree", "discuss"))
        count = sum(document.kind == kind for document in found.documents)
        console.print(Text(f"{count} {'document' if count == 1 else 'documents'} of kind {kind.value}: {shares}"))
    if found.calibrated_on:
        console.print(Text(f"confidence calibrated on {', '.join(found.calibrated_on)}", style="dim"))
    console.print(Text(f"{found.seconds * 1000:.0f} ms", style="dim"))


def _not_judged(reason: str) -> str:
    """Why a text got no verdict, whatever was found."""
    from offscript.factcheck.texts.english import NOT_ENGLISH

    if reason == NOT_ENGLISH:
        return f"{NOT_ENGLISH}; the checker reads English alone"
    return f"not judged: {reason}, and only a statement can be true or false"


def _line(found: "Check", evidence: "Evidence") -> "Text":
    """A telling sentence in the colour of its stance, and where it stands."""
    from rich.text import Text

    document = found.documents[evidence.document]
    sentence = document.sentences[evidence.sentence]
    label = sentence.stance.label
    source = document.document.url or document.document.id
    named = document.document.title or document.document.id
    mark = "▶ " if evidence == found.deciding else "  "  # the sentence that decides
    return Text.assemble(
        (f"{mark}{label:<10}", SHADES[label]),
        (sentence.text, SHADES[label]),
        (f"  ({', '.join(filter(None, (named, document.kind.value, source, document.document.date)))})", "dim"),
    )
