"""Sweeps: a grid becomes cells, cells run in processes, and a real Ray cluster that loses a node gives the same."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from offscript.audits.workers import Place
from offscript.errors import OffscriptError
from offscript.experiments.sweep import read_sweep, run_sweep, store_sweep
from offscript.measures.measurement import recipe_hash

TABLE = {
    "kind": "tabular",
    "vocabulary": ["A", "B"],
    "length": 2,
    "next": {"": [0.7, 0.3], "A": [0.8, 0.2], "B": [0.4, 0.6]},
}


@pytest.fixture
def oracle(tmp_path: Path) -> str:
    path = tmp_path / "oracle.json"
    path.write_text(json.dumps(TABLE))
    return str(path)


def grid(oracle: str, **changes: Any) -> dict[str, Any]:
    return {
        "oracle": oracle,
        "training": {
            "model": {"kind": "lstm", "hidden": 4, "embedding": 4},
            "data": {"kind": "samples", "model": oracle, "length": 2, "size": 8, "epoch": 64, "validation": 32},
            "stop": {"steps": 20},
        },
        "measures": [{"question": "regret", "settings": {"samples": 40, "length": 2}}],
        "grid": {
            "training.model.hidden": [2, 4, 8],
            "algorithm": {
                "TF": None,
                "SS": {"training.algorithm": "scheduled-sampling", "training.algorithm_settings": {"rate": 0.2}},
            },
            "seed": [1, 2],
        },
        **changes,
    }


def written(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "grid.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def figures(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """What was measured at each point, without how long it took."""
    return {
        json.dumps(row["point"]): [(entry["name"], entry["value"], entry["interval"]) for entry in row["measurements"]]
        for row in rows
    }


def test_a_grid_is_every_combination_with_its_changes(tmp_path: Path, oracle: str) -> None:
    sweep = read_sweep(written(tmp_path, grid(oracle)))
    assert len(sweep.points) == 12
    assert sweep.points[0].name == "hidden=2, algorithm=TF, seed=1"
    last = sweep.points[-1].cells[0]
    assert last.trainings[0]["model"]["hidden"] == 8
    assert last.trainings[0]["algorithm"] == "scheduled-sampling"
    assert (last.trainings[0]["seed"], last.seed) == (2, 2)
    assert len({recipe_hash(cell.recipe) for point in sweep.points for cell in point.cells}) == 12


def test_models_and_samplers_can_be_axes(tmp_path: Path, oracle: str) -> None:
    call = {"question": "diversity", "settings": {"samples": 20, "length": 2}}
    axes = {"model": [oracle], "measures.*.settings.sampler": ["top-k,k=1", "tempered,temperature=1.0"]}
    sweep = read_sweep(written(tmp_path, {"measures": [call], "grid": axes}))
    points = run_sweep(sweep, tmp_path / "out", on="here")
    entropies = [{entry.name: entry.value for entry in point.measurements}["entropy_1"] for point in points]
    assert entropies[0] == 0.0 < entropies[1]
    assert [entry.recipe["sampler"] for entry in points[0].measurements][:1] == ["top-k,k=1"]


def test_a_grid_without_axes_is_one_point(tmp_path: Path, oracle: str) -> None:
    points = run_sweep(read_sweep(written(tmp_path, grid(oracle, grid={}))), tmp_path / "out", on="here")
    assert len(points) == 1
    assert len(store_sweep(points, tmp_path / "out")) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": {"seed": 3}}, "labelled changes"),
        ({"grid": {"training.model.hiden": [3]}}, "hiden"),
        ({"measures": [{"question": "regert"}]}, "did you mean 'regret'"),
        ({"measures": []}, "measures"),
        ({"model": "offscript/news"}, "a model and a training"),
        ({"resources": {"cpus": 0}}, "cpus"),
        ({"oracel": "x"}, "oracel"),
    ],
)
def test_a_wrong_grid_is_refused_before_anything_runs(
    changes: dict[str, Any], message: str, tmp_path: Path, oracle: str
) -> None:
    with pytest.raises(OffscriptError, match=message):
        read_sweep(written(tmp_path, grid(oracle, **changes)))


@pytest.mark.parametrize("content", ["- a list", "a: [", "\x00"])
def test_what_is_no_grid_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(content)
    with pytest.raises(OffscriptError):
        read_sweep(path)


def test_an_unknown_place_is_refused() -> None:
    with pytest.raises(OffscriptError, match="nothing runs on 'cloud'"):
        Place("cloud")


def command(path: Path, out: Path, on: str) -> list[str]:
    script = "from offscript.cli import main; main()"
    return [sys.executable, "-c", script, "sweep", str(path), "--on", on, "--out", str(out), "--json", "--quiet"]


def swept(path: Path, out: Path, on: str) -> list[dict[str, Any]]:
    done = subprocess.run(command(path, out, on), capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_cluster_that_loses_a_node_finishes_with_what_one_machine_finds(
    cluster: Any, tmp_path: Path, oracle: str
) -> None:
    path = written(tmp_path, grid(oracle))
    out = tmp_path / "ray"
    with subprocess.Popen(
        command(path, out, "ray"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        while running.poll() is None and len(list(out.glob("cells/*.json"))) < 2:
            time.sleep(0.05)
        cluster.kill(1)
        output, errors = running.communicate(timeout=500)
    assert running.returncode == 0, errors
    found = figures(json.loads(output))
    assert len(found) == 12
    assert found == figures(swept(path, tmp_path / "local", "local"))


@pytest.mark.slow
def test_a_killed_worker_process_is_replaced_and_finished_cells_are_kept(tmp_path: Path, oracle: str) -> None:
    path = written(tmp_path, grid(oracle, grid={"seed": [1, 2, 3, 4]}))
    out = tmp_path / "out"
    whole = figures([_row(point) for point in run_sweep(read_sweep(path), tmp_path / "here", on="here")])
    psutil = pytest.importorskip("psutil")
    with subprocess.Popen(command(path, out, "local"), stdout=subprocess.PIPE, text=True) as running:
        while running.poll() is None and len(list(out.glob("cells/*.json"))) < 1:
            time.sleep(0.05)
        workers = [child for child in psutil.Process(running.pid).children() if "spawn_main" in str(child.cmdline())]
        for worker in workers[:1]:
            worker.kill()
        output, _ = running.communicate(timeout=500)
    assert running.returncode == 0
    assert figures(json.loads(output)) == whole


def _row(point: Any) -> dict[str, Any]:
    return {"point": point.labels, "measurements": [entry.to_json() for entry in point.measurements]}
