"""How often each *found* is a false alarm, by the simulations of benchmarks/false_alarms.py.

docs/conclusions.md gives the rates and names the hypothesis behind each sentence.
"""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from offscript.corpora.vocabularies import WordVocabulary
from offscript.measures.regret.estimation import measure_regret
from offscript.models.tabular import Tabular
from offscript.report.figures import finding_of

RUNS = {"stereotypes": 150, "all of them on one page": 150, "sampling, 50 prefixes": 400, "sampling, 300 prefixes": 200}


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


def test_a_model_does_not_drift_from_itself() -> None:
    vocabulary = WordVocabulary(["a", "b", "<end>"], end="<end>", unknown=None)
    table = {(): [0.5, 0.4, 0.1], (0,): [0.2, 0.3, 0.5], (1,): [0.1, 0.1, 0.8]}
    model = Tabular(vocabulary, 2, table, "itself")
    finding = finding_of("regret", measure_regret(model, model, samples=50, length=2, seed=1))
    assert finding is not None
    assert finding.status == "fine"
