"""The gap of LSTM pairs whose true gap is known: a small version of benchmarks/exposure_gap.py."""

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

SIZE, RUNS = 300, 100


@cache
def simulation() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "exposure_gap.py"
    spec = importlib.util.spec_from_file_location("exposure_gap", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    module.TRUTH = module.AT_ONCE = 20_000  # type: ignore[attr-defined]
    return module


def simulated(name: str, samples: int) -> dict[str, Any]:
    """The columns of all runs, by name."""
    gap = simulation()
    pair, averages = gap.known_pair(name, SIZE)
    rows = [gap.one(pair, averages, samples, 5000 + seed) for seed in range(RUNS)]
    return {key: np.array([row[f"js.{key}"] for row in rows]) for key in ("truth", "value", "lower", "upper", "p")}


def deviation(share: float) -> float:
    """How far a share of so many runs may be off in 99 of 100 simulations."""
    return float(2.58 * np.sqrt(share * (1 - share) / RUNS))


def test_a_model_against_its_own_draws_raises_few_alarms() -> None:
    runs = simulated("own draws", 100)
    assert np.mean(runs["p"] < 0.05) <= 0.05 + deviation(0.05)
    assert abs(np.mean((runs["lower"] <= 0) & (runs["upper"] >= 0)) - 0.95) <= deviation(0.95)
    assert ((runs["lower"] <= 0) & (runs["upper"] >= 0)).tolist() == (runs["p"] > 0.05).tolist()


@pytest.mark.parametrize("samples", [60, 200])
def test_the_interval_holds_the_gap_of_a_model_that_drifts(samples: int) -> None:
    runs = simulated("strong drift", samples)
    assert runs["truth"].min() > 0.001
    assert np.mean((runs["lower"] <= runs["truth"]) & (runs["truth"] <= runs["upper"])) >= 0.95 - deviation(0.95)
    assert runs["value"].mean() == pytest.approx(runs["truth"].mean(), rel=0.1)
    assert np.median(runs["upper"] - runs["lower"]) < 4 * runs["truth"].mean()
    if samples == 200:
        assert np.mean((runs["p"] < 0.05) & (runs["lower"] > 0)) > 0.9


def test_the_docs_show_the_table_of_the_counts_that_are_kept() -> None:
    gap = simulation()
    cells = json.loads(gap.KEPT.read_text(encoding="utf-8"))
    shown = gap.DOCS.read_text(encoding="utf-8").partition(gap.BEGIN)[2].partition(gap.END)[0]
    assert shown.strip() == gap.table_of(cells)
    assert {(cell["pair"], cell["size"]) for cell in cells} == {
        (name, size) for name in gap.PAIRS for size in (5000, 50000)
    }
    assert all(cell["found"] <= 0.05 * cell["runs"] for cell in cells if cell["pair"] == "own draws")
    assert all(0.93 <= cell["covered"] / cell["runs"] <= 0.985 for cell in cells), "0.97 and what 200 runs may be off"
