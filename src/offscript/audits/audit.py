"""An audit: plan what can be asked, measure what is not yet answered, store, and hand over a record for the page."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from offscript._files import write_json
from offscript._specification import nearest
from offscript.audits.results import AuditedQuestion, AuditPart, Results
from offscript.audits.store import Store, explaining_results, read_document, read_results, write_results
from offscript.corpora.lines import check_file
from offscript.corpora.records import is_hub
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement, environment
from offscript.measures.question import Answer, Need, Progress, Question, Settings, Silent
from offscript.measures.registry import question as question_named
from offscript.measures.registry import questions
from offscript.measures.subject import Subject
from offscript.statistics.estimates import LEAST

_PACE = "pace.json"
_LARGER = (1.15, 1.35, 1.6, 2.0, 3.0)
"""How many times its share of the time a question may take, where other questions need less than theirs."""

_SMALLER = (0.85, 0.7, 0.5, 0.3)
"""The same where some questions need more than theirs: none has fewer samples than an interval needs."""


@dataclass(frozen=True)
class Planned:
    """A question and the settings it is asked with."""

    question: Question[Any]
    settings: Settings


@dataclass(frozen=True)
class Plan:
    """Which questions are asked, and which are left out and why."""

    asked: tuple[Planned, ...]
    left_out: tuple[tuple[Question[Any], str], ...]

    def tokens(self, subject: Subject) -> int:
        """About how many tokens the models will read or draw."""
        return sum(each.question.tokens(subject, each.settings) for each in self.asked)

    def figures(self, subject: Subject) -> dict[str, Sequence[str] | None]:
        """The names of the figures that each question may give, where it knows them."""
        return {each.question.name: each.question.figures(subject, each.settings) for each in self.asked}


@dataclass(frozen=True)
class Section:
    """A question as the page shows it."""

    name: str
    title: str
    measurements: list[Measurement]
    exhibits: list[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """Everything a page is made of; it can be read back from the results file."""

    model: str
    oracle: str | None
    corpus: tuple[str, ...]
    config: dict[str, Any]
    answers: list[Section]
    left_out: list[tuple[str, str]]
    date: str
    results: Path


class AuditObserver(Progress, Protocol):
    """Follows an audit: it is told of each question, and counts its rows."""

    def question(self, number: int, total: int, title: str, *, stored: bool) -> None:
        """A question begins; `stored` says that an earlier run answered it."""


class _Unobserved(Silent):
    """Follows nothing."""

    def question(self, number: int, total: int, title: str, *, stored: bool) -> None:
        """Say nothing."""


def plan_audit(
    subject: Subject, only: Sequence[str] = (), changes: Mapping[str, Mapping[str, Any]] | None = None
) -> Plan:
    """Every question the subject allows, or only the named ones.

    Args:
        subject: what is audited.
        only: names of questions; without any, those that audits ask by default and those with changes.
        changes: settings by question that differ from what the budget plans.

    Returns:
        The questions that will be asked with their settings, and the others with the reason.
    """
    _require_files(subject)
    changed, known = changes or {}, questions()
    named = [question_named(name).name for name in (*only, *changed)]
    for name, values in changed.items():
        _require_settings(question_named(name), values)
    usual = [each for each in known.values() if each.asked_by_default and _fits(each, subject)]
    chosen = [each for each in known.values() if each.name in named or (not only and each in usual)]
    lacks = {each.name: each.missing(subject, changed.get(each.name, {})) for each in chosen}
    possible = [each for each in chosen if lacks[each.name] is None]
    _require_texts(subject, possible)
    asked = _planned(possible, subject, changed)
    left_out = tuple((each, str(lack)) for each in chosen if (lack := lacks[each.name]) is not None)
    if not asked:
        raise OffscriptError("no question can be asked", why=f"{left_out[0][0].name} {left_out[0][1]}")
    return Plan(asked, left_out)


def _require_files(subject: Subject) -> None:
    """Refuse a file that is not there before a model is loaded, which may take a minute."""
    corpora = [source for of_domain in subject.domains.values() for source in of_domain] or subject.corpus
    for source in filter(None, (*corpora, subject.associations)):
        if not is_hub(source):
            check_file(Path(source), "check the name, or write hf:NAME for a Hub dataset")


def _require_texts(subject: Subject, asked: Sequence[Question[Any]]) -> None:
    """Refuse a corpus of too few texts for any interval, before anything is measured."""
    needed = (Need.corpus,) if subject.has_oracle else (Need.corpus, Need.gold)
    if not subject.corpus or not any(need in each.needs for need in needed for each in asked):
        return
    count = sum(1 for _ in islice(subject.sentences(), LEAST))
    if count < LEAST:
        raise OffscriptError(
            f"cannot audit with a corpus of {count} texts",
            why=f"an interval needs at least {LEAST}",
            next="add text to --corpus",
        )


def run_audit(
    subject: Subject,
    plan: Plan,
    out: Path,
    observer: AuditObserver | None = None,
    *,
    more: Mapping[str, Any] | None = None,
) -> Record:
    """Answer the plan's questions; an answer that an earlier, interrupted run stored is not computed again.

    Args:
        subject: what is audited.
        plan: which questions are asked, with their settings.
        out: the folder that answers and results are written to.
        observer: told of every question and of its progress.
        more: stored with the settings of the run.

    Returns:
        What a page is made of.
    """
    store, began = Store(out / "cells"), time.monotonic()
    sections = []
    for number, planned in enumerate(plan.asked, start=1):
        answer = _answer(planned, subject, store, number, len(plan.asked), observer or _Unobserved())
        settings = planned.settings.model_dump(mode="json", exclude_unset=True)
        named = (planned.question.name, planned.question.title)
        sections.append(Section(*named, answer.measurements, answer.exhibits, settings))
    config = {
        "oracle": None if subject.oracle is None else subject.oracle.name,
        "corpus": list(subject.corpus),
        "associations": subject.associations,
        "budget": subject.budget.value,
        "samples": subject.samples,
        "length": subject.length,
        "seed": subject.seed,
        "pace": subject.pace if subject.has_model and subject.is_large else None,
        "reading": subject.model.reading if subject.has_model else "",
        "seconds": round(time.monotonic() - began, 1),
        **(more or {}),
    }
    audit = AuditPart(
        questions=[
            AuditedQuestion(
                name=section.name,
                title=section.title,
                questions=sorted({entry.question for entry in section.measurements}),
                exhibits=section.exhibits,
                settings=section.settings,
            )
            for section in sections
        ],
        left_out=[(question.title, reason) for question, reason in plan.left_out],
    )
    measurements = [entry for section in sections for entry in section.measurements]
    return read_record(write_results(out, subject.model.name, measurements, config=config, audit=audit))


def remembered_pace(out: Path, *key: str | None) -> float | None:
    """The pace that an earlier run in this folder was planned with, so that a stopped run resumes with its sizes.

    Args:
        out: The folder of the audit.
        key: What it belongs to: model, oracle and device, and a second model where there is one.
    """
    pace = _paces(out).get(json.dumps(list(key)))
    return pace if isinstance(pace, int | float) and pace > 0 else None


def remember_pace(out: Path, pace: float, *key: str | None) -> None:
    """Keep a pace for a run that resumes, by what it belongs to."""
    write_json(out / _PACE, {**_paces(out), json.dumps(list(key)): pace})


def _paces(out: Path) -> dict[str, Any]:
    """What earlier runs in this folder kept; a damaged file is measured again."""
    path = out / _PACE
    try:
        stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError:
        return {}
    return stored if isinstance(stored, dict) else {}


def read_record(results: Path) -> Record:
    """The record behind a results file.

    Args:
        results: A `results_<time>.json`.

    Returns:
        What the page is made from.
    """
    document = read_document(results)
    if document.audit is None:
        raise OffscriptError(f"{results} is not an audit", why="it holds figures alone", next="name an audit's results")
    by_question: dict[str, list[Measurement]] = {}
    for measurement in read_results(results):
        by_question.setdefault(measurement.question, []).append(measurement)
    with explaining_results(results):
        return _record_of(results, document, document.audit, by_question)


def _record_of(
    results: Path, document: Results, audit: AuditPart, by_question: Mapping[str, list[Measurement]]
) -> Record:
    sections = [
        Section(
            entry.name,
            entry.title,
            [measurement for question in entry.questions for measurement in by_question.get(question, [])],
            entry.exhibits,
            entry.settings,
        )
        for entry in audit.questions
    ]
    return Record(
        model=document.model_name,
        oracle=document.config.get("oracle"),
        corpus=tuple(document.config.get("corpus", ())),
        config=document.config,
        answers=sections,
        left_out=audit.left_out,
        date=datetime.fromtimestamp(document.date, timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        results=results,
    )


def audits_below(folder: Path) -> list[Path]:
    """The results files of audits at or below a folder, newest first; files that are no audits are left out."""
    paths = sorted(folder.glob("**/results_*.json"), key=lambda path: path.name, reverse=True)
    return [path for path in paths if _is_audit(path)]


def newest_audit(run: Path) -> Path:
    """The results file that a path means: itself, or the newest audit of a model's folder or of an --out folder.

    Folders further down are not searched: in a home folder that would take minutes and find somebody else's audit.

    Args:
        run: A results file or a folder.

    Returns:
        The results file.
    """
    if run.is_file():
        return run
    places = [path for pattern in ("results_*.json", "*/results_*.json") for path in run.glob(pattern)]
    for path in sorted(places, key=lambda path: path.name, reverse=True):
        if _is_audit(path):
            return path
    raise OffscriptError(
        f"there is no audit in {run}", next="name a results file, a model's folder or the --out folder of an audit"
    )


def _is_audit(results: Path) -> bool:
    try:
        return read_document(results).audit is not None
    except (OSError, OffscriptError):
        return False


def _fits(question: Question[Any], subject: Subject) -> bool:
    """Whether it is asked without being named: a question about two models only where there are two."""
    return subject.has_against or Need.against not in question.needs


def _require_settings(question: Question[Any], names: Iterable[str]) -> None:
    """Refuse a misspelt setting, also of a question that cannot be asked here."""
    known = [*question.Settings.model_fields, *question.renamed]
    for name in names:
        if name not in known:
            raise OffscriptError(f"{question.name} has no setting {name!r}", next=nearest(name, known))


def _planned(
    asked: Sequence[Question[Any]], subject: Subject, changes: Mapping[str, Mapping[str, Any]]
) -> tuple[Planned, ...]:
    """Divide the time by the questions' shares; what some leave unused, or need beyond theirs, is divided again."""
    total = max(1, sum(each.share for each in asked))

    def at(scale: float) -> tuple[Planned, ...]:
        made = []
        for each in asked:
            subject.part = scale * each.share / total
            made.append(Planned(each, _settings(each, subject, changes.get(each.name, {}))))
        subject.part = 1.0
        return tuple(made)

    def takes_longer(candidate: tuple[Planned, ...]) -> bool:
        return subject.seconds_for(Plan(candidate, ()).tokens(subject)) > subject.budget.seconds

    planned = at(1.0)
    if not asked or not subject.has_model or not subject.is_large:
        return planned
    if takes_longer(planned):
        smaller = (at(scale) for scale in _SMALLER)
        return next((each for each in smaller if not takes_longer(each)), at(_SMALLER[-1]))
    for scale in _LARGER:
        candidate = at(scale)
        if takes_longer(candidate):
            break
        planned = candidate
    return planned


def _settings(question: Question[Any], subject: Subject, changes: Mapping[str, Any]) -> Settings:
    """What the budget plans, with the changes that are asked for."""
    planned = {} if question.required else question.plan(subject).model_dump(exclude_unset=True)
    settings: Settings = question.settings({**planned, **changes})
    return settings


def recipe_of_answer(planned: Planned, subject: Subject) -> dict[str, Any]:
    """What decides an answer, which its file is named by."""
    return {
        "question": planned.question.name,
        **subject.recipe,
        "settings": planned.settings.model_dump(mode="json"),
        **planned.question.depends_on(subject, planned.settings),
        **environment(),
    }


def _answer(
    planned: Planned, subject: Subject, store: Store, number: int, total: int, observer: AuditObserver
) -> Answer:
    question, settings, recipe = planned.question, planned.settings, recipe_of_answer(planned, subject)
    stored = store.has(recipe)
    observer.question(number, total, question.title, stored=stored)
    if stored:
        return store.load(recipe)
    answer = question.answer(subject, settings, observer)
    store.save(answer, recipe)
    return answer
