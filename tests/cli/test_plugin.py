"""One file adds a question, a model and a sampler; each appears everywhere, with nothing else changed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PLUGIN = Path(__file__).with_name("example_plugin.py")
MAIN = "from offscript.cli import main; main()"
EXPERIMENT = """
import json, pathlib, sys
from offscript.plugins import load_plugin
load_plugin(sys.argv[1])
from offscript.experiments.experiment import Experiment
from offscript.experiments.reproduce import reproduce
found = reproduce(Experiment(
    name="tests/spaces", paper="none", title="spaces",
    variants=[{"name": "flat", "model": "toy"}],
    measures=[{"question": "spaces", "settings": {"samples": 20, "length": 5}}],
    expected=[{"figure": "flat/spaces.share", "relation": "below", "value": 0.5, "source": "1 of 27 symbols"}],
), pathlib.Path("experiment"))
print(json.dumps([each.verdict for each in found.statements]))
"""


def run(folder: Path, *arguments: str, code: int = 0, script: str = MAIN) -> str:
    """A command in a process of its own, since a plug-in stays loaded."""
    before = ["--plugin", str(PLUGIN)] if script == MAIN else [str(PLUGIN)]
    command = [sys.executable, "-c", script, *before, *arguments]
    done = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Two audits of the plug-in's model, with other random numbers."""
    folder = tmp_path_factory.mktemp("plugin")
    arguments = ("audit", "toy", "--only", "spaces,samples", "--length", "8", "--limit", "20", "--quiet", "--json")
    runs = [json.loads(run(folder, *arguments, "--seed", seed, "--out", f"run{seed}")) for seed in ("1", "2")]
    return folder, runs


def test_the_file_is_short() -> None:
    assert len(PLUGIN.read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize(("kind", "name"), [("measures", "spaces"), ("models", "toy"), ("samplers", "flatten")])
def test_each_is_listed(kind: str, name: str, tmp_path: Path) -> None:
    rows = json.loads(run(tmp_path, "ls", kind, "--json"))
    assert any(value.startswith(name) for row in rows for value in row.values() if isinstance(value, str))


def test_the_question_is_a_verb_with_its_options_and_help(tmp_path: Path) -> None:
    shown = run(tmp_path, "measure", "spaces", "--help")
    assert "Share of spaces by position." in shown
    assert "Sequences to draw." in shown
    found = json.loads(run(tmp_path, "measure", "spaces", "toy", "--samples", "30", "--plot", "spaces.svg", "--json"))
    assert found["results"]["spaces"]["share"] == pytest.approx(1 / 27, abs=0.05)
    assert (tmp_path / "spaces.svg").is_file()


def test_the_sampler_draws_from_the_model(tmp_path: Path) -> None:
    text = run(tmp_path, "generate", "toy", "--sampler", "flatten,power=0.3", "-n", "2", "--length", "8")
    assert len(text.splitlines()) == 2


def test_the_audits_page_has_its_chart_and_its_conclusion(audited: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, runs = audited
    page = (folder / runs[0]["page"]).read_text(encoding="utf-8")
    assert "How often does it write a space?" in page
    assert "It writes spaces" in page
    assert "share by length" in page
    assert "vegaEmbed" in page


def test_runs_compare_by_it(audited: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, _ = audited
    found = json.loads(run(folder, "compare", "run1", "run2", "--json"))
    assert [contrast["figure"] for contrast in found["contrasts"]] == ["spaces.share"]
    assert "How often does it write a space?" in (folder / found["page"]).read_text(encoding="utf-8")


def test_a_gate_looks_at_it(audited: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, _ = audited
    assert "spaces.share is" in run(folder, "report", "run1", "--fail-on", "spaces.share<0.9", code=1)


def test_an_experiment_asks_it(tmp_path: Path) -> None:
    assert json.loads(run(tmp_path, script=EXPERIMENT)) == ["agrees"]


@pytest.mark.slow
def test_worker_processes_load_it_too(tmp_path: Path) -> None:
    grid = "measures: [{question: spaces, settings: {samples: 20, length: 5}}]\ngrid: {model: [toy, toy/other]}\n"
    (tmp_path / "grid.yaml").write_text(grid, encoding="utf-8")
    run(tmp_path, "sweep", "grid.yaml", "--on", "local", "--out", "out", "--quiet")
    assert len(list(tmp_path.glob("out/*/results_*.json"))) == 2
    assert "How often does it write a space?" in (tmp_path / "out" / "comparison.html").read_text(encoding="utf-8")
