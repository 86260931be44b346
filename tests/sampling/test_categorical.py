import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.sampling.categorical import draw
from offscript.sampling.randomness import Draws

NEVER = -math.inf
ALMOST_ONE = 1 - 2**-53
TOKENS = 50_257


def _draw_one(probabilities: list[float], number: float, dtype: torch.dtype = torch.float32) -> int:
    log_probs = torch.tensor([probabilities], dtype=dtype).log()
    return int(draw(log_probs, torch.tensor([[number]], dtype=torch.float64)))


@pytest.mark.parametrize(
    ("number", "token"),
    [(0.0, 1), (0.2499, 1), (0.25, 3), (0.7499, 3), (0.75, 4), (ALMOST_ONE, 4)],
)
def test_the_first_token_whose_sum_exceeds_the_number(number: float, token: int) -> None:
    assert _draw_one([0, 0.25, 0, 0.5, 0.25, 0], number) == token
    assert _draw_one([0, 0.25, 0, 0.5, 0.25, 0], number, torch.float64) == token


@given(
    weights=st.lists(st.just(0.0) | st.floats(1e-30, 10), min_size=1, max_size=30).filter(lambda found: sum(found) > 0),
    number=st.sampled_from([0.0, 5e-324, 2**-53, 1 - 2**-24, ALMOST_ONE]) | st.floats(0, 1, exclude_max=True),
)
def test_no_token_of_probability_zero_at_any_number(weights: list[float], number: float) -> None:
    for dtype in (torch.float32, torch.float64):
        assert weights[_draw_one(weights, number, dtype)] > 0


def test_tokens_come_as_often_as_they_should() -> None:
    log_probs = torch.tensor([0.5, 0.3, 0, 0.15, 0.05]).log().expand(100_000, -1)
    counts = torch.bincount(draw(log_probs, Draws(3).uniform(0, 0, 100_000)), minlength=5).tolist()
    assert counts.pop(2) == 0
    assert stats.chisquare(counts, [50_000, 30_000, 15_000, 5_000]).pvalue > 0.001


@pytest.mark.parametrize("shift", [-60.0, -3.0, 2.0, 60.0])
def test_the_distribution_need_not_be_normalised(shift: float) -> None:
    log_probs = torch.tensor([[0.1, 0.2, 0.7]]).log().expand(1000, -1)
    numbers = Draws(5).uniform(0, 0, 1000)
    assert torch.equal(draw(log_probs + shift, numbers), draw(log_probs, numbers))


def _large(seed: int) -> Tensor:
    return (3 * torch.randn(1, TOKENS, generator=torch.Generator().manual_seed(seed))).log_softmax(dim=-1)


def test_tokens_of_a_large_vocabulary_are_where_exact_sums_put_it() -> None:
    log_probs = _large(1)
    exact = log_probs.double().exp().squeeze(0)
    exact /= exact.sum()
    middle = exact.cumsum(0) - exact / 2
    likely = (exact > 1e-6).nonzero().squeeze(1)[::100]
    assert len(likely) > 100
    found = draw(log_probs.expand(len(likely), -1), middle[likely].unsqueeze(1))
    assert torch.equal(found, likely)


def test_the_tail_of_a_large_vocabulary_keeps_its_mass() -> None:
    log_probs = torch.full((1, TOKENS), math.log(1e-8))
    log_probs[0, 0] = math.log1p(-1e-8 * (TOKENS - 1))
    mass = 1e-8 * (TOKENS - 1)
    numbers = torch.tensor([[1 - 1.01 * mass], [1 - 0.99 * mass]], dtype=torch.float64)
    below, inside = draw(log_probs.expand(2, -1), numbers).tolist()
    assert below == 0
    assert inside == pytest.approx(0.01 * TOKENS, rel=0.05)


@pytest.mark.parametrize("wrong", [[NEVER, NEVER], [math.nan, 0.0], [math.inf, 0.0], [100.0, 0.0]])
def test_what_is_no_distribution_is_refused(wrong: list[float]) -> None:
    log_probs = torch.tensor([[-1.0, -2.0], wrong])
    with pytest.raises(OffscriptError, match="row 1 of 2 is no distribution"):
        draw(log_probs, torch.tensor([[0.5], [0.5]]))
