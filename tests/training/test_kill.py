"""Runs that are killed with signal 9 at random steps, for real, and go on to the very same weights."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from offscript.training import recipe_from, train

STEPS, GAN_STEPS = 150, 50
GANS = {"seqgan": "lstm", "rankgan": "lstm", "leakgan": "manager-worker", "recurrent-gan": "noise-lstm"}
LSTM = {"kind": "lstm", "hidden": 16, "embedding": 16, "layers": 2, "dropout": 0.3, "tied": True}
TRANSFORMER = {"kind": "transformer", "width": 16, "layers": 2, "heads": 2, "context": 16, "dropout": 0.2}
ENCODER_DECODER = {
    "kind": "encoder-decoder", "width": 16, "inner": 24, "encoder_layers": 1, "decoder_layers": 1, "heads": 2,
    "dropout": 0.2,
}  # fmt: skip

RUN = """
import json, sys
from pathlib import Path
from offscript.training import recipe_from, train

class Telling:
    def begin(self, step, total): print(step, flush=True)
    def step(self, step, loss, tokens_per_second): print(step, flush=True)
    def note(self, step, text): pass
    def validated(self, step, nll, best): pass
    def end(self): pass

recipe = recipe_from(json.loads(Path(sys.argv[1]).read_text()))
train(recipe, Path(sys.argv[2]), observer=Telling(), checkpoint_seconds=float(sys.argv[3]), log_every=1)
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    generator = random.Random(1)
    words = [f"w{index}" for index in range(30)]
    lines = [" ".join(generator.choices(words, k=generator.randint(2, 12))) for _ in range(300)]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def _data(kind: str, corpus: Path, oracle_file: Path) -> dict[str, Any]:
    if kind == "samples":
        return {"kind": "samples", "model": str(oracle_file), "length": 4, "size": 24, "epoch": 960, "validation": 64}
    if kind == "parallel":
        files = [{"path": str(corpus), "targets": str(corpus)}]  # the target is the source
        return {"kind": kind, "train": files, "validation": files, "vocabulary": {"size": 300}, "scored": 4}
    return {"train": str(corpus), "batches": {"kind": kind, "size": 16, "length": 10}}


def _kill_at(step: int, recipe: Path, folder: Path) -> tuple[int, int]:
    """Run until a step is told, then kill; answers the step the run began at and the last one it told."""
    command = [sys.executable, "-c", RUN, str(recipe), str(folder), "0.02"]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=alone) as process:
        assert process.stdout is not None
        began = told = int(process.stdout.readline())
        while told < step:
            told = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        told = max([told, *map(int, process.stdout.read().split())])
    assert process.returncode == -signal.SIGKILL
    return began, told


def _logged(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "tokens_per_second"} for line in lines]


def _same_runs(killed: Path, whole: Path) -> None:
    assert (killed / "model/weights.safetensors").read_bytes() == (whole / "model/weights.safetensors").read_bytes()
    last, undisturbed = (load_file(folder / "last.safetensors") for folder in (killed, whole))
    assert last.keys() == undisturbed.keys()
    assert all((last[name] == undisturbed[name]).all() for name in last)
    assert _logged(killed) == _logged(whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (LSTM, "bucketed"),
        (TRANSFORMER, "packed"),
        (LSTM, "samples"),
        (TRANSFORMER, "samples"),
        (ENCODER_DECODER, "parallel"),
    ],
    ids=["lstm, corpus", "transformer, corpus", "lstm, samples", "transformer, samples", "pairs"],
)
def test_a_killed_run_ends_with_the_same_weights(
    model: dict[str, Any], kind: str, corpus: Path, oracle_file: Path, tmp_path: Path
) -> None:
    optimiser = {"learning_rate": 0.01, "schedule": "plateau", "warmup": 10}
    stop = {"epochs": 1000, "steps": STEPS, "validate_every": 20}
    content = {"model": model, "data": _data(kind, corpus, oracle_file), "optimiser": optimiser, "stop": stop}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train(recipe_from(content), whole, log_every=1)
    (tmp_path / "recipe.json").write_text(json.dumps(content))
    generator = random.Random(f"{model['kind']} {kind}")
    began, reached = [], 0
    for share in (0.3, 0.6):
        aim = min(generator.randint(reached + 5, max(reached + 6, int(share * STEPS))), STEPS - 30)
        start, reached = _kill_at(aim, tmp_path / "recipe.json", killed)
        began.append(start)
        assert reached < STEPS
    assert began[0] == 0 < began[1]
    trained = train(recipe_from(content), killed, log_every=1)
    assert trained.steps == STEPS
    _same_runs(killed, whole)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "kind"), GANS.items())
def test_a_gan_killed_in_its_adversarial_phase_ends_with_the_same_weights(
    algorithm: str, kind: str, oracle_file: Path, tmp_path: Path
) -> None:
    """The discriminator or critic, the roll-out policy, all optimisers and the phase come back with the generator."""
    own: dict[str, Any] = {"discriminator": {"filters": 2}, "begins_at": 0.501, "examined_every": 3}
    content = {
        "algorithm": algorithm,
        "algorithm_settings": {"critic": {"hidden": 4}} if kind == "noise-lstm" else own,
        "model": {"kind": kind, "hidden": 4, "embedding": 4},
        "data": _data("samples", oracle_file, oracle_file),
        "stop": {"epochs": 1000, "steps": GAN_STEPS, "validate_every": 20},
    }
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train(recipe_from(content), whole, log_every=1)
    followed = [line["step"] for line in _logged(whole) if "reward" in line or "wasserstein" in line]
    assert followed[0] < GAN_STEPS - 20
    (tmp_path / "recipe.json").write_text(json.dumps(content))
    _, reached = _kill_at(followed[0] + 5, tmp_path / "recipe.json", killed)
    assert reached < GAN_STEPS
    assert train(recipe_from(content), killed, log_every=1).steps == GAN_STEPS
    _same_runs(killed, whole)
