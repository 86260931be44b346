"""Every question of the registry runs from `measure`, in an audit where its needs are met, and in an experiment."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from offscript.audits.audit import plan_audit, run_audit
from offscript.cli.app import app
from offscript.corpora import WordVocabulary
from offscript.experiments.experiment import Experiment
from offscript.experiments.reproduce import reproduce
from offscript.factcheck.documents import Document
from offscript.factcheck.index import build_index
from offscript.measures import Question, questions
from offscript.measures.question import Need
from offscript.measures.subject import Subject
from offscript.models.encoder_decoder import EncoderDecoder, EncoderDecoderSettings
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save
from offscript.report.page import render_page

WORDS = [f"w{number}" for number in range(30)]
TAGGED = "1\tDogs\tdog\tNOUN\t_\t_\t0\t_\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\t_\t_\t_\n\n"
LABELS = ("stereotype", "anti-stereotype", "unrelated")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and small files of every kind that a question reads."""
    folder = tmp_path_factory.mktemp("questions")
    vocabulary = WordVocabulary(["<unk>", "<eos>", *WORDS])
    for seed, name in enumerate(("model", "oracle")):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            save(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval(), folder / name)
    save(
        EncoderDecoder(vocabulary, EncoderDecoderSettings(width=8, encoder_layers=1, decoder_layers=1)),
        folder / "coder",
    )
    told = [" ".join(WORDS[place] for place in (0, 1, 2, 3 + row, 10 + row, 17 + row)) for row in range(7)]
    (folder / "told.tsv").write_text("".join(f"{text}\t{text}\n" for text in told))
    sentences = [" ".join(WORDS[(row * step) % 30] for step in range(1, 16)) for row in range(1, 61)]
    (folder / "text.txt").write_text("\n".join(sentences) + "\n")
    tests = [
        {
            "id": f"t{row}",
            "target": WORDS[row % 3],
            "bias_type": ("race", "gender")[row % 2],
            "context": f"{WORDS[row % 5]} BLANK",
            "sentences": [
                {"id": f"t{row}{label}", "gold_label": label, "sentence": f"{WORDS[row % 5]} {WORDS[10 + place]}"}
                for place, label in enumerate(LABELS)
            ],
        }
        for row in range(12)
    ]
    (folder / "tests.json").write_text(json.dumps({"data": {"intrasentence": tests}}))
    (folder / "bank.conllu").write_text(TAGGED * 4)
    pairs = [("a b", "agree"), ("c d", "disagree")]
    _lines(folder / "pairs.jsonl", [{"claim": claim, "text": "a b c", "label": label} for claim, label in pairs])
    claims = [("The capital of France is Paris.", "SUPPORTS"), ("The capital of France is Rome.", "REFUTES")]
    _lines(
        folder / "claims.jsonl", [{"id": i, "claim": claim, "label": label} for i, (claim, label) in enumerate(claims)]
    )
    build_index([Document("d1", "one", "red apples"), Document("d2", "two", "green pears")], folder / "index")
    _lines(folder / "queries.jsonl", [{"id": "1", "text": "apples"}, {"id": "2", "text": "pears"}])
    rated = "".join(f"i{n},r{rater},s{n % 2},{(n + rater) % 4}\n" for n in range(4) for rater in range(3))
    (folder / "ratings.csv").write_text(f"item,rater,system,rating\n{rated}")
    (folder / "judgments.txt").write_text("1 0 d1 1\n2 0 d2 1\n")
    return folder


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


SMALL: dict[str, dict[str, Any]] = {
    "approximation": {"draws": 20, "step": 20, "highest": 40, "subset": 4, "length": 6, "samples": 4},
    "degeneration": {"samples": 20, "length": 16, "prefix": 4},
    "divergence": {"samples": 20, "length": 8},
    "diversity": {"samples": 10, "length": 8},
    "exposure": {"samples": 20, "length": 6},
    "factuality": {"samples": 2, "length": 8, "samplers": ["tempered,temperature=1.0"]},
    "likelihood": {"samples": 20, "length": 8},
    "memorisation": {"training": "text.txt", "samples": 10, "length": 8, "prefix": 3, "suffix": 4},
    "quality": {"samples": 10, "length": 8},
    "ratings": {"source": "ratings.csv"},
    "recovery": {"samples": 10, "length": 12, "prefix": 4},
    "regret": {"samples": 10, "length": 6},
    "retrieval": {"index": "index", "queries": "queries.jsonl", "judgments": "judgments.txt"},
    "sampling": {"samples": 20, "length": 12, "prefix": 4, "samplers": ["top-k,k=5", "nucleus,p=0.9"]},
    "stance": {"data": "pairs.jsonl", "model": "lexical"},
    "tagging": {"treebank": "bank.conllu"},
    "text-distance": {"samples": 30, "length": 14, "prefix": 3, "encoder": "lexical", "clusterings": 2},
    "translation": {"pairs": "told.tsv", "length": 12},
    "verdicts": {"claims": "claims.jsonl"},
}
"""Settings that keep each question small; files are those of the fixture."""

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
