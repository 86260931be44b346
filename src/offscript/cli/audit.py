"""`offscript audit`: many questions, one page."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from offscript.cli._conclusion import FailOn, Summary
from offscript.cli._options import Device, Json, Out, Quiet, Seed, require_writable

if TYPE_CHECKING:
    from offscript.audits.against import Against
    from offscript.audits.audit import Plan, Record
    from offscript.audits.gates import Gate
    from offscript.measures.subject import Subject

STUDENT, ORACLE = "offscript/news-student", "offscript/news"


def audit(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="What to audit; without any, the shipped news student."),
    ] = None,
    oracle: Annotated[str | None, typer.Option(help="A model that stands for the data's true distribution.")] = None,
    against: Annotated[
        str | None, typer.Option(help="A second model, audited alike: every difference, and where the two part.")
    ] = None,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Real text: a file or hf:NAME[:CONFIG]; or DOMAIN=FILE, several times.")
    ] = None,
    associations: Annotated[
        str | None, typer.Option(help="Association tests: a file in StereoSet's layout, or hf:McGill-NLP/stereoset.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Questions to ask (offscript ls measures); commas between, or repeated."),
    ] = None,
    budget: Annotated[str, typer.Option(help="quick, standard or paper.")] = "quick",
    length: Annotated[int, typer.Option(min=6, help="Tokens of a sequence.")] = 50,
    out: Out = Path("audit"),
    seed: Seed = 1,
    device: Device = "cpu",
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", min=1, help="Sequences that go through the model at once.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Draw or read at most this many sentences per source, and tests.")
    ] = None,
    shares: Annotated[
        int, typer.Option(min=1, help="Share the questions, and exposure's rows, out to so many workers.")
    ] = 1,
    on: Annotated[str, typer.Option(help="Where shares run: local (processes), ray, or ray://HOST:PORT.")] = "local",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="QUESTION.SETTING=VALUE, as in exposure.samples=2000. May be given several times."),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(
            min=0.1, help="Plan the audit of a large model for this many tokens per second; measured without it."
        ),
    ] = None,
    fail_on: FailOn = None,
    summary: Summary = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Audit a model and write one HTML page; of several models, also one with all of them. A stopped run resumes.

    Example: offscript audit offscript/news-student --oracle offscript/news --out runs/audit
    """
    from offscript.audits.gates import parse_gate
    from offscript.cli._conclusion import conclude_all
    from offscript.errors import OffscriptError
    from offscript.measures.subject import Budget

    if budget not in [known.value for known in Budget]:
        raise OffscriptError(f"there is no budget {budget!r}", next="known: quick, standard, paper")
    if not models:
        models, oracle = [STUDENT], oracle or ORACLE
    if len(models) > 1 and against is not None:
        raise OffscriptError("cannot audit several models --against one", next=f"write: offscript audit {against} …")
    if len(set(models)) < len(models):
        raise OffscriptError("cannot audit the same model twice", next="name each model once")
    gates = [parse_gate(text) for text in fail_on or ()]
    require_writable(out, f"--out {out}")
    sharing = Sharing(shares, on, device)
    subject_of = {"oracle": oracle, "corpus": corpus or (), "associations": associations, "against": against}
    sizes = {"budget": Budget(budget), "seed": seed, "length": length, "batch_size": batch_size, "limit": limit}
    audited = [
        audit_one(
            {"model": model, **subject_of, **sizes, "device": device, "pace": pace},
            out,
            sharing,
            gates,
            only=only or (),
            changes=changes or (),
            quiet=quiet,
        )
        for model in models
    ]
    conclude_all(audited, out, gates, summary=summary, as_json=as_json, seed=seed)


class Sharing(NamedTuple):
    """To how many workers an audit is shared out, and where they run."""

    shares: int
    on: str
    device: str


