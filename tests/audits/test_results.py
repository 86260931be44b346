"""The published schema is the current one, takes what is written and refuses what is not."""

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from jsonschema import Draft202012Validator

from offscript.audits.audit import plan_audit, run_audit
from offscript.audits.results import results_schema
from offscript.audits.store import write_results
from offscript.corpora import WordVocabulary
from offscript.measures.measurement import Measurement
from offscript.measures.subject import Subject
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.statistics import Curve, Interval

ASKED = ("likelihood", "exposure", "regret", "recovery", "sampling", "samples")
PUBLISHED = Path(__file__).resolve().parents[2] / "docs" / "results.schema.json"


def small_model(name: str, seed: int) -> LSTMLanguageModel:
    vocabulary = WordVocabulary(["<unk>", "<eos>", *(f"w{index}" for index in range(20))])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval()
    model.name = name
    return model


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    Draft202012Validator.check_schema(results_schema())
    return Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf-8")))


def figure(**changes: Any) -> Measurement:
    fields: dict[str, Any] = {
        "question": "exposure", "name": "eb_c.js", "value": math.inf, "standard_error": math.inf, "n": 4, "seed": 1,
        "seconds": 2.0, "recipe": {"a": 1}, "interval": Interval(1.0, math.inf, 0.95, "bootstrap"),
        "by_position": Curve((1.0, math.inf), (0.9, 0.9), (math.inf, math.inf), 0.95, "bootstrap"),
    }  # fmt: skip
    return Measurement(**{**fields, **changes})


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(write_results(tmp_path, "m", [figure()]).read_text(encoding="utf-8"))
    return found


def test_the_published_schema_is_the_current_one() -> None:
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == results_schema(), (
        "run python -m offscript.audits.results > docs/results.schema.json"
    )


def test_infinite_figures_and_curves_are_valid(validator: Draft202012Validator, written: dict[str, Any]) -> None:
    validator.validate(written)


def test_a_real_audit_is_valid(validator: Draft202012Validator, tmp_path: Path) -> None:
    subject = Subject(small_model("student", 1), small_model("oracle", 2), length=8, limit=30)
    record = run_audit(subject, plan_audit(subject, ASKED), tmp_path / "out")
    validator.validate(json.loads(record.results.read_text(encoding="utf-8")))


Break = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    "broken",
    [
        lambda document: document.pop("results"),
        lambda document: document["results"]["exposure"].pop("ci"),
        lambda document: document["results"]["exposure"].update({"eb_c.js": "large"}),
        lambda document: document["results"]["exposure"].update({"eb_c.js": None}),
        lambda document: document["results"]["exposure"]["ci"]["eb_c.js"].pop("upper"),
        lambda document: document["results"]["exposure"]["ci"]["eb_c.js"].update(level=95),
        lambda document: document["results"]["exposure"].update({"by_length.eb_c.js": 1.0}),
        lambda document: document["results"].update({"Not a question": {"alias": "", "ci": {}}}),
        lambda document: document["measurements"]["exposure"]["eb_c.js"].update(n=-1),
        lambda document: document["higher_is_better"]["exposure"].update({"eb_c.js": "yes"}),
    ],
)
def test_what_is_broken_is_refused(validator: Draft202012Validator, written: dict[str, Any], broken: Break) -> None:
    document = copy.deepcopy(written)
    broken(document)
    assert not validator.is_valid(document)
