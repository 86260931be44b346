"""An audit: plan what can be asked, run what is not yet answered, store, and hand over a record for the page."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from offscript import _files
from offscript._specification import nearest
from offscript.audits.questions import QUESTIONS, Answer, Question
from offscript.audits.store import Store, read_results, write_results
from offscript.audits.subject import Subject
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement, environment


@dataclass(frozen=True)
class Plan:
    """Which questions are asked, and which are left out and why."""

    asked: tuple[Question, ...]
    left_out: tuple[tuple[Question, str], ...]


@dataclass(frozen=True)
class Answered:
    """A question as the page shows it."""

    name: str
    title: str
    measurements: list[Measurement]
    exhibits: list[dict[str, Any]]


@dataclass(frozen=True)
class Record:
    """Everything a page is made of; it can be read back from the results folder."""

    model: str
    oracle: str | None
    corpus: tuple[str, ...]
    config: dict[str, Any]
    answers: list[Answered]
    left_out: list[tuple[str, str]]
    date: str
    results: Path


class Watcher(Protocol):
    """Who follows an audit."""

    def question(self, number: int, total: int, title: str, *, stored: bool) -> None:
        """A question begins; `stored` says that its answer is at hand already."""

    def progress(self, done: int, total: int) -> None:
        """How much of the present question is done."""


def plan_audit(subject: Subject, only: Sequence[str] = ()) -> Plan:
    """Every question the subject allows, or only the named ones."""
    known = {question.name: question for question in QUESTIONS}
    for name in only:
        if name not in known:
            raise OffscriptError(f"there is no question {name!r}", next=nearest(name, known))
    chosen = [question for question in QUESTIONS if not only or question.name in only]
    reasons = {question.name: question.missing(subject) for question in chosen}
    asked = tuple(question for question in chosen if reasons[question.name] is None)
    left_out = tuple((question, reason) for question in chosen if (reason := reasons[question.name]) is not None)
    if not asked:
        raise OffscriptError("nothing can be asked", why=left_out[0][1], next="give what is missing")
    return Plan(asked, left_out)


def run_audit(subject: Subject, plan: Plan, out: Path, watcher: Watcher | None = None) -> Record:
    """Answer the plan's questions; an answer that an earlier, interrupted run stored is not computed again."""
    store, began = Store(out / "cells"), time.monotonic()
    answers = []
    for number, question in enumerate(plan.asked, start=1):
        answer = _answer(question, subject, store, number, len(plan.asked), watcher)
        answers.append(Answered(question.name, question.title, answer.measurements, answer.exhibits))
    config = {
        "oracle": None if subject.oracle is None else subject.oracle.name,
        "corpus": list(subject.corpus),
        "associations": subject.associations,
        "budget": subject.budget.value,
        "samples": subject.samples,
        "length": subject.length,
        "seed": subject.seed,
        "seconds": round(time.monotonic() - began, 1),
    }
    left_out = [(question.title, reason) for question, reason in plan.left_out]
    return _store(out, subject, answers, left_out, config)


def read_record(results: Path) -> Record:
    """The record behind a results file."""
    beside = _exhibits_path(results)
    if not beside.is_file():
        raise OffscriptError(
            f"{results} is not an audit", why=f"there is no {beside.name} beside it", next="name an audit's results"
        )
    shown = json.loads(beside.read_text(encoding="utf-8"))
    by_question: dict[str, list[Measurement]] = {}
    for measurement in read_results(results):
        by_question.setdefault(measurement.question, []).append(measurement)
    answers = [
        Answered(
            entry["name"],
            entry["title"],
            [measurement for question in entry["questions"] for measurement in by_question.get(question, [])],
            entry["exhibits"],
        )
        for entry in shown["answers"]
    ]
    left_out = [(title, reason) for title, reason in shown["left_out"]]
    config = shown["config"]
    corpus = tuple(config["corpus"])
    return Record(shown["model"], config["oracle"], corpus, config, answers, left_out, shown["date"], results)


def newest_audit(run: Path) -> Path:
    """The results file that a path means: itself, or the newest audit at or below a folder."""
    if run.is_file():
        return run
    found = sorted(run.glob("**/audit_*.json"), key=lambda path: path.name)
    if not found:
        raise OffscriptError(f"there is no audit in {run}", next="run offscript audit first, or name its folder")
    return found[-1].with_name(found[-1].name.replace("audit_", "results_", 1))


def _answer(
    question: Question, subject: Subject, store: Store, number: int, total: int, watcher: Watcher | None
) -> Answer:
    recipe = {"question": question.name, **subject.recipe, **question.data(subject), **environment()}
    shown = store.cell_path(recipe).with_suffix(".exhibits.json")
    stored = store.has(recipe) and shown.is_file()
    if watcher is not None:
        watcher.question(number, total, question.title, stored=stored)
    if stored:
        return Answer(store.load(recipe), json.loads(shown.read_text(encoding="utf-8")))
    answer = question.ask(subject, (lambda done, of: None) if watcher is None else watcher.progress)
    _files.write_json(shown, answer.exhibits)
    store.save(answer.measurements, recipe)
    return answer


def _store(
    out: Path,
    subject: Subject,
    answers: list[Answered],
    left_out: list[tuple[str, str]],
    config: dict[str, Any],
) -> Record:
    now = datetime.now(timezone.utc)
    measurements = [measurement for answer in answers for measurement in answer.measurements]
    results = write_results(out, subject.model.name, measurements, config=config, time=now)
    date = now.strftime("%Y-%m-%d %H:%M UTC")
    shown = {
        "model": subject.model.name,
        "date": date,
        "config": config,
        "answers": [
            {
                "name": answer.name,
                "title": answer.title,
                "questions": sorted({measurement.question for measurement in answer.measurements}),
                "exhibits": answer.exhibits,
            }
            for answer in answers
        ],
        "left_out": left_out,
    }
    _files.write_json(_exhibits_path(results), shown)
    return Record(subject.model.name, config["oracle"], subject.corpus, config, answers, left_out, date, results)


def _exhibits_path(results: Path) -> Path:
    return results.with_name(results.name.replace("results_", "audit_", 1))