def audit_one(
    given: dict[str, Any],
    out: Path,
    sharing: Sharing,
    gates: "Sequence[Gate]",
    *,
    only: Sequence[str],
    changes: Sequence[str],
    quiet: bool,
) -> "tuple[Record, Path, Against | None]":
    """Audit one model and write its page.

    Args:
        given: The arguments of its `Subject`.
        out: The folder that answers, results and the page are written to.
        sharing: To how many workers.
        gates: Refused where they name a figure that no question gives.
        only: Names of questions.
        changes: Settings, each as QUESTION.SETTING=VALUE.
        quiet: Whether to show no progress.

    Returns:
        The record, the page, and the comparison with a second model where there is one.
    """
    from offscript._specification import split_specifications
    from offscript.audits.against import run_against
    from offscript.audits.audit import plan_audit, remember_pace, remembered_pace, run_audit
    from offscript.audits.gates import require_asked
    from offscript.cli._progress import AuditBar
    from offscript.measures.subject import Subject
    from offscript.report.page import write_page

    model, oracle, against = given["model"], given["oracle"], given["against"]
    key = (model, oracle, sharing.device, *filter(None, [against]))
    given["pace"] = given["pace"] or remembered_pace(out, *key)
    subject = Subject(**given, shared_deviations=shared(model, oracle, out, sharing))
    with AuditBar(quiet=quiet) as bar:
        plan = plan_audit(subject, split_specifications(*only), settings_of(changes))
        require_asked(gates, plan.figures(subject))
        if subject.has_model:
            remember_pace(out, subject.pace, *key)
            bar.say(estimate(plan, subject))
        prepare = preparing(out, sharing, bar.say)
        if against is None:
            prepare(subject, plan)
            record, pair = run_audit(subject, plan, out, observer=bar), None
        else:
            pair = run_against(subject, plan, out, bar, shared(against, oracle, out, sharing), prepare)
            record = pair.record
    page = record.results.with_name("audit.html")
    write_page(record, page)
    return record, page, pair


def preparing(out: Path, sharing: Sharing, say: "Callable[[str], None]") -> "Callable[[Subject, Plan], None]":
    """What answers a plan's questions on several workers before the audit, if several are asked for."""
    from offscript.audits.asked import share_out
    from offscript.audits.workers import Place

    def prepare(subject: "Subject", plan: "Plan") -> None:
        if sharing.shares > 1:
            share_out(subject, plan, out, Place(sharing.on, device=sharing.device), sharing.shares, say)

    return prepare


def shared(model: str, oracle: str | None, out: Path, sharing: Sharing) -> "Callable[..., Any] | None":
    """What finds a model's deviations on several workers, if several are asked for."""
    from offscript.audits import shares
    from offscript.audits.workers import Place

    if oracle is None or sharing.shares == 1:
        return None
    return shares.Sharing(model, oracle, out, sharing.shares, Place(sharing.on, device=sharing.device))


def estimate(plan: "Plan", subject: "Subject") -> str:
    """How long the questions will take, in words."""
    from offscript.cli._progress import duration

    tokens = plan.tokens(subject)
    allowed = f" ({subject.budget.value} allows {duration(subject.budget.seconds)})" if subject.is_large else ""
    asked = "1 question" if len(plan.asked) == 1 else f"{len(plan.asked)} questions"
    return (
        f"{asked}, about {float(f'{tokens:.2g}'):,.0f} tokens at {subject.pace:,.0f} per second: "
        f"about {duration(subject.seconds_for(tokens))}{allowed}"
    )


def settings_of(changes: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`QUESTION.SETTING=VALUE` by question; values are read as YAML reads them."""
    from offscript._config import parse_yaml
    from offscript.errors import OffscriptError

    settings: dict[str, dict[str, Any]] = {}
    for change in changes:
        key, equals, value = change.partition("=")
        question, dot, name = key.strip().partition(".")
        if not (equals and dot and question and name):
            raise OffscriptError(f"cannot read --set {change!r}", next="write QUESTION.SETTING=VALUE")
        settings.setdefault(question, {})[name] = parse_yaml(value, f"the value of --set {change!r}")
    return settings
