"""`offscript audit`: many questions, one page."""

from pathlib import Path
from typing import Annotated

import typer

from offscript.cli._conclusion import FailOn, Summary, conclude
from offscript.cli._options import BatchSize, Device, Json, Limit, Out, Quiet, Seed

STUDENT, ORACLE = "offscript/news-student", "offscript/news"


def audit(
    model: Annotated[str | None, typer.Argument(help="What to audit; without it, the shipped news student.")] = None,
    oracle: Annotated[str | None, typer.Option(help="A model that stands for the data's true distribution.")] = None,
    corpus: Annotated[list[str] | None, typer.Option(help="Real text: a file or hf:NAME[:CONFIG].")] = None,
    associations: Annotated[
        str | None, typer.Option(help="Association tests: a file in StereoSet's layout, or hf:McGill-NLP/stereoset.")
    ] = None,
    only: Annotated[str, typer.Option(help="Questions to ask, with commas between (offscript ls measures).")] = "",
    budget: Annotated[str, typer.Option(help="quick, standard or paper.")] = "quick",
    length: Annotated[int, typer.Option(min=6, help="Tokens of a sequence.")] = 50,
    out: Out = Path("audit"),
    seed: Seed = 1,
    device: Device = "cpu",
    batch_size: BatchSize = 256,
    limit: Limit = None,
    shares: Annotated[int, typer.Option(min=1, help="Share the histories of exposure out to so many workers.")] = 1,
    on: Annotated[str, typer.Option(help="Where shares run: local (processes), ray, or ray://HOST:PORT.")] = "local",
    fail_on: FailOn = None,
    summary: Summary = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Audit a model and write one HTML page. A run that was stopped goes on where it stood."""
    from offscript.audits.audit import plan_audit, run_audit
    from offscript.audits.gates import parse_gate, require_asked
    from offscript.audits.shares import Sharing
    from offscript.audits.subject import Budget, Subject
    from offscript.audits.workers import Place
    from offscript.cli._progress import AuditBar
    from offscript.errors import OffscriptError
    from offscript.models import load_model
    from offscript.report.page import write_page

    if budget not in [known.value for known in Budget]:
        raise OffscriptError(f"there is no budget {budget!r}", next="known: quick, standard, paper")
    gates = [parse_gate(text) for text in fail_on or ()]
    if model is None:
        model, oracle = STUDENT, oracle or ORACLE
    subject = Subject(
        model=load_model(model, device=device),
        oracle=None if oracle is None else load_model(oracle, device=device),
        corpus=tuple(corpus or ()),
        budget=Budget(budget),
        seed=seed,
        length=length,
        batch_size=batch_size,
        limit=limit,
        associations=associations,
        sharing=None
        if oracle is None or shares == 1
        else Sharing(model, oracle, out, shares, Place(on, device=device)),
    )
    plan = plan_audit(subject, [name.strip() for name in only.split(",") if name.strip()])
    require_asked(gates, [question.name for question in plan.asked])
    with AuditBar(quiet=quiet) as bar:
        record = run_audit(subject, plan, out, watcher=bar)
    page = record.results.with_name("audit.html")
    write_page(record, page)
    conclude(record, page, gates, summary=summary, as_json=as_json)
