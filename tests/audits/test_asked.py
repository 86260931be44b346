"""An audit whose questions are shared out: the page is that of one process, to the last byte but for times."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from offscript.audits.asked import AskedCell, balanced, share_out
from offscript.audits.audit import plan_audit, run_audit
from offscript.audits.workers import HERE, Place
from offscript.cli.app import app
from offscript.corpora import WordVocabulary
from offscript.errors import OffscriptError
from offscript.measures.question import Need, Silent
from offscript.measures.registry import questions
from offscript.measures.subject import Subject
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.storage import save

WORDS = [f"w{number}" for number in range(20)]
# Those about files of their own, which no audit's subject decides, aside.
ASKED = [
    name
    for name, asked in questions().items()
    if Need.model in asked.needs and name not in ("approximation", "factuality", "stereotypes", "translation")
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    vocabulary = WordVocabulary(["<unk>", "<eos>", *WORDS])
    for seed, name in enumerate(("student", "oracle")):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            save(LSTMLanguageModel(vocabulary, LSTMSettings(hidden=8, embedding=8)).eval(), tmp_path / name)
    rows = [" ".join(WORDS[(row * step) % 20] for step in range(1, 16)) for row in range(1, 41)]
    (tmp_path / "text.txt").write_text("\n".join(rows) + "\n")
    return tmp_path


def _command(files: Path, *more: str, only: Sequence[str] = ASKED) -> list[str]:
    """An audit that names its files as a user does, from the folder that holds them; its answers go to `runs`."""
    return [
        *(sys.executable, "-c", "import torch; torch.set_num_threads(1); from offscript.cli import main; main()"),
        *("audit", str(files / "student"), "--oracle", str(files / "oracle"), "--corpus", str(files / "text.txt")),
        *("--against", str(files / "oracle"), "--only", ",".join(only), "--limit", "30", "--length", "12"),
        *("--set", f"memorisation.training={files / 'text.txt'}", "--set", "memorisation.prefix=4"),
        *("--set", "memorisation.suffix=4", "--set", "sampling.samplers=top-k,k=5", "--out", "runs", "--json"),
        *("--quiet", *more),
    ]


def _run(command: list[str], folder: Path) -> dict[str, Any]:
    folder.mkdir()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _pages(folder: Path) -> dict[str, str]:
    """Every page below a folder, without times: the run's, each answer's, and those in names of files."""
    pages = {}
    for path in sorted(folder.glob("**/*.html")):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"\d{4}-\d{2}-\d{2}[ T]\d{2}[:-]\d{2}([:-]\d{2}\.\d+)?( UTC)?", "TIME", text)
        text = re.sub(r"\b[\d.]+ s\b", "SECONDS", text)
        pages[str(path.relative_to(folder))] = re.sub(r'"(seconds|date)": ?[\d.e+-]+', "SECONDS", text)
    assert pages
    return pages


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_cluster_that_loses_a_node_writes_the_page_of_one_process(cluster: Any, files: Path, tmp_path: Path) -> None:
    alone = _run(_command(files), tmp_path / "alone")
    assert set(alone["results"]) >= set(ASKED) - {"samples", "associations"}
    folder = tmp_path / "ray"
    folder.mkdir()
    shared = _command(files, "--shares", "4", "--on", "ray")
    with subprocess.Popen(shared, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder) as running:
        while running.poll() is None and not list(folder.glob("runs/cells/*.json")):
            time.sleep(0.02)
        cluster.kill(1)
        _, errors = running.communicate(timeout=500)
    assert running.returncode == 0, errors
    expected, found = _pages(tmp_path / "alone"), _pages(folder)
    assert found.keys() == expected.keys()
    for name, page in expected.items():
        assert found[name] == page, name
    # `ray://` reaches the same cluster through its client server, here with the one node that is left
    client = _run(_command(files, "--shares", "2", "--on", cluster.client, only=["likelihood"]), tmp_path / "client")
    assert client["results"]["likelihood"]["nll"] == alone["results"]["likelihood"]["nll"]


@pytest.mark.parametrize("shares", [1, 3])
def test_answers_that_were_shared_out_are_those_of_the_audit_itself(files: Path, tmp_path: Path, shares: int) -> None:
    given: dict[str, Any] = {"corpus": [str(files / "text.txt")], "length": 12, "limit": 20}
    subject = Subject(str(files / "student"), **given)
    plan = plan_audit(subject, ["likelihood", "degeneration", "samples"])
    told: list[str] = []
    share_out(subject, plan, tmp_path / "shared", Place(HERE), shares, told.append)
    assert len(told) == shares
    cells = sorted((tmp_path / "shared" / "cells").glob("*.json"))
    observer = Seen()
    shared = run_audit(subject, plan, tmp_path / "shared", observer)
    assert observer.stored == [True, True, True]
    alone = run_audit(subject, plan, tmp_path / "alone")
    assert [path.name for path in cells] == sorted(path.name for path in (tmp_path / "alone" / "cells").glob("*.json"))
    for one, other in zip(shared.answers, alone.answers, strict=True):
        assert one.exhibits == other.exhibits
        assert [(entry.name, entry.value, entry.interval) for entry in one.measurements] == [
            (entry.name, entry.value, entry.interval) for entry in other.measurements
        ]
    share_out(subject, plan, tmp_path / "shared", Place(HERE), shares, told.append)
    assert len(told) == shares  # nothing is left to do


class Seen(Silent):
    """Notes whether each answer was stored."""

    def __init__(self) -> None:
        self.stored: list[bool] = []

    def question(self, number: int, total: int, title: str, *, stored: bool) -> None:
        self.stored.append(stored)


def test_several_models_have_a_page_each_and_one_together(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    common = ["--corpus", "text.txt", "--only", "likelihood,samples", "--limit", "20", "--json", "--quiet"]
    done = CliRunner().invoke(app, ["audit", "student", "oracle", *common, "--out", "runs"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    together = json.loads(done.stdout)
    assert len(together["models"]) == 2
    for found in together["models"].values():
        assert Path(found["page"]).is_file()
    values = {found["results"]["likelihood"]["nll"] for found in together["models"].values()}
    assert len(values) == 2
    page = Path(together["page"]).read_text(encoding="utf-8")
    assert all(name in page for name in together["models"])
    for more, words in ((["--against", "oracle"], "several models"), (["student"], "same model twice")):
        refused = CliRunner().invoke(app, ["audit", "student", "oracle", *more, *common])
        assert refused.exit_code != 0
        assert words in str(refused.exception or refused.output)


@given(st.lists(st.integers(0, 1000), max_size=12), st.integers(1, 5))
def test_groups_hold_every_cell_once_and_are_balanced(costs: list[int], shares: int) -> None:
    cells = [
        AskedCell(name=str(place), question="q", settings={}, subject={}, folder="", recipe={})
        for place in range(len(costs))
    ]
    groups = balanced(cells, costs, shares)
    assert sorted(int(cell.name) for group in groups for cell in group) == list(range(len(costs)))
    assert len(groups) == min(shares, len(costs))
    sums = [sum(max(1, costs[int(cell.name)]) for cell in group) for group in groups]
    if len(sums) == shares and costs:
        assert max(sums) - min(sums) <= max(1, *costs)


def test_a_model_without_a_name_cannot_be_shared_out(files: Path) -> None:
    model = Subject(str(files / "student")).model
    with pytest.raises(OffscriptError, match="give a model string"):
        Subject(model).named()
