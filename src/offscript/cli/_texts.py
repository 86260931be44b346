"""`offscript check --text`: a whole text, its claims and what was found for each."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from offscript.cli._progress import counting

if TYPE_CHECKING:
    from offscript.factcheck.documents import Document
    from offscript.factcheck.pipelines import ClaimPipeline
    from offscript.factcheck.texts.checking import CheckedText
    from offscript.factcheck.texts.quotations import Quotation

WORDS = {"SUPPORTED": "supported", "REFUTED": "refuted", "NOT ENOUGH INFO": "undecided"}


def check_document(
    checker: "ClaimPipeline",
    document: "Document",
    out: Path | None,
    decompose: str | None = None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Check a text; write its page and the JSON beside it, or print what was found."""
    from offscript.factcheck.texts.checking import check_text

    split = None
    if decompose is not None:
        from offscript.measures.factuality.decomposition import decomposer

        split = decomposer(decompose)
    with counting("check", quiet=quiet) as counter:

        def progress(done: int, total: int) -> None:
            if done == 1:
                counter.start(total)
            counter(1)

        checked = check_text(checker, document, decompose=split, progress=progress)
    if out is not None:
        from offscript._files import write_json, write_text
        from offscript.report.text import text_page

        write_text(out, text_page(checked))
        write_json(out.with_suffix(".json"), checked.to_json())
    if as_json:
        typer.echo(json.dumps(checked.to_json(), ensure_ascii=False))
    else:
        _show(checked, out)


def check_sources(checker: "ClaimPipeline", document: "Document", *, as_json: bool) -> None:
    """Look up the quotations of a text, and check what it cites against the cited documents."""
    from offscript.errors import OffscriptError
    from offscript.factcheck.checking import Checker
    from offscript.factcheck.sources.local import LocalIndex
    from offscript.factcheck.texts.citations import check_citations
    from offscript.factcheck.texts.quotations import check_quotations

    if not isinstance(checker, Checker):
        raise OffscriptError("--citations does not work with --pipeline fakta", next="leave out one of the two")
    indexes = [provider.index for provider in checker.providers if isinstance(provider, LocalIndex)]
    quotations = check_quotations(document.text, checker.providers)
    citations = check_citations(document.text, checker, indexes)
    if as_json:
        report = {
            "quotations": [each.to_json() for each in quotations],
            "citations": [each.to_json() for each in citations],
        }
        typer.echo(json.dumps(report, ensure_ascii=False))
        return
    _show_quotations(quotations)
    for citation in citations:
        verdict = citation.to_json()["verdict"].lower()
        sure = f" {citation.check.confidence:.0%}" if citation.check else ""
        typer.echo(f"citation {verdict}{sure}  {citation.sentence}  [{citation.cited}]")
    if not quotations and not citations:
        typer.echo("no quotation and no citation in it")


def _show_quotations(quotations: "list[Quotation]") -> None:
    from offscript.factcheck.texts.quotations import altered_words

    for quotation in quotations:
        typer.echo(f"quotation {quotation.status}  “{quotation.quotation}”")
        if quotation.document:
            place = f"{quotation.title or quotation.document}, characters {quotation.found_start}-{quotation.found_end}"
            typer.echo(f"    {place}")
        for said, source in altered_words(quotation) if quotation.status == "altered" else ():
            typer.echo(f"    “{said}” stands for “{source}”")


def _show(checked: "CheckedText", out: Path | None) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    if checked.not_checked:
        console.print(Text(checked.not_checked))
        return
    totals = ", ".join(
        f"{total.count} {WORDS[total.verdict.value]} ({total.share:.0%} [{total.lower:.0%}, {total.upper:.0%}])"
        for total in checked.totals()
    )
    console.print(Text(f"{len(checked.claims)} claims{': ' if totals else ''}{totals}"))
    for claim in checked.claims:
        if claim.check.verdict.value == "REFUTED":
            console.print(Text(f"▲ refuted {claim.check.confidence:.0%}  {claim.claim}", style="red"))
            for quote in claim.to_json()["evidence"][:1]:
                source = ", ".join(filter(None, (quote["title"] or quote["document"], quote["date"])))
                console.print(Text(f"    {quote['text']}  ({source})", style="dim"))
    if out is not None:
        console.print(Text(f"page: {out}, JSON: {out.with_suffix('.json')}"))
