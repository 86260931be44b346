"""Checkpoints: a run goes on as if it had never stopped, or says why it cannot."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from offscript.errors import OffscriptError
from offscript.learning.checkpoints import Standing, read_checkpoint, read_weights, resume, write_checkpoint

STANDING = Standing("recipe", "data", step=3, best=1.25, best_step=2, waited=1, reductions=2, seconds=4.5)


def _network(seed: int, width: int = 3) -> tuple[nn.Module, torch.optim.Optimizer]:
    network = nn.Linear(width, 2)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return network, torch.optim.Adam(network.parameters(), lr=0.1, fused=True)


def _step(network: nn.Module, optimiser: torch.optim.Optimizer, number: int) -> None:
    inputs = torch.randn(4, 3, generator=torch.Generator().manual_seed(number))
    optimiser.zero_grad()
    network(inputs).square().sum().backward()
    optimiser.step()


@pytest.fixture
def written(tmp_path: Path) -> Path:
    network, optimiser = _network(1)
    for number in range(3):
        _step(network, optimiser, number)
    write_checkpoint(tmp_path / "last.safetensors", {"model": network}, {"model": optimiser}, STANDING)
    return tmp_path / "last.safetensors"


def test_a_run_goes_on_bit_for_bit(written: Path) -> None:
    straight, its_optimiser = _network(1)
    for number in range(6):
        _step(straight, its_optimiser, number)
    resumed, optimiser = _network(2)
    standing = read_checkpoint(written, {"model": resumed}, {"model": optimiser})
    assert standing == STANDING
    for number in range(3, 6):
        _step(resumed, optimiser, number)
    assert torch.equal(resumed.weight, straight.weight)
    assert torch.equal(resumed.bias, straight.bias)


def test_a_run_that_has_not_begun_can_be_written(tmp_path: Path) -> None:
    network, optimiser = _network(1)
    write_checkpoint(tmp_path / "first", {"model": network}, {"model": optimiser}, Standing("recipe"))
    assert read_checkpoint(tmp_path / "first", {"model": network}, {"model": optimiser}) == Standing("recipe")


def test_several_networks_keep_apart(tmp_path: Path) -> None:
    (model, first), (critic, second) = _network(1), _network(2)
    _step(critic, second, 1)
    networks, optimisers = {"model": model, "critic": critic}, {"model": first, "critic": second}
    write_checkpoint(tmp_path / "both", networks, optimisers, STANDING)
    other, its_optimiser = _network(3)
    read_checkpoint(tmp_path / "both", {"critic": other}, {"critic": its_optimiser})
    assert torch.equal(other.weight, critic.weight)
    read_weights(tmp_path / "both", other)
    assert torch.equal(other.weight, model.weight)


def test_resuming_needs_the_same_recipe_and_data(written: Path) -> None:
    network, optimiser = _network(2)
    begun = Standing("recipe", "data")
    assert resume(written, {"model": network}, {"model": optimiser}, begun).step == 3
    before = network.weight.clone()
    with pytest.raises(OffscriptError, match="holds a run of another recipe; name another folder"):
        resume(written, {"model": network}, {"model": optimiser}, Standing("other", "data"))
    with pytest.raises(OffscriptError, match="the data are not those that"):
        resume(written, {"model": network}, {"model": optimiser}, Standing("recipe", "other"))
    assert torch.equal(network.weight, before)


def test_another_recipe_is_refused_before_its_sizes_are_met(written: Path) -> None:
    network, optimiser = _network(2, width=7)
    with pytest.raises(OffscriptError, match="holds a run of another recipe"):
        resume(written, {"model": network}, {"model": optimiser}, Standing("other", "data"))


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 10])


@pytest.mark.parametrize(
    "spoil",
    [
        _cut,
        lambda path: path.write_bytes(path.read_bytes()[:5]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"nonsense" * 100),
        lambda path: path.unlink(),
        lambda path: save_file({"weight": torch.zeros(1)}, path),
        lambda path: save_file({"weight": torch.zeros(1)}, path, metadata={"standing": '{"recipe": "recipe"}'}),
        lambda path: save_file({"weight": torch.zeros(1)}, path, metadata={"standing": '{"recpe": 1}'}),
    ],
    ids=[
        "cut",
        "cut in the header",
        "empty",
        "no safetensors",
        "missing",
        "no standing",
        "no weights",
        "wrong standing",
    ],
)
def test_a_file_that_is_no_checkpoint_gets_one_clear_line(written: Path, spoil: Callable[[Path], Any]) -> None:
    spoil(written)
    network, optimiser = _network(2)
    with pytest.raises(OffscriptError, match="checkpoint .* cannot be read; .*remove it to start anew") as caught:
        read_checkpoint(written, {"model": network}, {"model": optimiser})
    assert "\n" not in str(caught.value)


def test_a_write_that_fails_leaves_the_old_file(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    before = written.read_bytes()
    monkeypatch.setattr("safetensors.torch.save_file", fail)
    network, optimiser = _network(5)
    with pytest.raises(OSError, match="no space"):
        write_checkpoint(written, {"model": network}, {"model": optimiser}, STANDING)
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]
