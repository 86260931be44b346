"""Learning rates by hand, and which Adam is built."""

import math

import pytest
import torch
from torch import nn

from offscript.training.optimisation import build_optimiser, learning_rate
from offscript.training.recipe import OptimiserSettings


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
