"""Networks small enough to enumerate, and a run that is killed: what the tests of every algorithm stand on."""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from offscript.corpora.vocabularies import WordVocabulary
from offscript.learning import loop
from offscript.models.lstm import LSTMLanguageModel, LSTMSettings
from offscript.models.neural import NeuralLanguageModel
from offscript.models.transformer import TransformerLanguageModel, TransformerSettings
from offscript.training import recipe_from, train

SYMBOLS = ["a", "b", "c"]
LENGTH = 4
SIZES: dict[str, dict[str, Any]] = {
    "lstm": {"hidden": 4, "embedding": 4, "dropout": 0.2},
    "transformer": {"width": 8, "layers": 1, "heads": 2, "dropout": 0.2},
    "noise-lstm": {"hidden": 4, "embedding": 4, "noise": 2, "states": 8},
    "manager-worker": {"hidden": 4, "embedding": 4, "goal": 2, "horizon": 2, "discriminator": {"filters": 2}},
}


class Killed(BaseException):
    """Nobody catches it, like a signal."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other cost these networks ten times what they compute where the machine is busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def network() -> Callable[..., NeuralLanguageModel]:
    """A network over three symbols with sharp distributions."""

    def build(kind: str = "lstm", seed: int = 0, end: str | None = None) -> NeuralLanguageModel:
        vocabulary = WordVocabulary(SYMBOLS, end=end, unknown=None)
        built: NeuralLanguageModel
        if kind == "lstm":
            built = LSTMLanguageModel(vocabulary, LSTMSettings(hidden=3, embedding=2))
        else:
            built = TransformerLanguageModel(vocabulary, TransformerSettings(width=4, layers=1, heads=1, context=8))
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in built.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
        return built

    return build


@pytest.fixture
def gradient() -> Callable[[Tensor, nn.Module], Tensor]:
    """The gradient of a loss as one vector."""

    def flat(loss: Tensor, module: nn.Module) -> Tensor:
        parameters = list(module.parameters())
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        parts = (torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True))
        return torch.cat([part.flatten() for part in parts]).double()

    return flat


@pytest.fixture
def sequences() -> Callable[[int, int], Tensor]:
    """Every sequence of so many tokens from a vocabulary of a size."""
    return lambda size, length: torch.tensor(list(product(range(size), repeat=length)))


@pytest.fixture
def near() -> Callable[[Tensor, Tensor], bool]:
    """Whether the mean of draws [n, width] agrees with a vector: every part within 4.5 standard errors."""

    def close(draws: Tensor, exact: Tensor) -> bool:
        error = draws.std(dim=0) / len(draws) ** 0.5
        return bool(((draws.mean(dim=0) - exact).abs() <= 4.5 * error + 1e-5).all())

    return close


@pytest.fixture
def oracle_file(tmp_path: Path) -> Path:
    """A tabular oracle over the three symbols that depends on the last token alone."""
    rows = {"": [0.5, 0.3, 0.2], "a": [0.1, 0.6, 0.3], "b": [0.2, 0.2, 0.6], "c": [0.7, 0.2, 0.1]}
    following = {
        " ".join(history): rows[history[-1] if history else ""]
        for length in range(LENGTH + 1)
        for history in product(SYMBOLS, repeat=length)
    }
    written = {"kind": "tabular", "vocabulary": SYMBOLS, "length": LENGTH + 1, "next": following}
    path = tmp_path / "oracle.json"
    path.write_text(json.dumps(written), encoding="utf-8")
    return path


@pytest.fixture
def resumes_exactly(oracle_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Whether a run that dies after its third step and is started again ends where an undisturbed one ends."""
    monkeypatch.setattr(loop, "_event_writer", lambda folder, resumed_at: None)

    def check(algorithm: str, kind: str, **settings: Any) -> bool:
        recipe = recipe_from(
            {
                "algorithm": algorithm,
                "algorithm_settings": settings,
                "model": {"kind": kind, **SIZES[kind]},
                "data": {"kind": "samples", "model": str(oracle_file), "length": LENGTH, "size": 8, "validation": 8},
                "stop": {"steps": 5, "validate_every": 2},
            }
        )
        whole, broken = tmp_path / f"{algorithm}-{kind}-whole", tmp_path / f"{algorithm}-{kind}-broken"
        train(recipe, whole, log_every=1)
        take, taken = loop._take_step, []

        def dying(run: Any) -> Any:
            if len(taken) == 3:
                raise Killed
            taken.append(run.standing.step)
            return take(run)

        with monkeypatch.context() as patch:
            patch.setattr(loop, "_take_step", dying)
            with pytest.raises(Killed):
                train(recipe, broken, checkpoint_seconds=0.0, log_every=1)
        train(recipe, broken, log_every=1)
        return _same_run(whole, broken)

    return check


def _same_run(first: Path, second: Path) -> bool:
    weights = [(folder / "model" / "weights.safetensors").read_bytes() for folder in (first, second)]
    states = [load_file(folder / "last.safetensors") for folder in (first, second)]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(tensor, states[1][key]) for key, tensor in states[0].items())
    losses = [
        [{key: value for key, value in json.loads(line).items() if key != "tokens_per_second"} for line in lines]
        for lines in ((folder / "log.jsonl").read_text().splitlines() for folder in (first, second))
    ]
    return weights[0] == weights[1] and losses[0] == losses[1]
