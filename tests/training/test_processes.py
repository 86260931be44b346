"""Several processes: each takes its share, and together they train what one process trains."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from offscript.training import recipe_from, train

MODELS = [
    {"kind": "lstm", "hidden": 12, "embedding": 8},
    {"kind": "transformer", "width": 8, "layers": 1, "heads": 2, "context": 16},
]
COMMAND = "from offscript.cli import main; main()"


def _launched(tmp_path: Path, recipe: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    (tmp_path / "offscript_train.py").write_text(COMMAND)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*command, str(tmp_path / "offscript_train.py"), "train", str(recipe), "--out", str(folder), "--json"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=["lstm", "transformer"])
def test_two_processes_train_what_one_trains(model: dict[str, Any], tmp_path: Path) -> None:
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("no accelerate")
    # Seven sentences in batches of two: the last batch of an epoch has one row for two processes.
    lines = ["a b c d", "b c", "c d a b", "d a b", "a a", "b d c a b", "c"]
    (tmp_path / "corpus.txt").write_text("\n".join(lines) + "\n")
    data = {"train": f"{tmp_path}/corpus.txt", "validation": f"{tmp_path}/corpus.txt", "batches": {"size": 2}}
    content = {"model": model, "data": data, "optimiser": {"learning_rate": 0.01}, "stop": {"epochs": 5}}
    (tmp_path / "recipe.json").write_text(json.dumps(content))
    one = train(recipe_from(content), tmp_path / "one")
    done = _launched(tmp_path, tmp_path / "recipe.json", tmp_path / "two")
    if "address" in done.stderr.lower() and done.returncode:
        pytest.skip("two processes cannot reach each other here")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["validation_nll"] == pytest.approx(one.validation_nll, rel=1e-3)
    alone = load_file(one.folder / "weights.safetensors")
    for name, weight in load_file(tmp_path / "two" / "model" / "weights.safetensors").items():
        torch.testing.assert_close(weight, alone[name], atol=1e-4, rtol=1e-3)
    losses = [
        [
            line["loss"]
            for line in map(json.loads, (tmp_path / name / "log.jsonl").read_text().splitlines())
            if "loss" in line
        ]
        for name in ("one", "two")
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
