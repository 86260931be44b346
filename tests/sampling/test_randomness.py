import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from offscript.errors import OffscriptError
from offscript.sampling.randomness import Draws, draw, draw_of_rows

STEPS = st.integers(0, 1000)
NEVER = -math.inf
ALMOST_ONE = 1 - 2**-53
TOKENS = 50_257


@given(
    seed=st.integers(0, 2**40),
    stream=st.integers(0, 5),
    step=STEPS,
    first=st.integers(0, 50),
    rows=st.integers(1, 50),
    width=st.integers(1, 9),
)
def test_a_number_belongs_to_its_row_whatever_is_asked_with_it(
    seed: int, stream: int, step: int, first: int, rows: int, width: int
) -> None:
    whole = Draws(seed).uniform(step, 0, first + rows, width, stream)
    assert torch.equal(Draws(seed).uniform(step, first, rows, width, stream), whole[first:])


@given(chosen=st.sets(st.integers(0, 200), min_size=1), first=st.integers(0, 5), step=STEPS)
def test_chosen_rows_keep_their_numbers(chosen: set[int], first: int, step: int) -> None:
    rows = torch.tensor(sorted(chosen))
    whole = Draws(7).uniform(step, 0, 201, 3, stream=2)
    selected = Draws(7).of_rows(rows).uniform(step, first, len(rows), 3, stream=2)
    assert torch.equal(selected, whole[rows[first:]])


def test_numbers_stay_the_same_from_version_to_version() -> None:
    numbers = Draws((1, 2)).uniform(step=2, first_row=3, rows=2, stream=1).squeeze(1)
    assert numbers.tolist() == [0.09645215793742823, 0.9680821579171611]


def test_numbers_are_uniform() -> None:
    numbers = Draws(11).uniform(0, 0, 100_000).squeeze(1)
    assert numbers.dtype == torch.float64
    assert float(numbers.min()) >= 0
    assert float(numbers.max()) < 1
    assert stats.kstest(numbers.numpy(), "uniform").pvalue > 0.001


def _column(seed: int | tuple[int, ...], step: int, stream: int) -> np.ndarray:
    return Draws(seed).uniform(step, 0, 20_000, stream=stream).squeeze(1).numpy()


def test_seeds_steps_and_streams_are_independent() -> None:
    addresses = [(1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1), (2, 0, 0), ((1, 1), 0, 0), ((1, 0), 0, 0)]
    columns = [_column(*address) for address in addresses]
    for left, right in itertools.combinations(columns, 2):
        joint, _, _ = np.histogram2d(left, right, bins=8, range=[[0, 1], [0, 1]])
        assert stats.chisquare(joint.flatten()).pvalue > 1e-4


@pytest.mark.parametrize(("seed", "other"), [(2, (2, 0)), ((2,), (2, 0)), ((2, 1), (2, 1, 0)), (0, (0, 0))])
def test_a_zero_at_the_end_of_a_seed_counts(seed: int | tuple[int, ...], other: tuple[int, ...]) -> None:
    assert not torch.equal(Draws(seed).uniform(0, 0, 4), Draws(other).uniform(0, 0, 4))


def test_a_number_is_the_seed_of_one_part() -> None:
    assert torch.equal(Draws(5).uniform(0, 0, 4), Draws((5,)).uniform(0, 0, 4))


@pytest.mark.parametrize("seed", [-1, (), (1, -1)])
def test_a_seed_that_is_none_is_refused(seed: int | tuple[int, ...]) -> None:
    with pytest.raises(OffscriptError, match="whole numbers of 0 or more"):
        Draws(seed)


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
    with pytest.raises(OffscriptError, match="row 1 of 2 is not a distribution"):
        draw(log_probs, torch.tensor([[0.5], [0.5]]))


@given(size=st.integers(1, 40), rows=st.integers(1, 6), seed=st.integers(0, 1000), zeros=st.floats(0, 0.9))
def test_blocks_draw_what_the_whole_row_draws(size: int, rows: int, seed: int, zeros: float) -> None:
    """Exactly, for weights whose sums are exact; a missing constant changes nothing."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randint(1, 9, (rows, size), generator=generator).double()
    weights[:, 1:][torch.rand(rows, size - 1, generator=generator) < zeros] = 0.0
    weights[:, 0] = 8.0  # the largest, so that taking it out keeps sums exact
    chosen = torch.randint(rows, (50,), generator=generator)
    uniform = torch.randint(1 << 20, (50,), generator=generator).double() / (1 << 20)
    exact = (uniform.unsqueeze(1) * weights.sum(dim=1)[chosen].unsqueeze(1) < weights.cumsum(dim=1)[chosen]).int()
    drawn = draw_of_rows(weights.log() + 3.0, chosen, uniform)
    edge = (weights.cumsum(dim=1)[chosen] - uniform.unsqueeze(1) * weights.sum(dim=1)[chosen].unsqueeze(1)).abs()
    clear = edge.amin(dim=1) > 1e-6  # logarithms round: a number on the edge of two tokens may fall to either
    assert torch.equal(drawn[clear], exact.argmax(dim=1)[clear])
    assert bool((weights[chosen, drawn] > 0).all())


@pytest.mark.parametrize("exact", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1, 31, 32, 33, 200, 5000])
def test_draws_by_blocks_have_the_models_shares(size: int, exact: torch.dtype) -> None:
    """Chi-square over 40,000 draws, on the path of processors and on that of other devices; far logits do no harm."""
    generator = torch.Generator().manual_seed(size)
    logits = torch.randn(2, size, generator=generator, dtype=torch.float64) * 2 + 300
    logits[1, size // 2 :] = logits[1, size // 2 :] if size == 1 else NEVER
    uniform = torch.rand(40_000, generator=generator, dtype=torch.float64)
    for row in range(2):
        places = draw_of_rows(logits.to(exact), torch.full((40_000,), row), uniform)
        shares = logits[row].softmax(dim=0)
        common = shares * 40_000 > 5
        counts = torch.bincount(places, minlength=size)
        expected = torch.cat([shares[common], 1 - shares[common].sum(dim=0, keepdim=True)]) * 40_000
        observed = torch.cat([counts[common], 40_000 - counts[common].sum(dim=0, keepdim=True)])
        kept = expected > 1e-6
        statistic = float(((observed - expected)[kept] ** 2 / expected[kept]).sum())
        assert statistic < stats.chi2.ppf(1 - 1e-6, max(1, int(kept.sum()) - 1))
        assert int(counts[shares == 0].sum()) == 0


def test_the_largest_number_below_one_draws_the_last_place_with_weight() -> None:
    log_probs = torch.full((1, 100), NEVER)
    log_probs[0, [3, 40, 70]] = torch.tensor([0.1, 0.2, 0.7]).log()
    for ends in (log_probs, log_probs.double()):
        assert draw_of_rows(ends, torch.tensor([0, 0]), torch.tensor([ALMOST_ONE, 0.0]).double()).tolist() == [70, 3]


def test_blocks_refuse_what_is_not_a_distribution() -> None:
    with pytest.raises(OffscriptError, match="row 1 of 2 is not a distribution"):
        draw_of_rows(torch.tensor([[0.0, 0.0], [NEVER, NEVER]]), torch.tensor([0]), torch.tensor([0.5]))
