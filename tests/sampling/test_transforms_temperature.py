import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from offscript.sampling.transforms import MaxEntropy, TargetEntropy
from offscript.sampling.transforms import temperature as module

INF = math.inf
TARGETS = (0.01, 0.1, 1.0, 2.75, 5.0)


def entropies(log_probs: Tensor) -> Tensor:
    wide = log_probs.double()
    return -(wide.exp() * wide).nansum(dim=-1)


def limits(logits: Tensor) -> tuple[Tensor, Tensor]:
    """What a temperature can reach: the log of the number of best tokens, and of the support."""
    best = (logits == logits.amax(dim=-1, keepdim=True)).sum(dim=-1).double()
    return best.log(), logits.isfinite().sum(dim=-1).double().log()


def varied_rows() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    scales = torch.logspace(-3, 2, 150).unsqueeze(1)
    return scales * torch.randn(150, 400, generator=generator)


@pytest.mark.parametrize("target", TARGETS)
def test_target_entropy_hits_its_target(target: float) -> None:
    for logits in (varied_rows(), varied_rows().double(), varied_rows().log_softmax(dim=-1)):
        reached = entropies(TargetEntropy(target)(logits))
        assert float((reached - target).abs().max()) < 1e-3


@pytest.mark.parametrize("target", TARGETS)
def test_max_entropy_never_exceeds_its_bound_and_leaves_lower_rows_alone(target: float) -> None:
    log_probs = varied_rows().log_softmax(dim=-1)
    bounded = MaxEntropy(target)(log_probs)
    assert float(entropies(bounded).max()) < target + 1e-3
    lower = entropies(log_probs) < target - 1e-6
    assert lower.any()
    torch.testing.assert_close(bounded[lower], log_probs[lower])
    above = entropies(log_probs) > target + 1e-6
    torch.testing.assert_close(bounded[above], TargetEntropy(target)(log_probs[above]))


@given(
    st.lists(
        st.one_of(st.integers(-4, 4), st.floats(-50, 50), st.floats(-1e30, 1e30), st.just(-INF)), min_size=1, max_size=8
    ).filter(lambda row: max(row) > -INF),
    st.floats(1e-3, 3),
)
def test_any_row_ends_at_its_target_or_at_the_nearest_limit(row: list[float], target: float) -> None:
    logits = torch.tensor([row], dtype=torch.float64)
    lowest, highest = limits(logits)
    nearest = min(max(target, float(lowest)), float(highest))
    assert float(entropies(TargetEntropy(target)(logits))) == pytest.approx(nearest, abs=1e-3)
    bounded = float(entropies(MaxEntropy(target)(logits)))
    assert bounded <= max(target, float(lowest)) + 1e-3
    assert bounded <= float(entropies(logits.log_softmax(dim=-1))) + 1e-9


@pytest.mark.parametrize(
    ("row", "target", "expected"),
    [
        ([0.0, -INF, -INF], 1.0, [1, 0, 0]),  # one-hot: nothing to spread
        ([2.0, 2.0, 2.0], 0.5, [1 / 3, 1 / 3, 1 / 3]),  # uniform: no temperature parts a tie
        ([2.0, 2.0, 1.0, 0.0], 0.5, [0.5, 0.5, 0, 0]),  # below log 2: uniform over the best
        ([3.0, 1.0, -INF, 0.0], 2.0, [1 / 3, 1 / 3, 0, 1 / 3]),  # above log 3: uniform over the support
        ([3.0, 1.0], math.log(2), [0.5, 0.5]),
    ],
)
def test_targets_that_no_temperature_reaches(row: list[float], target: float, expected: list[float]) -> None:
    assert TargetEntropy(target)(torch.tensor([row])).exp()[0].tolist() == pytest.approx(expected, abs=1e-6)


def test_the_result_is_the_tempered_distribution() -> None:
    logits = torch.tensor([[1.0, 0.0, -1.5]], dtype=torch.float64)
    log_probs = TargetEntropy(0.5)(logits)
    steps = log_probs.diff() / logits.diff()
    assert float(steps[0, 0]) == pytest.approx(float(steps[0, 1]))


def test_newton_needs_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STEPS", 15)
    generator = torch.Generator().manual_seed(1)
    logits = 3 * torch.randn(64, 5000, generator=generator)
    for target in TARGETS:
        reached = entropies(TargetEntropy(target)(logits))
        assert float((reached - target).abs().max()) < 1e-3
