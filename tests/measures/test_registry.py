"""Every question of the registry runs from `measure`, in an audit where its needs are met, and in an experiment."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pinned import SMALL, write_files
from typer.testing import CliRunner

from offscript.audits.audit import plan_audit, run_audit
from offscript.cli.app import app
from offscript.experiments.experiment import Experiment
from offscript.experiments.reproduce import reproduce
from offscript.measures import Question, questions
from offscript.measures.question import Need
from offscript.measures.subject import Subject
from offscript.report.page import render_page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and small files of every kind that a question reads."""
    folder = tmp_path_factory.mktemp("questions")
    write_files(folder)
    return folder


every = pytest.mark.parametrize("question", questions().values(), ids=lambda each: str(each.name))


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def _subject_flags(question: Question[Any]) -> list[str]:
    taken = {*question.needs, *question.takes}
    positional = not any(_is_argument(field) for field in question.Settings.model_fields.values())
    flags = []
    if Need.model in taken:
        flags += [_model(question)] if positional else ["--model", _model(question)]
    if {Need.gold, Need.oracle} & taken:
        flags += ["--oracle", "oracle"]
    if Need.corpus in taken:
        flags += ["--corpus", "text.txt"]
    if Need.against in taken:
        flags += ["--against", "oracle"]
    return [*flags, "--data", "tests.json"] if Need.associations in taken else flags


def _model(question: Question[Any]) -> str:
    """The one that reads a source, for the question that is about such models."""
    return "coder" if question.name == "translation" else "model"


def _is_argument(field: Any) -> bool:
    return bool(isinstance(field.json_schema_extra, dict) and field.json_schema_extra["argument"])


def _options(question: Question[Any]) -> list[str]:
    words: list[str] = []
    for name, value in SMALL.get(question.name, {}).items():
        field = question.Settings.model_fields[name]
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        flag = str(extra.get("flag") or f"--{name.replace('_', '-')}")
        for each in value if isinstance(value, list) else [value]:
            words += [str(each)] if _is_argument(field) else [flag, str(each)]
    return words


@every
def test_it_runs_from_measure(question: Question[Any]) -> None:
    command = ["measure", question.name, *_subject_flags(question), *_options(question), "--json", "--quiet"]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert question.name in document["results"] or question.name == "samples"


@every
def test_it_runs_in_an_audit(question: Question[Any], tmp_path: Path) -> None:
    second = "oracle" if Need.against in question.needs else None
    more = {"associations": "tests.json", "against": second, "length": 12, "limit": 30}
    subject = Subject(_model(question), "oracle", ["text.txt"], **more)
    changes = SMALL.get(question.name, {})
    record = run_audit(subject, plan_audit(subject, [question.name], {question.name: changes}), tmp_path)
    assert [answer.name for answer in record.answers] == [question.name]
    assert question.title in render_page(record).replace("&#39;", "'")


@every
def test_it_runs_in_an_experiment(question: Question[Any], tmp_path: Path) -> None:
    settings = {**SMALL.get(question.name, {})}
    if Need.associations in question.needs:
        settings["associations"] = "tests.json"
    if Need.against in question.needs:
        settings["against"] = "oracle"
    if Need.corpus in question.takes:
        settings["corpus"] = ["text.txt"]
    experiment = Experiment(
        name="tests/each",
        paper="none",
        title="each question once",
        oracle="oracle",
        variants=[{"name": "model", "model": _model(question)}],
        measures=[{"question": question.name, "settings": settings}],
    )
    reproduction = reproduce(experiment, tmp_path)
    assert reproduction.figures or question.name == "samples"


def test_listings_and_reference_are_current(repository_tool: Callable[[str], Any]) -> None:
    tool = repository_tool("write_listings")
    message = "run python tools/write_listings.py"
    assert json.loads(tool.LISTINGS.read_text(encoding="utf-8")) == tool.listings(), message
    assert tool.REFERENCE.read_text(encoding="utf-8") == tool.reference(), message
    assert tool.VERBS.read_text(encoding="utf-8") == tool.verbs(), message
    assert tool.NAMES.read_text(encoding="utf-8") == tool.names(), message
