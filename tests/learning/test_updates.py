"""Learning rates by hand, which Adam is built, and how several processes share a batch."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from offscript.corpora import Batch
from offscript.learning import Fleet, OptimiserSettings, build_optimiser, learning_rate


def _rates(total: int, *, reductions: int = 0, **settings: object) -> list[float]:
    chosen = OptimiserSettings(learning_rate=0.8, **settings)
    return [learning_rate(chosen, step, total, reductions) for step in range(total)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [0.8, 0.8, 0.8, 0.8]),
        ({"schedule": "linear"}, [0.8, 0.6, 0.4, 0.2]),
        ({"schedule": "cosine"}, [0.8, 0.4 * (1 + math.sqrt(0.5)), 0.4, 0.4 * (1 - math.sqrt(0.5))]),
        ({"schedule": "plateau"}, [0.8, 0.8, 0.8, 0.8]),
        ({"warmup": 1}, [0.4, 0.8, 0.8, 0.8]),
        ({"warmup": 2, "schedule": "linear"}, [0.8 / 3, 1.6 / 3, 0.8, 0.4]),
        ({"warmup": 3, "schedule": "cosine"}, [0.2, 0.4, 0.6, 0.8]),
        ({"warmup": 9, "schedule": "linear"}, [0.08, 0.16, 0.24, 0.32]),
    ],
)
def test_rates_of_four_steps(settings: dict[str, object], expected: list[float]) -> None:
    assert _rates(4, **settings) == pytest.approx(expected)


def test_a_plateau_multiplies_the_rate() -> None:
    assert _rates(2, schedule="plateau", plateau_factor=0.25, reductions=2) == pytest.approx([0.05, 0.05])
    assert _rates(2, schedule="constant", plateau_factor=0.25, reductions=2) == [0.8, 0.8]


@pytest.mark.parametrize(("decay", "kind"), [(0.0, torch.optim.Adam), (0.1, torch.optim.AdamW)])
def test_adam_is_fused_and_decays_apart(decay: float, kind: type) -> None:
    optimiser = build_optimiser(nn.Linear(2, 2), OptimiserSettings(learning_rate=0.5, weight_decay=decay))
    [group] = optimiser.param_groups
    assert type(optimiser) is kind
    assert (group["lr"], group["weight_decay"], group["fused"]) == (0.5, decay, True)


def _fleet(rank: int, processes: int) -> Fleet:
    fleet = Fleet("cpu")
    fleet.rank, fleet.processes = rank, processes
    return fleet


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_shares_make_up_the_batch(processes: int) -> None:
    batch = Batch(np.arange(10).reshape(5, 2), np.array([1, 2, 1, 2, 1]))
    shares = [_fleet(rank, processes).share(batch) for rank in range(processes)]
    rows = [tuple(row) for share in shares for row, length in zip(share.tokens, share.lengths, strict=True) if length]
    assert sorted(rows) == [tuple(row) for row in batch.tokens]
    assert sum(int(share.lengths.sum()) for share in shares) == 7
    assert min(len(share.tokens) for share in shares) >= 1


def test_one_process_changes_nothing() -> None:
    fleet = Fleet("cpu")
    network = torch.nn.Linear(2, 1)
    network(torch.ones(1, 2)).sum().backward()
    before = network.weight.grad.clone()
    fleet.add_up_gradients(network.parameters())
    fleet.wait()
    assert torch.equal(network.weight.grad, before)
    assert fleet.total(2.5) == 2.5
    assert fleet.leads
