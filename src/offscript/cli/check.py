"""`offscript check`: is a claim true, and what says so?"""

from typing import TYPE_CHECKING, Annotated

import typer

from offscript.cli._checkers import Engines, Indexes, Lexicons, PipelineName, Ratings, Risk, StanceName
from offscript.cli._options import Json
from offscript.factcheck.pipelines import Pipeline

if TYPE_CHECKING:
    from rich.text import Text

    from offscript.factcheck.checked import Check, Evidence

COLOURS = {"SUPPORTED": "green", "REFUTED": "red", "NOT ENOUGH INFO": "yellow"}
SHADES = {"agree": "green", "disagree": "red", "discuss": "yellow", "unrelated": "dim"}


def check(
    claim: Annotated[str, typer.Argument(help="A sentence that says something of the world.")],
    index: Indexes = None,
    search: Engines = None,
    stance: StanceName = None,
    ratings: Ratings = None,
    lexicons: Lexicons = None,
    risk: Risk = None,
    pipeline: PipelineName = Pipeline.standard,
    as_json: Json = False,
) -> None:
    """Check a claim against documents: verdict, evidence and sources. Without --index the almanac is asked.

    Example: offscript check "The capital of Australia is Sydney"
    """
    from offscript.factcheck.pipelines import build_pipeline

    checker = build_pipeline(
        pipeline.value,
        index or [],
        stance,
        ratings,
        engines=search or [],
        lexicons=lexicons,
        risk=risk,
        announce=_announce,
    )
    found = checker.check(claim)
    if as_json:
        import json

        typer.echo(json.dumps(found.to_json(), ensure_ascii=False))
    else:
        _show(found)


def _announce(message: str) -> None:
    typer.echo(message, err=True)


def _show(found: "Check") -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(soft_wrap=True, highlight=False)
    verdict = found.verdict.value
    console.print(Text(f"{verdict}  {found.confidence:.0%}", style=f"bold {COLOURS[verdict]}"), Text(found.claim))
    if found.not_judged:
        console.print(Text(f"not judged: {found.not_judged}, and only a statement can be true or false", style="dim"))
    elif verdict == "NOT ENOUGH INFO" and found.documents:
        console.print(Text("undecided: the evidence does not settle it", style="dim"))
    for evidence in found.evidence:
        console.print(_line(found, evidence))
    if not found.documents:
        console.print(Text("no document says anything about it", style="dim"))
    for kind, averaged in found.by_kind.items():
        shares = ", ".join(f"{name} {getattr(averaged, name):.0%}" for name in ("agree", "disagree", "discuss"))
        count = sum(document.kind == kind for document in found.documents)
        console.print(Text(f"{count} {'document' if count == 1 else 'documents'} of kind {kind.value}: {shares}"))
    if found.calibrated_on:
        console.print(Text(f"confidence calibrated on {', '.join(found.calibrated_on)}", style="dim"))
    console.print(Text(f"{found.seconds * 1000:.0f} ms", style="dim"))


def _line(found: "Check", evidence: "Evidence") -> "Text":
    """A telling sentence in the colour of its stance, and where it stands."""
    from rich.text import Text

    document = found.documents[evidence.document]
    sentence = document.sentences[evidence.sentence]
    label = sentence.stance.label
    source = document.document.url or document.document.id
    mark = "▶ " if evidence == found.deciding else "  "  # the sentence that decides
    return Text.assemble(
        (f"{mark}{label:<10}", SHADES[label]),
        (sentence.text, SHADES[label]),
        (f"  ({document.document.title or document.document.id}, {document.kind.value}, {source})", "dim"),
    )
