"""Table 2.2 as an experiment, on a FEVER of four claims and on the real one."""

import json
import lzma
from pathlib import Path

import pytest

from offscript.errors import OffscriptError
from offscript.experiments.experiment import read_experiment
from offscript.experiments.reproduce import reproduce
from offscript.measures.measurement import Measurement
from offscript.measures.question import Silent
from offscript.measures.registry import question
from offscript.measures.subject import Subject

CLAIMS = [
    ("The capital of Australia is Canberra.", "SUPPORTS", "The capital of Australia is Canberra ."),
    ("The capital of Brazil is Sydney.", "REFUTES", "The capital of Brazil is Brasilia ."),
    ('"Lyon" is a city in France.', "SUPPORTS", "Lyon is a city in France -LRB- Europe -RRB- ."),
    ("Tin is loved by everybody.", "NOT ENOUGH INFO", None),
]
PAGES = ["Australia", "Brazil", "Lyon", None]


@pytest.fixture
def fever(tmp_path: Path) -> Path:
    """The files of FEVER that the experiment reads; one claim keeps its CSV quoting, as some real ones do."""
    records = [
        {"id": number, "claim": claim, "label": label, "evidence": [[[0, 0, page, 0 if page else None]]]}
        for number, ((claim, label, _), page) in enumerate(zip(CLAIMS, PAGES, strict=True))
    ]
    for part in ("dev", "test"):
        _write(tmp_path / f"paper_{part}.jsonl.xz", [json.dumps(record) for record in records])
    proven = [(claim, text) for claim, _, text in CLAIMS if text]
    quoted = ['"' + claim.replace('"', '""') + '"' if '"' in claim else claim for claim, _ in proven]
    _write(tmp_path / "gold-evidence-dev" / "dev.raw.input0.xz", [text for _, text in proven])
    _write(tmp_path / "gold-evidence-dev" / "dev.raw.input1.xz", quoted)
    return tmp_path


def _measured(fever: Path, *, seed: int = 1, **settings: object) -> list[Measurement]:
    asked = question("verdicts")
    checked = asked.settings({"fever": str(fever), **settings})
    return asked.measure(Subject(seed=seed), checked, Silent()).measurements


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(lzma.compress("\n".join(lines).encode()))


def _by_name(found: list[Measurement]) -> dict[str, Measurement]:
    return {entry.name: entry for entry in found}


def test_three_labels(fever: Path) -> None:
    found = _by_name(_measured(fever, stance="lexical"))
    assert found["accuracy"].value == found["fever_score"].value == found["macro_f1"].value == 1
    assert found["accuracy"].n == 4


def test_two_labels_leave_out_what_nobody_can_know(fever: Path) -> None:
    found = _by_name(_measured(fever, labels=2, stance="lexical"))
    assert found["accuracy"].n == 3
    assert "f1.NOT ENOUGH INFO" not in found


def test_claims_are_drawn_by_the_seed(fever: Path) -> None:
    assert _by_name(_measured(fever, sample=2, seed=3))["accuracy"].n == 2


@pytest.mark.parametrize("settings", [{"part": "best"}, {"labels": 4}])
def test_what_fever_does_not_have_is_refused(fever: Path, settings: dict[str, object]) -> None:
    with pytest.raises(OffscriptError):
        _measured(fever, **settings)


def test_the_experiment_runs(fever: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFSCRIPT_DATA", str(fever))
    monkeypatch.setenv("OFFSCRIPT_CACHE", str(tmp_path / "cache"))
    training = [{"claim": claim, "label": label, "evidence": [text] if text else []} for claim, label, text in CLAIMS]
    _write(fever / "fever-train" / "train.jsonl.xz", [json.dumps(record) for record in training])
    experiment = read_experiment("factuality/table-2.2", "quick")
    content = json.loads(experiment.model_dump_json().replace("$OFFSCRIPT_DATA/fever", str(fever)))
    found = reproduce(type(experiment).model_validate(content), tmp_path / "out")
    assert found.figures["two-labels/verdicts.accuracy"].value == 1
    assert len(found.statements) == len(experiment.expected)


@pytest.mark.slow
def test_real_claims_are_judged_better_than_in_the_paper(data_folder: Path) -> None:
    """Line 2 of Table 2.2 has 0.3876 among all of Wikipedia; a third is chance."""
    found = _by_name(_measured(data_folder / "fever", sample=300, stance="lexical", seed=5))
    assert found["accuracy"].interval.lower > 0.3876
    assert found["fever_score"].value > 0.4
    assert found["calibration_error"].value < 0.2
