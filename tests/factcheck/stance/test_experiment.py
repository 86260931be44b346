"""Table 3.1 as data: every variant's recipe is right, and a system is trained, kept and scored."""

from pathlib import Path

import pytest

from offscript.experiments.experiment import read_experiment
from offscript.factcheck.stance.teaching import stance_recipe
from offscript.measures.question import Silent
from offscript.measures.registry import question
from offscript.measures.subject import Subject


@pytest.mark.parametrize("scale", ["quick", "standard"])
def test_every_variant_is_a_stance_recipe(scale: str, small_data: Path) -> None:
    experiment = read_experiment("factuality/table-3.1", scale)
    for variant in experiment.variants:
        [cell] = experiment.cells_of(variant, 0, 1)
        settings = question(cell.call.question).settings(cell.call.settings)
        assert cell.call.question == "stance"
        stance_recipe({**settings.training, "data": str(small_data)})


def test_a_system_is_trained_once_and_scored(small_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OFFSCRIPT_CACHE", str(tmp_path))
    training = {"data": str(small_data), "kind": "features", "epochs": 3}
    asked = question("stance")
    settings = asked.settings({"data": str(small_data / "fnc-1"), "training": training})
    first, again = (asked.measure(Subject(seed=1), settings, Silent()).measurements for _ in range(2))
    assert {entry.name: entry.value for entry in first} == {entry.name: entry.value for entry in again}
    assert {"accuracy", "macro_f1", "fnc_score", "f1.disagree"} <= {entry.name for entry in first}
    assert len(list((tmp_path / "stance").iterdir())) == 1
