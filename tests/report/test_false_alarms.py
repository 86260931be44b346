"""How often each *found* is a false alarm, by the simulations of benchmarks/false_alarms.py.

docs/conclusions.md gives the rates and names the hypothesis behind each sentence.
"""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from offscript.corpora.vocabularies import WordVocabulary
from offscript.measures.exposure.estimation import measure_exposure_exactly
from offscript.measures.question import Question
from offscript.measures.registry import questions
from offscript.measures.regret.estimation import measure_regret
from offscript.models.tabular import Tabular
from offscript.report.figures import finding_of

RUNS = {
    "stereotypes": 150,
    "all of them on one page": 150,
    "exposure, with an oracle": 100,
    "sampling, 50 prefixes": 400,
    "sampling, 300 prefixes": 200,
}


def _simulations() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "false_alarms.py"
    spec = importlib.util.spec_from_file_location("false_alarms", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SIMULATIONS = _simulations()


def limit(runs: int) -> float:
    """A true rate of 5 % stays below it in 99 of 100 simulations."""
    return 0.05 + 2.33 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.parametrize("name", SIMULATIONS.ALARMS)
def test_data_in_which_nothing_is_wrong_rarely_give_an_alarm(name: str) -> None:
    runs = RUNS.get(name, SIMULATIONS.RUNS)
    assert SIMULATIONS.rate(name, runs) <= limit(runs)


def test_the_pair_that_stands_for_no_exposure_bias_has_none() -> None:
    exact = measure_exposure_exactly(*SIMULATIONS.unbiased_pair(), length=2, distances=["js"])
    figures = {entry.name: entry.value for entry in exact}
    assert figures["eb_c.js"] == pytest.approx(1.0)
    assert figures["cgd_data.js"] > 0.01  # and yet the two differ


def test_every_conclusion_stands_in_the_docs_with_its_hypothesis() -> None:
    lines = (Path(__file__).parents[2] / "docs" / "conclusions.md").read_text(encoding="utf-8").splitlines()
    listed = {name.strip() for line in lines if line.startswith("| ") for name in line.split("|")[1].split(",")}
    concluding = {name for name, asked in questions().items() if type(asked).conclude is not Question.conclude}
    assert concluding <= listed


def test_a_model_does_not_drift_from_itself() -> None:
    vocabulary = WordVocabulary(["a", "b", "<end>"], end="<end>", unknown=None)
    table = {(): [0.5, 0.4, 0.1], (0,): [0.2, 0.3, 0.5], (1,): [0.1, 0.1, 0.8]}
    model = Tabular(vocabulary, 2, table, "itself")
    finding = finding_of("regret", measure_regret(model, model, samples=50, length=2, seed=1))
    assert finding is not None
    assert finding.status == "fine"
