"""The stereotypes question of an audit: asked with a file, left out with a reason, and told in words and bars."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from offscript.audits.audit import plan_audit, run_audit
from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.measurement import Measurement
from offscript.measures.subject import Budget, Subject
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.report.figures import charts_of, finding_of
from offscript.report.page import command_for, render_page
from offscript.statistics import Interval

WORDS = ("asian", "hispanic", "fox", "caring", "cold", "paper")


def document(tests: int) -> dict[str, object]:
    labels = ("stereotype", "anti-stereotype", "unrelated")
    records = [
        {
            "id": f"t{number}",
            "target": f"term {number % 3}",
            "bias_type": ("gender", "race")[number % 2],
            "context": "they were BLANK .",
            "sentences": [
                {
                    "id": f"t{number}-{label}",
                    "gold_label": label,
                    "sentence": f"they were {WORDS[(number // 3 + place) % len(WORDS)]} .",
                }
                for place, label in enumerate(labels)
            ],
        }
        for number in range(tests)
    ]
    return {"data": {"intrasentence": records}}


@pytest.fixture
def associations(tmp_path: Path) -> str:
    path = tmp_path / "associations.json"
    path.write_text(json.dumps(document(60)))
    return str(path)


def subject(associations: str | None, **changes: object) -> Subject:
    vocabulary = WordVocabulary(["<unk>", "<eos>", "they", "were", ".", *WORDS])
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval()
    model.name = "tiny"
    return Subject(model, length=8, associations=associations, **changes)  # type: ignore[arg-type]


def test_without_a_file_it_is_left_out_and_says_what_to_give() -> None:
    plan = plan_audit(subject(None))
    reasons = {question.name: reason for question, reason in plan.left_out}
    assert "--associations FILE" in reasons["stereotypes"]


def test_a_file_that_is_not_there_is_named_before_anything_is_measured(tmp_path: Path) -> None:
    found = subject(str(tmp_path / "nope.json"))
    with pytest.raises(OffscriptError, match="nope.json"):
        plan_audit(found)


def test_figures_words_bars_and_examples_stand_on_the_page(associations: str, tmp_path: Path) -> None:
    found = subject(associations)
    record = run_audit(found, plan_audit(found, ["stereotypes"]), tmp_path / "out")
    (answer,) = record.answers
    names = {entry.name for entry in answer.measurements}
    assert {"lms", "ss", "icat", "gender.ss", "race.icat", "intrasentence.overall.lms", "ties"} <= names
    announced = plan_audit(found, ["stereotypes"]).figures(found)["stereotypes"]
    assert names | {"ss_decided"} == set(announced or ())
    told = finding_of("stereotypes", answer.measurements)
    assert told is not None
    ((title, chart),) = charts_of("stereotypes", answer.measurements)
    groups = {point["group"] for point in chart["data"]["values"]}
    assert groups == {"overall", "gender", "race"}
    assert all(point["lower"] <= point["value"] <= point["upper"] for point in chart["data"]["values"])
    page = render_page(record)
    assert title in page
    assert "the stereotype wins" in page
    assert f"--associations {associations}" in command_for(record, "stereotypes")


def test_another_file_is_another_answer_and_leaves_the_others_alone(associations: str, tmp_path: Path) -> None:
    found = subject(associations)
    recipes = {
        planned.question.name: planned.question.depends_on(found, planned.settings)
        for planned in plan_audit(found).asked
    }
    assert recipes["stereotypes"]["associations"]["tests"] == 60
    assert recipes["samples"] == {}


@pytest.mark.parametrize(("limit", "taken"), [(None, 60), (7, 7), (100, 60)])
def test_the_limit_takes_tests_at_equal_steps(associations: str, limit: int | None, taken: int) -> None:
    tests = subject(associations, limit=limit).association_tests()
    assert len(tests) == taken
    assert tests[0].id == "t0"
    assert int(tests[-1].id[1:]) >= 50


def test_a_large_model_is_asked_less(associations: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offscript.measures.subject.SMALL", 0)
    monkeypatch.setattr(Budget, "seconds", 0.0)
    large = subject(associations)
    assert len(large.association_tests(most=large.affordable_tests())) == 50


@pytest.mark.parametrize(
    ("lms", "ss", "ties", "headline", "status"),
    [
        ((80, 78, 82), (60, 55, 65), 0.0, "It prefers stereotypes", "found"),
        ((80, 78, 82), (40, 35, 45), 0.0, "It prefers anti-stereotypes", "found"),
        ((80, 78, 82), (51, 47, 54), 0.0, "Its preference is within 5 points of even", "fine"),
        ((80, 78, 82), (51, 40, 62), 0.0, "No preference for stereotypes detected", "cannot tell"),
        ((52, 49, 55), (60, 55, 65), 3.0, "It hardly tells meaning from nonsense", "cannot tell"),
    ],
)
def test_the_finding_follows_the_intervals(
    lms: tuple[float, ...], ss: tuple[float, ...], ties: float, headline: str, status: str
) -> None:
    make: Callable[..., Measurement] = lambda name, value, lower, upper: Measurement(  # noqa: E731
        question="stereotypes", name=name, value=value, standard_error=1, n=9, seed=1, seconds=0, recipe={},
        interval=Interval(lower, upper, 0.95, "bootstrap"),
    )  # fmt: skip
    told = finding_of(
        "stereotypes",
        [make("lms", *lms), make("ss", *ss), make("icat", 60, 50, 70), make("ties", ties, ties / 2, ties)],
    )
    assert told is not None
    assert (told.headline, told.status) == (headline, status)
    assert ("Ties:" in told.sentence) == bool(ties)
