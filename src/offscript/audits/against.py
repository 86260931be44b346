"""Two models audited alike: the same questions, settings, texts and random numbers, and every difference."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from offscript.audits.audit import AuditObserver, Plan, Record, read_record, run_audit
from offscript.audits.comparison import Comparison, Run, compare_runs, read_runs
from offscript.errors import OffscriptError
from offscript.measures.question import Need, Question
from offscript.measures.registry import questions
from offscript.measures.subject import Subject

AGAINST = "against"
"""Under this key of a results file's `config` stands the model that it was compared with."""

_OTHER_TOKENS = "the two models have different vocabularies, so it counts different tokens"


@dataclass(frozen=True)
class Against:
    """The audits of two models, and every figure of the first less that of the second, its base."""

    record: Record
    base: Record
    comparison: Comparison


def run_against(
    subject: Subject,
    plan: Plan,
    out: Path,
    observer: AuditObserver | None = None,
    shared_deviations: Callable[..., Any] | None = None,
    prepare: Callable[[Subject, Plan], None] | None = None,
) -> Against:
    """Audit the subject's second model, then the subject, with one plan; what is stored is not computed again.

    Args:
        subject: what is audited, with a second model.
        plan: which questions are asked of both, with their settings.
        out: the folder that answers and results are written to.
        observer: told of every question and of its progress.
        shared_deviations: finds the second model's deviations on several workers.
        prepare: called before each audit, to answer questions on several workers.

    Returns:
        Both records and their comparison.
    """
    alone = tuple(each for each in plan.asked if Need.against not in each.question.needs)
    counterpart, of_base = subject.counterpart(shared_deviations), Plan(alone, ())
    if prepare is not None:
        prepare(counterpart, of_base)
        prepare(subject, plan)
    base = run_audit(counterpart, of_base, out, observer)
    named = {
        "model": subject.against.name,
        "results": f"{base.results.parent.name}/{base.results.name}",
        "same_vocabulary": subject.shares_vocabulary,
    }
    record = run_audit(subject, plan, out, observer, more={AGAINST: named})
    return read_against(record)


def is_against(record: Record) -> bool:
    """Whether an audit was run against a second model."""
    return record.config.get(AGAINST) is not None


def read_against(record: Record) -> Against:
    """An audit with the audit of its base, compared.

    Args:
        record: an audit that was run against a second model.

    Returns:
        Both records and their comparison.
    """
    named = record.config[AGAINST]
    base = record.results.parent.parent / named["results"]
    if not base.is_file():
        raise OffscriptError(f"the results of {named['model']} are missing", why=f"they were at {base}")
    runs = [_of_both(run) for run in read_runs([base, record.results])]
    skipped = {} if named["same_vocabulary"] else dict.fromkeys(_of_tokens(runs[0]), _OTHER_TOKENS)
    comparison = compare_runs(runs, seed=int(record.config["seed"]), without=skipped)
    return Against(record, read_record(base), comparison)


def _of_both(run: Run) -> Run:
    """A run without the figures of questions about two models, which have no difference."""
    own = {name: entry for name, entry in run.figures.items() if Need.against not in _asked(entry.question).needs}
    return replace(run, figures=own)


def _of_tokens(run: Run) -> list[str]:
    """Figures that say nothing about models whose tokens are others."""
    return [
        name
        for name, entry in run.figures.items()
        if any(fnmatchcase(entry.name, pattern) for pattern in _asked(entry.question).of_tokens)
    ]


def _asked(name: str) -> Question[Any]:
    return questions().get(name) or Question()
